"""The state and the formulas of two-level policies, and bounds on how fast scores rise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.families.law import Law, divergence, unit, variance
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.policies.arms import APART, Floats, Ints
from clusterbandits.policies.protocol import by_formula

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

#: The thresholds used for a choice.
LEVELS = np.dtype([("clusters", np.float64), ("arms", np.float64)])


class TwoLevelState(NamedTuple):
    """Statistics of arms, pulls of clusters, and the index of the formulas."""

    law: Law
    #: The index of the policy's formulas.
    formula: int
    a: float
    #: The number of rounds for which a choice is kept.
    refresh: int
    #: Whether scores are those of UCB1 instead of KL-UCB.
    plain_bonus: bool
    #: Whether the threshold inside a cluster depends on the cluster's pulls instead of the round.
    own_clock: bool
    pulls: Ints
    totals: Floats
    cluster: Ints
    order: Ints
    start: Ints
    memory: NDArray[Any]
    reach: Ints
    cluster_pulls: Ints
    #: The scores at the last choice, and bounds on their rates of increase.
    scores: Floats
    rates: Floats
    cluster_scores: Floats
    cluster_rates: Floats
    #: The thresholds at the last choice: one record with ``clusters`` and ``arms``. ``ahead`` has one record
    #: per cluster for its arms.
    levels: NDArray[Any]
    arm_levels: Floats


SCORES: list[Callable[..., float]] = []
STANDINGS: list[Callable[..., float]] = []


_score_formula = by_formula(lambda _: SCORES)
_standing_formula = by_formula(lambda _: STANDINGS)


@kernel
def score(state: TwoLevelState, mean: float, pulls: int, level: float) -> float:
    """Return the score of a mean over a number of pulls at a threshold f."""
    return float(_score_formula(state, mean, pulls, level))


@kernel
def standing(state: TwoLevelState, c: int, spent: int, held: int) -> float:
    """Return the mean that represents a cluster after ``spent`` more rewards of 0 of one arm."""
    return float(_standing_formula(state, c, spent, held))


@kernel
def rate(state: TwoLevelState, mean: float, pulls: int, level: float, value: float) -> float:
    """Return a bound on the rate at which a score rises with the threshold, in which it is concave.

    If the divergence is not convex, there is no finite bound.
    """
    if not state.law.convex:
        return math.inf
    if state.plain_bonus:
        return unit(state.law) / math.sqrt(2.0 * level * pulls) if level > 0.0 else math.inf
    spread = variance(state.law, value)
    if spread <= 0.0:
        return 0.0
    return spread / (pulls * (value - mean)) if value > mean else math.inf


@kernel
def exceeds(state: TwoLevelState, mean: float, pulls: int, level: float, value: float) -> bool:
    """Return whether a score exceeds a value by more than rounding errors."""
    margin = APART * state.law.tie
    above = value + margin * abs(value)
    if state.plain_bonus:
        return score(state, mean, pulls, level) > above
    if mean > above or value == -math.inf:
        return True
    if above >= LARGEST_MEAN:
        return False
    known = variance(state.law, above) > 0.0
    return known and pulls * divergence(state.law, mean, above, above - mean) < level * (1.0 - margin)


@kernel
def ceiling(value: float, a_level: float, rise: float) -> float:
    """Return an upper bound on a score after the threshold has risen."""
    return value + a_level * rise if rise > 0.0 else value
