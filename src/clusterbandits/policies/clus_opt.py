r"""Clus-OPT: rule out each suboptimal cluster by the pulls that incur the least regret.

For the arms of a cluster let a = m* − m, D = d(m, m*), b = d⁺(m, m* − β) and α = D − b. The cluster is ruled
out either by pulls of all its arms, with regret A per log n, or by pulls of its lowest arm alone, with regret
B per log n; these are the two vertices of the linear program of the lower bound. Clus-UCB incurs A; Clus-OPT
incurs the smaller of A and B.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.calculus import divergence_above, rise
from clusterbandits.policies.arms import NOBODY, leader_of
from clusterbandits.policies.index.policy import IndexPolicy
from clusterbandits.policies.settings import ALARM

#: The factor by which B must be below A: if all means are equal, they differ by rounding only.
CHEAPER = 1.0 - 1e-9


@kernel
def prices(state: Any, c: int, best: float) -> tuple[float, float, float, float]:
    """Return A, B, the smallest α and Σ b w with w = α_min/α, for a cluster with all means below ``best``."""
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
    """Return the arm of a cluster with the lowest mean; ties as in ``leader_of``."""
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
    """Return whether the arm's cluster has more pulls than each arm outside it; it is then never steered."""
    c, together, most = state.cluster[arm], 0, 0
    for other in range(state.pulls.size):
        if state.cluster[other] == c:
            together += state.pulls[other]
        else:
            most = max(most, state.pulls[other])
    return bool(together > most)


@inner_kernel
def steered(state: Any, arm: int) -> int:
    """Return the arm to pull instead of ``arm`` to rule out its cluster.

    It is ``arm`` itself unless pulls of the lowest arm alone incur less regret and the leader has enough
    pulls. Otherwise it is an arm of the cluster with too few pulls, if there is one, and else the lowest arm.
    """
    return steered_by(state, arm, leader_of(state.pulls, state.totals))


@inner_kernel
def steered_by(state: Any, arm: int, leader: int) -> int:
    """Return what ``steered`` returns, for a given empirical leader."""
    c, best = state.cluster[arm], state.totals[leader] / state.pulls[leader]
    if c == state.cluster[leader] or state.widths[c] == math.inf:
        return arm
    together, rarest = 0, arm
    for place in range(state.start[c], state.start[c + 1]):
        other = state.order[place]
        if not state.totals[other] / state.pulls[other] < best:
            return arm
        together += state.pulls[other]
        if _goes_before(state, other, rarest):
            rarest = other
    if state.pulls[leader] < together:
        return arm
    all_tight, alone, _, _ = prices(state, c, best)
    if not alone < all_tight * CHEAPER:
        return arm
    if state.pulls[rarest] < math.sqrt(together):
        return rarest
    return lowest_arm(state, c)


class ClusOPT(IndexPolicy):
    r"""Find the arm with the largest Clus-UCB index; pull the arm that rules out its cluster at least regret.

    Let c be that arm's cluster, with N_c pulls, a = m* − m and b = d⁺(m, m* − β). The arm itself is pulled if
    c contains the empirical leader, if pulls of all arms of c incur no more regret than pulls of one (A ≤ B),
    or if the leader has fewer pulls than c. Otherwise the policy pulls an arm of c with fewer than √N_c
    pulls, if there is one, and else the arm with the smallest a/b. That arm then needs at most about log n /
    b pulls, which is the vertex B of the linear program of the lower bound. In simulations the regret meets
    the lower bound on both branches, whereas Clus-UCB incurs A.

    Parameters
    ----------
    hedge
        κ from 0 (the default, no hedge) to 1, as for ``ClusUCB``; an arm chosen by its hedge is pulled
        itself.

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
    New in this project; the index is that of Gore and Chaporkar.
    """

    name = "clus-opt"
    uses_widths = True
    defaults: ClassVar = {"a": 0.0, "refresh": 1, "hedge": 0.0, **ALARM}
    guarantee = "meets the lower bound in simulation"
    reference = "this project"
    steers = True
