r"""Clus-OPT: refute a cluster with whichever arms do so at the least cost.

With a = m* − m, D = d(m, m*), b = d⁺(m, m* − β) and α = D − b of its arms, a cluster is refuted by pulls of
all of them at the price A, or of the lowest alone at the price B (the two vertices of the lower bound's
linear program). Clus-UCB incurs A; Clus-OPT incurs B where that is less.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.calculus import divergence_above, rise
from clusterbandits.policies.arms import NOBODY, leader_of
from clusterbandits.policies.index.policy import IndexPolicy
from clusterbandits.policies.settings import ALARM

#: B must be this much cheaper: where all means are equal the two are the same but for rounding.
CHEAPER = 1.0 - 1e-9


@kernel
def prices(state: Any, c: int, best: float) -> tuple[float, float, float, float]:
    """Return A, B, the least α and Σ b w with w = α_min/α, for a cluster with all means below ``best``."""
    first, beyond, width = state.start[c], state.start[c + 1], state.widths[c]
    least, cheapest, plain = math.inf, math.inf, 0.0
    for place in range(first, beyond):
        arm = state.order[place]
        mean = state.totals[arm] / state.pulls[arm]
        least = min(least, rise(state.law, mean, best, width))
        b = divergence_above(state.law, mean, best, width)
        if b > 0.0:
            cheapest = min(cheapest, (best - mean) / b)
        plain += divergence_above(state.law, mean, best, 0.0) / (best - mean)
    if least == math.inf:
        return 0.0, cheapest, least, 0.0
    if least == 0.0:
        return (beyond - first) / plain if plain > 0.0 else math.inf, cheapest, least, plain
    cost, combined = 0.0, 0.0
    for place in range(first, beyond):
        arm = state.order[place]
        mean = state.totals[arm] / state.pulls[arm]
        share = least / rise(state.law, mean, best, width)
        cost += (best - mean) * share
        combined += divergence_above(state.law, mean, best, width) * share
    return cost / (least + combined), cheapest, least, combined


@kernel
def lowest_arm(state: Any, c: int) -> int:
    """Return the arm with the lowest mean of a cluster; of equals the least pulled, then the first."""
    lowest, least = NOBODY, math.inf
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        mean = state.totals[arm] / state.pulls[arm]
        if mean < least or (mean == least and _goes_before(state, arm, lowest)):
            lowest, least = arm, mean
    return lowest


@kernel
def _goes_before(state: Any, arm: int, other: int) -> bool:
    fewer = state.pulls[arm] < state.pulls[other]
    return bool(fewer or (state.pulls[arm] == state.pulls[other] and arm < other))


@kernel
def outweighs(state: Any, arm: int) -> bool:
    """Tell whether the arm's cluster has more pulls than any other arm: then it is never steered."""
    c, together, most = state.cluster[arm], 0, 0
    for other in range(state.pulls.size):
        if state.cluster[other] == c:
            together += state.pulls[other]
        else:
            most = max(most, state.pulls[other])
    return bool(together > most)


@inner_kernel
def steered(state: Any, arm: int) -> int:
    """Return the arm to pull where a policy would pull ``arm`` to refute its cluster.

    That is ``arm`` itself unless the lowest arm alone is cheaper and the leader is known well enough; before
    that one, an arm that was hardly pulled.
    """
    return steered_by(state, arm, leader_of(state.pulls, state.totals))


@inner_kernel
def steered_by(state: Any, arm: int, leader: int) -> int:
    """Return what ``steered`` does, for an arm that leads."""
    c, best = state.cluster[arm], state.totals[leader] / state.pulls[leader]
    if c == state.cluster[leader] or state.widths[c] == math.inf:
        return arm
    together, rarest = 0, arm
    for place in range(state.start[c], state.start[c + 1]):
        mate = state.order[place]
        if not state.totals[mate] / state.pulls[mate] < best:
            return arm
        together += state.pulls[mate]
        if _goes_before(state, mate, rarest):
            rarest = mate
    if state.pulls[leader] < together:
        return arm
    all_tight, alone, _, _ = prices(state, c, best)
    if not alone < all_tight * CHEAPER:
        return arm
    if state.pulls[rarest] < math.sqrt(together):
        return rarest
    return lowest_arm(state, c)


class ClusOPT(IndexPolicy):
    r"""Find the arm that Clus-UCB would pull; pull the arm that refutes its cluster at the least cost.

    Let c be that arm's cluster, a = m* − m, b = d⁺(m, m* − β). Where c holds the empirical leader, or all of
    its arms together refute it no dearer than one (A ≤ B), or the leader has been pulled less often than c,
    the arm itself is pulled. Otherwise an arm of c with fewer than √N_c pulls, or else the one with the least
    a/b. That arm's pulls are then at most about log n / b, the vertex B of the lower bound's linear program.
    In simulation its regret meets the lower bound on both branches, where Clus-UCB pays A.

    Parameters
    ----------
    hedge
        κ from 0 (none) to 1, as for ``ClusUCB``; an arm that is chosen by its hedge is pulled itself.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = ClusOPT(Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.1))
    >>> for reward in [0, 0, 1]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    'c'

    References
    ----------
    Of this project; the index is that of Gore and Chaporkar.
    """

    name = "clus-opt"
    uses_widths = True
    defaults: ClassVar = {"a": 0.0, "refresh": 1, "hedge": 0.0, **ALARM}
    guarantee = "meets the lower bound in simulation"
    reference = "this project"
    steers = True
