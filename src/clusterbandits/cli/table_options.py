"""Options for reading tables: the columns to use, and the format of numbers."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterbandits.studies.table_file import TableFile

HISTORY = ("arm", "group", "trials", "successes", "total", "squares", "reward", "revenue")
LOG = ("time", "arm", "group", "reward", "propensity")
_HELP = {
    "time": "Column of times; never decreasing.",
    "arm": "Column of arms. Default: arm, or a usual name such as ad or variant.",
    "group": "Column of groups. Default: group, or a usual name such as campaign.",
    "trials": "Column of trials. Default: trials, or a usual name such as views.",
    "successes": "Column of successes. Default: successes, or a usual name such as clicks.",
    "total": "Column of sums of rewards.",
    "squares": "Column of sums of squared rewards.",
    "reward": "Column of rewards, one row per event. Default: reward, click, …",
    "revenue": "Column of revenue.",
    "propensity": "Column of the probabilities with which arms were shown.",
    "decimal": "Decimal separator, . or , if the table does not show it.",
    "thousands": "Thousands separator, . or , or a space, if the table does not show it.",
    "sheet": "Sheet of an Excel workbook. Default: the only one with content.",
    "encoding": "Encoding of a text file. Default: UTF-8, UTF-16 or Windows-1252, whichever fits.",
}
_SETTINGS = ("decimal", "thousands", "sheet", "encoding")
_PANEL = "Reading tables"


@dataclass(frozen=True)
class Reading:
    """The options that were given."""

    columns: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def history(self, path: str) -> TableFile:
        """Return a table of trials and rewards."""
        return self._table(path, HISTORY)

    def log(self, path: str) -> TableFile:
        """Return a log of choices."""
        return self._table(path, LOG)

    def start(self, path: str | None, shared: Sequence[str] = ()) -> TableFile | None:
        """Return a history to start from; ``shared`` are the columns that it shares with another table."""
        return None if path is None else self._table(path, HISTORY, frozenset(shared))

    def _table(self, path: str, roles: Sequence[str], shared: frozenset[str] = frozenset()) -> TableFile:
        from clusterbandits.studies.table_file import TableFile
        from clusterbandits.studies.table_wording import CommandWording

        columns = {role: name for role, name in self.columns.items() if role in roles}
        return TableFile(path, columns, **self.settings, wording=CommandWording(), shared=shared)


def history_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add options for tables of trials to a command, which gets them as its parameter ``reading``."""
    return _with_options(command, HISTORY)


def log_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add options for logs, and for the histories that policies start from, to a command."""
    return _with_options(command, tuple(dict.fromkeys((*LOG, *HISTORY))))


def _with_options(command: Callable[..., None], roles: tuple[str, ...]) -> Callable[..., None]:
    @functools.wraps(command)
    def with_reading(*args: Any, **options: Any) -> None:
        columns = {role: name for role in roles if (name := options.pop(role)) is not None}
        settings = {key: value for key in _SETTINGS if (value := options.pop(key)) is not None}
        command(*args, reading=Reading(columns, settings), **options)

    own = [one for one in inspect.signature(command).parameters.values() if one.name != "reading"]
    added = [_parameter(name, "NAME" if name in roles else None) for name in (*roles, *_SETTINGS)]
    parameters = [*own, *added]
    described: Any = with_reading
    described.__signature__ = inspect.Signature(parameters)
    described.__annotations__ = {one.name: one.annotation for one in parameters}
    del described.__wrapped__  # whose signature Typer would read instead
    return with_reading


def _parameter(name: str, metavar: str | None) -> inspect.Parameter:
    option = typer.Option(help=_HELP[name], metavar=metavar, rich_help_panel=_PANEL)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=None, annotation=Annotated[str | None, option])
