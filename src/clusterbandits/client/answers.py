"""The answers of the service as frozen data classes. Fields that a newer service adds are ignored."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar

from clusterbandits.errors import ServiceError

T = TypeVar("T")


@dataclass(frozen=True)
class Decision:
    """A decision: the arm to use, and the id with which to send its reward."""

    id: str
    arm: str
    group: str
    #: Time until which a reward is accepted, in seconds since 1970; None: no limit.
    expires_at: float | None = None


@dataclass(frozen=True)
class RewardResult:
    """The result of sending a reward.

    ``status`` is ``"counted"`` or ``"repeated"`` (sent before and counted once). For a list of rewards, it
    can also be ``"late"``, ``"conflict"``, ``"unknown"``, ``"invalid"`` or ``"forbidden"``; ``detail`` then
    explains why.
    """

    id: str
    status: str
    #: Combined value of all rewards of the decision.
    value: float | None = None
    code: int = 200
    detail: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the policy has learned from the reward, after this or an earlier request."""
        return self.status in {"counted", "repeated"}


@dataclass(frozen=True)
class ReceivedReward:
    """A reward of a decision, as recorded in the log."""

    at: float
    value: float
    key: str | None
    status: str


@dataclass(frozen=True)
class DecisionRecord:
    """A decision, as recorded in the log.

    ``status`` is ``"open"``, ``"rewarded"``, ``"defaulted"`` or ``"cancelled"``. ``experiment`` and
    ``rewards`` are None in a list of decisions.
    """

    id: str
    arm: str
    group: str
    at: float
    status: str
    value: float | None
    note: dict[str, Any] | None
    expires_at: float | None = None
    #: Whether the arm was drawn uniformly, because of the setting ``explore``.
    explored: bool = False
    experiment: str | None = None
    rewards: tuple[ReceivedReward, ...] | None = None


@dataclass(frozen=True)
class Arm:
    """The state of an arm; ``low`` and ``high`` are 95 % confidence bounds of its mean."""

    arm: str
    group: str
    retired: bool
    decisions: int
    open: int
    pulls: int
    total: float
    mean: float | None
    low: float | None
    high: float | None
    share: float


@dataclass(frozen=True)
class Group:
    """The state of a group; ``share`` is its share of all decisions."""

    group: str
    width: float | None
    arms: int
    decisions: int
    pulls: int
    total: float
    mean: float | None
    share: float
    alarm: str | None


@dataclass(frozen=True)
class Alarm:
    """A group whose rewards contradict its declared width."""

    group: str
    round: int
    width: float
    evidence: float
    needed: float
    message: str


@dataclass(frozen=True)
class Summary:
    """An experiment in a list; ``arms``, ``groups`` and ``alarms`` are counts."""

    name: str
    state: str
    policy: str
    arms: int
    groups: int
    decisions: int
    pulls: int
    mean: float | None
    alarms: int
    created_at: float


@dataclass(frozen=True)
class Experiment:
    """The state of an experiment: settings, counts, groups, arms, alarms."""

    name: str
    state: str
    policy: str
    settings: dict[str, Any]
    family: str
    window: float | None
    default_reward: float | None
    combine: str
    explore: float
    created_at: float
    #: Position of its last event in the log.
    seq: int
    decisions: int
    #: Number of decisions with an outstanding reward.
    open: int
    #: Number of rewards that the policy has learned from.
    pulls: int
    late: int
    cancelled: int
    defaulted: int
    total: float
    mean: float | None
    #: Arm with the largest lower confidence bound of its mean reward.
    best: str | None
    #: Estimated regret against that arm.
    regret: float | None
    groups: tuple[Group, ...]
    arms: tuple[Arm, ...]
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True)
class Change:
    """A recorded change of an experiment: time, key and content."""

    seq: int
    at: float
    who: str | None
    change: str
    body: dict[str, Any]


def read(kind: type[T], data: Any) -> T:
    """Return an answer as an object of a data class; refuse an answer that lacks a field.

    Examples
    --------
    >>> read(Decision, {"id": "1f-0a", "arm": "b", "group": "red", "a new field": 1}).arm
    'b'
    """
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    try:
        return kind(**{field.name: data[field.name] for field in fields if field.name in data})
    except TypeError:
        raise _lacking(kind.__name__) from None


def read_all(kind: type[T], data: Any, name: str) -> tuple[T, ...]:
    """Return a list inside an answer as objects of a data class."""
    if not (isinstance(data, dict) and isinstance(data.get(name), list)):
        raise _lacking(name)
    return tuple(read(kind, one) for one in data[name])


def read_experiment(data: Any) -> Experiment:
    """Return the state of an experiment."""
    parts: dict[str, type[Any]] = {"groups": Group, "arms": Arm, "alarms": Alarm}
    read_parts = {name: read_all(kind, data, name) for name, kind in parts.items()}
    return read(Experiment, {**data, **read_parts})


def read_record(data: Any) -> DecisionRecord:
    """Return a decision, as recorded in the log."""
    rewards = read_all(ReceivedReward, data, "rewards")
    return read(DecisionRecord, {**data, "rewards": rewards})


def _lacking(name: str) -> ServiceError:
    return ServiceError(f"The answer of the service lacks data: {name}. It may be of another version.")
