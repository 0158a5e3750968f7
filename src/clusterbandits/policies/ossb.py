"""OSSB: follow the optimal allocation of the lower bound at the empirical means.

The solution of the linear program of the lower bound, the pulls c_k per log n that arm k needs, has a closed
form: 1/D_k in clusters that contain a best arm; in any other cluster, 1/(α_k L) for all arms or 1/b for the
lowest arm alone, whichever incurs less regret.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.calculus import divergence_above, rise
from clusterbandits.policies.arms import (
    Floats,
    Ints,
    first_unpulled,
    leader_of,
    smallest,
)
from clusterbandits.policies.clus_opt import CHEAPER, prices
from clusterbandits.policies.hold_search import fresh_memory, fresh_reach, hold_by_search, take_in
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Assumption, Kernels
from clusterbandits.policies.saved import Counter
from clusterbandits.policies.settings import ALARM
from clusterbandits.policies.width_alarm import Alarm, watch_widths

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from clusterbandits.families.law import Law

_MARGIN = 1e-12


class AllocationState(NamedTuple):
    """Statistics, clusters and widths, and the allocation at the empirical means."""

    law: Law
    epsilon: float
    gamma: float
    pulls: Ints
    totals: Floats
    cluster: Ints
    order: Ints
    start: Ints
    widths: Floats
    alarm: Alarm
    memory: NDArray[Any]
    reach: Ints
    #: The pulls per log n that each arm needs, and the ratio of pulls to these.
    needed: Floats
    scores: Floats


@inner_kernel
def _inverse(value: float) -> float:
    return 1.0 / value if value > 0.0 else math.inf


@kernel
def allocate(state: AllocationState, best: float) -> None:
    """Write to ``needed`` the pulls per log n that each arm needs; 0 for arms as good as the best."""
    for c in range(state.widths.size):
        first, beyond = state.start[c], state.start[c + 1]
        holds_best = False
        for place in range(first, beyond):
            arm = state.order[place]
            if not state.totals[arm] / state.pulls[arm] < best:
                holds_best = True
        if holds_best:
            _allocate_plainly(state, c, best)
        else:
            _allocate_cheapest(state, c, best)


@kernel
def _allocate_plainly(state: AllocationState, c: int, best: float) -> None:
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        mean = state.totals[arm] / state.pulls[arm]
        state.needed[arm] = 0.0
        if mean < best:
            state.needed[arm] = _inverse(divergence_above(state.law, mean, best, 0.0))


@kernel
def _allocate_cheapest(state: AllocationState, c: int, best: float) -> None:
    width = state.widths[c]
    tight, alone, least, combined = prices(state, c, best)
    lowest, many = math.inf, 0
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        mean = state.totals[arm] / state.pulls[arm]
        many = 1 if mean < lowest else many + (mean == lowest)
        lowest = min(lowest, mean)
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        mean = state.totals[arm] / state.pulls[arm]
        if alone < tight * CHEAPER:
            only = _inverse(divergence_above(state.law, mean, best, width)) / many
            state.needed[arm] = only if mean == lowest else 0.0
        elif least == math.inf:
            state.needed[arm] = 0.0
        elif least == 0.0:
            state.needed[arm] = 1.0 / (best - mean) * _inverse(combined)
        else:
            share = least / rise(state.law, mean, best, width) / (least + combined)
            state.needed[arm] = min(share, _inverse(divergence_above(state.law, mean, best, 0.0)))


@kernel
def select(state: AllocationState, n: int) -> int:
    """Return the leader if all arms have the pulls they need, else an arm that lacks pulls."""
    if state.memory[0].unpulled > 0:
        return first_unpulled(state.pulls)
    leader = leader_of(state.pulls, state.totals)
    best = state.totals[leader] / state.pulls[leader]
    allocate(state, best)
    wanted, satisfied, rarest = (1.0 + state.gamma) * math.log(n), True, 0
    for arm in range(state.pulls.size):
        if state.needed[arm] > 0.0 and not state.pulls[arm] >= state.needed[arm] * wanted:
            satisfied = False
        if state.pulls[arm] < state.pulls[rarest]:
            rarest = arm
    if satisfied:
        return leader
    memory = state.memory[0]
    memory.explored += 1
    if state.pulls[rarest] <= state.epsilon * memory.explored:
        return rarest
    for arm in range(state.pulls.size):
        lacking = state.needed[arm] > 0.0
        state.scores[arm] = state.pulls[arm] / state.needed[arm] if lacking else math.inf
    return smallest(state.scores, state.pulls)


@kernel
def certain(state: AllocationState, arm: int, n: int, rounds: int) -> bool:
    """Return whether all arms keep the pulls they need while the leader is pulled, whatever its rewards.

    The mean of the leader stays between ``low`` and ``high``; D, b and α increase with it, which bounds each
    c_k from above.
    """
    if arm != leader_of(state.pulls, state.totals):
        return False
    pulls, total = state.pulls[arm] + rounds - 1, state.totals[arm]
    low, high = total / pulls, math.inf
    if state.law.highest < math.inf:
        high = (total + (rounds - 1) * state.law.highest) / pulls
    wanted = (1.0 + state.gamma) * math.log(n + rounds - 1) * (1.0 + _MARGIN)
    for c in range(state.widths.size):
        if c == state.cluster[arm] or state.widths[c] == math.inf:
            if not _plainly_satisfied(state, c, arm, low, wanted):
                return False
        elif state.law.highest == math.inf or not _cheaply_satisfied(state, c, low, high, wanted):
            return False
    return True


@kernel
def _plainly_satisfied(state: AllocationState, c: int, leader: int, low: float, wanted: float) -> bool:
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        mean = state.totals[arm] / state.pulls[arm]
        if arm != leader:
            if not mean < low:
                return False
            if not state.pulls[arm] * divergence_above(state.law, mean, low, 0.0) >= wanted:
                return False
    return True


@kernel
def _cheaply_satisfied(state: AllocationState, c: int, low: float, high: float, wanted: float) -> bool:
    """Return whether a suboptimal cluster has enough pulls for all best means from ``low`` to ``high``."""
    first, beyond, width = state.start[c], state.start[c + 1], state.widths[c]
    # L = 1 + Σ b/α, from below and from above.
    least_L, most_L, lowest = 1.0, 1.0, math.inf
    for place in range(first, beyond):
        arm = state.order[place]
        mean = state.totals[arm] / state.pulls[arm]
        gentlest, steepest = rise(state.law, mean, low, width), rise(state.law, mean, high, width)
        if not (mean < low and gentlest > 0.0):
            return False
        least_L += divergence_above(state.law, mean, low, width) / steepest
        most_L += divergence_above(state.law, mean, high, width) / gentlest
        lowest = min(lowest, mean)
    together, alone = True, True
    dearest, cheapest, dearest_alone, cheapest_alone = 0.0, 0.0, math.inf, math.inf
    for place in range(first, beyond):
        arm = state.order[place]
        mean, pulls = state.totals[arm] / state.pulls[arm], state.pulls[arm]
        gentlest, steepest = rise(state.law, mean, low, width), rise(state.law, mean, high, width)
        together = together and pulls * gentlest * least_L >= wanted
        dearest += (high - mean) / (gentlest * least_L)
        cheapest += (low - mean) / (steepest * most_L)
        b = divergence_above(state.law, mean, low, width)
        largest_b = divergence_above(state.law, mean, high, width)
        if mean == lowest:
            alone = alone and pulls * b >= wanted
            dearest_alone = (high - mean) * _inverse(b)
        cheapest_alone = min(cheapest_alone, (low - mean) * _inverse(largest_b))
    if together and alone:
        return True
    if together:
        return cheapest_alone > dearest
    return alone and dearest_alone < cheapest * (CHEAPER - _MARGIN)


class OSSB(Policy):
    r"""Pull the leader if all arms have the pulls that the lower bound requires, else one that lacks pulls.

    Let c_k be the solution of the linear program of the lower bound at the empirical means. If

    .. math:: t_k \ge c_k (1 + \gamma) \log n

    for all suboptimal arms, the leader is pulled. Otherwise, with s the number of exploration rounds so far,
    it is the arm with the fewest pulls if these are at most ε s, and else the arm with the smallest t_k /
    c_k. Cancelled rounds stay counted in s.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = OSSB(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Combes, Magureanu and Proutière, Minimal exploration in structured stochastic bandits, NeurIPS 2017.
    """

    name = "ossb"
    uses_widths = True
    defaults: ClassVar = {"epsilon": 0.01, "gamma": 0.0, **ALARM}
    guarantee = "meets the lower bound as ε, γ → 0"
    reference = "Combes et al. 2017"
    relies_on = (Assumption.REWARDS_NOT_NEGATIVE,)
    saved = Counter("explored")
    kernels = Kernels(select, take_in, hold=hold_by_search, watch=watch_widths, certain=certain)

    def new_state(self, rng: Generator | None) -> AllocationState:
        """Return the state before the first round."""
        del rng
        arms = len(self.clusters.arms)
        return AllocationState(
            **self.clustered_fields(*self.groups()),
            epsilon=float(self.settings["epsilon"]),
            gamma=float(self.settings["gamma"]),
            memory=fresh_memory(arms, explored=0),
            reach=fresh_reach(arms),
            needed=np.zeros(arms),
            scores=np.zeros(arms),
        )

    def _scores(self) -> list[float]:
        state = cast("AllocationState", self._live)
        leader = leader_of(state.pulls, state.totals)
        allocate(state, float(state.totals[leader]) / int(state.pulls[leader]))
        return [float(need) for need in state.needed]
