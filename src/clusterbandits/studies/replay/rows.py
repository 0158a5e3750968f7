"""Rows of a log as numbers: arms by the order in which they first appear, and times that only go forward."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clusterbandits.studies.columns import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.studies.columns import Batch, Source

COLUMNS = (
    Column("time", "text", also=("timestamp", "date")),
    Column("arm", "text", also=("action",)),
    Column("reward", "number"),
    Column("propensity", "number", required=False, also=("probability",)),
    Column("group", "text", required=False, also=("cluster",)),
)


class Names:
    """Numbers for names, 0, 1, … in the order in which they are first met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @classmethod
    def of(cls, names: tuple[str, ...]) -> Names:
        """Return these names with their places for numbers."""
        known = cls()
        known._numbers = {name: number for number, name in enumerate(names)}
        return known

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the order of their numbers."""
        return tuple(self._numbers)

    def numbers(self, text: Any) -> NDArray[np.int64]:
        """Return the number of every name of a column.

        Examples
        --------
        >>> Names().numbers(pa.array(["b", "a", "b"])).tolist()
        [0, 1, 0]
        """
        encoded = text.dictionary_encode()
        known = self._numbers
        found = [known.setdefault(name, len(known)) for name in encoded.dictionary.to_pylist()]
        numbers: NDArray[np.int64] = np.array(found, dtype=np.int64)[encoded.indices.to_numpy()]
        return numbers


class Clock:
    """Sees to it that time never goes backwards.

    Times are numbers if the first one is, and are else compared as text: ISO 8601 sorts by time.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._last: Any = None
        self._in_numbers = False

    def check(self, batch: Batch) -> None:
        """Refuse a batch with a time before the one it follows."""
        text = batch.text("time")
        if self._last is None:
            self._in_numbers = _is_number(text[0].as_py())
        times = self._as_numbers(text, batch.first) if self._in_numbers else text
        last = times[0].as_py() if self._last is None else self._last
        before = pa.concat_arrays([pa.array([last], times.type), times[:-1]])
        backwards = pc.index(pc.less(times, before), True).as_py()
        if backwards >= 0:
            allowed = "times that never go backwards"
            raise self._source.refuse_row(batch.first + backwards, "time", allowed, text[backwards].as_py())
        self._last = times[-1].as_py()

    def _as_numbers(self, text: Any, first: int) -> Any:
        try:
            times = pc.cast(text, pa.float64())
        except pa.ArrowInvalid:
            values = [float(one) if _is_number(one) else math.nan for one in text.to_pylist()]
            times = pa.array(values, pa.float64())
        wrong = np.flatnonzero(~np.isfinite(times.to_numpy()))
        if wrong.size:
            place = int(wrong[0])
            raise self._source.refuse_row(
                first + place, "time", "numbers throughout, as in its first row,", text[place].as_py()
            )
        return times


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
