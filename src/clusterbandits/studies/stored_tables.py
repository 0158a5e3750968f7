"""Tables as files and in memory, read batch by batch: CSV of any encoding, Excel, Parquet, frames, lists."""

from __future__ import annotations

import codecs
import csv
import importlib
import itertools
import math
import re
import warnings
from collections.abc import Iterable, Mapping
from contextlib import closing, contextmanager
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.csv

from clusterbandits.extras import extras_explained
from clusterbandits.validate import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterbandits.studies.table_file import Naming, TableFile

#: The type of columns with cells of several types: their text, and the value of those that are real numbers.
MIXED = pa.struct([("text", pa.string()), ("number", pa.float64())])
#: Bytes of a text file that are read at a time; the reader reads up to 32 times as many ahead.
BLOCK = 2**20
#: Rows of other tables in a batch.
_ROWS = 2**17
_DELIMITERS = ",;\t"
#: Arrow's name for the encoding that it reads without conversion.
_UTF8 = "utf8"
_SHORT_ROW = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_UTF16_MARKS, _UTF32_MARKS = (b"\xff\xfe", b"\xfe\xff"), (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
#: Text in another encoding, read as Windows-1252: many accented letters in a row, accented capitals or signs
#: inside words.
_NOT_WESTERN = re.compile(
    "[\u0080-\uffff]{4}|[a-z][À-ÖØ-ÞŠŒŽŸ]|[A-Z][À-ÖØ-ÞŠŒŽŸ][a-z]"
    "|[a-zA-Z][‚„†‡ˆ‰‹›•˜™¤¦¨¬¯¶¸][a-zA-Z]|[À-ß][^\\x00-\\x7fÀ-ÿ]"
)


class UnfitCellError(Exception):
    """A cell that the reader cannot convert to the requested type."""


class StoredTable(Protocol):
    """A table that can be read as often as needed."""

    names: list[str]
    #: The delimiter of a text file; None for other tables.
    delimiter: str | None

    def parts(self, types: Mapping[str, Any]) -> Iterator[Any]:
        """Return the rows of some columns as Arrow batches; text files convert cells to these types."""

    def line(self, row: int) -> int | None:
        """Return the line of a row, both counted from 1, in an editor or a spreadsheet; None in memory."""


def open_table(table: TableFile, naming: Naming) -> StoredTable:
    """Return the table of a description; the content determines the format, not the suffix."""
    path = table.path
    if path is None:
        return MemoryTable(_in_memory(table.table, naming))
    with _readable(naming), path.open("rb") as file:
        start = file.read(2**16)
    if start.startswith(b"PK\x03\x04"):
        return _workbook(path, table.sheet, naming)
    if start.startswith(b"PAR1"):
        return ParquetTable(path, naming)
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        raise naming.error("Excel files must have the format .xlsx", "This is an older one: save it as .xlsx")
    if table.sheet is not None:
        option = naming.option("sheet", table.sheet)
        raise naming.error(f"{option} needs an Excel workbook, but this file is not one")
    return TextTable(path, table.encoding, naming)


class MemoryTable:
    """A table in memory; ``lines`` are the rows of a sheet that it comes from."""

    delimiter: str | None = None

    def __init__(self, table: Any, lines: list[int] | None = None) -> None:
        self._table, self._lines = table, lines
        self.names: list[str] = table.column_names

    def parts(self, types: Mapping[str, Any]) -> Iterator[Any]:
        """Return the rows as they are."""
        yield from self._table.select(list(types)).to_batches(max_chunksize=_ROWS)

    def line(self, row: int) -> int | None:
        """Return the row of the sheet."""
        return None if self._lines is None else self._lines[row - 1]


class ParquetTable:
    """A Parquet file."""

    delimiter: str | None = None

    def __init__(self, path: Path, naming: Naming) -> None:
        self._path, self._naming = path, naming
        with self._opened() as file:
            self.names: list[str] = file.schema_arrow.names

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        parquet = importlib.import_module("pyarrow.parquet")
        try:
            with _readable(self._naming), parquet.ParquetFile(self._path) as file:
                yield file
        except pa.ArrowException as error:
            raise self._naming.error(
                "the Parquet file must be whole", f"It is not: {_first_line(error)}"
            ) from None

    def parts(self, types: Mapping[str, Any]) -> Iterator[Any]:
        """Return the rows with the types of the file."""
        with self._opened() as file:
            yield from file.iter_batches(_ROWS, columns=list(types))

    def line(self, row: int) -> None:
        """Return None: such a file has no lines."""


class TextTable:
    """A text file with commas, semicolons or tabs between cells."""

    def __init__(self, path: Path, encoding: str | None, naming: Naming) -> None:
        self._path, self._naming = path, naming
        with _readable(naming):
            self.encoding = _known(encoding, naming) if encoding else _detected(path, naming)
            self.delimiter: str | None = _delimiter(path, self.encoding, naming)
        with self._reader({}) as reader:
            self.names: list[str] = list(map(str, reader.schema.names))

    def parts(self, types: Mapping[str, Any]) -> Iterator[Any]:
        """Return the rows; a cell that does not fit its type ends them with ``UnfitCellError``."""
        with self._reader(types) as reader:
            yield from reader

    @contextmanager
    def _reader(self, types: Mapping[str, Any]) -> Iterator[Any]:
        convert = pa.csv.ConvertOptions(
            column_types=dict(types),
            include_columns=list(types) or None,
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        read = pa.csv.ReadOptions(block_size=BLOCK, use_threads=False, encoding=self.encoding)
        parse = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        try:
            # An open file, because Arrow would read a path such as http:/x as a URL.
            with (
                _readable(self._naming),
                self._path.open("rb") as file,
                pa.csv.open_csv(file, read, parse, convert) as reader,
            ):
                yield reader
        except UnicodeError:
            raise self._naming.error(*_other_encoding(self._naming)) from None
        except pa.ArrowException as error:
            raise self._explained(str(error)) from None

    def _explained(self, message: str) -> Exception:
        """Return the error for a file, given the message of the reader."""
        if "UTF8" in message or "UTF-8" in message:
            return self._naming.error(*_other_encoding(self._naming))
        if "Empty CSV" in message:
            return self._naming.error(
                "there must be at least one row below the names of the columns", "There is none"
            )
        short = _SHORT_ROW.search(message)
        if short:
            row, wanted, got = map(int, short.groups())
            where = row_text(row - 1, self.line(row - 1))
            return self._naming.error(f"every row must have {wanted} cells", f"{where} has {got}")
        if "conversion error" in message:
            return UnfitCellError(message)
        return self._naming.error(
            "the file must be a CSV, Excel or Parquet file", shown(message.splitlines()[0])
        )

    def line(self, row: int) -> int | None:
        """Return the first line of a row: line 1 has the names, and cells may contain line ends."""
        try:
            with self._path.open(encoding=self.encoding, newline="") as file:
                reader, before, rows = csv.reader(file, delimiter=str(self.delimiter)), 0, -1
                for cells in reader:
                    rows += bool(cells)
                    if rows == row:
                        return before + 1
                    before = reader.line_num
        except (csv.Error, OSError, ValueError):
            pass
        return None


def row_text(row: int, line: int | None) -> str:
    """Return a row with its line: "Row 3 (line 4)"."""
    return f"Row {row}" if line is None else f"Row {row} (line {line})"


@contextmanager
def _readable(naming: Naming) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeError | pa.ArrowException):
            raise
        reason = (getattr(error, "strerror", None) or "no such path").lower()
        raise naming.error("the file must be readable", f"The operating system says: {reason}") from None


def _other_encoding(naming: Naming) -> tuple[str, str]:
    return (
        "text must be in UTF-8, UTF-16 or Windows-1252",
        f"Save it as 'CSV UTF-8', or name its encoding with {naming.option('encoding', 'NAME')}",
    )


def _known(encoding: str, naming: Naming) -> str:
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        rule = "the encoding must be one that Python knows"
        raise naming.error(rule, f"Unknown encoding {shown(encoding)}") from None
    return _UTF8 if name == "utf-8" else name


def _detected(path: Path, naming: Naming) -> str:
    """Return the encoding of a text file."""
    with path.open("rb") as file:
        start = file.read(2**16)
        if start.startswith(_UTF32_MARKS):
            raise naming.error(*_other_encoding(naming))
        if start.startswith(_UTF16_MARKS):
            return "utf-16"
        if b"\0" in start:
            halves = {"utf-16-be": start[::2], "utf-16-le": start[1::2]}
            fits = [name for name, half in halves.items() if half.count(0) > 0.9 * len(half)]
            if not fits:
                raise naming.error(*_other_encoding(naming))
            return fits[0]
        file.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while chunk := file.read(BLOCK):
                if not chunk.isascii() or decoder.getstate()[0]:
                    decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return _western(path, naming)
    return _UTF8


def _western(path: Path, naming: Naming) -> str:
    """Return Windows-1252, which contains Latin-1, if the decoded file looks like text."""
    try:
        with path.open(encoding="cp1252", newline="") as file:
            while text := file.read(BLOCK):
                if not text.isascii() and _NOT_WESTERN.search(text):
                    raise naming.error(*_other_encoding(naming))
    except UnicodeDecodeError:
        raise naming.error(*_other_encoding(naming)) from None
    return "cp1252"


def _delimiter(path: Path, encoding: str, naming: Naming) -> str:
    """Return the most frequent delimiter in the first line."""
    try:
        with path.open(encoding=encoding) as file:
            line = file.readline(2**16)
    except UnicodeError:
        raise naming.error(*_other_encoding(naming)) from None
    if not line.strip().strip("\ufeff"):
        empty = not path.read_bytes().strip() if path.stat().st_size < BLOCK else False
        found = "The file is empty" if empty else "It is empty"
        raise naming.error("the first row must name the columns", found)
    return max(_DELIMITERS, key=line.count)


def _workbook(path: Path, sheet: str | None, naming: Naming) -> MemoryTable:
    """Return a sheet of an Excel workbook."""
    with extras_explained():
        openpyxl = importlib.import_module("openpyxl")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # styles and drop-down lists that openpyxl does not know
            with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
                sheets = {one.title: _rows(one) for one in book.worksheets}
    except Exception as error:
        raise naming.error(
            "the file must be an Excel workbook (.xlsx) or text", f"It is not: {_first_line(error)}"
        ) from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    names = ", ".join(map(repr, sheets))
    if sheet is not None and sheet not in sheets:
        raise naming.error(f"there must be a sheet {sheet!r}", f"The sheets are {names}")
    if sheet is None and len(filled) > 1:
        which = naming.option("sheet", next(iter(filled)))
        raise naming.error(
            "it must be clear which sheet to read", f"The sheets are {names}: choose with {which}"
        )
    rows = sheets[sheet] if sheet is not None else next(iter(filled.values()), [])
    if not rows:
        raise naming.error("the first row must name the columns", "The sheet is empty")
    (_, head), *body = rows
    places = [k for k, name in enumerate(head) if name is not None]
    columns = [_column([cells[k] if k < len(cells) else None for _, cells in body]) for k in places]
    table = pa.Table.from_arrays(columns, names=[str(head[k]) for k in places])
    return MemoryTable(table, [line for line, _ in body])


def _rows(sheet: Any) -> list[tuple[int, tuple[Any, ...]]]:
    """Return the rows of a sheet that are not empty, with their numbers."""
    if not hasattr(sheet, "iter_rows"):
        return []
    sheet.reset_dimensions()  # some programs write wrong ones
    rows = enumerate(sheet.iter_rows(values_only=True), 1)
    return [(line, cells) for line, cells in rows if any(cell is not None for cell in cells)]


def _in_memory(table: object, naming: Naming) -> Any:
    rule = "it must be a path, a frame, columns by name, or a list of rows by name"
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
        raise naming.error(rule, shown(str(error))) from None
    raise naming.error(rule, f"It is {shown(table)}")


def _column(values: Any) -> Any:
    """Return values as an Arrow array, of type ``MIXED`` if they are of several types."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    plain = [None if isinstance(value, float) and math.isnan(value) else value for value in listed]
    try:
        return pa.array(plain)
    except (pa.ArrowException, TypeError, OverflowError):
        texts = pa.array([None if value is None else str(value) for value in plain], pa.string())
        numbers = pa.array(list(map(_real, plain)), pa.float64())
        return pa.StructArray.from_arrays([texts, numbers], fields=list(MIXED))


def _real(value: object) -> float | None:
    """Return a real number as a float; None for anything else, and for numbers that are too large."""
    try:
        return float(value) if isinstance(value, Real | Decimal) and not isinstance(value, bool) else None
    except OverflowError:
        return None


def _first_line(error: Exception) -> str:
    return shown((str(error).splitlines() or [type(error).__name__])[0])
