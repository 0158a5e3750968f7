"""The engine of a worker: it follows the log, and appends to it in batches that are committed atomically.

Only one writer of a database works at a time. It first reads the events that others have added, then performs
its requests on up-to-date experiments, appends their events, and commits. So decisions include all rewards
that were acknowledged before, events have a single order, and all workers agree. Requests that arrive during
a commit form the next batch, so they share one commit.
"""

from __future__ import annotations

import logging
import time
import warnings
from typing import TYPE_CHECKING, Any

from clusterbandits.errors import ClusterBanditsError, WidthWarning
from clusterbandits.service import log, snapshots
from clusterbandits.service.database import translated
from clusterbandits.service.experiment import Experiment
from clusterbandits.service.log import Event
from clusterbandits.service.operations import Write, warm_up
from clusterbandits.service.recent import Recent
from clusterbandits.service.refusals import RefusedError, UnavailableError, sentence_of
from clusterbandits.service.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from clusterbandits.service.database import Database
    from clusterbandits.service.keys import KeyRing
    from clusterbandits.service.operations import Operation

    Join = Callable[[], list[Operation]]

_logger = logging.getLogger("clusterbandits.service")
#: Seconds between two checks for closed windows.
_SWEEP_SECONDS = 0.5
_SWEPT_AT_ONCE = 1_000
#: Seconds between two reads of the keys, for which a revoked key may still be accepted.
_KEYS_SECONDS = 1.0
#: A start reads about this many events that are newer than the snapshots, of all experiments together; but
#: an experiment is saved only when it has this many new events.
_EVENTS_PER_START, _EVENTS_PER_SNAPSHOT = 20_000, 1_000


def _nobody() -> list[Operation]:
    """Return no further requests for a batch."""
    return []


class Batch:
    """Requests that are performed at the same time and committed together."""

    def __init__(self, engine: Engine, now: float) -> None:
        self.engine, self.now = engine, now
        self.rows: list[Event] = []

    def add(self, one: Experiment, kind: Kind, **columns: Any) -> Event:
        """Append an event of an experiment and apply it."""
        event = Event(self.engine.seq + 1, one.number, int(kind), self.now, **columns)
        one.record(event)
        self._append(event)
        return event

    def create(self, **columns: Any) -> Experiment:
        """Append the event that creates an experiment."""
        position = self.engine.seq + 1
        event = Event(position, position, int(Kind.CREATED), self.now, **columns)
        made = self.engine.take_up(Experiment(event))
        self._append(event)
        return made

    def _append(self, event: Event) -> None:
        self.rows.append(event)
        self.engine.moved_to(event)


