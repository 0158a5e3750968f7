"""The bodies of requests and answers, from which the OpenAPI description is made."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    field_validator,
)

from clusterbandits.service.plan import LONGEST_LABEL, SHORTEST_WINDOW

MOST_AT_ONCE = 1_000
_LONGEST_NOTE = 4_000
#: PostgreSQL's texts cannot hold the character NUL.
_PLAIN = r"^[^\x00]*$"
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Label = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_LABEL, pattern=_PLAIN)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PLAIN)]
Id = Annotated[str, StringConstraints(max_length=40)]
Value = Annotated[float, Field(allow_inf_nan=False)]
Width = Annotated[float, Field(ge=0, allow_inf_nan=False)]
#: JSON has no whole numbers of its own: 2.0 is one, as it is in the description.
_WHOLE = BeforeValidator(
    lambda given: int(given) if isinstance(given, float) and given.is_integer() else given
)
#: The two forms of widths; errors are about the form that was given.
FORMS = ("by group", "of all groups")
Widths = Annotated[
    Annotated[dict[Label, Width | None], Tag(FORMS[0])] | Annotated[Width | None, Tag(FORMS[1])],
    Discriminator(lambda given: FORMS[not isinstance(given, dict)]),
]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PastRewards(_Request):
    """What was tried of an arm before."""

    pulls: Annotated[int, Field(ge=0, le=10**12), _WHOLE]
    total: Value


class NewExperiment(_Request):
    """An experiment to create."""

    name: Name
    #: Arms by group.
    groups: Annotated[dict[Label, Annotated[list[Label], Field(min_length=1)]], Field(min_length=1)]
    widths: Widths = None
    policy: Annotated[str, StringConstraints(max_length=200)] = "auto"
    settings: dict[str, Any] = {}
    family: Annotated[str, StringConstraints(max_length=200)] = "bernoulli"
    window: Annotated[float, Field(ge=SHORTEST_WINDOW, allow_inf_nan=False)] | None = 86400.0
    default_reward: Value | None = None
    combine: Literal["first", "last", "sum"] = "first"
    explore: Annotated[float, Field(ge=0, le=1)] = 0.0
    #: What was tried of arms before, from which the policy starts.
    history: dict[Label, PastRewards] = {}


class ExperimentChange(_Request):
    """Settings to change; those left out stay."""

    widths: Widths = None
    policy: Annotated[str, StringConstraints(max_length=200)] = "auto"
    settings: dict[str, Any] = {}
    window: Annotated[float, Field(ge=SHORTEST_WINDOW, allow_inf_nan=False)] | None = None
    default_reward: Value | None = None
    explore: Annotated[float, Field(ge=0, le=1)] = 0.0


class NewArm(_Request):
    """An arm to add to a group."""

    arm: Label
    group: Label


class KnownArm(_Request):
    """An arm of the experiment."""

    arm: Label


class DecisionRequest(_Request):
    """How many decisions are needed, and from which arms."""

    available: list[Label] | None = None
    count: Annotated[int, Field(ge=1, le=MOST_AT_ONCE), _WHOLE] = 1
    key: Key | None = None
    note: dict[str, Any] | None = None

    @field_validator("note")
    @classmethod
    def _check_note(cls, note: dict[str, Any] | None) -> dict[str, Any] | None:
        try:
            size = len(json.dumps(note, allow_nan=False, ensure_ascii=False).encode())
            # As answers contain it: the encoder limits whole numbers to 64 bits, and depth.
            orjson.dumps({"decisions": [{"note": note}]})
        except (ValueError, TypeError, RecursionError):
            allowed = "JSON without NaN, Infinity, halves of surrogate pairs, or whole numbers beyond 64 bits"
            raise ValueError(f"must be {allowed}, and at most 200 levels deep") from None
        if size > _LONGEST_NOTE:
            raise ValueError(f"must have at most {_LONGEST_NOTE} bytes")
        return note


class NewReward(_Request):
    """The reward of a decision."""

    value: Value
    key: Key | None = None


class NewRewardOf(NewReward):
    """The reward of a decision that is named."""

    id: Id


class NewRewards(_Request):
    """Rewards of many decisions."""

    rewards: Annotated[list[NewRewardOf], Field(max_length=MOST_AT_ONCE)]


class OwnKey(BaseModel):
    """The key that is used; ``experiments`` is null where it is for all."""

    name: str
    roles: list[str]
    experiments: list[str] | None
    insecure: bool


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str


class Decision(BaseModel):
    """The arm to use."""

    id: str
    arm: str
    group: str
    expires_at: float | None


class Decisions(BaseModel):
    """The arms to use."""

    decisions: list[Decision]


class Counted(BaseModel):
    """What became of a reward."""

    id: str
    status: Literal["counted", "repeated"]
    value: float | None


class RewardResult(BaseModel):
    """What became of one of many rewards."""

    id: str
    status: Literal["counted", "repeated", "late", "conflict", "unknown", "invalid", "forbidden"]
    code: int
    detail: str | None
    value: float | None


class RewardResults(BaseModel):
    """What became of many rewards, in their order."""

    results: list[RewardResult]


class ReceivedReward(BaseModel):
    """A reward of a decision, late ones included."""

    at: float
    value: float
    key: str | None
    status: Literal["counted", "late"]


class PastDecision(Decision):
    """A decision, and what became of it."""

    at: float
    status: Literal["open", "rewarded", "defaulted", "cancelled"]
    value: float | None
    explored: bool
    note: dict[str, Any] | None


class PastDecisions(BaseModel):
    """Decisions, newest first."""

    decisions: list[PastDecision]


class DecisionState(PastDecision):
    """A decision, what became of it, and all of its rewards."""

    experiment: str
    rewards: list[ReceivedReward]


class PastChange(BaseModel):
    """A change of an experiment: who made it, when and how."""

    seq: int
    at: float
    who: str | None
    change: str
    body: dict[str, Any]


class Changes(BaseModel):
    """All changes of an experiment, oldest first."""

    changes: list[PastChange]


class History(BaseModel):
    """Counts at moments ``at``; those of groups are decisions so far."""

    at: list[float]
    decisions: list[int]
    pulls: list[int]
    total: list[float]
    regret: list[float]
    groups: dict[str, list[int]]


class ExplainedArm(BaseModel):
    """What the policy knows of an arm; the arm with the largest ``score`` is chosen."""

    arm: str
    group: str
    pulls: int
    mean: float | None
    low: float | None
    high: float | None
    score: float | None


class Explanation(BaseModel):
    """What the policy compares; ``chances`` are the probabilities of the next choice."""

    round: int
    policy: str
    threshold: float | None
    arms: list[ExplainedArm]
    chances: dict[str, float]
    text: str


class Arm(BaseModel):
    """The state of an arm, its history included; ``low`` and ``high`` bound its mean with 95 % confidence."""

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


class Group(BaseModel):
    """The state of a group."""

    group: str
    width: float | None
    arms: int
    decisions: int
    pulls: int
    total: float
    mean: float | None
    share: float
    alarm: str | None


class Alarm(BaseModel):
    """A group whose rewards contradict its declared width."""

    group: str
    round: int
    width: float
    evidence: float
    needed: float
    message: str


class Summary(BaseModel):
    """What a list shows of an experiment."""

    name: str
    state: Literal["running", "paused", "archived"]
    policy: str
    created_at: float
    decisions: int
    pulls: int
    mean: float | None


class Listed(Summary):
    """An experiment in a list."""

    arms: int
    groups: int
    alarms: int


class Experiments(BaseModel):
    """All experiments."""

    experiments: list[Listed]


class ExperimentState(Summary):
    """The state of an experiment."""

    settings: dict[str, Any]
    family: str
    window: float | None
    default_reward: float | None
    combine: Literal["first", "last", "sum"]
    explore: float
    seq: int
    open: int
    late: int
    cancelled: int
    defaulted: int
    total: float
    best: str | None
    regret: float | None
    groups: list[Group]
    arms: list[Arm]
    alarms: list[Alarm]
