"""The operations of requests inside a batch; those of rewards are in ``rewards``."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from clusterbandits.limits import MOST_ROUNDS
from clusterbandits.machine_code import Missing, if_missing
from clusterbandits.service.experiment import ARCHIVED, RUNNING, STATES, Asked, Experiment, created_body
from clusterbandits.service.log import Event, new_token
from clusterbandits.service.plan import CHANGEABLE, MOST_ARMS, check_label, read_plan
from clusterbandits.service.refusals import RefusedError
from clusterbandits.service.schema import Kind
from clusterbandits.service.views import describe, explain
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clusterbandits.service.engine import Batch, Engine
    from clusterbandits.service.keys import Caller
    from clusterbandits.service.plan import Plan

MOST_EXPERIMENTS = 1_000


class Operation(Protocol):
    """The operation of one request."""

    #: Whether it may append to the log.
    writes: ClassVar[bool]

    @property
    def size(self) -> int:
        """The number of decisions or rewards."""

    def positions(self) -> Iterable[int]:
        """Return the positions of decisions that it needs."""

    def key(self) -> tuple[str, str] | None:
        """Return an experiment and the key of a decision that it needs."""

    def run(self, batch: Batch) -> Any:
        """Perform the operation, or raise a refusal before anything is changed."""


class Write:
    """An operation that may append to the log."""

    writes: ClassVar[bool] = True
    #: The number of decisions or rewards.
    size = 1

    def positions(self) -> Iterable[int]:
        """Return nothing: most operations need no decision."""
        return ()

    def key(self) -> tuple[str, str] | None:
        """Return nothing: most operations have no key."""
        return None


@dataclass
class Read(Write):
    """Read the present state of experiments."""

    view: Callable[[Engine], Any]
    writes: ClassVar[bool] = False

    def run(self, batch: Batch) -> Any:
        """Return the result of the view."""
        return self.view(batch.engine)


def warm_up(plan: Plan) -> None:
    """Compile what requests to an experiment need, on a copy that is then dropped.

    This may take a minute on a new machine. While the thread that performs requests compiles, clients wait.
    """
    with if_missing(Missing.COMPILE):
        one = Experiment(Event(1, 1, int(Kind.CREATED), 0.0, body=created_body(plan, "")))
        _use(one)
        describe(one)
        explain(one)
        one.to_dict()


def _use(one: Experiment) -> None:
    policy = one.policy
    first, second = policy.ask(2)
    low, high = max(policy.family.low, -1.0), min(policy.family.high, 1.0)
    reward = policy.family.total((low + high) / 2 if low < high else low + 1.0, 1, 0)
    # A sum of one reward may lie outside the limits of the family by a rounding error.
    policy.tell(first, min(max(reward, policy.family.lowest), policy.family.highest))
    policy.correct(first, 0.0)
    policy.cancel(second)
    policy.expect(second)
    policy.ask()
    policy.ask(available=one.arms[: len(one.arms) // 2 + 1])


def experiment_called(engine: Engine, name: str) -> Experiment:
    """Return an experiment by name; refuse an unknown one."""
    found = engine.experiments.get(name)
    if found is None:
        raise RefusedError(404, f"There is no experiment {name!r}.")
    return found


def new_salt() -> str:
    """Return a random salt, from which all chance in the decisions of an experiment follows."""
    return secrets.token_hex(8)


@dataclass
class Create(Write):
    """Create an experiment; repeating the same request changes nothing."""

    data: dict[str, Any]
    caller: Caller

    def run(self, batch: Batch) -> tuple[bool, dict[str, Any]]:
        """Return whether the experiment is new, and its state."""
        plan = read_plan(self.data)
        known = batch.engine.experiments.get(plan.name)
        if known is not None:
            if known.first_plan != plan:
                raise RefusedError(409, f"The experiment {plan.name!r} already exists with other settings.")
            return False, describe(known)
        if len(batch.engine.experiments) >= MOST_EXPERIMENTS:
            raise RefusedError(409, f"There are already {MOST_EXPERIMENTS} experiments, the most allowed.")
        body = created_body(plan, new_salt())
        made = batch.create(key=plan.name, who=self.caller.name, body=body)
        return True, describe(made)


@dataclass
class Change(Write):
    """Change an experiment; a change that is already in effect appends nothing to the log."""

    name: str
    change: str
    body: dict[str, Any]
    caller: Caller

    def run(self, batch: Batch) -> dict[str, Any]:
        """Return the state after the change."""
        one = experiment_called(batch.engine, self.name)
        if one.state == ARCHIVED and self.change != "archived":
            raise RefusedError(409, f"The experiment {self.name!r} is archived and can no longer be changed.")
        if self._needed(one):
            body = json.dumps({"change": self.change, **self._effect(one)})
            batch.add(one, Kind.CHANGED, who=self.caller.name, body=body)
        return describe(one)

    def _effect(self, one: Experiment) -> dict[str, Any]:
        """Return the change with the settings that follow from it.

        So the log does not depend on what a name such as ``auto`` means in a later release.
        """
        if self.change != "changed":
            return self.body
        given = self.body["settings"]
        # A new policy has settings of its own.
        named = given.keys() | ({"settings"} if "policy" in given else set())
        plan = one.plan.changed(given).to_dict()
        return {"settings": {key: plan[key] for key in CHANGEABLE if key in named}}

    def _needed(self, one: Experiment) -> bool:
        """Return whether the change has an effect; refuse an impossible one."""
        if self.change in STATES:
            return one.state != STATES[self.change]
        if self.change == "changed":
            plan, _ = one.with_changes(self.body["settings"])
            return plan != one.plan
        arm = self.body["arm"]
        if self.change == "arm added":
            return self._is_new(one, check_label(arm), self.body["group"])
        one.number_of(arm)
        retired = arm in one.policy.retired
        if self.change == "arm retired" and not retired and len(one.open_arms(None)) == 1:
            raise RefusedError(409, f"The arm {arm!r} is the last one that is not retired.")
        return retired == (self.change == "arm restored")

    @staticmethod
    def _is_new(one: Experiment, arm: str, group: str) -> bool:
        if group not in one.plan.groups:
            raise invalid("group", one.name, "a group of the experiment", group)
        if arm not in one.numbers:
            if len(one.arms) >= min(one.policy.most_arms, MOST_ARMS):
                raise RefusedError(
                    409,
                    f"The experiment {one.name!r} already has {len(one.arms)} arms, the most allowed.",
                )
            return True
        if one.group_of(one.numbers[arm]) != group:
            raise RefusedError(409, f"The arm {arm!r} belongs to another group of the experiment.")
        return False


@dataclass
class Decide(Write):
    """Choose arms; the same key returns the same decisions."""

    name: str
    available: list[str] | None
    count: int
    idempotency: str | None
    note: dict[str, Any] | None

    def __post_init__(self) -> None:
        self.size = self.count

    def key(self) -> tuple[str, str] | None:
        """Return the key with which the decisions may have been requested before."""
        return None if self.idempotency is None else (self.name, self.idempotency)

    def run(self, batch: Batch) -> dict[str, Any]:
        """Return the decisions."""
        one = experiment_called(batch.engine, self.name)
        return {
            "decisions": [_decided(one, event) for event in self._known(batch, one) or self._new(batch, one)]
        }

    def _known(self, batch: Batch, one: Experiment) -> list[Event]:
        """Return the earlier decisions for the same key."""
        if self.idempotency is None:
            return []
        known = batch.engine.recent.keyed(one.number, self.idempotency)
        return sorted(known, key=lambda event: event.place or 0)

    def _new(self, batch: Batch, one: Experiment) -> list[Event]:
        if one.state != RUNNING:
            raise RefusedError(409, f"The experiment {self.name!r} is {one.state}; it makes no decisions.")
        if self.count > MOST_ROUNDS - one.policy.rounds:
            raise RefusedError(
                409, f"The experiment {self.name!r} has made {MOST_ROUNDS:g} decisions, the most."
            )
        available = None if self.available is None else one.open_arms(self.available)
        request = Asked(None if available is None else one.mask(available), self.note)
        # Decisions of one request share the body of their events.
        bodies = [request.to_text(explored=explored) for explored in (False, True)]
        return [self._decide(batch, one, place, available, bodies) for place in range(self.count)]

    def _decide(
        self,
        batch: Batch,
        one: Experiment,
        place: int,
        available: list[str] | None,
        bodies: list[str | None],
    ) -> Event:
        arm, explored = one.choose(batch.engine.seq + 1, available)
        window = one.plan.window
        return batch.add(
            one,
            Kind.DECISION,
            arm=arm,
            expires_at=None if window is None else batch.now + window,
            key=self.idempotency,
            place=place,
            token=new_token(),
            body=bodies[explored],
        )


def _decided(one: Experiment, event: Event) -> dict[str, Any]:
    assert event.arm is not None
    return {
        "id": event.id,
        "arm": one.arms[event.arm],
        "group": one.group_of(event.arm),
        "expires_at": event.expires_at,
    }
