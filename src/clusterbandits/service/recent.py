"""Decisions in memory: those of late, and those that a batch of requests asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.service import log
from clusterbandits.service.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sqlalchemy import Connection

    from clusterbandits.service.log import Event

#: How many decisions stay in memory.
_MOST = 20_000


class Record:
    """A decision, and all that happened to it."""

    __slots__ = ("decision", "settled", "told")

    def __init__(self, decision: Event) -> None:
        self.decision = decision
        #: Rewards, late ones included, in order.
        self.told: list[Event] = []
        #: The event that ended the wait for a reward.
        self.settled: Event | None = None

    def add(self, event: Event) -> None:
        """Take in a later event."""
        if event.kind in log.SETTLING:
            self.settled = event
        if event.kind in {Kind.REWARD, Kind.CORRECTION, Kind.LATE}:
            self.told.append(event)

    @property
    def value(self) -> float | None:
        """The combined value of its rewards, None while there is none."""
        if self.settled is None or self.settled.value is None:
            return None
        return self.settled.value + sum(one.change or 0.0 for one in self.told if one.kind == Kind.CORRECTION)

    @property
    def status(self) -> str:
        """What became of it."""
        if self.settled is None:
            return "open"
        return {Kind.REWARD: "rewarded", Kind.DEFAULT: "defaulted"}.get(Kind(self.settled.kind), "cancelled")


class Recent:
    """A bounded number of decisions, by position and by key."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}
        self._by_key: dict[tuple[int, str], list[int]] = {}

    def add(self, event: Event) -> None:
        """Take in the next event of the log."""
        if event.kind == Kind.DECISION:
            self._records[event.seq] = Record(event)
            self._note_key(event)
        elif event.decision is not None and event.decision in self._records:
            self._records[event.decision].add(event)

    def _note_key(self, decision: Event) -> None:
        if decision.key is not None:
            known = self._by_key.setdefault((decision.experiment, decision.key), [])
            if decision.seq not in known:
                known.append(decision.seq)

    def find(self, position: int, token: str) -> Record | None:
        """Return a decision, if it is known; ``fetch`` makes it known."""
        record = self._records.get(position)
        return record if record is not None and record.decision.token == token else None

    def keyed(self, experiment: int, key: str) -> list[Event]:
        """Return the decisions that were asked for with a key; ``fetch`` makes them known."""
        return [self._records[one].decision for one in self._by_key.get((experiment, key), [])]

    def fetch(
        self, connection: Connection, positions: Collection[int], given: Mapping[int, Collection[str]]
    ) -> None:
        """Read decisions that are not in memory: by position, and by experiment and key."""
        missing = {one for one in positions if one not in self._records}
        if missing:
            self._take_in(log.of_decisions(connection, missing))
        for experiment, keys in given.items():
            unknown = {key for key in keys if (experiment, key) not in self._by_key}
            if unknown:
                found = log.with_keys(connection, experiment, unknown)
                lost = [one.seq for one in found if one.seq not in self._records]
                self._take_in(log.of_decisions(connection, lost) if lost else [])
                for decision in found:
                    self._note_key(decision)

    def _take_in(self, found: Iterable[Event]) -> None:
        """Take in events of single decisions; others with the same keys may be missing."""
        for event in found:
            if event.kind == Kind.DECISION:
                self._records[event.seq] = Record(event)
            elif event.decision in self._records:
                self._records[event.decision].add(event)

    def shrink(self) -> None:
        """Forget the decisions that were taken in first."""
        while len(self._records) > _MOST:
            record = self._records.pop(next(iter(self._records)))
            decision = record.decision
            if decision.key is not None:
                self._by_key.pop((decision.experiment, decision.key), None)
