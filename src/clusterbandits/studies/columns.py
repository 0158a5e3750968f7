"""Columns of a user's table, batch by batch: found by their names, in any number format.

Every error is one sentence that names the column and the row.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clusterbandits.studies.number_format import Evidence, parsed
from clusterbandits.studies.stored_tables import MIXED, UnfitCellError, open_table, row_text
from clusterbandits.studies.table_file import Naming, TableFile, as_table_file
from clusterbandits.validate import invalid, shown
from clusterbandits.wording import escaped, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from clusterbandits.errors import ClusterBanditsError

#: Characters of a header that an error shows.
_HEADER = 80
_TEXT, _NUMBER = pa.string(), pa.float64()


@dataclass(frozen=True)
class Column:
    """A column that a table must or may have.

    ``also`` are other names of it; case, spaces, hyphens and underscores are ignored. ``whole`` marks counts.
    """

    name: str
    kind: Literal["text", "number"]
    required: bool = True
    also: tuple[str, ...] = ()
    whole: bool = False


class Batch(NamedTuple):
    """Some rows: the number of the first one, counted from 1, and the columns by name.

    Text is an Arrow array, numbers are floats; optional columns that the table lacks are left out.
    """

    first: int
    columns: dict[str, Any]

    @property
    def rows(self) -> int:
        """The number of rows."""
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
        Path of a CSV, Excel or Parquet file, a data frame, an Arrow table, a mapping from column names to
        lists, a list of mappings, one per row, or a ``TableFile``.
    columns
        Required and optional columns; all others are ignored.
    parameter, owner
        Names for error messages about a table in memory.
    names
        Names of columns in this table, by their content.

    Examples
    --------
    >>> arm, trials = Column("arm", "text"), Column("trials", "number", also=("views",))
    >>> source = Source({"Arm": ["a", "b"], "views": [10, 20]}, [arm, trials])
    >>> [batch.numbers("trials").tolist() for batch in source]
    [[10.0, 20.0]]
    """

    def __init__(
        self,
        table: object,
        columns: Sequence[Column],
        parameter: str = "table",
        owner: str = "advise",
        names: object = None,
    ) -> None:
        self.file = as_table_file(table, names)
        self.naming = Naming.of(self.file, parameter, owner)
        _check_names(self.file, columns, owner)
        self._stored = open_table(self.file, self.naming)
        #: Optional columns that several columns of the table may be.
        self._doubtful: dict[str, list[str]] = {}
        self._found = self._match(columns)
        self._decimal = dict.fromkeys(self._found, self.file.decimal_separator or ".")
        if self._stored.delimiter != "," or any(column.whole for column in self._found):
            self._decide()

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the table has, of those requested."""
        return frozenset(column.name for column in self._found)

    def title(self, name: str) -> str:
        """Return the title in the table of a column that it has."""
        return next(title for column, title in self._found.items() if column.name == name)

    def settle(self, names: Iterable[str]) -> None:
        """Refuse a table in which several columns may be one of these."""
        for name in names:
            if name in self._doubtful:
                raise self._unclear(name, self._doubtful[name])

    def __iter__(self) -> Iterator[Batch]:
        done = 0
        texts = dict.fromkeys(self._found.values(), _TEXT)
        quick = {t: _NUMBER if self._is_quick(column) else _TEXT for column, t in self._found.items()}
        try:
            for part in self._stored.parts(quick):
                yield self._batch(part, done + 1)
                done += part.num_rows
        except UnfitCellError as error:
            self._decide(late=done > 0)
            first = 1
            for part in self._stored.parts(texts):
                if first + part.num_rows > done + 1:
                    rest = part.slice(max(0, done + 1 - first))
                    yield self._batch(rest, max(first, done + 1))
                first += part.num_rows
            if first <= done:
                raise self.refuse("the file must not change while it is read", "It became shorter") from error

    def refuse(self, rule: str, found: str) -> ClusterBanditsError:
        """Return the error for a table: what must hold, and what was found instead."""
        return self.naming.error(rule, found)

    def refuse_row(self, row: int, rule: str, found: str) -> ClusterBanditsError:
        """Return the error for one row, counted from 1: "Row 3 (line 4) has …"."""
        return self.refuse(rule, f"{row_text(row, self._stored.line(row))} has {found}")

    def refuse_cell(self, row: int, name: str, rule: str, given: object) -> ClusterBanditsError:
        """Return the error for one cell of a column, whose row is counted from 1."""
        text = shown(str(given) if isinstance(given, np.generic) else given)
        return self.refuse_row(row, f"column '{self.title(name)}' must {rule}", text)

    def at(self, row: int) -> str:
        """Return a row in words: "row 3 (line 4)"."""
        return row_text(row, self._stored.line(row)).replace("Row", "row")

    def _match(self, columns: Sequence[Column]) -> dict[Column, str]:
        """Return the title in the table of each column that it has."""
        names = self._stored.names
        chosen = self._chosen()
        found: dict[Column, str] = {}
        for column in columns:
            given = chosen.get(column.name)
            places = self._usual(column, set(chosen.values())) if given is None else [given]
            if len(places) == 1:
                found[column] = names[places[0]]
            elif places:
                self._doubtful[column.name] = [names[k] for k in places]
                if column.required:
                    raise self._unclear(column.name, self._doubtful[column.name])
            elif column.required:
                raise self._missing(column.name)
        return found

    def _chosen(self) -> dict[str, int]:
        """Return the position of each column that the user named, without those of another table."""
        shared = self.file.shared
        places = {role: self._place(role, title) for role, title in self.file.columns.items()}
        own = {place for role, place in places.items() if role not in shared}
        return {
            role: place
            for role, place in places.items()
            if place is not None and not (role in shared and place in own)
        }

    def _place(self, role: str, title: str) -> int | None:
        """Return the position of the column that the user named; None if it may be one of another table."""
        names = self._stored.names
        exact = [k for k, name in enumerate(names) if name == title]
        alike = exact or [k for k, name in enumerate(names) if _key(name) == _key(title)]
        if len(alike) == 1:
            return alike[0]
        if alike:
            rule = f"{self.naming.column_option(role, title)} must name one column"
            raise self.refuse(rule, f"Columns of this name: {len(alike)}")
        if role in self.file.shared:
            return None
        raise self._missing(role)

    def _usual(self, column: Column, taken: set[int]) -> list[int]:
        """Return the positions of columns with the name of a column, or else with one of its other names.

        Other names do not stand in for a column that the user named.
        """
        free = {k: name for k, name in enumerate(self._stored.names) if k not in taken}
        exact = [k for k, name in free.items() if _key(name) == _key(column.name)]
        if exact or column.name in self.file.columns:
            return exact
        others = set(map(_key, column.also))
        return [k for k, name in free.items() if _key(name) in others]

    def _missing(self, role: str) -> ClusterBanditsError:
        """Return the error for a column that is required, or that the user named, and missing."""
        names = self._stored.names
        title = self.file.columns.get(role)
        columns = f"The columns are: {listed(names, _HEADER)}" if names else "It has no columns"
        if title is None:
            which = self.naming.column_option(role)
            return self.refuse(
                f"there is no column '{role}'", f"If it has another name, give {which}. {columns}"
            )
        near = difflib.get_close_matches(title, names, 1)
        hint = f"Did you mean {shown(near[0])}?" if near else columns
        rule = f"{self.naming.column_option(role, title)} must name one column"
        return self.refuse(rule, f"There is no column {shown(title)}. {hint}")

    def _unclear(self, name: str, titles: Sequence[str]) -> ClusterBanditsError:
        both = " and ".join(f"'{escaped(title)}'" for title in titles)
        which = self.naming.column_option(name, titles[0])
        return self.refuse(
            f"it must be clear which column is '{name}'", f"There are {both}: choose one, as with {which}"
        )

    def _is_quick(self, column: Column) -> bool:
        """Return whether the reader of text files can convert the cells of a column itself."""
        return (
            column.kind == "number" and self._decimal[column] == "." and self.file.decimal_separator is None
        )

    def _decide(self, *, late: bool = False) -> None:
        """Choose the decimal separator of every column of numbers by all its cells.

        ``late`` means that some rows have already been read with decimal points.
        """
        numbers = {column: title for column, title in self._found.items() if column.kind == "number"}
        if self.file.decimal_separator is not None:
            return
        evidence = {column: Evidence(column.whole) for column in numbers}
        self._gather({title: evidence[column] for column, title in numbers.items()})
        proven = {one.decimal for one in evidence.values()} - {None}
        for column, one in evidence.items():
            self._decimal[column] = self._separator(column, one, proven)
            if late and self._decimal[column] == ",":
                sample = one.proofs.get(",") or next(iter(one.unclear.values()))
                raise self._refuse_sample(column, sample, f"give {self.naming.option('decimal', ',')}")

    def _gather(self, wanted: dict[str, Evidence]) -> None:
        first = 1
        for part in self._stored.parts(dict.fromkeys(wanted, _TEXT)):
            for title, evidence in wanted.items():
                values = _decoded(part.column(title))
                if values.type == MIXED:
                    text, numbers = values.flatten()
                    values = pc.if_else(numbers.is_null(), text, pa.scalar(None, _TEXT))
                if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
                    evidence.add(values, first)
            first += part.num_rows

    def _separator(self, column: Column, evidence: Evidence, proven: set[str | None]) -> str:
        """Return the decimal separator of a column, whose cells or other columns decide."""
        if len(evidence.proofs) > 1:
            point, comma = evidence.proofs["."], evidence.proofs[","]
            found = (
                f"{self.at(point.row)} has {shown(point.text)}, {self.at(comma.row)} has {shown(comma.text)}"
            )
            rule = f"column '{self._found[column]}' must have one decimal separator"
            raise self.refuse(rule, found.replace("row", "Row", 1))
        if evidence.decimal is not None:
            return evidence.decimal
        if not evidence.unclear:
            return "."
        if len(proven) == 1:
            return str(next(iter(proven)))
        # If commas separate cells, a comma in a cell separates thousands; a point does so only in counts.
        if self._stored.delimiter == "," and not (column.whole and "." in evidence.unclear):
            return "."
        sample = next(iter(evidence.unclear.values()))
        used = "." if "." in sample.text else ","
        bare = sample.text.replace(used, "")
        both = (
            f"{self.naming.option('thousands', used)} if it means {bare}",
            f"{self.naming.option('decimal', used)} if it means {float(sample.text.replace(used, '.')):g}",
        )
        raise self._refuse_sample(column, sample, f"give {' or '.join(both)}")

    def _refuse_sample(self, column: Column, sample: Any, hint: str) -> ClusterBanditsError:
        rule = f"column '{self._found[column]}' must have unambiguous numbers"
        return self.refuse_row(sample.row, rule, f"{shown(sample.text)}: {hint}")

    def _batch(self, part: Any, first: int) -> Batch:
        columns: dict[str, Any] = {}
        for column, title in self._found.items():
            values = _decoded(part.column(title))
            read = self._texts if column.kind == "text" else self._numbers
            columns[column.name] = read(values, column, first)
        return Batch(first, columns)

    def _texts(self, values: Any, column: Column, first: int) -> Any:
        values = values.field("text") if values.type == MIXED else values
        try:
            text = values if pa.types.is_string(values.type) else values.cast(_TEXT)
        except pa.ArrowException:
            raise self.refuse_cell(first, column.name, "hold text", values[0].as_py()) from None
        trimmed = pc.utf8_trim_whitespace(text)
        empty = pc.fill_null(pc.equal(trimmed, ""), True)
        if pc.any(empty).as_py():
            row = first + int(np.flatnonzero(empty.to_numpy(zero_copy_only=False))[0])
            raise self.refuse_row(row, f"column '{self.title(column.name)}' must hold text", "an empty cell")
        return trimmed

    def _numbers(self, values: Any, column: Column, first: int) -> NDArray[np.float64]:
        kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)
        kind = values.type
        if any(is_kind(kind) for is_kind in kinds):
            # An unsafe cast, because a safe one fails for integers above 2⁵³, which are rounded.
            numbers = values.cast(_NUMBER, safe=False).to_numpy(zero_copy_only=False)
        elif kind == MIXED:
            values, real = values.flatten()
            numbers = real.to_numpy(zero_copy_only=False)
            numbers = np.where(np.isnan(numbers), parsed(values, self._decimal[column]), numbers)
        else:
            numbers = self._from_text(values, column, first)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if wrong.size:
            place = int(wrong[0])
            raise self._no_number(column, first + place, values[place].as_py())
        return np.ascontiguousarray(numbers, dtype=np.float64)

    def _from_text(self, values: Any, column: Column, first: int) -> NDArray[np.float64]:
        try:
            text = values.cast(_TEXT)
        except pa.ArrowException:
            raise self._no_number(column, first, values[0].as_py()) from None
        return parsed(text, self._decimal[column])

    def _no_number(self, column: Column, row: int, given: object) -> ClusterBanditsError:
        title = f"column '{self.title(column.name)}'"
        if given is None or given == "":
            return self.refuse_row(row, f"{title} must hold numbers", "an empty cell")
        dressed = isinstance(given, str) and re.search(r"\d", given) is not None
        like = "1000 or 0,5" if self._decimal[column] == "," else "1000 or 0.5"
        rule = f"{title} must hold plain numbers, such as {like}" if dressed else f"{title} must hold numbers"
        return self.refuse_row(row, rule, shown(given))


def _decoded(values: Any) -> Any:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _key(name: str) -> str:
    """Return a name as names are compared."""
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())


def _check_names(file: TableFile, columns: Sequence[Column], owner: str) -> None:
    known = [column.name for column in columns]
    for role in file.columns:
        if role not in known:
            raise invalid("columns", owner, f"made of the keys {listed(known)}", role)
