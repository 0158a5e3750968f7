"""The operations of rewards: counted once, combined, late, or refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterbandits.errors import ClusterBanditsError
from clusterbandits.service.log import Event, read_id
from clusterbandits.service.operations import Write
from clusterbandits.service.refusals import RefusedError, sentence_of, status_of
from clusterbandits.service.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterbandits.service.engine import Batch
    from clusterbandits.service.experiment import Experiment
    from clusterbandits.service.keys import Caller
    from clusterbandits.service.recent import Record

#: The status in a list of rewards by HTTP status.
_WORDS = {403: "forbidden", 404: "unknown", 409: "conflict", 410: "late", 422: "invalid"}


@dataclass
class Reward(Write):
    """Record the reward of a decision; a repeated one counts once."""

    id: str
    value: float
    idempotency: str
    caller: Caller
    place: tuple[int, str] | None = field(init=False)

    def __post_init__(self) -> None:
        self.place = read_id(self.id)

    def positions(self) -> Iterable[int]:
        """Return the position of the decision."""
        return () if self.place is None else (self.place[0],)

    def run(self, batch: Batch) -> dict[str, Any]:
        """Return whether it was counted or repeats an earlier one, and the combined value."""
        record = None if self.place is None else batch.engine.recent.find(*self.place)
        if record is None:
            raise RefusedError(404, f"There is no decision {self.id!r}.")
        one = batch.engine.by_number[record.decision.experiment]
        self.caller.check_scope(one.name)
        value = one.policy.family.read_total(self.value, 1, "reward", "value")
        repeated = self._repeats(record, value, first_counts=one.plan.combine == "first")
        expires_at = record.decision.expires_at
        if record.closed or (expires_at is not None and batch.now > expires_at):
            self._refuse_late(batch, one, record, value, repeated)
        if repeated is not None:
            return {"id": self.id, "status": "repeated", "value": record.value(one.plan.combine)}
        if record.settled is None:
            self._add(batch, one, record, Kind.REWARD, value)
        else:
            self._combine(batch, one, record, value)
        return {"id": self.id, "status": "counted", "value": record.value(one.plan.combine)}

    def _refuse_late(
        self, batch: Batch, one: Experiment, record: Record, value: float, repeated: Event | None
    ) -> None:
        """Record a late reward and refuse it, unless it repeats one that arrived in time."""
        if repeated is None:
            self._add(batch, one, record, Kind.LATE, value)
        elif repeated.kind != Kind.LATE:
            return
        raise RefusedError(410, f"The window of decision {self.id!r} has closed; the reward is not learned.")

    def _repeats(self, record: Record, value: float, *, first_counts: bool) -> Event | None:
        """Return the reward that this one repeats; if only the first reward counts, keys are ignored."""
        for reward in record.rewards:
            if reward.value == value and (first_counts or (reward.key or "") == self.idempotency):
                return reward
        return None

    def _combine(self, batch: Batch, one: Experiment, record: Record, value: float) -> None:
        before = record.value(one.plan.combine) or 0.0
        same_key = any((reward.key or "") == self.idempotency for reward in record.rewards)
        if one.plan.combine == "first" or (one.plan.combine == "sum" and same_key):
            raise RefusedError(409, f"Decision {self.id!r} already has another reward: {before:g}.")
        combined = value if one.plan.combine == "last" else before + value
        if not one.policy.family.supports(combined, 1):
            raise RefusedError(
                422,
                f"Decision {self.id!r} already has the reward {before:g}; together with {value:g} it is "
                f"{combined:g}, which {one.plan.family} rewards cannot be.",
            )
        self._add(batch, one, record, Kind.CORRECTION, value, change=combined - before)

    def _add(
        self,
        batch: Batch,
        one: Experiment,
        record: Record,
        kind: Kind,
        value: float,
        change: float | None = None,
    ) -> None:
        batch.add(
            one,
            kind,
            arm=record.decision.arm,
            decision=record.decision.seq,
            value=value,
            change=change,
            key=self.idempotency or None,
            who=self.caller.name,
        )


@dataclass
class Rewards(Write):
    """Record many rewards, each of which succeeds or fails independently."""

    rewards: list[Reward]

    def __post_init__(self) -> None:
        self.size = len(self.rewards)

    def positions(self) -> Iterable[int]:
        """Return the positions of all decisions."""
        return (position for one in self.rewards for position in one.positions())

    def run(self, batch: Batch) -> list[dict[str, Any]]:
        """Return one result per reward."""
        return [self._run(batch, one) for one in self.rewards]

    @staticmethod
    def _run(batch: Batch, one: Reward) -> dict[str, Any]:
        try:
            return {**one.run(batch), "code": 200, "detail": None}
        except ClusterBanditsError as error:
            code = status_of(error)
            return {
                "id": one.id,
                "status": _WORDS[code],
                "value": None,
                "code": code,
                "detail": sentence_of(error),
            }
