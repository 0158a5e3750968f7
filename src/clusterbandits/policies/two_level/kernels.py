"""A cluster by its pooled statistics, then an arm by its own: the kernels of TLP and UCBC."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.families.law import Law, divergence, upper, variance
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.policies.gallop import (
    CERTAIN,
    KEPT,
    OWN,
    UNPULLED,
    fresh_memory,
    gallop,
    keeps,
    take_in,
)
from clusterbandits.policies.index.evidence import threshold
from clusterbandits.policies.layout import NOBODY, Floats, Ints, layout_of
from clusterbandits.policies.leader import APART, first_unpulled, largest
from clusterbandits.policies.protocol import KERNELS, Kernels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Places in the memory: the arm of the last choice, and until when it is kept.
CHOSEN, UNTIL = OWN, OWN + 1
#: The two contests, by their places in ``TwoLevelState.levels``.
CLUSTERS, MATES = range(2)


class TwoLevelState(NamedTuple):
    """Statistics of arms, pulls of clusters, and which variant it is."""

    law: Law
    a: float
    #: Rounds for which a choice is kept.
    refresh: int
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
    cluster_pulls: Ints
    #: Scores at the last choice, how fast they rise at most, and the thresholds of the two contests then.
    scores: Floats
    rates: Floats
    cluster_scores: Floats
    cluster_rates: Floats
    levels: Floats


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
        law=law,
        a=float(settings.get("a", 0.0)),
        refresh=int(settings["refresh"]),
        plain_bonus=plain_bonus,
        by_best=by_best,
        own_clock=settings["clock"] == "cluster",
        pulls=np.zeros(arms, dtype=np.int64),
        totals=np.zeros(arms),
        cluster=layout.cluster,
        order=layout.order,
        start=layout.start,
        memory=fresh_memory(arms, NOBODY, 0),
        cluster_pulls=np.zeros(len(members), dtype=np.int64),
        scores=np.zeros(arms),
        rates=np.zeros(arms),
        cluster_scores=np.zeros(len(members)),
        cluster_rates=np.zeros(len(members)),
        levels=np.zeros(2),
    )


@kernel
def score(state: TwoLevelState, mean: float, pulls: int, level: float) -> float:
    """Return what so many pulls with that mean score at a threshold f."""
    if state.plain_bonus:
        return mean + math.sqrt(2.0 * level / pulls)
    return upper(state.law, mean, level / pulls)


@kernel
def rate(state: TwoLevelState, mean: float, pulls: int, level: float, value: float) -> float:
    """Return how fast a score rises with the threshold from now on, at most: it is concave in it.

    Where the divergence is not convex, nothing is known.
    """
    if not state.law.convex:
        return math.inf
    if state.plain_bonus:
        return 1.0 / math.sqrt(2.0 * level * pulls) if level > 0.0 else math.inf
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
    """Return the first arm never pulled, the arm kept until the next refresh, or the best one."""
    memory = state.memory
    if memory[UNPULLED] > 0:
        return first_unpulled(state.pulls)
    if n >= memory[UNTIL]:
        if not keeps(state, n):
            memory[KEPT] = _choose(state, n)
        memory[CHOSEN], memory[UNTIL] = memory[KEPT], n + state.refresh
    return int(memory[CHOSEN])


@kernel
def _choose(state: TwoLevelState, n: int) -> int:
    """Return the best arm of the best cluster, and remember how its rivals stand."""
    level = threshold(n, state.a)
    for c in range(state.cluster_pulls.size):
        mean, pulls = standing(state, c, 0, NOBODY), state.cluster_pulls[c]
        state.cluster_scores[c] = score(state, mean, pulls, level)
        state.cluster_rates[c] = rate(state, mean, pulls, level, state.cluster_scores[c])
    best = largest(state.law, state.cluster_scores, state.cluster_pulls)
    own_level = threshold(state.cluster_pulls[best], state.a) if state.own_clock else level
    state.levels[CLUSTERS], state.levels[MATES] = level, own_level
    return _best_arm(state, best, own_level)


@kernel
def _best_arm(state: TwoLevelState, c: int, level: float) -> int:
    for arm in range(state.pulls.size):
        state.scores[arm] = -math.inf
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        mean, pulls = state.totals[arm] / state.pulls[arm], state.pulls[arm]
        state.scores[arm] = score(state, mean, pulls, level)
        state.rates[arm] = rate(state, mean, pulls, level, state.scores[arm])
    return largest(state.law, state.scores, state.pulls)


@kernel
def ceiling(value: float, a_level: float, rise: float) -> float:
    """Return how high a score can have come since the threshold was lower."""
    return value + a_level * rise if rise > 0.0 else value


@kernel
def certain(state: TwoLevelState, arm: int, n: int, rounds: int) -> bool:
    """Tell whether cluster and arm stay ahead of their rivals, if all rounds but the last pay nothing.

    Nothing about rivals has changed since they were last solved for but the threshold.
    """
    if state.memory[KEPT] != arm:
        return False
    c, spent = state.cluster[arm], rounds - 1
    together, early, late = state.cluster_pulls[c], threshold(n, state.a), threshold(n + spent, state.a)
    highest, rise = -math.inf, late - state.levels[CLUSTERS]
    for rival in range(state.cluster_pulls.size):
        if rival != c:
            value = ceiling(state.cluster_scores[rival], state.cluster_rates[rival], rise)
            highest = max(highest, value)
    if not exceeds(state, standing(state, c, spent, arm), together + spent, early, highest):
        return False
    if state.own_clock:
        early, late = threshold(together, state.a), threshold(together + spent, state.a)
    highest, rise = -math.inf, late - state.levels[MATES]
    for place in range(state.start[c], state.start[c + 1]):
        mate = state.order[place]
        if mate != arm:
            highest = max(highest, ceiling(state.scores[mate], state.rates[mate], rise))
    held = state.pulls[arm] + spent
    return exceeds(state, state.totals[arm] / held, held, early, highest)


@kernel
def hold(state: TwoLevelState, arm: int, n: int, limit: int) -> int:
    """Return for how many rounds the arm is certain, up to a refresh that might choose another."""
    memory = state.memory
    if memory[UNPULLED] > 0:
        return 1
    if n == memory[UNTIL] - state.refresh:
        rounds = gallop(state, arm, n, limit)
        memory[UNTIL] = n + ((rounds - 1) // state.refresh + 1) * state.refresh
    return min(int(memory[UNTIL]) - n, limit)


@kernel
def update(state: TwoLevelState, arm: int, pulls: int, total: float) -> None:
    """Add to the statistics of the arm and of its cluster."""
    take_in(state, arm, pulls, total)
    state.cluster_pulls[state.cluster[arm]] += pulls
    if arm != state.memory[KEPT]:
        state.memory[KEPT] = NOBODY


CERTAIN[TwoLevelState] = certain
KERNELS[TwoLevelState] = Kernels(select, hold, update)
