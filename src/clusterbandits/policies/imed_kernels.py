"""``select`` and ``hold`` of IMED and its clustered variants: the arm with the smallest H."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.compiled import kernel
from clusterbandits.families.calculus import divergence_above, rise
from clusterbandits.policies.arms import first_unpulled, leader_among, leader_of, slack, smallest
from clusterbandits.policies.clus_opt import outweighs, steered, steered_by
from clusterbandits.policies.hold_search import hold_by_search, keeps, take_in
from clusterbandits.policies.imed import argued, plain_score
from clusterbandits.policies.imed_clus import add_up, clustered_score, score
from clusterbandits.policies.protocol import Kernels
from clusterbandits.policies.width_alarm import watch_widths

if TYPE_CHECKING:
    from clusterbandits.policies.arms import Mask
    from clusterbandits.policies.imed_state import ImedState

_MARGIN = 1e-12


@kernel
def select(state: ImedState, n: int) -> int:
    """Return the first arm without pulls, the arm chosen last if it is certain, or the best arm."""
    if state.memory[0].unpulled > 0:
        return first_unpulled(state.pulls)
    if not keeps(state, n):
        state.memory[0].kept = _choose(state)
    return int(state.memory[0].kept)


@kernel
def ahead(state: ImedState, _n: int) -> int:
    """Return what ``select`` returns, without first checking whether the arm chosen last is certain."""
    return first_unpulled(state.pulls) if state.memory[0].unpulled > 0 else _choose(state)


@kernel
def _choose(state: ImedState) -> int:
    """Return the arm with the smallest H, or the arm that rules out its cluster with the least regret."""
    leader = leader_of(state.pulls, state.totals)
    best = state.totals[leader] / state.pulls[leader]
    add_up(state, best)
    for arm in range(state.pulls.size):
        state.scores[arm] = score(state, arm, best)
    arm = smallest(state.scores, state.pulls)
    if not state.steers or state.cluster[arm] == state.cluster[leader]:
        return arm
    if state.hedge > 0.0:
        hedged = plain_score(state, arm, best) / state.hedge
        if hedged < clustered_score(state, arm, best) - slack(hedged):
            return arm
    return steered(state, arm)


@kernel
def among(state: ImedState, _n: int, open_arms: Mask) -> int:
    """Return the best open arm; rewards of the other arms count too."""
    if state.memory[0].unpulled > 0:
        return first_unpulled(state.pulls)
    leader = leader_among(state.pulls, state.totals, open_arms)
    best = state.totals[leader] / state.pulls[leader]
    add_up(state, best)
    for arm in range(state.pulls.size):
        state.scores[arm] = score(state, arm, best) if open_arms[arm] else math.inf
    arm = smallest(state.scores, state.pulls)
    if not state.steers or state.cluster[arm] == state.cluster[leader]:
        return arm
    if state.hedge > 0.0:
        hedged = plain_score(state, arm, best) / state.hedge
        if hedged < clustered_score(state, arm, best) - slack(hedged):
            return arm
    other = steered_by(state, arm, leader)
    return other if open_arms[other] else arm


@kernel
def certain(state: ImedState, arm: int, _n: int, rounds: int) -> bool:
    """Return whether the arm keeps the smallest H, whatever rewards it gets.

    Its mean stays between ``low`` (all rewards are 0) and ``high`` (all rewards are the largest possible). So
    m* stays between max(low, best rival's mean), where rivals have their smallest H, and max(high, best
    rival's mean), where the evidence of the other arms of its cluster is largest.
    """
    pulls, c = state.pulls[arm] + rounds - 1, state.cluster[arm]
    low = state.totals[arm] / pulls
    alone = state.start[c + 1] - state.start[c] == 1 or state.widths[c] == math.inf
    outside, rivals = _best_rivals(state, arm)
    if state.steers and not (outside < low or outweighs(state, arm)):
        return False
    own, others = math.log(pulls), 0.0
    if low < rivals:
        own += pulls * divergence_above(state.law, low, rivals, 0.0)
    if not alone:
        if state.law.highest == math.inf:
            return False
        high = (state.totals[arm] + (rounds - 1) * state.law.highest) / pulls
        most = max(high, rivals)
        if low < most - state.widths[c]:
            return False
        for place in range(state.start[c], state.start[c + 1]):
            if state.order[place] != arm:
                others += argued(state, state.order[place], most, state.widths[c])
    limit = min(own + others, own / state.hedge) if state.hedge > 0.0 else own + others
    return _all_behind(state, arm, max(low, rivals), own, limit + _MARGIN * max(limit, 1.0))


@kernel
def _best_rivals(state: ImedState, arm: int) -> tuple[float, float]:
    """Return the largest mean of the arms of other clusters, and of all other arms."""
    outside, rivals = -math.inf, -math.inf
    for other in range(state.pulls.size):
        if other != arm:
            mean = state.totals[other] / state.pulls[other]
            rivals = max(rivals, mean)
            if state.cluster[other] != state.cluster[arm]:
                outside = max(outside, mean)
    return outside, rivals


@kernel
def _all_behind(state: ImedState, arm: int, best: float, own: float, limit: float) -> bool:
    """Return whether all rivals stay behind an arm whose own H is at most ``own``, for m* ≥ ``best``."""
    c = state.cluster[arm]
    alone = state.start[c + 1] - state.start[c] == 1 or state.widths[c] == math.inf
    add_up(state, best)
    for rival in range(state.pulls.size):
        if rival == arm:
            continue
        if alone or state.cluster[rival] != c:
            if not score(state, rival, best) > limit:
                return False
        elif not _stays_behind(state, rival, best, own, limit):
            return False
    return True


@kernel
def _stays_behind(state: ImedState, other: int, best: float, own: float, limit: float) -> bool:
    """Return whether another arm of the cluster stays behind; the other arms count equally for both."""
    mean, pulls = state.totals[other] / state.pulls[other], state.pulls[other]
    ahead = pulls * rise(state.law, mean, best, state.widths[state.cluster[other]]) + math.log(pulls)
    if not ahead > own + _MARGIN * max(limit, 1.0):
        return False
    return bool(state.hedge == 0.0 or plain_score(state, other, best) / state.hedge > limit)


KERNELS = Kernels(
    select, take_in, hold=hold_by_search, watch=watch_widths, certain=certain, ahead=ahead, among=among
)
