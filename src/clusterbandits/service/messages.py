"""The bodies of requests and answers, which define the OpenAPI description."""

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
#: Text in PostgreSQL cannot contain the character NUL.
_PLAIN = r"^[^\x00]*$"
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Label = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_LABEL, pattern=_PLAIN)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PLAIN)]
Id = Annotated[str, StringConstraints(max_length=40)]
#: Totals are sums of floats: a mistyped reward beyond this would leave an error in them when it is corrected.
_LARGEST = 1e12
Value = Annotated[float, Field(ge=-_LARGEST, le=_LARGEST, allow_inf_nan=False)]
Width = Annotated[float, Field(ge=0, allow_inf_nan=False)]
#: JSON does not distinguish integers from floats: 2.0 is an integer, as in the OpenAPI description.
_WHOLE = BeforeValidator(
    lambda given: int(given) if isinstance(given, float) and given.is_integer() else given
)
#: The two forms of widths; error messages refer to the given form.
FORMS = ("by group", "of all groups")
Widths = Annotated[
    Annotated[dict[Label, Width | None], Tag(FORMS[0])] | Annotated[Width | None, Tag(FORMS[1])],
    Discriminator(lambda given: FORMS[not isinstance(given, dict)]),
]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


class _Answer(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class PastRewards(_Request):
    """The earlier trials of an arm."""

    pulls: Annotated[int, Field(ge=0, le=10**12), _WHOLE]
    """Number of trials."""
    total: Annotated[float, Field(allow_inf_nan=False)]
    """Sum of their rewards."""


class NewExperiment(_Request):
    """An experiment to create."""

    name: Name
    """Name: letters, digits, `.`, `_`, `-`."""
    groups: Annotated[dict[Label, Annotated[list[Label], Field(min_length=1)]], Field(min_length=1)]
    """Arms by group."""
    widths: Widths = None
    """Largest difference between the means of the arms of a group: one number per group, one for all groups,
    or null for no width.
    """
    policy: Annotated[str, StringConstraints(max_length=200)] = "auto"
    """Name of the policy; `auto` is the recommended one."""
    settings: dict[str, Any] = {}
    """Settings of the policy by name; all others keep their defaults."""
    family: Annotated[str, StringConstraints(max_length=200)] = "bernoulli"
    """Reward family, such as `bernoulli` or `bounded:low=0,high=50`."""
    window: Annotated[float, Field(ge=SHORTEST_WINDOW, allow_inf_nan=False)] | None = 86400.0
    """Seconds after a decision in which its reward is accepted; null for no limit."""
    default_reward: Value | None = None
    """Reward to assume when a window closes without a reward; null to cancel the decision instead."""
    combine: Literal["first", "last", "sum"] = "first"
    """Which of several rewards of one decision counts: the first, the last, or their sum."""
    explore: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of decisions that are drawn uniformly from the available arms."""
    history: dict[Label, PastRewards] = {}
    """Earlier trials by arm, from which the policy starts."""


class ExperimentChange(_Request):
    """Settings to change; all others keep their values."""

    widths: Widths = None
    """New widths, as for a new experiment."""
    policy: Annotated[str, StringConstraints(max_length=200)] = "auto"
    """Name of the new policy."""
    settings: dict[str, Any] = {}
    """Settings of the policy."""
    window: Annotated[float, Field(ge=SHORTEST_WINDOW, allow_inf_nan=False)] | None = None
    """Seconds after a decision in which its reward is accepted; null for no limit."""
    default_reward: Value | None = None
    """Reward to assume when a window closes without a reward; null to cancel the decision instead."""
    explore: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of decisions that are drawn uniformly from the available arms."""


class NewArm(_Request):
    """An arm to add to a group."""

    arm: Label
    """Name of the arm."""
    group: Label
    """Name of the group, which must exist."""


class KnownArm(_Request):
    """An arm of the experiment."""

    arm: Label
    """Name of the arm."""


class DecisionRequest(_Request):
    """A request for decisions."""

    available: list[Label] | None = None
    """Arms to choose from; null for all that are not retired."""
    count: Annotated[int, Field(ge=1, le=MOST_AT_ONCE), _WHOLE] = 1
    """Number of decisions."""
    key: Key | None = None
    """Text that identifies the request; the same key returns the same decisions."""
    note: dict[str, Any] | None = None
    """Data to store with the decisions, at most 4,000 bytes of JSON."""

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
    """Reward."""
    key: Key | None = None
    """Text that identifies the event that caused the reward, such as an order."""


class NewRewardOf(NewReward):
    """The reward of a given decision."""

    id: Id
    """Id of the decision."""


class NewRewards(_Request):
    """Rewards of many decisions."""

    rewards: Annotated[list[NewRewardOf], Field(max_length=MOST_AT_ONCE)]
    """Rewards, each with the id of its decision."""


class OwnKey(_Answer):
    """The API key of the request."""

    name: str
    """Name of the key."""
    roles: list[str]
    """Roles of the key: `decide`, `reward`, `read`, `admin`."""
    experiments: list[str] | None
    """Experiments that the key may use; null for all."""
    insecure: bool
    """Whether the service needs no keys."""


class Problem(_Answer):
    """An error."""

    detail: str
    """What is wrong, and what is allowed."""


class Decision(_Answer):
    """A decision."""

    id: str
    """Id of the decision, with which to send its reward."""
    arm: str
    """Arm to use."""
    group: str
    """Group of the arm."""
    expires_at: float | None
    """Time until which the reward is accepted, in seconds since 1970; null for no limit."""


class Decisions(_Answer):
    """One or more decisions."""

    decisions: list[Decision]
    """Decisions, in the order of the choices."""


class Counted(_Answer):
    """The result of sending a reward."""

    id: str
    """Id of the decision."""
    status: Literal["counted", "repeated"]
    """`counted`, or `repeated` if the reward was sent before and counted then."""
    value: float | None
    """Combined value of all rewards of the decision."""


class RewardResult(_Answer):
    """The result of one of many rewards."""

    id: str
    """Id of the decision."""
    status: Literal["counted", "repeated", "late", "conflict", "unknown", "invalid", "forbidden"]
    """`counted` or `repeated` for success; otherwise the kind of error."""
    code: int
    """HTTP status that the reward would have alone."""
    detail: str | None
    """Error message; null for success."""
    value: float | None
    """Combined value of all rewards of the decision."""


class RewardResults(_Answer):
    """The results of many rewards."""

    results: list[RewardResult]
    """Results, in the order of the rewards."""


class ReceivedReward(_Answer):
    """A recorded reward of a decision."""

    at: float
    """Time of arrival, in seconds since 1970."""
    value: float
    """Reward."""
    key: str | None
    """Key that was sent with the reward."""
    status: Literal["counted", "late"]
    """`late` if it arrived after the window had closed; it then does not count."""


class PastDecision(Decision):
    """A recorded decision and its outcome."""

    at: float
    """Time of the decision, in seconds since 1970."""
    status: Literal["open", "rewarded", "defaulted", "cancelled"]
    """`open` while the reward is outstanding; then `rewarded`, `defaulted` or `cancelled`."""
    value: float | None
    """Combined value of its rewards; null if there is none."""
    explored: bool
    """Whether the arm was drawn uniformly, because of `explore`."""
    note: dict[str, Any] | None
    """Data stored with the decision."""


class PastDecisions(_Answer):
    """Recorded decisions."""

    decisions: list[PastDecision]
    """Decisions, newest first."""


class DecisionState(PastDecision):
    """A recorded decision with all its rewards."""

    experiment: str
    """Name of the experiment."""
    rewards: list[ReceivedReward]
    """All rewards, late ones included."""


class PastChange(_Answer):
    """A recorded change of an experiment."""

    seq: int
    """Position in the log."""
    at: float
    """Time of the change, in seconds since 1970."""
    who: str | None
    """Name of the key that made the change."""
    change: str
    """Kind of the change."""
    body: dict[str, Any]
    """Content of the change."""


class Changes(_Answer):
    """All recorded changes of an experiment."""

    changes: list[PastChange]
    """Changes, oldest first."""


class History(_Answer):
    """Cumulative counts over time; all lists have the same length."""

    at: list[float]
    """Times, in seconds since 1970."""
    decisions: list[int]
    """Numbers of decisions."""
    pulls: list[int]
    """Numbers of learned rewards."""
    total: list[float]
    """Sums of learned rewards."""
    regret: list[float]
    """Estimated regret against the best arm so far."""
    groups: dict[str, list[int]]
    """Numbers of decisions by group."""


class ExplainedArm(_Answer):
    """The statistics and the score of an arm."""

    arm: str
    """Name of the arm."""
    group: str
    """Group of the arm."""
    pulls: int
    """Number of rewards."""
    mean: float | None
    """Mean reward."""
    low: float | None
    """Lower limit of the interval that the policy itself uses."""
    high: float | None
    """Upper limit of the interval that the policy itself uses."""
    score: float | None
    """Score that the policy compares; null if it chooses at random."""


class Explanation(_Answer):
    """Why the policy chooses an arm."""

    round: int
    """Number of the next round."""
    policy: str
    """Display name of the policy."""
    threshold: float | None
    """Exploration threshold; null if the policy has none."""
    arms: list[ExplainedArm]
    """Statistics of the arms."""
    chances: dict[str, float]
    """Probability that each arm is chosen next."""
    text: str
    """The same as a table."""


class Arm(_Answer):
    """The state of an arm, its history included."""

    arm: str
    """Name of the arm."""
    group: str
    """Group of the arm."""
    retired: bool
    """Whether the arm is no longer chosen."""
    decisions: int
    """Number of decisions."""
    open: int
    """Number of decisions with an outstanding reward."""
    pulls: int
    """Number of learned rewards."""
    total: float
    """Sum of learned rewards."""
    mean: float | None
    """Mean reward."""
    low: float | None
    """Lower 95 % confidence bound of the mean."""
    high: float | None
    """Upper 95 % confidence bound of the mean."""
    share: float
    """Share of all decisions."""


class Group(_Answer):
    """The state of a group."""

    group: str
    """Name of the group."""
    width: float | None
    """Declared width; null for none."""
    arms: int
    """Number of arms."""
    decisions: int
    """Number of decisions."""
    pulls: int
    """Number of learned rewards."""
    total: float
    """Sum of learned rewards."""
    mean: float | None
    """Mean reward."""
    share: float
    """Share of all decisions."""
    alarm: str | None
    """Message of the width alarm; null if there is none."""


class Alarm(_Answer):
    """A group whose rewards contradict its declared width."""

    group: str
    """Name of the group."""
    round: int
    """Round of the alarm."""
    width: float
    """Declared width."""
    evidence: float
    """Evidence against the width."""
    needed: float
    """Threshold of the evidence."""
    message: str
    """The alarm in one sentence."""


class Summary(_Answer):
    """The main numbers of an experiment."""

    name: str
    """Name of the experiment."""
    state: Literal["running", "paused", "archived"]
    """Whether the experiment makes decisions."""
    policy: str
    """Name of the policy."""
    created_at: float
    """Time of creation, in seconds since 1970."""
    decisions: int
    """Number of decisions."""
    pulls: int
    """Number of learned rewards."""
    mean: float | None
    """Mean reward."""


class Listed(Summary):
    """An experiment in a list."""

    arms: int
    """Number of arms."""
    groups: int
    """Number of groups."""
    alarms: int
    """Number of width alarms."""


class Experiments(_Answer):
    """A list of experiments."""

    experiments: list[Listed]
    """Experiments that the key may read."""


class ExperimentState(Summary):
    """The state of an experiment."""

    settings: dict[str, Any]
    """Settings of the policy."""
    family: str
    """Reward family."""
    window: float | None
    """Seconds after a decision in which its reward is accepted; null for no limit."""
    default_reward: float | None
    """Reward to assume when a window closes without a reward; null to cancel the decision instead."""
    combine: Literal["first", "last", "sum"]
    """Which of several rewards of one decision counts."""
    explore: float
    """Share of decisions that are drawn uniformly."""
    seq: int
    """Position of its last event in the log."""
    open: int
    """Number of decisions with an outstanding reward."""
    late: int
    """Number of rewards that arrived after their window had closed."""
    cancelled: int
    """Number of decisions without a reward when their window closed."""
    defaulted: int
    """Number of decisions that got the default reward."""
    total: float
    """Sum of learned rewards."""
    best: str | None
    """Best arm so far: the largest lower confidence bound of the mean; null if there is none."""
    regret: float | None
    """Estimated regret against the best arm so far."""
    groups: list[Group]
    """States of the groups."""
    arms: list[Arm]
    """States of the arms."""
    alarms: list[Alarm]
    """Width alarms."""
