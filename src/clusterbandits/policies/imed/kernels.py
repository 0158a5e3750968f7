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
from clusterbandits.families.law import BERNOULLI, Law
from clusterbandits.policies.alarm import Alarm, fresh_alarm, watch_widths
from clusterbandits.policies.gallop import CERTAIN, UNPULLED, gallop, take_in
from clusterbandits.policies.layout import Floats, Ints, layout_of
from clusterbandits.policies.leader import first_unpulled, leader_of, slack, smallest
from clusterbandits.policies.protocol import KERNELS, Kernels
from clusterbandits.policies.steering import steered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        law=Law(int(law.code), float(law.weight)),
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
        memory=np.array([arms, 1], dtype=np.int64),
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
def select(state: ImedState, _n: int) -> int:
    """Return the arm with the smallest H, or the one that refutes its cluster at the least cost."""
    if state.memory[UNPULLED] > 0:
        return first_unpulled(state.pulls)
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
        if hedged < clustered_score(state, arm, best) - slack(hedged, 1.0):
            return arm
    return steered(state, arm)


@kernel
def certain(state: ImedState, arm: int, _n: int, rounds: int) -> bool:
    """Tell whether the leader stays leader and stays ahead, whatever the rounds pay.

    Its mean stays between that of rounds that pay nothing and of rounds that pay all. Rivals of other
    clusters are easiest to pull at the lower end, mates argue most against it at the upper.
    """
    if arm != leader_of(state.pulls, state.totals):
        return False
    pulls, total = state.pulls[arm] + rounds - 1, state.totals[arm]
    low, c = total / pulls, state.cluster[arm]
    width, alone = state.widths[c], state.start[c + 1] - state.start[c] == 1 or state.widths[c] == math.inf
    if not alone and state.law.code != BERNOULLI:
        return False
    own, mates = math.log(pulls), 0.0
    for place in range(state.start[c], state.start[c + 1]):
        if not alone and state.order[place] != arm:
            mates += argued(state, state.order[place], (total + rounds - 1) / pulls, width)
    limit = min(own + mates, own / state.hedge) if state.hedge > 0.0 else own + mates
    return _all_behind(state, arm, low, own, limit + _MARGIN * max(limit, 1.0))


@kernel
def _all_behind(state: ImedState, arm: int, low: float, own: float, limit: float) -> bool:
    """Tell whether all rivals stay behind the leader, whose mean may fall to ``low``."""
    c = state.cluster[arm]
    alone = state.start[c + 1] - state.start[c] == 1 or state.widths[c] == math.inf
    add_up(state, low)
    for rival in range(state.pulls.size):
        if rival == arm:
            continue
        if not state.totals[rival] / state.pulls[rival] < low:
            return False
        if alone or state.cluster[rival] != c:
            if not score(state, rival, low) > limit:
                return False
        elif not _stays_behind(state, rival, low, own, limit):
            return False
    return True


@kernel
def _stays_behind(state: ImedState, mate: int, low: float, own: float, limit: float) -> bool:
    """Tell whether a mate of the leader stays behind: what the others argue counts against both alike."""
    mean, pulls = state.totals[mate] / state.pulls[mate], state.pulls[mate]
    ahead = pulls * rise(state.law, mean, low, state.widths[state.cluster[mate]]) + math.log(pulls)
    if not ahead > own + _MARGIN * max(own, 1.0):
        return False
    return bool(state.hedge == 0.0 or plain_score(state, mate, low) / state.hedge > limit)


CERTAIN[ImedState] = certain
KERNELS[ImedState] = Kernels(select, gallop, take_in, watch_widths)
