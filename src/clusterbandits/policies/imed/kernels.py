r"""The kernels of IMED and its clustered kin.

    H_k = t_k d(m_k, m*) + Σ_{j ≠ k in the cluster} t_j d⁺(m_j, m* − β) + log t_k

is what it takes to rule out that arm k is best, and the arm with the least is pulled. IMED is every arm a
cluster of its own. With a hedge κ an arm's H is at most (t_k d(m_k, m*) + log t_k)/κ.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.families.calculus import divergence_above, rise
from clusterbandits.policies.alarm import Alarm, fresh_alarm, watch_widths
from clusterbandits.policies.gallop import CERTAIN, KEPT, UNPULLED, fresh_memory, gallop, keeps, take_in
from clusterbandits.policies.layout import Floats, Ints, layout_of
from clusterbandits.policies.leader import first_unpulled, leader_of, slack, smallest
from clusterbandits.policies.protocol import KERNELS, Kernels
from clusterbandits.policies.steering import outweighs, steered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterbandits.families.law import Law

_MARGIN = 1e-12


class ImedState(NamedTuple):
    """Statistics, what is known of clusters, and which variant it is."""

    law: Law
    hedge: float
    steers: bool
    pulls: Ints
    totals: Floats
    cluster: Ints
    order: Ints
    start: Ints
    widths: Floats
    alarm: Alarm
    memory: Ints
    #: H of every arm, and what the arms of every cluster argue together.
    scores: Floats
    sums: Floats


def fresh_state(
    law: Law,
    members: Sequence[Sequence[int]],
    widths: Sequence[float],
    settings: Mapping[str, Any],
    *,
    steers: bool = False,
) -> ImedState:
    """Return the state before the first round."""
    layout = layout_of(members)
    arms = layout.order.size
    return ImedState(
        law=law,
        hedge=float(settings.get("hedge", 0.0)),
        steers=steers,
        pulls=np.zeros(arms, dtype=np.int64),
        totals=np.zeros(arms),
        cluster=layout.cluster,
        order=layout.order,
        start=layout.start,
        widths=np.array(widths, dtype=np.float64),
        alarm=fresh_alarm(
            law, layout, widths, settings.get("alarm", "ignore"), settings.get("alarm_level", 1.0)
        ),
        memory=fresh_memory(arms),
        scores=np.zeros(arms),
        sums=np.zeros(len(members)),
    )


@kernel
def argued(state: ImedState, arm: int, best: float, width: float) -> float:
    """Return t d⁺(m, best − width), what an arm argues against a mate of its being best."""
    mean = state.totals[arm] / state.pulls[arm]
    return float(state.pulls[arm] * divergence_above(state.law, mean, best, width))


@kernel
def add_up(state: ImedState, best: float) -> None:
    """Add up what the arms of every cluster argue against each other's being best."""
    for c in range(state.sums.size):
        state.sums[c] = 0.0
        if state.widths[c] < math.inf and state.start[c + 1] - state.start[c] > 1:
            for place in range(state.start[c], state.start[c + 1]):
                state.sums[c] += argued(state, state.order[place], best, state.widths[c])


@kernel
def plain_score(state: ImedState, arm: int, best: float) -> float:
    """Return IMED's H, from the arm's own rewards."""
    return argued(state, arm, best, 0.0) + math.log(state.pulls[arm])


@kernel
def clustered_score(state: ImedState, arm: int, best: float) -> float:
    """Return IMED-Clus' H, without a hedge; ``add_up`` goes before."""
    c, mates = state.cluster[arm], 0.0
    if state.sums[c] == math.inf:
        for place in range(state.start[c], state.start[c + 1]):
            if state.order[place] != arm:
                mates += argued(state, state.order[place], best, state.widths[c])
    elif state.sums[c] > 0.0:
        mates = max(state.sums[c] - argued(state, arm, best, state.widths[c]), 0.0)
    return plain_score(state, arm, best) + mates


@kernel
def score(state: ImedState, arm: int, best: float) -> float:
    """Return what arms are compared by."""
    value = clustered_score(state, arm, best)
    return min(value, plain_score(state, arm, best) / state.hedge) if state.hedge > 0.0 else value


@kernel
def select(state: ImedState, n: int) -> int:
    """Return the first arm never pulled, the one before where it is certain, or the best one."""
    if state.memory[UNPULLED] > 0:
        return first_unpulled(state.pulls)
    if not keeps(state, n):
        state.memory[KEPT] = _choose(state)
    return int(state.memory[KEPT])


@kernel
def _choose(state: ImedState) -> int:
    """Return the arm with the smallest H, or the one that refutes its cluster at the least cost."""
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
def certain(state: ImedState, arm: int, _n: int, rounds: int) -> bool:
    """Tell whether the arm stays the one with the smallest H, whatever the rounds pay.

    Its mean stays between ``low``, where no round pays anything, and ``high``, where each pays the highest
    reward. So m* stays between the larger of ``low`` and the best rival's mean, where rivals are easiest to
    pull, and the larger of ``high`` and that, where mates argue most.
    """
    pulls, c = state.pulls[arm] + rounds - 1, state.cluster[arm]
    low = state.totals[arm] / pulls
    alone = state.start[c + 1] - state.start[c] == 1 or state.widths[c] == math.inf
    strangers, rivals = _best_rivals(state, arm)
    if state.steers and not (strangers < low or outweighs(state, arm)):
        return False
    own, mates = math.log(pulls), 0.0
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
                mates += argued(state, state.order[place], most, state.widths[c])
    limit = min(own + mates, own / state.hedge) if state.hedge > 0.0 else own + mates
    return _all_behind(state, arm, max(low, rivals), own, limit + _MARGIN * max(limit, 1.0))


@kernel
def _best_rivals(state: ImedState, arm: int) -> tuple[float, float]:
    """Return the largest mean among the arms of other clusters, and among all other arms."""
    strangers, rivals = -math.inf, -math.inf
    for other in range(state.pulls.size):
        if other != arm:
            mean = state.totals[other] / state.pulls[other]
            rivals = max(rivals, mean)
            if state.cluster[other] != state.cluster[arm]:
                strangers = max(strangers, mean)
    return strangers, rivals


@kernel
def _all_behind(state: ImedState, arm: int, best: float, own: float, limit: float) -> bool:
    """Tell whether all rivals stay behind an arm whose own H is at most ``own``, from m* = ``best`` on."""
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
def _stays_behind(state: ImedState, mate: int, best: float, own: float, limit: float) -> bool:
    """Tell whether a mate stays behind: what the others argue counts against both alike."""
    mean, pulls = state.totals[mate] / state.pulls[mate], state.pulls[mate]
    ahead = pulls * rise(state.law, mean, best, state.widths[state.cluster[mate]]) + math.log(pulls)
    if not ahead > own + _MARGIN * max(limit, 1.0):
        return False
    return bool(state.hedge == 0.0 or plain_score(state, mate, best) / state.hedge > limit)


CERTAIN[ImedState] = certain
KERNELS[ImedState] = Kernels(select, gallop, take_in, watch_widths)
