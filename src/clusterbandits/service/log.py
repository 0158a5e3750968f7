"""The log: read and append events in the order in which they happened."""

from __future__ import annotations

import re
import secrets
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, or_, select, text

from clusterbandits.service.database import BEGIN_TURN, begin_sqlite_turn
from clusterbandits.service.schema import Kind, events

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, TextClause

_PAGE = 10_000
#: The largest number of values in a statement, below the limits of both databases.
_MOST_VALUES = 5_000
_ID = re.compile(r"([0-9a-f]{1,15})-([0-9a-f]{8})")
#: The events that settle a decision.
SETTLING = (Kind.REWARD, Kind.DEFAULT, Kind.CANCELLED)


class Event(NamedTuple):
    """One row of the log; see ``schema.events`` for the columns."""

    seq: int
    experiment: int
    kind: int
    at: float
    arm: int | None = None
    decision: int | None = None
    value: float | None = None
    change: float | None = None
    expires_at: float | None = None
    key: str | None = None
    place: int | None = None
    token: str | None = None
    who: str | None = None
    body: str | None = None

    @property
    def id(self) -> str:
        """The id of a decision: its position in the log and a token that cannot be guessed."""
        return f"{self.seq:x}-{self.token}"


def new_token() -> str:
    """Return a random token, which makes the id of a decision hard to guess or mistype."""
    return secrets.token_hex(4)


def read_id(given: str) -> tuple[int, str] | None:
    """Return the position and the token in the id of a decision; None for an invalid id."""
    found = _ID.fullmatch(given)
    return (int(found[1], 16), found[2]) if found else None


_COLUMNS = ", ".join(f'"{name}"' for name in Event._fields)
#: Positions have no gaps, so this is a page. With LIMIT instead of an end, PostgreSQL would read the whole
#: log until it has statistics of the table.
_FOLLOWING = f"SELECT {_COLUMNS} FROM events WHERE seq > %d AND seq <= %d ORDER BY seq"
_INSERT = f"INSERT INTO events ({_COLUMNS}) VALUES ({', '.join('?' * len(Event._fields))})"
_TYPES = ("int8", "int8", "int2", "float8", "int4", "int8", *["float8"] * 3, "text", "int2", *["text"] * 3)
_INSERT_COLUMNS = (
    f"INSERT INTO events ({_COLUMNS}) SELECT * FROM unnest({', '.join(f'%s::{kind}[]' for kind in _TYPES)})"
)
_BEGIN = f"{BEGIN_TURN}; SELECT extract(epoch FROM clock_timestamp())::float8; {_FOLLOWING}"


def is_full(page: Sequence[Event]) -> bool:
    """Return whether there may be events after a page."""
    return len(page) == _PAGE


def begin_turn(connection: Connection, after: int) -> tuple[float, list[Event]]:
    """Begin a transaction that excludes other writers; return the time and a page of later events.

    With PostgreSQL, this is a single round trip to the server.
    """
    if connection.dialect.name == "sqlite":
        begin_sqlite_turn(connection)
        return time.time(), _page(connection, after)
    answer = _driver(connection).execute(_BEGIN % (after, after + _PAGE))
    answer.nextset()
    answer.nextset()
    (now,) = answer.fetchone()
    answer.nextset()
    return now, [Event(*row) for row in answer.fetchall()]


def end_turn(connection: Connection, rows: Sequence[Event]) -> None:
    """Append events to the log and commit."""
    if connection.dialect.name == "sqlite":
        if rows:
            connection.exec_driver_sql(_INSERT, list(map(tuple, rows)))
        connection.exec_driver_sql("COMMIT")
        return
    driver = _driver(connection)
    with driver.pipeline():
        if rows:
            driver.execute(_INSERT_COLUMNS, [list(column) for column in zip(*rows, strict=True)])
        driver.execute("COMMIT")


