"""Export decisions and rewards as a table, for ``replay`` and for audits."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import json
import secrets
import shutil
import tempfile
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterbandits.extras import extras_explained
from clusterbandits.service import log
from clusterbandits.service.experiment import Asked, Experiment
from clusterbandits.service.live import stopping
from clusterbandits.service.propensities import Propensities
from clusterbandits.service.recent import Record
from clusterbandits.service.refusals import UnavailableError
from clusterbandits.service.schema import Kind, events

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from sqlalchemy import Connection

    from clusterbandits.service.database import Database

    _Add = Callable[[list[dict[str, Any]]], None]

_ROWS = 5_000
#: The largest number of concurrent exports over HTTP per worker, and seconds between checks for the client.
_MOST_AT_ONCE, _LOOK_SECONDS = 2, 0.5
#: Every column with the name of its type in pyarrow.
_COLUMNS = {
    "time": "string",
    "arm": "string",
    "reward": "float64",
    "group": "string",
    "decision": "string",
    "status": "string",
    "key": "string",
    "explored": "bool",
    "available": "string",
    "note": "string",
}
_PROPENSITIES = {"propensity": "float64", "propensity_error": "float64"}
_BOOLEANS = {True: "true", False: "false"}


@dataclass(frozen=True)
class Wanted:
    """The content of an export: experiment by number, format, columns and rows."""

    experiment: int
    format: str = "csv"
    propensities: bool = False
    #: Whether to export decisions without a reward.
    unrewarded: bool = False
    #: The number of repeated choices per propensity of a random policy.
    draws: int = 400


class ExportStopped(Exception):  # noqa: N818
    """The client has disconnected or the service is stopping, so the file is not needed any more."""


class Exports:
    """Exports over HTTP: a few at a time, to temporary files."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._places = asyncio.Semaphore(_MOST_AT_ONCE)
        #: Created on first use, because a killed worker would leave it behind.
        self._folder: Path | None = None

    def close(self) -> None:
        """Remove all files."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def make(self, wanted: Wanted, gone: Callable[[], Awaitable[bool]]) -> tuple[Path, str | None]:
        """Write a file in another thread; stop if the client disconnects.

        Return its path, and a warning about its propensities or None.
        """
        if self._places.locked():
            raise UnavailableError(f"{_MOST_AT_ONCE} exports are already running; try again in a minute.")
        try:
            path = self._new_path(wanted.format)
            warning = await self._write(wanted, path, gone)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise UnavailableError(
                f"The export cannot be written to the temporary folder of the service: {reason}."
            ) from error
        return path, warning

    def _new_path(self, suffix: str) -> Path:
        if self._folder is None or not self._folder.is_dir():
            # A cleaner of temporary folders may have removed it.
            self._folder = Path(tempfile.mkdtemp(prefix="clusterbandits-exports-"))
        return self._folder / f"{secrets.token_hex(8)}.{suffix}"

    async def _write(self, wanted: Wanted, path: Path, gone: Callable[[], Awaitable[bool]]) -> str | None:
        stop = threading.Event()

        def go_on(*_: int) -> None:
            if stop.is_set() or stopping.is_set():
                raise ExportStopped

        async with self._places:
            work = asyncio.ensure_future(asyncio.to_thread(write, self._database, wanted, str(path), go_on))
            try:
                while not (await asyncio.wait([work], timeout=_LOOK_SECONDS))[0]:
                    if await gone():
                        stop.set()
                return await work
            except BaseException as error:
                stop.set()
                path.unlink(missing_ok=True)
                if isinstance(error, ExportStopped):
                    raise UnavailableError("The service is stopping; try again in a second.") from None
                raise


def write(
    database: Database, wanted: Wanted, path: str, progress: Callable[[int, int], None] | None = None
) -> str | None:
    """Write the table; return a warning about its propensities, or None.

    ``progress`` is called with the numbers of processed events and of all events.
    """
    columns = _COLUMNS | (_PROPENSITIES if wanted.propensities else {})
    kind = _csv_writer if wanted.format == "csv" else _parquet_writer
    with kind(path, columns) as add, database.reading() as connection:
        (created,) = log.find(connection, events.c.seq == wanted.experiment)
        one = Experiment(created)
        chances = Propensities(one, wanted.draws) if wanted.propensities else None
        for rows in _parts(_rows(connection, one, wanted, chances, progress)):
            add(rows)
    return None if chances is None else chances.warning()


@contextlib.contextmanager
def _csv_writer(path: str, columns: dict[str, str]) -> Iterator[_Add]:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        # Python 3.11 quotes the characters of the line terminator only; names can have either of them.
        writer = csv.DictWriter(file, columns, lineterminator="\r\n")
        writer.writeheader()

        def add(rows: list[dict[str, Any]]) -> None:
            for row in rows:
                writer.writerow(row | {"explored": _BOOLEANS[row["explored"]]})

        yield add


@contextlib.contextmanager
def _parquet_writer(path: str, columns: dict[str, str]) -> Iterator[_Add]:
    with extras_explained():
        import pyarrow as pa
        import pyarrow.parquet as pq
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])
    with pq.ParquetWriter(path, schema) as writer:
        yield lambda rows: writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _parts(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    part: list[dict[str, Any]] = []
    for row in rows:
        part.append(row)
        if len(part) == _ROWS:
            yield part
            part = []
    yield part


def _rows(
    connection: Connection,
    one: Experiment,
    wanted: Wanted,
    chances: Propensities | None,
    progress: Callable[[int, int], None] | None,
) -> Iterator[dict[str, Any]]:
    """Yield one row per decision, in order."""
    until = log.last_position(connection)
    page: list[tuple[log.Event, dict[str, Any]]] = []
    for done, event in enumerate(log.read_of(connection, one.number, one.seq, until)):
        if event.kind == Kind.DECISION:
            page.append((event, {} if chances is None else chances.of(event)))
        if chances is not None or event.kind == Kind.CHANGED:
            one.apply(event)
        if len(page) == _ROWS:
            yield from _settled(connection, one, page, wanted.unrewarded)
            page = []
        if progress is not None and done % 100 == 0:
            progress(event.seq, until)
    yield from _settled(connection, one, page, wanted.unrewarded)


def _settled(
    connection: Connection, one: Experiment, page: list[tuple[log.Event, dict[str, Any]]], unrewarded: bool
) -> Iterator[dict[str, Any]]:
    """Yield the rows of some decisions with their outcomes, later events included."""
    records = {event.seq: Record(event) for event, _ in page}
    for event in log.of_decisions(connection, list(records)):
        if event.decision in records:
            records[event.decision].add(event)
    for decision, chance in page:
        record = records[decision.seq]
        if record.value(one.plan.combine) is not None or unrewarded:
            yield _row(one, record) | chance


def _row(one: Experiment, record: Record) -> dict[str, Any]:
    decision = record.decision
    assert decision.arm is not None
    asked = Asked.of(decision)
    available = one.unmasked(asked.available)
    return {
        "time": datetime.fromtimestamp(decision.at, UTC).isoformat(timespec="microseconds"),
        "arm": one.arms[decision.arm],
        "reward": record.value(one.plan.combine),
        "group": one.group_of(decision.arm),
        "decision": decision.id,
        "status": record.status,
        "key": decision.key,
        "explored": asked.explored,
        "available": None if available is None else json.dumps(available),
        "note": None if asked.note is None else json.dumps(asked.note),
    }
