"""Columns of a user's table, batch by batch: a CSV file of any length, a frame, or lists.

Whatever is wrong with it becomes one sentence that names the row and the column.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from clusterbandits.errors import InvalidInputError, UnreadableFileError
from clusterbandits.validate import shown
from clusterbandits.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

#: Bytes of a file that are read at a time; the reader is up to 32 times as far ahead.
_BLOCK = 2**20
_ROW = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_DELIMITERS = ",;\t"
#: Letters of a header that an error shows.
_HEADER = 60
#: What spreadsheets offer beside their own format and their own letters.
_UTF8 = "be text in UTF-8, which spreadsheets save as 'CSV UTF-8'"
#: Numbers as people and spreadsheets write them: 1,000 and 0,5 and 3 %.
_DRESSED = re.compile(r"(?=.*[,'%\s])[+-]?[\d.,'\s]*\d[\d.,'\s]*%?")
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Column:
    """A column that a table must or may have.

    ``also`` are other names that it may go by; case does not count.
    """

    name: str
    kind: Literal["text", "number"]
    required: bool = True
    also: tuple[str, ...] = ()


class Batch(NamedTuple):
    """Some rows: the number of the first one, counted from 1, and the columns by name.

    Text is an Arrow array, numbers are floats; optional columns that the table lacks are left out.
    """

    first: int
    columns: dict[str, Any]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())))

    def text(self, name: str) -> Any:
        """Return a column of text as an Arrow array."""
        return self.columns[name]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers."""
        values: NDArray[np.float64] = self.columns[name]
        return values


