"""The log, snapshots and keys."""

from typing import Any

from alembic import op
from sqlalchemy import BigInteger, Column, Float, Integer, SmallInteger, String, Text, text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_POSITION = BigInteger().with_variant(Integer, "sqlite")
_NUMBER = Float(precision=53)


def _index(name: str, columns: list[str], where: str | None = None, *, unique: bool = False) -> None:
    partial: dict[str, Any] = {}
    if where is not None:
        partial = {"sqlite_where": text(where), "postgresql_where": text(where)}
    op.create_index(name, "events", columns, unique=unique, **partial)


def upgrade() -> None:
    """Create the tables of the first release."""
    op.create_table(
        "events",
        Column("seq", _POSITION, primary_key=True, autoincrement=False),
        Column("experiment", _POSITION, nullable=False),
        Column("kind", SmallInteger, nullable=False),
        Column("at", _NUMBER, nullable=False),
        Column("arm", Integer),
        Column("decision", _POSITION),
        Column("value", _NUMBER),
        Column("change", _NUMBER),
        Column("expires_at", _NUMBER),
        Column("key", Text),
        Column("place", SmallInteger),
        Column("token", String(16)),
        Column("who", Text),
        Column("body", Text),
    )
    _index("events_of_experiment", ["experiment", "seq"])
    _index("events_by_name", ["key"], "kind = 1", unique=True)
    _index("events_by_key", ["experiment", "key", "place"], "kind = 3 AND key IS NOT NULL", unique=True)
    _index("events_of_decision", ["decision"], "decision IS NOT NULL")
    _index("events_by_expiry", ["expires_at"], "expires_at IS NOT NULL")
    op.create_table(
        "snapshots",
        Column("experiment", _POSITION, primary_key=True, autoincrement=False),
        Column("seq", _POSITION, nullable=False),
        Column("body", Text, nullable=False),
    )
    op.create_table(
        "api_keys",
        Column("id", String(16), primary_key=True),
        Column("name", Text, nullable=False),
        Column("hash", String(64), nullable=False),
        Column("roles", Text, nullable=False),
        Column("experiments", Text),
        Column("created_at", _NUMBER, nullable=False),
        Column("revoked_at", _NUMBER),
    )
