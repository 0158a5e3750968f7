"""A cluster by its pooled statistics, then an arm by its own: the kernels of TLP and UCBC."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.families.law import Law, upper
from clusterbandits.policies.gallop import CERTAIN, UNPULLED, gallop, take_in
from clusterbandits.policies.index.evidence import threshold
from clusterbandits.policies.layout import NOBODY, Floats, Ints, layout_of
from clusterbandits.policies.leader import first_unpulled, largest
from clusterbandits.policies.protocol import KERNELS, Kernels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MARGIN = 1e-12


class TwoLevelState(NamedTuple):
    """Statistics of arms, pulls of clusters, and which variant it is."""

    law: Law
    a: float
    #: Whether scores are UCB1's instead of KL-UCB's.
    plain_bonus: bool
    #: Whether a cluster stands by its best arm instead of by the mean of all its pulls.
    by_best: bool
    #: Whether arms inside a cluster are judged by its own number of pulls instead of the round.
    own_clock: bool
    pulls: Ints
    totals: Floats
    cluster: Ints
    order: Ints
    start: Ints
    memory: Ints
    scores: Floats
    cluster_pulls: Ints
    cluster_scores: Floats


def fresh_state(
    law: Law,
    members: Sequence[Sequence[int]],
    settings: Mapping[str, Any],
    *,
    plain_bonus: bool,
    by_best: bool,
) -> TwoLevelState:
    """Return the state before the first round."""
    layout = layout_of(members)
    arms = layout.order.size
    return TwoLevelState(
        law=Law(int(law.code), float(law.weight)),
        a=float(settings.get("a", 0.0)),
        plain_bonus=plain_bonus,
        by_best=by_best,
        own_clock=settings["clock"] == "cluster",
        pulls=np.zeros(arms, dtype=np.int64),
        totals=np.zeros(arms),
        cluster=layout.cluster,
        order=layout.order,
        start=layout.start,
        memory=np.array([arms, 1], dtype=np.int64),
        scores=np.zeros(arms),
        cluster_pulls=np.zeros(len(members), dtype=np.int64),
        cluster_scores=np.zeros(len(members)),
    )


@kernel
def score(state: TwoLevelState, mean: float, pulls: int, clock: int) -> float:
    """Return what so many pulls with that mean score."""
    if state.plain_bonus:
        return mean + math.sqrt(2.0 * math.log(clock) / pulls)
    return upper(state.law, mean, threshold(clock, state.a) / pulls)


@kernel
def standing(state: TwoLevelState, c: int, spent: int, held: int) -> float:
    """Return the mean a cluster is judged by after so many more pulls of one arm that paid nothing."""
    total, best = 0.0, -math.inf
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        total += state.totals[arm]
        best = max(best, state.totals[arm] / (state.pulls[arm] + (spent if arm == held else 0)))
    return best if state.by_best else total / (state.cluster_pulls[c] + spent)


@kernel
def select(state: TwoLevelState, n: int) -> int:
    """Return the best arm of the best cluster."""
    if state.memory[UNPULLED] > 0:
        return first_unpulled(state.pulls)
    for c in range(state.cluster_scores.size):
        state.cluster_scores[c] = score(state, standing(state, c, 0, NOBODY), state.cluster_pulls[c], n)
    return _best_arm(state, largest(state.cluster_scores, state.cluster_pulls), n)


@kernel
def _best_arm(state: TwoLevelState, c: int, n: int) -> int:
    clock = state.cluster_pulls[c] if state.own_clock else n
    for arm in range(state.pulls.size):
        state.scores[arm] = -math.inf
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        state.scores[arm] = score(state, state.totals[arm] / state.pulls[arm], state.pulls[arm], clock)
    return largest(state.scores, state.pulls)


@kernel
def certain(state: TwoLevelState, arm: int, n: int, rounds: int) -> bool:
    """Tell whether cluster and arm stay ahead of their rivals, if all rounds but the last pay nothing."""
    c, spent = state.cluster[arm], rounds - 1
    together = state.cluster_pulls[c]
    worst = score(state, standing(state, c, spent, arm), together + spent, n)
    for rival in range(state.cluster_pulls.size):
        if rival != c:
            value = score(state, standing(state, rival, 0, NOBODY), state.cluster_pulls[rival], n + spent)
            if not value < worst - _MARGIN * abs(worst):
                return False
    early, late = (together, together + spent) if state.own_clock else (n, n + spent)
    held = state.pulls[arm] + spent
    worst = score(state, state.totals[arm] / held, held, early)
    for place in range(state.start[c], state.start[c + 1]):
        mate = state.order[place]
        if mate != arm:
            value = score(state, state.totals[mate] / state.pulls[mate], state.pulls[mate], late)
            if not value < worst - _MARGIN * abs(worst):
                return False
    return True


@kernel
def update(state: TwoLevelState, arm: int, pulls: int, total: float) -> None:
    """Add to the statistics of the arm and of its cluster."""
    take_in(state, arm, pulls, total)
    state.cluster_pulls[state.cluster[arm]] += pulls


CERTAIN[TwoLevelState] = certain
KERNELS[TwoLevelState] = Kernels(select, gallop, update)
