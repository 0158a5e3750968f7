"""The state of an experiment, computed from its log: all workers apply the same events in the same order.

Workers that decide and workers that follow the log run the same code, so they have identical policies,
including the random stream. The recorded choices are authoritative: if the arithmetic of another machine
leads to another choice, the policy there still awaits the reward of the recorded arm.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.policies import Policy
from clusterbandits.serial import to_json
from clusterbandits.service.plan import Plan, read_plan
from clusterbandits.service.schema import Kind
from clusterbandits.service.series import Series
from clusterbandits.validate import Described, invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clusterbandits.service.log import Event

RUNNING, PAUSED, ARCHIVED = "running", "paused", "archived"
#: The state after each of these changes.
STATES = {"paused": PAUSED, "resumed": RUNNING, "archived": ARCHIVED}
_FORMAT = 1


@dataclass(frozen=True)
class Asked:
    """The content of a request for decisions: available arms, and a note."""

    #: The available arms as a bit mask in hexadecimal; None for all.
    available: str | None = None
    note: dict[str, Any] | None = None
    explored: bool = False

    def to_text(self, *, explored: bool) -> str | None:
        """Return the body of the decision's event, or None if it is empty."""
        data = {"available": self.available, "note": self.note, "explored": explored or None}
        said = {key: value for key, value in data.items() if value is not None}
        return json.dumps(said) if said else None

    @classmethod
    def of(cls, decision: Event) -> Asked:
        """Return the request of a decision, read from its event."""
        data = json.loads(decision.body) if decision.body else {}
        return cls(data.get("available"), data.get("note"), bool(data.get("explored")))


