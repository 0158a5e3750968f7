"""The tables: the append-only log, the snapshots derived from it, and the API keys."""

from __future__ import annotations

from enum import IntEnum

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    text,
)

metadata = MetaData()

#: SQLite assigns row numbers only to INTEGER PRIMARY KEY.
_POSITION = BigInteger().with_variant(Integer, "sqlite")
_NUMBER = Float(precision=53)


class Kind(IntEnum):
    """The kinds of events in the log."""

    #: An experiment was created; ``key`` is its name.
    CREATED = 1
    #: The experiment was changed, paused, ...; ``body`` has the details.
    CHANGED = 2
    #: An arm was chosen.
    DECISION = 3
    #: The first reward of a decision.
    REWARD = 4
    #: A further reward of a decision, which changes its combined value by ``change``.
    CORRECTION = 5
    #: A reward that arrived after the window had closed; the policy does not learn from it.
    LATE = 6
    #: The window closed without a reward, and the default reward was learned.
    DEFAULT = 7
    #: The window closed without a reward, and there is no default.
    CANCELLED = 8


#: All events of all experiments. Rows are only appended, with ``seq`` 1, 2, 3, ... without gaps.
events = Table(
    "events",
    metadata,
    Column("seq", _POSITION, primary_key=True, autoincrement=False),
    #: The ``seq`` at which its experiment was created.
    Column("experiment", _POSITION, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("at", _NUMBER, nullable=False),
    Column("arm", Integer),
    #: The ``seq`` of the decision that a reward belongs to.
    Column("decision", _POSITION),
    Column("value", _NUMBER),
    Column("change", _NUMBER),
    Column("expires_at", _NUMBER),
    Column("key", Text),
    #: The index of a decision among those of one request.
    Column("place", SmallInteger),
    #: The part of a decision's id that cannot be guessed.
    Column("token", String(16)),
    Column("who", Text),
    Column("body", Text),
)
Index("events_of_experiment", events.c.experiment, events.c.seq)
Index(
    "events_by_name",
    events.c.key,
    unique=True,
    sqlite_where=text("kind = 1"),
    postgresql_where=text("kind = 1"),
)
_KEYED = text("kind = 3 AND key IS NOT NULL")
Index(
    "events_by_key",
    events.c.experiment,
    events.c.key,
    events.c.place,
    unique=True,
    sqlite_where=_KEYED,
    postgresql_where=_KEYED,
)
_OF_DECISION = text("decision IS NOT NULL")
Index("events_of_decision", events.c.decision, sqlite_where=_OF_DECISION, postgresql_where=_OF_DECISION)
_EXPIRES = text("expires_at IS NOT NULL")
Index("events_by_expiry", events.c.expires_at, sqlite_where=_EXPIRES, postgresql_where=_EXPIRES)

#: The state of an experiment at one position of the log, so that a worker need not read all of it.
snapshots = Table(
    "snapshots",
    metadata,
    Column("experiment", _POSITION, primary_key=True, autoincrement=False),
    Column("seq", _POSITION, nullable=False),
    Column("body", Text, nullable=False),
)

keys = Table(
    "api_keys",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    #: SHA-256 of the secret part, which has 256 random bits.
    Column("hash", String(64), nullable=False),
    Column("roles", Text, nullable=False),
    #: A JSON list of experiments, or NULL for all.
    Column("experiments", Text),
    Column("created_at", _NUMBER, nullable=False),
    Column("revoked_at", _NUMBER),
)
