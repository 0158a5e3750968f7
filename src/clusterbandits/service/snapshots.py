"""Snapshots: the state of an experiment at a position of the log, so that workers start in seconds.

Snapshots are derived data: a deleted one is rebuilt from the log.
"""

from __future__ import annotations

import json
import logging
import secrets
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from clusterbandits.service.database import translated
from clusterbandits.service.experiment import Experiment
from clusterbandits.service.schema import snapshots

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from clusterbandits.service.database import Database
    from clusterbandits.service.log import Event

_logger = logging.getLogger("clusterbandits.service")
#: The number that stands for the database itself; its snapshot is the time up to which closed windows are
#: settled.
_DATABASE = 0
#: The number of a row that is written to see whether the database can be written, and its length.
_PROBE, _PROBE_BYTES = -1, 250_000


def read(connection: Connection) -> tuple[dict[int, str], float]:
    """Return the snapshots of experiments, and the time until which all closed windows are settled."""
    found = {row.experiment: row.body for row in connection.execute(select(snapshots))}
    swept = found.pop(_DATABASE, None)
    found.pop(_PROBE, None)
    return found, 0.0 if swept is None else float(json.loads(swept)["swept"])


def restore(created: Event, body: str | None) -> Experiment:
    """Return an experiment from its snapshot or, without a usable one, from its creation."""
    if body is not None:
        try:
            return Experiment.from_json(created, body)
        except Exception as error:  # The log is complete without the snapshot.
            _logger.warning(
                "the snapshot of %r is not usable, the log is read instead: %s", created.key, error
            )
    return Experiment(created)


class Saver:
    """Creates snapshots in the background: encoded in a separate thread, written with the next batch."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="snapshots")
        self.forget()

    def forget(self) -> None:
        """Discard snapshots that are not written yet."""
        #: New events by experiment since its last snapshot, or since the last attempt at one.
        self._new: dict[int, int] = {}
        self._encoding: dict[int, tuple[int, Future[str]]] = {}

    def count(self, experiment: int) -> None:
        """Count an event of an experiment."""
        self._new[experiment] = self._new.get(experiment, 0) + 1

    @property
    def waiting(self) -> bool:
        """Whether a snapshot is ready to be written."""
        return any(future.done() for _, future in self._encoding.values())

    def begin(self, experiments: Mapping[int, Experiment], enough: int) -> None:
        """Start to encode the experiments that have enough new events."""
        for number, new in list(self._new.items()):
            if new >= enough and number in experiments and number not in self._encoding:
                one = experiments[number]
                # Before the state is copied, so that a failure is not repeated in every batch.
                self._new[number] = 0
                self._encoding[number] = one.seq, self._pool.submit(encode, one.to_dict())

    def finish(self) -> None:
        """Wait for all snapshots that were started."""
        wait([future for _, future in self._encoding.values()])

    def write(self, connection: Connection, swept: float) -> None:
        """Write the snapshots that are ready, inside the caller's transaction."""
        ready = {number: one for number, one in self._encoding.items() if one[1].done()}
        for number in ready:
            del self._encoding[number]
        for number, (seq, future) in ready.items():
            error = future.exception()
            if error is None:
                save(connection, number, seq, future.result())
            else:
                _logger.warning("no snapshot was made of experiment %d: %s", number, error)
        save(connection, _DATABASE, 0, json.dumps({"swept": swept}))

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()


def encode(data: dict[str, Any]) -> str:
    """Return a snapshot as text."""
    return json.dumps(data, allow_nan=False)


def prove_writable(database: Database) -> None:
    """Write a row as long as a large batch, and remove it; raise an error if the database does not allow it.

    The connection is a new one, since SQLite keeps a file read-only that was so when it was opened. The row
    is committed, since a row that is removed in its transaction never reaches a full disk.
    """
    probe = snapshots.c.experiment == _PROBE
    with translated(), database.writer.connect() as connection:
        with database.exclusive(connection):
            # A worker that was killed may have left its row.
            connection.execute(snapshots.delete().where(probe))
            row = {"experiment": _PROBE, "seq": 0, "body": secrets.token_hex(_PROBE_BYTES // 2)}
            connection.execute(snapshots.insert(), [row])
        with database.exclusive(connection):
            connection.execute(snapshots.delete().where(probe))


def save(connection: Connection, experiment: int, seq: int, body: str, *, later: bool = False) -> None:
    """Replace the snapshot of an experiment; replace a later one only with ``later=True``."""
    where = snapshots.c.experiment == experiment
    known = connection.execute(select(snapshots.c.seq).where(where)).scalar_one_or_none()
    if known is None:
        connection.execute(snapshots.insert(), [{"experiment": experiment, "seq": seq, "body": body}])
    elif later or known <= seq:
        connection.execute(snapshots.update().where(where).values(seq=seq, body=body))