class Experiment:
    """The settings, the policy and the counts of one experiment at a position in the log.

    Not thread-safe: only the thread that applies events uses it.
    """

    def __init__(self, created: Event) -> None:
        body = json.loads(created.body or "")
        self.number, self.created_at, self.seq = created.seq, created.at, created.seq
        self.salt: str = body["salt"]
        #: The plan at creation, to recognise a repeated request.
        self.first_plan = self.plan = read_plan(body["plan"])
        self.state = RUNNING
        self.policy: Policy = self.plan.begin_policy()
        self.numbers = {label: number for number, label in enumerate(self.arms)}
        self.decisions: NDArray[np.int64] = np.zeros(len(self.arms), dtype=np.int64)
        self.late = self.defaulted = self.cancelled = 0
        #: The number of decisions that this machine would have made differently.
        self.differing = 0
        self.series = Series()

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.plan.name

    @property
    def arms(self) -> tuple[str, ...]:
        """All arms by number, retired ones included."""
        return self.policy.clusters.arms  # type: ignore[return-value]

    def group_of(self, arm: int) -> str:
        """Return the group of an arm by number."""
        return str(self.policy.clusters.partition.cluster_names[arm])

    def number_of(self, label: str, field: str = "arm") -> int:
        """Return the number of an arm in a field of a request; refuse an unknown arm."""
        if label not in self.numbers:
            raise invalid(field, self.name, "an arm of the experiment", label)
        return self.numbers[label]

    def open_arms(self, available: Sequence[str] | None) -> list[str]:
        """Return the arms that may be chosen, in the order of their numbers."""
        retired = set(self.policy.retired)
        if available is None:
            return [arm for arm in self.arms if arm not in retired]
        wanted = set(available)
        for label in available:
            self.number_of(label, "available")
        found = [arm for arm in self.arms if arm in wanted and arm not in retired]
        if not found:
            allowed = "at least one arm that is not retired"
            raise invalid("available", self.name, allowed, Described(f"{len(wanted)} arms"))
        return found

    def mask(self, labels: Sequence[str]) -> str:
        """Return arms as a bit mask in hexadecimal."""
        return f"{sum(1 << self.numbers[label] for label in labels):x}"

    def unmasked(self, mask: str | None) -> list[str] | None:
        """Return the arms of a mask."""
        if mask is None:
            return None
        bits = int(mask, 16)
        return [label for number, label in enumerate(self.arms) if bits >> number & 1]

    def choose(self, seq: int, available: Sequence[str] | None) -> tuple[int, bool]:
        """Choose the arm of the decision at a position; return it and whether it was drawn uniformly.

        The policy then awaits the reward. Uniform draws depend only on the position.
        """
        if self.plan.explore > 0:
            found = hashlib.blake2b(f"{self.salt}:{seq}".encode(), digest_size=16).digest()
            if int.from_bytes(found[:8]) / 2**64 < self.plan.explore:
                candidates = self.open_arms(available)
                label = candidates[int.from_bytes(found[8:]) * len(candidates) >> 64]
                self.policy.expect(label)
                return self.numbers[label], True
        label = self.policy.ask() if available is None else self.policy.ask(available=available)
        return self.numbers[label], False

    def apply(self, event: Event) -> None:
        """Apply an event that another worker has recorded, or that was recorded earlier."""
        if event.kind == Kind.DECISION:
            arm, _ = self.choose(event.seq, self.unmasked(Asked.of(event).available))
            if arm != event.arm:
                self.differing += 1
                self.policy.cancel(self.arms[arm])
                self.policy.expect(self.arms[event.arm or 0])
        self.record(event)

    def record(self, event: Event) -> None:
        """Count an event; for a decision, the policy already awaits the reward."""
        match event.kind:
            case Kind.DECISION:
                self._count_decision(event)
            case Kind.REWARD | Kind.DEFAULT:
                self.policy.tell(self.arms[event.arm or 0], event.value or 0.0)
                self.defaulted += event.kind == Kind.DEFAULT
            case Kind.CORRECTION:
                self.policy.correct(self.arms[event.arm or 0], event.change or 0.0)
            case Kind.CANCELLED:
                self.policy.cancel(self.arms[event.arm or 0])
                self.cancelled += 1
            case Kind.LATE:
                self.late += 1
            case Kind.CHANGED:
                self._change(json.loads(event.body or "{}"), event.seq)
        self.seq = event.seq

    def _count_decision(self, event: Event) -> None:
        assert event.arm is not None
        self.decisions[event.arm] += 1
        number = int(self.decisions.sum())
        if number % self.series.stride == 0:
            groups = [int(self.decisions[part].sum()) for part in self.policy.clusters.partition.members]
            self.series.add(event.at, groups, *self.own_rewards())

    def own_rewards(self) -> tuple[int, float]:
        """Return the number of learned rewards and their total, without the history."""
        before = list(self.plan.history.values())
        learned = sum(self.policy.pulls.values()) - sum(int(pulls) for pulls, _ in before)
        return learned, math.fsum([*self.policy.totals.values(), *(-total for _, total in before)])

    def _change(self, body: dict[str, Any], seq: int) -> None:
        kind = body["change"]
        if kind in STATES:
            self.state = STATES[kind]
        elif kind == "arm added":
            self.policy.add_arm(body["arm"], body["group"])
            self.numbers[body["arm"]] = len(self.numbers)
            self.decisions = np.append(self.decisions, 0)
        elif kind == "arm retired":
            self.policy.retire_arm(body["arm"])
        elif kind == "arm restored":
            self.policy.restore_arm(body["arm"])
        else:
            self.plan, policy = self.with_changes(body["settings"])
            if policy is not self.policy and policy.randomised:
                # A new policy begins its random stream; every change must not repeat the same draws.
                policy._draw_from(np.random.default_rng([int(self.salt, 16), seq]))
            self.policy = policy

    def with_changes(self, changes: dict[str, Any]) -> tuple[Plan, Policy]:
        """Return the plan and the policy with other settings; the policy keeps all observations."""
        plan = self.plan.changed(changes)
        if (plan.widths, plan.policy, plan.settings) == (
            self.plan.widths,
            self.plan.policy,
            self.plan.settings,
        ):
            return plan, self.policy
        policy = plan.make_policy(self.policy.clusters)
        policy.take_over(self.policy)
        return plan, policy

    def to_dict(self) -> dict[str, Any]:
        """Return the complete state at this position as plain data."""
        return {
            "format": _FORMAT,
            "seq": self.seq,
            "plan": self.plan.to_dict(),
            "state": self.state,
            "policy": self.policy.to_json(),
            "decisions": self.decisions.tolist(),
            "counts": [self.late, self.defaulted, self.cancelled, self.differing],
            "series": self.series.to_dict(),
        }

    @classmethod
    def from_json(cls, created: Event, body: str) -> Experiment:
        """Return the experiment from the JSON of its ``to_dict``."""
        data, made = json.loads(body), cls(created)
        if data["format"] != _FORMAT:
            raise invalid("format", "snapshot", f"{_FORMAT}", data["format"])
        made.plan, made.state, made.seq = read_plan(data["plan"]), data["state"], data["seq"]
        made.policy = Policy.from_json(data["policy"])
        made.numbers = {label: number for number, label in enumerate(made.arms)}
        made.decisions = np.array(data["decisions"], dtype=np.int64)
        if made.decisions.shape != (len(made.arms),):
            raise invalid("decisions", "snapshot", "a number for every arm", made.decisions.shape)
        made.late, made.defaulted, made.cancelled, made.differing = data["counts"]
        made.series = Series.from_dict(data["series"])
        return made


def created_body(plan: Plan, salt: str) -> str:
    """Return the body of the event that creates an experiment."""
    return to_json({"plan": plan.to_dict(), "salt": salt})
