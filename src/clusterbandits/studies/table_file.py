"""Tables of users: the description of how to read them, and the wording of errors about them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.errors import InvalidInputError, UnreadableFileError
from clusterbandits.studies.table_wording import PythonWording
from clusterbandits.validate import as_mapping, invalid
from clusterbandits.wording import escaped, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterbandits.errors import ClusterBanditsError
    from clusterbandits.studies.table_wording import Wording

_THOUSANDS = (".", ",", " ", "'")
#: The settings for reading a table, in the order in which they are shown.
SETTINGS = ("columns", "decimal", "thousands", "sheet", "encoding")


@dataclass(frozen=True)
class TableFile:
    """A table with settings for reading it, for tables that cannot be read without them.

    ``read_history``, ``advise`` and ``replay`` accept it instead of a table.

    Parameters
    ----------
    table
        Path of a CSV, Excel or Parquet file, a data frame, or columns by name.
    columns
        Names of columns in this table, by their content: ``{"arm": "ad_id", "trials": "impressions"}``.
        Usual names are recognised without this.
    decimal
        Decimal separator, ``"."`` or ``","``; by default, detected from the cells of each column.
    thousands
        Thousands separator, ``"."``, ``","``, ``" "`` or ``"'"``; by default, detected from the cells.
    sheet
        Sheet of an Excel workbook; by default, the only one that is not empty.
    encoding
        Encoding of a text file, such as ``"cp1252"``; by default UTF-8, UTF-16 or Windows-1252,
        whichever fits.

    Examples
    --------
    >>> import clusterbandits as cb
    >>> ads = {"ad_id": ["a", "b"], "campaign": ["x", "x"], "impressions": ["1.000", "2.500"], "won": [9, 31]}
    >>> table = cb.TableFile(ads, columns={"successes": "won"}, thousands=".")
    >>> cb.read_history(table).means.tolist()
    [0.009, 0.0124]
    """

    table: object
    columns: Mapping[str, str] = field(default_factory=dict)
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None
    encoding: str | None = None
    #: How errors say what to give.
    wording: Wording = field(default_factory=PythonWording, repr=False)
    #: Named columns that may be those of another table. If this table lacks one, it can have the usual one.
    shared: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        named = as_mapping(self.columns)
        if named is None or not all(isinstance(text, str) for pair in named.items() for text in pair):
            raise invalid("columns", "TableFile", "a mapping such as {'arm': 'ad_id'}", self.columns)
        if self.decimal not in {None, ".", ","}:
            raise invalid("decimal", "TableFile", "'.' or ','", self.decimal)
        if self.thousands not in {None, *_THOUSANDS}:
            raise invalid("thousands", "TableFile", "'.', ',', ' ' or \"'\"", self.thousands)
        if self.thousands is not None and self.thousands == self.decimal:
            raise invalid("thousands", "TableFile", "different from the decimal separator", self.thousands)

    @property
    def path(self) -> Path | None:
        """The path of the file; None for a table in memory."""
        return Path(self.table) if isinstance(self.table, str | os.PathLike) else None

    @property
    def decimal_separator(self) -> str | None:
        """The decimal separator that the settings imply; None if it is detected from the cells."""
        if self.decimal is None and self.thousands in {".", ","}:
            return "," if self.thousands == "." else "."
        return self.decimal

    def settings(self) -> dict[str, object]:
        """Return the settings that were given."""
        given = {name: getattr(self, name) for name in SETTINGS}
        return {name: dict(value) if name == "columns" else value for name, value in given.items() if value}

    def code(self) -> str:
        """Return the arguments of ``read_history`` that read this table, as Python code.

        Examples
        --------
        >>> TableFile("ads.csv", columns={"arm": "ad_id"}).code()
        "'ads.csv', columns={'arm': 'ad_id'}"
        >>> TableFile("ads.csv", decimal=",").code()
        "cb.TableFile('ads.csv', decimal=',')"
        """
        source = repr(str(self.table)) if self.path is not None else "table"
        given = self.settings()
        text = ", ".join([source, *(f"{name}={value!r}" for name, value in given.items())])
        return text if set(given) <= {"columns"} else f"cb.TableFile({text})"


def as_table_file(table: object, columns: object = None) -> TableFile:
    """Return a table with its settings; ``columns`` adds to those of the table."""
    found = table if isinstance(table, TableFile) else TableFile(table)
    if columns is None:
        return found
    more = as_mapping(columns)
    if more is None:
        raise invalid("columns", "TableFile", "a mapping such as {'arm': 'ad_id'}", columns)
    given = {name: getattr(found, name) for name in ("table", *SETTINGS, "wording", "shared")}
    return TableFile(**given | {"columns": {**found.columns, **more}})


@dataclass(frozen=True)
class Naming:
    """The wording of errors about a table: as a file or a parameter, and what to give."""

    place: str
    is_file: bool
    wording: Wording

    @classmethod
    def of(cls, table: TableFile, parameter: str, owner: str) -> Naming:
        """Return the wording for the parameter of a function."""
        kind = "Log" if parameter == "log" else "Table"
        path = table.path
        place = f"{kind} given to {owner}" if path is None else f"{kind} '{path}'"
        return cls(place, path is not None, table.wording)

    def error(self, rule: str, found: str = "") -> ClusterBanditsError:
        """Return the error for a table: what must hold, and what was found instead."""
        kind = UnreadableFileError if self.is_file else InvalidInputError
        sentences = (f"{one}{'' if one.endswith(('.', '?')) else '.'}" for one in (rule, found) if one)
        return kind(f"{self.place}: {' '.join(sentences)}")

    def option(self, name: str, value: str) -> str:
        """Return how to give a setting: ``--decimal ,`` or ``decimal=','`` of ``cb.TableFile``."""
        return self.wording.setting(name, value)

    def column_option(self, name: str, column: str = "NAME") -> str:
        """Return how to name a column: ``--arm ad_id`` or ``columns={'arm': 'ad_id'}``."""
        return self.wording.column(name, shortened(escaped(column), 40))