def _driver(connection: Connection) -> Any:
    """Return the connection of the PostgreSQL driver, which can pipeline statements."""
    return connection.connection.driver_connection


def _page(connection: Connection, after: int) -> list[Event]:
    return [Event(*row) for row in connection.exec_driver_sql(_FOLLOWING % (after, after + _PAGE))]


def last_position(connection: Connection) -> int:
    """Return the position of the last event, or 0 if there is none."""
    return last_event(connection)[0]


def last_event(connection: Connection) -> tuple[int, float]:
    """Return the position and the time of the last event, or zeros if there is none."""
    query = select(events.c.seq, events.c.at).order_by(events.c.seq.desc()).limit(1)
    found = connection.execute(query).one_or_none()
    return (0, 0.0) if found is None else (found.seq, found.at)


def read_after(connection: Connection, after: int) -> Iterator[Event]:
    """Yield all events after a position."""
    while True:
        page = _page(connection, after)
        yield from page
        if not is_full(page):
            return
        after = page[-1].seq


def read_of(connection: Connection, experiment: int, after: int, until: int) -> Iterator[Event]:
    """Yield the events of one experiment after a position, up to another."""
    while True:
        where = (events.c.experiment == experiment, events.c.seq > after, events.c.seq <= until)
        query = select(events).where(*where).order_by(events.c.seq).limit(_PAGE)
        page = [Event(*row) for row in connection.execute(query)]
        yield from page
        if not is_full(page):
            return
        after = page[-1].seq


def created(connection: Connection) -> list[Event]:
    """Return the events that created experiments."""
    # A literal number, as in the condition of the index.
    return find(connection, text(f"kind = {int(Kind.CREATED)}"))


def find(connection: Connection, where: ColumnElement[bool] | TextClause) -> list[Event]:
    """Return the events that satisfy a condition, in order.

    They are sorted here because with ORDER BY, SQLite reads the whole log instead of using an index.
    """
    found = [Event(*row) for row in connection.execute(select(events).where(where))]
    return sorted(found, key=lambda event: event.seq)


def of_decisions(connection: Connection, positions: Collection[int]) -> list[Event]:
    """Return decisions by position, with all their later events."""
    found: list[Event] = []
    for part in _parts(list(positions)):
        found += find(connection, or_(events.c.seq.in_(part), events.c.decision.in_(part)))
    return found


def with_keys(connection: Connection, experiment: int, given: Collection[str]) -> list[Event]:
    """Return the decisions of an experiment that were requested with one of these keys."""
    found: list[Event] = []
    for part in _parts(list(given)):
        found += find(
            connection,
            and_(
                text(f"kind = {int(Kind.DECISION)} AND key IS NOT NULL"),
                events.c.experiment == experiment,
                events.c.key.in_(part),
            ),
        )
    return found


def due(connection: Connection, after: float, until: float, limit: int) -> list[Event]:
    """Return decisions whose window closed between two times and that have no reward, earliest first."""
    later = events.alias()
    settled = (
        select(later.c.seq)
        .where(later.c.decision == events.c.seq, later.c.kind.in_([int(kind) for kind in SETTLING]))
        .exists()
    )
    query = (
        select(events)
        .where(events.c.expires_at > after, events.c.expires_at <= until, ~settled)
        .order_by(events.c.expires_at, events.c.seq)
        .limit(limit)
    )
    return [Event(*row) for row in connection.execute(query)]


def newest_decisions(connection: Connection, experiment: int, limit: int) -> list[Event]:
    """Return the last decisions of an experiment, newest first."""
    query = (
        select(events)
        .where(events.c.experiment == experiment, events.c.kind == Kind.DECISION)
        .order_by(events.c.seq.desc())
        .limit(limit)
    )
    return [Event(*row) for row in connection.execute(query)]


def _parts(values: list[int] | list[str]) -> Iterator[list[int] | list[str]]:
    for start in range(0, len(values), _MOST_VALUES):
        yield values[start : start + _MOST_VALUES]
