"""API keys: create, list, revoke, and look up in constant time."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import select

from clusterbandits.service.refusals import RefusedError, UnavailableError
from clusterbandits.service.schema import keys
from clusterbandits.tables import Table
from clusterbandits.validate import Described, invalid, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

ROLES = ("decide", "reward", "read", "admin")
_KEY = re.compile(r"cb_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Caller:
    """The sender of a request, and its permissions."""

    id: str
    name: str
    roles: frozenset[str]
    #: The experiments that it may use; None for all.
    experiments: frozenset[str] | None = None

    def check(self, role: str, experiment: str | None = None) -> None:
        """Refuse a request that the key does not permit."""
        if role not in self.roles and "admin" not in self.roles:
            raise RefusedError(403, f"This key lacks the role {role!r}.")
        if experiment is not None:
            self.check_scope(experiment)

    def check_scope(self, experiment: str) -> None:
        """Refuse an experiment outside the scope of the key."""
        if self.experiments is not None and experiment not in self.experiments:
            raise RefusedError(403, "This key does not allow access to that experiment.")

    def sees(self, experiment: str) -> bool:
        """Return whether an experiment is in the scope of the key."""
        return self.experiments is None or experiment in self.experiments


#: The caller of all requests if keys are not required.
ANYBODY = Caller("insecure", "insecure", frozenset(ROLES))


@dataclass(frozen=True)
class StoredKey:
    """A key as stored in the database, without its secret."""

    id: str
    name: str
    hash: str
    roles: tuple[str, ...]
    experiments: tuple[str, ...] | None
    created_at: float
    revoked_at: float | None


def add_key(
    connection: Connection, name: str, roles: Iterable[str], experiments: Iterable[str] | None = None
) -> str:
    """Store a new key and return it; its secret part is not stored and cannot be shown again."""
    chosen = tuple(dict.fromkeys(roles))
    if not chosen or not set(chosen) <= set(ROLES):
        raise invalid(
            "role", "keys", f"one or more of {', '.join(ROLES)}", Described(", ".join(chosen) or "none")
        )
    if not (name.strip() and name.isprintable() and len(name) <= _LONGEST_NAME):
        raise invalid("name", "keys", f"1 to {_LONGEST_NAME} printable characters", name)
    identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = {
        "id": identity,
        "name": name,
        "hash": _hash(secret),
        "roles": json.dumps(chosen),
        "experiments": None if experiments is None else json.dumps(list(experiments)),
        "created_at": time.time(),
    }
    connection.execute(keys.insert(), [row])
    return f"cb_{identity}_{secret}"


def list_keys(connection: Connection) -> list[StoredKey]:
    """Return all keys, revoked ones included, oldest first."""
    return [
        StoredKey(
            row.id,
            row.name,
            row.hash,
            tuple(json.loads(row.roles)),
            None if row.experiments is None else tuple(json.loads(row.experiments)),
            row.created_at,
            row.revoked_at,
        )
        for row in connection.execute(select(keys).order_by(keys.c.created_at, keys.c.id))
    ]


def revoke_key(connection: Connection, identity: str) -> None:
    """Revoke a key; workers refuse it within seconds. Revoking it again changes nothing."""
    found = list_keys(connection)
    where = (keys.c.id == identity, keys.c.revoked_at.is_(None))
    connection.execute(keys.update().where(*where).values(revoked_at=time.time()))
    if identity not in {key.id for key in found}:
        valid = [key.id for key in found if key.revoked_at is None]
        raise unknown("key", identity, valid, "among the valid keys", parameter="id", owner="keys")


def keys_table(found: Sequence[StoredKey]) -> Table:
    """Return a table of keys for display."""
    rows = tuple(
        (
            one.id,
            one.name,
            ", ".join(one.roles),
            "all" if one.experiments is None else ", ".join(one.experiments),
            datetime.fromtimestamp(one.created_at, UTC).strftime("%Y-%m-%d"),
            "no" if one.revoked_at is None else "yes",
        )
        for one in found
    )
    return Table(("id", "name", "roles", "experiments", "created", "revoked"), rows)


class KeyRing:
    """The valid keys at the last refresh. Threads may share it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, Caller]] | None = None

    def refresh(self, connection: Connection) -> None:
        """Read all keys again."""
        self._known = {
            one.id: (
                one.hash,
                Caller(
                    one.id,
                    one.name,
                    frozenset(one.roles),
                    None if one.experiments is None else frozenset(one.experiments),
                ),
            )
            for one in list_keys(connection)
            if one.revoked_at is None
        }

    def holds(self, caller: Caller) -> bool:
        """Return whether a caller's key is still valid."""
        return caller is ANYBODY or (self._known is not None and caller.id in self._known)

    def find(self, given: str) -> Caller | None:
        """Return the caller with this key, or None for an unknown key."""
        if self._known is None:
            raise UnavailableError("The service is starting; try again in a second.")
        parts = _KEY.fullmatch(given)
        if parts is None:
            return None
        # An unknown key is compared too, so that it takes as long as a wrong secret.
        expected, caller = self._known.get(parts[1], ("", None))
        return caller if hmac.compare_digest(_hash(parts[2]), expected) else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
