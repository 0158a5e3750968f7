"""What a history implies for each group: its safe width, its use, and whether the best arm may be there."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clusterbandits.bounds import regret_bound
from clusterbandits.instance import Instance
from clusterbandits.studies.safe_widths import own_risk, rounded_up, widest_span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.bounds import RegretBound
    from clusterbandits.families import Family
    from clusterbandits.partition import Label
    from clusterbandits.studies.history import History
    from clusterbandits.studies.mean_bounds import Sums

    Floats = NDArray[np.float64]

Verdict = Literal["helps", "too wide", "has the best arm", "no effect"]

#: A width helps if it reduces the regret of the group by at least this share.
_HELP = 0.01
#: The largest multiple of the trials to search; above it, the factor is infinite.
_MOST_TRIALS = 2.0**30
_STEPS = 40


@dataclass(frozen=True)
class GroupAdvice:
    """A group with its safe width, the effect of the width, and the risk of a smaller one."""

    name: Label
    arms: int
    trials: int
    #: The largest difference of the estimated means.
    span: float
    #: The safe width: at least the true span, in all groups together with the given confidence.
    width: float
    #: The posterior probability that the group contains the best arm.
    chance: float
    #: Whether the group may contain the best arm, at the given confidence.
    may_hold_best: bool
    #: Regret per log n at the estimates without the width, and with it (Theorem 2).
    classical: float
    clustered: float
    verdict: Verdict
    #: The multiple of the trials at which the width would help, if it is too wide.
    trials_factor: float | None

    @property
    def at_risk(self) -> bool:
        """Whether a width below the true span could hide the best arm permanently."""
        return self.may_hold_best and self.arms > 1

    @property
    def trials_needed(self) -> int | None:
        """The number of trials, present ones included, at which the width would help."""
        if self.trials_factor is None or math.isinf(self.trials_factor):
            return None
        return math.ceil(self.trials_factor * self.trials)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self) | {"at_risk": self.at_risk, "trials_needed": self.trials_needed}


def group_advice(
    history: History, bound: RegretBound, chances: Floats, confidence: float
) -> tuple[GroupAdvice, ...]:
    """Return the advice on each group, at a confidence.

    ``bound`` is that at the estimated means with the safe widths; ``chances`` are the posterior
    probabilities that each group contains the best arm.
    """
    observed = history.sums()
    risk = own_risk(confidence, sum(sums.trials.size > 1 for sums in observed))
    hopeful = may_be_best(history, confidence)
    found = []
    for sums, members, part, chance in zip(
        observed, history.partition.members, bound.clusters, chances, strict=True
    ):
        verdict, factor = _judge(part.means, bound.best_mean, part.width, sums, risk)
        one = GroupAdvice(
            name=part.name,
            arms=sums.trials.size,
            trials=int(sums.trials.sum()),
            span=part.span,
            width=part.width,
            chance=float(chance),
            may_hold_best=bool(hopeful[members].any()),
            classical=part.classical,
            clustered=part.clus_ucb,
            verdict=verdict,
            trials_factor=factor,
        )
        found.append(one)
    return tuple(found)


def may_be_best(history: History, confidence: float) -> NDArray[np.bool_]:
    """Return which arms may be the best of all; the true best is among them with this confidence.

    An arm is excluded if its upper bound is below the highest lower bound. Half of the error probability is
    for the upper bound of the best arm, which is one fixed arm, and half for the lower bounds of all arms.

    Examples
    --------
    >>> from clusterbandits.studies.history import read_history
    >>> rows = {"arm": ["a", "b"], "group": [1, 2], "trials": [100, 100], "successes": [30, 60]}
    >>> may_be_best(read_history(rows), 0.95).tolist()
    [False, True]
    """
    risk = (1 - confidence) / 2
    sums = history.all_sums()
    possible: NDArray[np.bool_] = sums.upper(risk) >= sums.lower(risk / sums.trials.size).max()
    return possible


def _judge(means: Floats, best: float, width: float, sums: Sums, risk: float) -> tuple[Verdict, float | None]:
    if means.max() >= best:
        return ("has the best arm" if means.size > 1 else "no effect"), None
    limit = widest_help(means, best, sums.family)
    if means.size < 2 or limit <= float(np.ptp(means)):
        return "no effect", None
    if width <= limit:
        return "helps", None
    return "too wide", _trials_factor(sums, risk, limit)


def widest_help(means: Floats, best: float, family: Family | str = "bernoulli") -> float:
    """Return the widest width that reduces the regret of a suboptimal group by a hundredth; 0 if none does.

    Examples
    --------
    >>> round(widest_help(np.array([0.3, 0.4]), 0.8), 3)
    0.431
    """

    def helps(width: float) -> bool:
        part = regret_bound(instance, instance.clusters([width, 0.0])).clusters[0]
        return part.classical > 0.0 and part.clus_ucb <= (1 - _HELP) * part.classical

    instance = Instance([means.tolist(), [best]], family=family)
    low, high = 0.0, best - float(means.min())
    if not helps(low):
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if helps(middle) else (low, middle)
    return low


def _trials_factor(sums: Sums, risk: float, limit: float) -> float:
    """Return the multiple of the trials that would bound the span by a limit at the same means."""
    if not sums.trials.all():
        return math.inf

    def tight(factor: float) -> bool:
        return rounded_up(widest_span(sums.times(factor), risk)) <= limit

    low = high = 1.0
    while not tight(high):
        low, high = high, 2 * high
        if high > _MOST_TRIALS:
            return math.inf
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if tight(middle) else (middle, high)
    digits = 10.0 ** (math.floor(math.log10(high)) - 1)
    return math.ceil(high / digits) * digits