class Engine:
    """All experiments of a database, up to the position in the log that was read.

    Only one thread uses it; other threads send their requests to that thread (see ``writer``).
    """

    def __init__(self, database: Database, ring: KeyRing) -> None:
        # Alarms are part of the state that readers see, so warnings are not needed.
        warnings.filterwarnings("ignore", category=WidthWarning)
        self.database, self.ring = database, ring
        self._connection: Connection | None = None
        self._keys_read = self._swept_at = -1e9
        self.saver = snapshots.Saver()
        self._lost = False
        #: Why the last write failed; writes are refused until the database accepts a trial.
        self.unwritable: str | None = None
        #: A position in the log and a time until which no window closes unless there are later events.
        self._idle = 0, 0.0
        #: Policies and reward families that were compiled.
        self._compiled: set[tuple[str, str]] = set()
        self.forget()

    def forget(self) -> None:
        """Discard the state in memory, which may differ from what was committed."""
        self.experiments: dict[str, Experiment] = {}
        self.by_number: dict[int, Experiment] = {}
        self.recent = Recent()
        #: The state of experiments as JSON, and their rows in a list, with the position of the last event.
        self.described: dict[str, tuple[int, bytes]] = {}
        self.listed: dict[str, tuple[int, dict[str, Any]]] = {}
        self.seq, self.last_at, self.swept, self.loaded = 0, 0.0, 0.0, False
        self.saver.forget()
        if self._connection is not None:
            connection, self._connection = self._connection, None
            try:
                connection.invalidate()
                connection.close()
            except Exception:  # The connection is lost in any case.
                _logger.debug("closing a broken connection", exc_info=True)

    def take_up(self, one: Experiment) -> Experiment:
        """Add an experiment to those that are served."""
        self.experiments[one.name] = self.by_number[one.number] = one
        return one

    def moved_to(self, event: Event) -> None:
        """Record that an event was applied."""
        self.seq, self.last_at = event.seq, max(self.last_at, event.at)
        self.recent.add(event)
        self.saver.count(event.experiment)

    def perform(self, operations: list[Operation], join: Join = _nobody) -> list[Any]:
        """Perform requests; return for each its result, or the exception that refuses it.

        If another worker must finish first, ``join`` returns the requests that arrived meanwhile. They are
        performed too and added to the list.
        """
        writing = any(one.writes for one in operations)
        if writing and self.unwritable is not None:
            return [
                UnavailableError(self.unwritable) if one.writes else self.perform([one])[0]
                for one in operations
            ]
        try:
            with translated():
                return self._perform(operations, join)
        except UnavailableError as error:
            self._lose(error)
            if writing:
                self._try_to_write()
            return [UnavailableError(str(error)) for _ in operations]
        except Exception as error:
            self.forget()
            if len(operations) <= 1:
                _logger.exception("a request failed")
                return [error] * len(operations)
            # One request caused the failure: repeat the others separately.
            return [self.perform([one])[0] for one in operations]

    def _perform(self, operations: list[Operation], join: Join) -> list[Any]:
        connection = self._ready()
        if any(one.writes for one in operations):
            written = iter(self._write(connection, operations, join))
            self._save(connection)
        else:
            self._follow(connection)
            written = iter(())
        # Reads do not need to exclude other writers.
        return self._read(operations, written)

    def _read(self, operations: list[Operation], written: Iterator[Any]) -> list[Any]:
        """Perform the requests that only read; return the outcomes of all requests.

        The events of the batch are committed, so a failure must not lead to a repetition of the batch.
        """
        batch, outcomes, failed = Batch(self, self.last_at), [], False
        for one in operations:
            try:
                outcomes.append(next(written) if one.writes else _outcome(one, batch))
            except Exception as error:
                _logger.exception("a request failed")
                outcomes.append(error)
                failed = True
        if failed:
            self.forget()
        return outcomes

    def _write(self, connection: Connection, operations: list[Operation], join: Join) -> list[Any]:
        """Perform in one transaction the requests that may append to the log."""
        now, missed = log.begin_turn(connection, self.seq)
        operations += join()
        self._take_in(missed)
        if log.is_full(missed):
            self._follow(connection)
        self.last_at = max(now, self.last_at)
        batch = Batch(self, self.last_at)
        self._fetch(connection, operations)
        outcomes = [_outcome(one, batch) for one in operations if one.writes]
        self._sweep(connection, batch)
        log.end_turn(connection, batch.rows)
        self.recent.shrink()
        return outcomes

    def _save(self, connection: Connection) -> None:
        """Start and finish snapshots; after a failure, the next worker only starts more slowly.

        No failure is passed on: the events of the batch are committed, and the batch must not be repeated.
        """
        try:
            enough = max(_EVENTS_PER_START // max(len(self.by_number), 1), _EVENTS_PER_SNAPSHOT)
            self.saver.begin(self.by_number, enough)
            if self.saver.waiting:
                with translated(), self.database.exclusive(connection):
                    self.saver.write(connection, self.swept)
        except ClusterBanditsError as error:
            _logger.warning("a snapshot was not saved: %s", error)
        except Exception:
            _logger.exception("a snapshot was not saved")

    def tick(self) -> None:
        """Follow the log, settle closed windows, and read the keys, each when it is due."""
        if self.unwritable is not None:
            self._try_to_write()
        try:
            with translated():
                connection = self._ready()
                self._follow(connection)
                if time.monotonic() - self._keys_read >= _KEYS_SECONDS:
                    self.ring.refresh(connection)
                    self._keys_read = time.monotonic()
                now = max(time.time(), self.last_at)
                since = max(self.swept, self._idle[1] if self._idle[0] == self.seq else 0.0)
                due = log.due(connection, since, now, 1)
            if due or self.saver.waiting:
                self._swept_at = -1e9
                self.perform([_NOTHING])
            else:
                # Later decisions have later times.
                self.swept = max(self.swept, self.last_at)
                self._idle = self.seq, now
        except UnavailableError as error:
            self._lose(error)

    def _try_to_write(self) -> None:
        """Find out whether the database accepts writes; requests that write are refused while it does not."""
        try:
            snapshots.prove_writable(self.database)
        except UnavailableError as error:
            self.unwritable = str(error)
            return
        if self.unwritable is not None:
            self.unwritable = None
            self.forget()

    def _found_again(self) -> None:
        if self._lost and self.unwritable is None:
            _logger.info("the database is available again")
            self._lost = False

    def _lose(self, error: UnavailableError) -> None:
        """Discard the state after a database failure; log the failure once, not at every attempt."""
        if not self._lost:
            _logger.warning("%s", error)
        self._lost = True
        self.forget()

    def close(self) -> None:
        """Save all experiments and release the connection."""
        try:
            with translated():
                connection = self._ready()
                self._follow(connection)
                self.saver.begin(self.by_number, 1)
                self.saver.finish()
                self._save(connection)
        except ClusterBanditsError as error:
            _logger.warning("%s", error)
        self.forget()
        self.saver.close()

    def _ready(self) -> Connection:
        """Return the connection; load the experiments if that has not been done."""
        if self._connection is None:
            self._connection = self.database.writer.connect()
        if not self.loaded:
            self._load(self._connection)
        return self._connection

    def _load(self, connection: Connection) -> None:
        saved, self.swept = snapshots.read(connection)
        until, self.last_at = log.last_event(connection)
        # The clock may have been set back; the next decision is later than the last event.
        self.swept = min(self.swept, self.last_at)
        for created in log.created(connection):
            if created.seq <= until:
                one = snapshots.restore(created, saved.get(created.seq))
                for event in log.read_of(connection, one.number, one.seq, until):
                    one.apply(event)
                    self.saver.count(one.number)
                self.take_up(one)
        self._compile()
        self.seq, self.loaded = until, True
        self._found_again()
        self.ring.refresh(connection)

    def _compile(self) -> None:
        """Compile what the loaded experiments need, before the service is ready.

        After a failure, requests compile what they need: the service must not depend on it.
        """
        kinds = {(one.plan.policy, one.plan.family): one.plan for one in self.by_number.values()}
        for kind in kinds.keys() - self._compiled:
            self._compiled.add(kind)
            try:
                warm_up(kinds[kind])
            except Exception:
                _logger.exception("the policy %s could not be compiled in advance", kind[0])

    def _follow(self, connection: Connection) -> None:
        """Read and apply the events that other workers have added."""
        self._take_in(log.read_after(connection, self.seq))

    def _take_in(self, added: Iterable[Event]) -> None:
        """Apply events of other workers."""
        self.recent.shrink()
        for event in added:
            if event.kind == Kind.CREATED:
                self.take_up(Experiment(event))
            else:
                self.by_number[event.experiment].apply(event)
            self.moved_to(event)

    def _fetch(self, connection: Connection, operations: Sequence[Operation]) -> None:
        """Read the decisions that requests need."""
        given: dict[int, set[str]] = {}
        for operation in operations:
            found = operation.key()
            if found is not None and found[0] in self.experiments:
                given.setdefault(self.experiments[found[0]].number, set()).add(found[1])
        positions = {position for operation in operations for position in operation.positions()}
        self.recent.fetch(connection, positions, given)

    def _sweep(self, connection: Connection, batch: Batch) -> None:
        """Settle decisions whose window has closed: with the default reward or, without one, as cancelled."""
        if time.monotonic() - self._swept_at < _SWEEP_SECONDS:
            return
        self._swept_at = time.monotonic()
        settled = {row.decision for row in batch.rows if row.kind in log.SETTLING}
        found = log.due(connection, self.swept, batch.now, _SWEPT_AT_ONCE)
        for decision in found:
            if decision.seq not in settled:
                one = self.by_number[decision.experiment]
                value = one.plan.default_reward
                kind = Kind.CANCELLED if value is None else Kind.DEFAULT
                batch.add(one, kind, arm=decision.arm, decision=decision.seq, value=value)
        if len(found) < _SWEPT_AT_ONCE:
            self.swept = batch.now
        else:
            # More decisions may expire at the same time as the last one found.
            last = found[-1].expires_at
            before = [one.expires_at for one in found if one.expires_at != last]
            self.swept = max((when for when in before if when is not None), default=self.swept)
            self._swept_at = -1e9


class _Nothing(Write):
    """A request without effect, which triggers a batch."""

    def run(self, batch: Batch) -> None:
        del batch


_NOTHING = _Nothing()


def _outcome(operation: Operation, batch: Batch) -> Any:
    """Return the result of a request, or the exception that refuses it."""
    try:
        return operation.run(batch)
    except RefusedError as refusal:
        return refusal
    except ClusterBanditsError as error:
        return RefusedError(422, sentence_of(error))