class Source:
    """A table that can be read as often as needed, a batch at a time.

    Parameters
    ----------
    table
        The path of a CSV file (commas, semicolons or tabs), a pandas frame, an Arrow table, a mapping from
        column names to lists, or a list of mappings, one for every row.
    columns
        What it must and may have; anything else in it is passed over.
    parameter, owner
        Who is named in errors.

    Examples
    --------
    >>> arm, trials = Column("arm", "text"), Column("trials", "number")
    >>> source = Source({"arm": ["a", "b"], "trials": [10, 20]}, [arm, trials])
    >>> [batch.numbers("trials").tolist() for batch in source]
    [[10.0, 20.0]]
    """

    def __init__(
        self, table: object, columns: Sequence[Column], parameter: str = "table", owner: str = "advise"
    ) -> None:
        self._parameter, self._owner = parameter, owner
        self._path = Path(table) if isinstance(table, str | os.PathLike) else None
        self.name = f"The table '{self._path}'" if self._path else f"The '{parameter}' parameter of {owner}"
        self._delimiter = ","
        self._memory: Any = None
        if self._path is None:
            self._memory = self._in_memory(table)
        given = self._memory.column_names if self._path is None else self._header(self._path)
        self._found = self._match(list(given), columns)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it has, of those asked for."""
        return frozenset(column.name for column in self._found)

    def __iter__(self) -> Iterator[Batch]:
        first = 1
        for part in self._parts(self._types()):
            yield self._batch(part, first)
            first += part.num_rows

    def refuse(self, allowed: str, given: str) -> InvalidInputError | UnreadableFileError:
        """Return the error for a table with something wrong in it."""
        kind = UnreadableFileError if self._path else InvalidInputError
        return kind(f"{self.name} must {allowed}. Got {given} instead.")

    def refuse_row(
        self, row: int, column: str, allowed: str, given: object
    ) -> InvalidInputError | UnreadableFileError:
        """Return the error for one cell, whose row is counted from 1."""
        text = shown(str(given) if isinstance(given, np.generic) else given)
        return self.refuse(f"have {allowed} in its column '{column}'", f"{text} in row {row}")

    def _header(self, path: Path) -> list[str]:
        try:
            with path.open("rb") as file:
                start = file.read(2**16)
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or "no such path").lower()
            raise UnreadableFileError(f"{self.name} must be readable. Got '{reason}' instead.") from None
        if start.startswith(_BYTE_ORDER_MARKS) or b"\0" in start:
            raise self.refuse(_UTF8, "other bytes")
        line = start.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].partition(b"\r")[0]
        if not line.strip():
            raise self.refuse(
                "begin with a row that names its columns",
                "an empty file" if not start.strip() else "an empty row",
            )
        self._delimiter = max(_DELIMITERS, key=lambda mark: line.count(mark.encode()))
        try:
            return [str(name) for name in next(self._parts({})).schema.names]
        except UnicodeDecodeError:
            raise self.refuse(_UTF8, "other bytes") from None

    def _match(self, given: list[str], wanted: Sequence[Column]) -> dict[Column, str]:
        """Return how the table calls each column that it has."""
        plain = [name.strip().lower() for name in given]
        found: dict[Column, str] = {}
        for column in wanted:
            places = [place for place, name in enumerate(plain) if name in {column.name, *column.also}]
            if len(places) > 1:
                raise self.refuse(
                    f"have one column '{column.name}'", " and ".join(repr(given[k]) for k in places)
                )
            if places:
                found[column] = given[places[0]]
        missing = [column.name for column in wanted if column.required and column not in found]
        if missing:
            wanted_names = ", ".join(f"'{name}'" for name in missing)
            raise self.refuse(
                f"have the column{'s' * (len(missing) > 1)} {wanted_names}",
                f"'{listed(given, _HEADER)}'" if given else "none",
            )
        return found

    def _types(self) -> dict[str, Any]:
        kinds = {"text": pa.string(), "number": pa.float64()}
        return {name: kinds[column.kind] for column, name in self._found.items()}

    def _parts(self, types: dict[str, Any]) -> Iterator[Any]:
        """Return the rows as Arrow batches; columns that no type is given for are left out."""
        if self._path is None:
            yield from self._memory.to_batches(max_chunksize=2**17)
            return
        convert = pa.csv.ConvertOptions(
            column_types=types,
            include_columns=list(types) or None,
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        read = pa.csv.ReadOptions(block_size=_BLOCK, use_threads=False)
        parse = pa.csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        try:
            # An open file: Arrow takes a path such as http:/x for an address.
            with self._path.open("rb") as file, pa.csv.open_csv(file, read, parse, convert) as reader:
                if not types:
                    yield reader.schema.empty_table()
                    return
                yield from reader
        except pa.ArrowException as error:
            raise self._explained(str(error), types) from None
        except OSError as error:
            reason = (error.strerror or "unreadable").lower()
            raise UnreadableFileError(f"{self.name} must be readable. Got '{reason}' instead.") from None

    def _explained(self, message: str, types: dict[str, Any]) -> Exception:
        """Return what is wrong with a file, from what the reader says of it and a slower second look."""
        if "UTF8" in message or "UTF-8" in message:
            return self.refuse(_UTF8, "other bytes")
        if "Empty CSV" in message:
            return self.refuse("have at least one row", "none")
        short = _ROW.search(message)
        if short:
            row, wanted, got = map(int, short.groups())
            return self.refuse(f"have {wanted} cells in every row", f"{got} in row {row - 1}")
        if pa.float64() in types.values():
            first = 1
            for part in self._parts(dict.fromkeys(types, pa.string())):
                self._batch(part, first)
                first += part.num_rows
        return self.refuse("be a CSV file", shown(message.splitlines()[0]))

    def _batch(self, part: Any, first: int) -> Batch:
        columns: dict[str, Any] = {}
        for column, name in self._found.items():
            values = part.column(name)
            read = self._text if column.kind == "text" else self._numbers
            columns[column.name] = read(values, name, first)
        return Batch(first, columns)

    def _text(self, values: Any, name: str, first: int) -> Any:
        try:
            text = values if pa.types.is_string(values.type) else values.cast(pa.string())
        except pa.ArrowException:
            raise self.refuse_row(first, name, "a text", values[0].as_py()) from None
        trimmed = pc.utf8_trim_whitespace(text)
        empty = pc.fill_null(pc.equal(trimmed, ""), True)
        if pc.any(empty).as_py():
            row = first + int(np.flatnonzero(empty.to_numpy(zero_copy_only=False))[0])
            raise self.refuse_row(row, name, "a text", "")
        return trimmed

    def _numbers(self, values: Any, name: str, first: int) -> NDArray[np.float64]:
        kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
        if any(is_kind(values.type) for is_kind in kinds):
            numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        else:
            numbers = np.array([_number(value) for value in values.to_pylist()], dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if wrong.size:
            place = int(wrong[0])
            given = values[place].as_py()
            dressed = isinstance(given, str) and _DRESSED.fullmatch(given)
            allowed = "a plain number, as 1000 or 0.5," if dressed else "a number"
            raise self.refuse_row(first + place, name, allowed, "" if given is None else given)
        return np.ascontiguousarray(numbers, dtype=np.float64)

    def _in_memory(self, table: object) -> Any:
        allowed = "be the path of a CSV file, a frame, or columns by name"
        try:
            if isinstance(table, pa.Table):
                return table
            if hasattr(table, "__dataframe__") or hasattr(table, "__arrow_c_stream__"):
                return pa.table({str(name): _column(table[name]) for name in table.columns})  # type: ignore[index, attr-defined]
            if isinstance(table, Mapping):
                return pa.table({str(name): _column(values) for name, values in table.items()})
            if isinstance(table, Iterable) and not isinstance(table, bytes):
                rows = list(table)
                if all(isinstance(row, Mapping) for row in rows):
                    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
                    return pa.table({str(name): _column([row.get(name) for row in rows]) for name in names})
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise self.refuse(allowed, shown(str(error))) from None
        raise self.refuse(allowed, shown(table))


def _column(values: Any) -> Any:
    """Return values as an Arrow array; those of several types as text."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    plain = [None if isinstance(value, float) and math.isnan(value) else value for value in listed]
    try:
        return pa.array(plain)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array([None if value is None else str(value) for value in plain])


def _number(value: object) -> float:
    if isinstance(value, str) and "_" in value:
        return math.nan  # Python would read 1_000, which nobody else writes.
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan
