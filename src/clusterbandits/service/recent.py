"""Decisions in memory: the most recent ones, and those that a batch of requests needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.service import log
from clusterbandits.service.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sqlalchemy import Connection

    from clusterbandits.service.log import Event

#: The number of decisions kept in memory.
_MOST = 20_000


class Record:
    """A decision and its later events."""

    __slots__ = ("decision", "rewards", "settled")

    def __init__(self, decision: Event) -> None:
        self.decision = decision
        #: The events of rewards, late ones included, in order.
        self.rewards: list[Event] = []
        #: The event that settled the decision.
        self.settled: Event | None = None

    def add(self, event: Event) -> None:
        """Add a later event."""
        if event.kind in log.SETTLING:
            self.settled = event
        if event.kind in {Kind.REWARD, Kind.CORRECTION, Kind.LATE}:
            self.rewards.append(event)

    def value(self, combine: str) -> float | None:
        """Return the combined reward: the sum or the last one; None if there is none."""
        counted = [one.value or 0.0 for one in self.rewards if one.kind != Kind.LATE]
        if counted:
            return math.fsum(counted) if combine == "sum" else counted[-1]
        return None if self.settled is None else self.settled.value

    @property
    def closed(self) -> bool:
        """Whether its window was closed without a reward."""
        return self.settled is not None and self.settled.kind != Kind.REWARD

    @property
    def status(self) -> str:
        """The status of the decision."""
        if self.settled is None:
            return "open"
        return {Kind.REWARD: "rewarded", Kind.DEFAULT: "defaulted"}.get(Kind(self.settled.kind), "cancelled")


class Recent:
    """A limited number of decisions, by position and by key."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}
        self._by_key: dict[tuple[int, str], list[int]] = {}

    def add(self, event: Event) -> None:
        """Add the next event of the log."""
        if event.kind == Kind.DECISION:
            self._keep(event)
            self._note_key(event)
        elif event.decision is not None and event.decision in self._records:
            self._records[event.decision].add(event)

    def _keep(self, decision: Event) -> None:
        # Notes and lists of arms can be long and are not needed here.
        self._records[decision.seq] = Record(decision._replace(body=None))

    def _note_key(self, decision: Event) -> None:
        if decision.key is not None:
            known = self._by_key.setdefault((decision.experiment, decision.key), [])
            if decision.seq not in known:
                known.append(decision.seq)

    def find(self, position: int, token: str) -> Record | None:
        """Return a decision if it is in memory; ``fetch`` reads missing ones."""
        record = self._records.get(position)
        return record if record is not None and record.decision.token == token else None

    def keyed(self, experiment: int, key: str) -> list[Event]:
        """Return the decisions in memory that were requested with a key; ``fetch`` reads missing ones."""
        return [self._records[one].decision for one in self._by_key.get((experiment, key), [])]

    def fetch(
        self, connection: Connection, positions: Collection[int], given: Mapping[int, Collection[str]]
    ) -> None:
        """Read decisions that are not in memory: by position, and by experiment and key."""
        missing = {one for one in positions if one not in self._records}
        if missing:
            self._take_in(log.of_decisions(connection, missing), missing)
        for experiment, keys in given.items():
            unknown = {key for key in keys if (experiment, key) not in self._by_key}
            if unknown:
                found = log.with_keys(connection, experiment, unknown)
                lost = {one.seq for one in found if one.seq not in self._records}
                if lost:
                    self._take_in(log.of_decisions(connection, lost), lost)
                for decision in found:
                    self._note_key(decision)

    def _take_in(self, found: Iterable[Event], missing: Collection[int]) -> None:
        """Add missing decisions with all their later events.

        An invalid id can lead to any event, such as a reward of a decision that is already in memory. Other
        decisions with the same key may still be missing.
        """
        for event in found:
            if event.seq in missing and event.kind == Kind.DECISION:
                self._keep(event)
            elif event.decision is not None and event.decision in missing:
                self._records[event.decision].add(event)

    def shrink(self) -> None:
        """Remove the oldest decisions."""
        while len(self._records) > _MOST:
            record = self._records.pop(next(iter(self._records)))
            decision = record.decision
            if decision.key is not None:
                self._by_key.pop((decision.experiment, decision.key), None)
