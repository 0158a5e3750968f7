"""What policies that choose a cluster first are made of: state, formulas, and how fast scores rise."""

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

#: The thresholds of a choice.
LEVELS = np.dtype([("clusters", np.float64), ("arms", np.float64)])


class TwoLevelState(NamedTuple):
    """Statistics of arms, pulls of clusters, and the number of the formulas."""

    law: Law
    #: The place of the policy's formulas.
    formula: int
    a: float
    #: Rounds for which a choice is kept.
    refresh: int
    #: Whether scores are UCB1's instead of KL-UCB's.
    plain_bonus: bool
    #: Whether arms inside a cluster are judged by its own number of pulls instead of the round.
    own_clock: bool
    pulls: Ints
    totals: Floats
    cluster: Ints
    order: Ints
    start: Ints
    memory: NDArray[Any]
    reach: Ints
    cluster_pulls: Ints
    #: Scores at the last choice, and how fast they rise at most.
    scores: Floats
    rates: Floats
    cluster_scores: Floats
    cluster_rates: Floats
    #: Thresholds at the last choice: one record with ``clusters`` and ``arms``. ``ahead`` has one of its own
    #: for the arms of every cluster.
    levels: NDArray[Any]
    arm_levels: Floats


SCORES: list[Callable[..., float]] = []
STANDINGS: list[Callable[..., float]] = []


_score_formula = by_formula(lambda _: SCORES)
_standing_formula = by_formula(lambda _: STANDINGS)


@kernel
def score(state: TwoLevelState, mean: float, pulls: int, level: float) -> float:
    """Return the score of so many pulls with that mean at a threshold f."""
    return float(_score_formula(state, mean, pulls, level))


@kernel
def standing(state: TwoLevelState, c: int, spent: int, held: int) -> float:
    """Return the mean a cluster is judged by after so many more pulls of one arm that paid nothing."""
    return float(_standing_formula(state, c, spent, held))


@kernel
def rate(state: TwoLevelState, mean: float, pulls: int, level: float, value: float) -> float:
    """Return how fast a score rises with the threshold from now on, at most: it is concave in it.

    Where the divergence is not convex, nothing is known.
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
    """Tell whether a score is above a value by more than rounding."""
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
    """Return how high a score can have come since the threshold was lower."""
    return value + a_level * rise if rise > 0.0 else value
