r"""Clus-UCB: rewards of an arm are also evidence about the other arms of its cluster.

The evidence against mean q of arm k is F_k(q); the index is the largest q with F_k(q) at most the threshold:

    F_k(q) = t_k d⁺(m_k, q) + Σ_{j ≠ k in the cluster} t_j d⁺(m_j, q − β)

The first term is the arm's own evidence. The other arms of the cluster count because a mean q of arm k
implies that their means are at least q − β. With β = ∞ only the first term remains.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.law import Law, divergence, upper, variance
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.policies.index.policy import IndexPolicy
from clusterbandits.policies.kl_ucb import kl_index
from clusterbandits.policies.settings import ALARM

if TYPE_CHECKING:
    from clusterbandits.policies.index.state import IndexState

_MOST_STEPS = 200
_RESOLUTION = 2.0**-51
_SHORTER = 0.75
_WIDE, _SMALLEST = 4.0, 1e-300
#: Evidence above the threshold by this factor exceeds it despite rounding errors.
_CLEARLY = 1.0 + 1e-9


@inner_kernel
def against(law: Law, pulls: int, mean: float, q: float, stretch: float) -> tuple[float, float]:
    """Return the evidence t d⁺(mean, q) of one arm, and its smallest slope from q to q + stretch."""
    gap = q - mean
    if gap <= 0.0:
        return 0.0, 0.0
    spread = variance(law, q + stretch)
    if spread <= 0.0 or q > LARGEST_MEAN:
        return math.inf, math.inf
    return pulls * divergence(law, mean, q, gap), pulls * gap / spread


@inner_kernel
def distance(state: IndexState, arm: int, other: int, width: float) -> float:
    """Return the largest possible distance between the means of two arms of a cluster."""
    return float(state.distances[arm, other]) if state.distances.size > 0 else width


@kernel
def others_against(
    state: IndexState, arm: int, q: float, width: float, stretch: float
) -> tuple[float, float]:
    """Return the evidence of the other arms of the cluster against mean q of the arm, and its slope."""
    evidence, slope = 0.0, 0.0
    if width < math.inf:
        cluster = state.cluster[arm]
        for place in range(state.start[cluster], state.start[cluster + 1]):
            other = state.order[place]
            if other != arm:
                mean = state.totals[other] / state.pulls[other]
                lowered = q - distance(state, arm, other, width)
                part, steep = against(state.law, state.pulls[other], mean, lowered, stretch)
                evidence += part
                slope += steep
    return evidence, slope


@kernel
def evidence_against(
    state: IndexState, arm: int, q: float, width: float, stretch: float
) -> tuple[float, float]:
    """Return F_k(q) and its slope."""
    own, own_slope = against(state.law, state.pulls[arm], state.totals[arm] / state.pulls[arm], q, stretch)
    others, others_slope = others_against(state, arm, q, width, stretch)
    return own + others, own_slope + others_slope


@kernel
def index(state: IndexState, arm: int, level: float, width: float) -> float:
    """Return the index: the larger of sup{q : F_k(q) ≤ level} and the hedge."""
    if state.hedge == 0.0:
        return clustered_index(state, arm, level, width)
    hedged = hedge_index(state, arm, level)
    if evidence_against(state, arm, hedged, width, 0.0)[0] > level * _CLEARLY:
        return hedged
    return max(clustered_index(state, arm, level, width), hedged)


@kernel
def clustered_index(state: IndexState, arm: int, level: float, width: float) -> float:
    """Return sup{q : F_k(q) ≤ level}, which depends only on pulls, totals and level.

    Newton's method in a shrinking bracket, starting at the arm's KL-UCB index, which is an upper bound.
    """
    pulls = state.pulls[arm]
    q = kl_index(state.law, pulls, state.totals[arm], level)
    if others_against(state, arm, q, width, 0.0)[0] == 0.0:
        return q
    low, high, move = _unopposed(state, arm, width), q, math.inf
    for _ in range(_MOST_STEPS):
        evidence, slope = evidence_against(state, arm, q, width, 0.0)
        if evidence > level:
            high = q
        else:
            low = q
        closer = _between(state.law, low, high)
        if 0.0 < slope < math.inf:
            newton = q - (evidence - level) / slope
            if abs(newton - q) <= _RESOLUTION * abs(q):
                return newton
            # If F is not convex, Newton steps can oscillate: each must be shorter than the one before.
            if low < newton < high and abs(newton - q) <= _SHORTER * move:
                closer = newton
        move = abs(closer - q)
        if move <= _RESOLUTION * abs(q):
            return closer
        q = closer
    return low


@inner_kernel
def _between(law: Law, low: float, high: float) -> float:
    """Return the middle of a bracket, in logarithms if d is not convex and it spans powers of ten."""
    if not law.convex and high > _WIDE * max(low, _SMALLEST):
        return math.sqrt(max(low, _SMALLEST)) * math.sqrt(high)
    return 0.5 * (low + high)


@kernel
def others_shares(state: IndexState, arm: int, q: float, width: float, level: float) -> None:
    """Write to ``state.indices`` each other arm's evidence against mean q, as a share of the threshold."""
    for other in range(state.pulls.size):
        state.indices[other] = 0.0
        if other != arm and state.cluster[other] == state.cluster[arm] and width < math.inf:
            mean = state.totals[other] / state.pulls[other]
            lowered = q - distance(state, arm, other, width)
            state.indices[other] = against(state.law, state.pulls[other], mean, lowered, 0.0)[0] / level


@kernel
def _unopposed(state: IndexState, arm: int, width: float) -> float:
    """Return the largest q with no evidence against it, from the arm or from the others of its cluster."""
    least = state.totals[arm] / state.pulls[arm]
    cluster = state.cluster[arm]
    for place in range(state.start[cluster], state.start[cluster + 1]):
        other = state.order[place]
        if other != arm:
            mean = state.totals[other] / state.pulls[other]
            least = min(least, mean + distance(state, arm, other, width))
    return float(least)


@kernel
def hedge_index(state: IndexState, arm: int, level: float) -> float:
    """Return the arm's KL-UCB index at the share κ of the threshold."""
    pulls = state.pulls[arm]
    return upper(state.law, state.totals[arm] / pulls, state.hedge * level / pulls)


class ClusUCB(IndexPolicy):
    r"""Pull the arm with the largest index: an upper confidence bound from the rewards of its cluster.

    .. math:: v_k(n) = \sup\{q : t_k\, d^+(m_k, q) + \sum_{j \ne k} t_j\, d^+(m_j, q - \beta)
              \le \log n + a \log \log n\}

    where j runs over the other arms of the cluster of arm k, whose means can be at most β below its own. Its
    regret is that of Theorem 2 of the paper: A per log n for each cluster without a best arm.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = ClusUCB(Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.1))
    >>> for reward in [0, 0, 1]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    'c'

    References
    ----------
    Gore and Chaporkar, Clus-UCB: A Near-Optimal Algorithm for Clustered Bandits.
    """

    name = "clus-ucb"
    uses_widths = True
    defaults: ClassVar = {"a": 0.0, "refresh": 1, "leader": "clustered", "hedge": 0.0, **ALARM}
    guarantee = "meets Theorem 2 if widths are true"
    reference = "Gore and Chaporkar"
