"""Number formats: decimal and thousands separators, detected per column.

A number such as ``2.000`` can be 2 or 2000. All cells of a column decide: ``0.5`` proves a decimal point,
``1.234.567`` proves a point between thousands. Spaces and apostrophes between digits only separate thousands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Spaces, also narrow and unbreakable ones, and apostrophes.
_GAPS = " \u00a0\u202f\u2009'\u2019"
_GROUPED = rf"^[+-]?\d{{1,3}}([{_GAPS}]\d{{3}})+([.,]\d*)?$"
_OTHER = {".": ",", ",": "."}
#: One separator followed by three digits, which may be a thousands separator.
_UNCLEAR = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
_POINT_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3}){2,}|[+-]?\d{1,3}(\.\d{3})+,\d*")
_COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3}){2,}|[+-]?\d{1,3}(,\d{3})+\.\d*")
_DECIMAL = re.compile(r"[+-]?(\d+[.,]\d*|[.,]\d+)([eE][+-]?\d+)?")


class Sample(NamedTuple):
    """A cell and its row, counted from 1."""

    text: str
    row: int


@dataclass
class Evidence:
    """The evidence in the cells of a column for its decimal separator.

    Parameters
    ----------
    whole
        Whether the column contains counts: a separator that makes one fractional is then excluded.

    Examples
    --------
    >>> def decimal_of(cells, whole=False):
    ...     evidence = Evidence(whole)
    ...     evidence.add(pa.array(cells), 1)
    ...     return evidence.decimal
    >>> decimal_of(["2.000", "0.5"]), decimal_of(["2.000", "1.234.567"]), decimal_of(["2.000"])
    ('.', ',', None)
    >>> decimal_of(["2.000", "2.400"], whole=True)
    ','
    """

    whole: bool
    #: The first cell that proves a decimal separator, by that separator.
    proofs: dict[str, Sample] = field(default_factory=dict)
    #: The first ambiguous cell, by the separator in it.
    unclear: dict[str, Sample] = field(default_factory=dict)

    @property
    def decimal(self) -> str | None:
        """The proven decimal separator; None without a proof or with contradictory ones."""
        return next(iter(self.proofs)) if len(self.proofs) == 1 else None

    def add(self, text: Any, first: int) -> None:
        """Add the cells of some rows, the first of which has this number."""
        text = without_gaps(text)
        for value in pc.unique(text.filter(pc.match_substring_regex(text, "[.,]"))).to_pylist():
            decimal = _proven(value, whole=self.whole)
            unclear = decimal is None and _UNCLEAR.fullmatch(value) is not None
            kept, key = (self.unclear, "." if "." in value else ",") if unclear else (self.proofs, decimal)
            if key is not None and key not in kept:
                kept[key] = Sample(value, first + pc.index(text, value).as_py())


def _proven(value: str, *, whole: bool) -> str | None:
    """Return the decimal separator that a cell proves; None if it proves nothing or is not a number."""
    if _POINT_THOUSANDS.fullmatch(value):
        return ","
    if _COMMA_THOUSANDS.fullmatch(value):
        return "."
    used = "." if "." in value else ","
    if _UNCLEAR.fullmatch(value):
        return _OTHER[used] if whole and not value.endswith("000") else None
    return used if _DECIMAL.fullmatch(value) else None


def without_gaps(text: Any) -> Any:
    """Return text without outer space, and without spaces and apostrophes between thousands.

    Examples
    --------
    >>> without_gaps(pa.array(["1 234,5", "1'000'000", "1 23", " 7 "])).to_pylist()
    ['1234,5', '1000000', '1 23', '7']
    """
    trimmed = pc.utf8_trim_whitespace(text)
    if not pc.any(pc.match_substring_regex(trimmed, f"[{_GAPS}]")).as_py():
        return trimmed
    grouped = pc.match_substring_regex(trimmed, _GROUPED)
    return pc.if_else(grouped, pc.replace_substring_regex(trimmed, f"[{_GAPS}]", ""), trimmed)


def parsed(text: Any, decimal: str) -> NDArray[np.float64]:
    """Return cells as numbers with this decimal separator; the other one may separate thousands. Else NaN.

    Examples
    --------
    >>> parsed(pa.array(["1.234,5", "0,25", "12.34", "x"]), ",").tolist()
    [1234.5, 0.25, nan, nan]
    """
    plain = without_gaps(text)
    point, other = re.escape(decimal), re.escape(_OTHER[decimal])
    whole = rf"(\d+|\d{{1,3}}({other}\d{{3}})+)"
    shape = rf"^[+-]?({whole}({point}\d*)?|{point}\d+)([eE][+-]?\d+)?$"
    fits = pc.fill_null(pc.match_substring_regex(plain, shape), False)
    bare = pc.replace_substring(plain, _OTHER[decimal], "")
    bare = pc.replace_substring(pc.utf8_ltrim(bare, "+"), decimal, ".")
    numbers = pc.if_else(fits, bare, pa.scalar(None, pa.string())).cast(pa.float64())
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
