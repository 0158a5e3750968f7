r"""Clus-UCB: the rewards of an arm count for and against the other arms of its cluster.

The evidence against arm k having mean q, and the index, the largest q that it does not refute:

    F_k(q) = t_k d⁺(m_k, q) + Σ_{j ≠ k in the cluster} t_j d⁺(m_j, q − β)

The first term is the arm's own; the others count because a mean of q for arm k would lift its mates to
q − β at least. With β = ∞ only the own term is left.
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
#: Evidence that is larger by this factor exceeds a threshold whatever rounding does.
_CLEARLY = 1.0 + 1e-9


@inner_kernel
def against(law: Law, pulls: int, mean: float, q: float, stretch: float) -> tuple[float, float]:
    """Return the evidence t d⁺(mean, q) of one arm, and the least slope it has from q to q + stretch."""
    gap = q - mean
    if gap <= 0.0:
        return 0.0, 0.0
    spread = variance(law, q + stretch)
    if spread <= 0.0 or q > LARGEST_MEAN:
        return math.inf, math.inf
    return pulls * divergence(law, mean, q, gap), pulls * gap / spread


@inner_kernel
def distance(state: IndexState, arm: int, mate: int, width: float) -> float:
    """Return how far apart two arms of a cluster of that width can be."""
    return float(state.distances[arm, mate]) if state.distances.size > 0 else width


@kernel
def mates_against(state: IndexState, arm: int, q: float, width: float, stretch: float) -> tuple[float, float]:
    """Return what the arm's mates argue against its mean being q, and the slope."""
    evidence, slope = 0.0, 0.0
    if width < math.inf:
        cluster = state.cluster[arm]
        for place in range(state.start[cluster], state.start[cluster + 1]):
            mate = state.order[place]
            if mate != arm:
                mean = state.totals[mate] / state.pulls[mate]
                lowered = q - distance(state, arm, mate, width)
                part, steep = against(state.law, state.pulls[mate], mean, lowered, stretch)
                evidence += part
                slope += steep
    return evidence, slope


@kernel
def evidence_against(
    state: IndexState, arm: int, q: float, width: float, stretch: float
) -> tuple[float, float]:
    """Return F_k(q) and its slope."""
    own, own_slope = against(state.law, state.pulls[arm], state.totals[arm] / state.pulls[arm], q, stretch)
    mates, mates_slope = mates_against(state, arm, q, width, stretch)
    return own + mates, own_slope + mates_slope


@kernel
def index(state: IndexState, arm: int, level: float, width: float) -> float:
    """Return what arms are compared by: sup{q : F_k(q) ≤ level} or, where that is larger, the hedge."""
    if state.hedge == 0.0:
        return clustered_index(state, arm, level, width)
    hedged = hedge_index(state, arm, level)
    if evidence_against(state, arm, hedged, width, 0.0)[0] > level * _CLEARLY:
        return hedged
    return max(clustered_index(state, arm, level, width), hedged)


@kernel
def clustered_index(state: IndexState, arm: int, level: float, width: float) -> float:
    """Return sup{q : F_k(q) ≤ level}, a function of pulls, totals and level alone.

    Newton's method from the arm's KL-UCB index, which lies at or above it, inside a shrinking bracket.
    """
    pulls = state.pulls[arm]
    q = kl_index(state.law, pulls, state.totals[arm], level)
    if mates_against(state, arm, q, width, 0.0)[0] == 0.0:
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
            # Where F is not convex, Newton's steps may go to and fro for ever: each must be shorter.
            if low < newton < high and abs(newton - q) <= _SHORTER * move:
                closer = newton
        move = abs(closer - q)
        if move <= _RESOLUTION * abs(q):
            return closer
        q = closer
    return low


@inner_kernel
def _between(law: Law, low: float, high: float) -> float:
    """Return a point that halves a bracket; where d is not convex, brackets can span many powers of ten."""
    if not law.convex and high > _WIDE * max(low, _SMALLEST):
        return math.sqrt(max(low, _SMALLEST)) * math.sqrt(high)
    return 0.5 * (low + high)


@kernel
def mates_shares(state: IndexState, arm: int, q: float, width: float, level: float) -> None:
    """Write into ``state.indices`` what share of the threshold every arm argues against the arm's mean q."""
    for other in range(state.pulls.size):
        state.indices[other] = 0.0
        if other != arm and state.cluster[other] == state.cluster[arm] and width < math.inf:
            mean = state.totals[other] / state.pulls[other]
            lowered = q - distance(state, arm, other, width)
            state.indices[other] = against(state.law, state.pulls[other], mean, lowered, 0.0)[0] / level


@kernel
def _unopposed(state: IndexState, arm: int, width: float) -> float:
    """Return the largest q against which neither the arm nor any mate has evidence."""
    least = state.totals[arm] / state.pulls[arm]
    cluster = state.cluster[arm]
    for place in range(state.start[cluster], state.start[cluster + 1]):
        mate = state.order[place]
        if mate != arm:
            mean = state.totals[mate] / state.pulls[mate]
            least = min(least, mean + distance(state, arm, mate, width))
    return float(least)


@kernel
def hedge_index(state: IndexState, arm: int, level: float) -> float:
    """Return the KL-UCB index of the arm by itself, at its share of the threshold."""
    pulls = state.pulls[arm]
    return upper(state.law, state.totals[arm] / pulls, state.hedge * level / pulls)


class ClusUCB(IndexPolicy):
    r"""Pull the arm with the largest mean that neither its own rewards nor its mates' refute.

    .. math:: v_k(n) = \sup\{q : t_k\, d^+(m_k, q) + \sum_{j \ne k} t_j\, d^+(m_j, q - \beta)
              \le \log n + a \log \log n\}

    where j runs over the mates of arm k, whose means can be at most β below its own. Its regret meets
    Theorem 2 of the paper: A for every cluster without a best arm.

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
    guarantee = "meets Theorem 2 where widths are true"
    reference = "Gore and Chaporkar"
