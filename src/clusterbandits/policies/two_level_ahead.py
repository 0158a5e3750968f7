"""The choice of a cluster and then an arm while rewards are outstanding, which computes few scores.

``ahead`` makes the same choices as ``select``, on separate states. Their scores are upper bounds at the
thresholds of the last choice, and infinite if rewards have arrived since. A score is computed only if its
bound reaches the best score.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.compiled import kernel
from clusterbandits.policies.arms import APART, NOBODY, first_unpulled, largest
from clusterbandits.policies.kl_ucb import threshold
from clusterbandits.policies.two_level_scores import ceiling, rate, score, standing

if TYPE_CHECKING:
    from clusterbandits.policies.two_level_scores import TwoLevelState


@kernel
def ahead(state: TwoLevelState, n: int) -> int:
    """Return the first arm without pulls, the arm kept until the next refresh, or the best arm."""
    memory = state.memory[0]
    if memory.unpulled > 0:
        return first_unpulled(state.pulls)
    if n >= memory.until:
        memory.last, memory.until = _choose(state, n), n + state.refresh
    return int(memory.last)


@kernel
def _choose(state: TwoLevelState, n: int) -> int:
    """Return the best arm of the best cluster."""
    forget_kept(state)
    level = threshold(n, state.a)
    _solve_clusters(state, level)
    best = largest(state.law, state.cluster_scores, state.cluster_pulls)
    _solve_arms(state, best, threshold(state.cluster_pulls[best], state.a) if state.own_clock else level)
    arm = _best_arm(state, best)
    state.memory[0].kept = arm
    return arm


@kernel
def forget_kept(state: TwoLevelState) -> None:
    """Invalidate the scores of the arm chosen last and of its cluster."""
    kept = state.memory[0].kept
    if kept != NOBODY:
        state.scores[kept] = state.cluster_scores[state.cluster[kept]] = math.inf
        state.memory[0].kept = NOBODY


@kernel
def _solve_clusters(state: TwoLevelState, level: float) -> None:
    """Write the scores of clusters that may be best, and bounds below the best for the others."""
    rise, top = level - state.levels[0].clusters, 0
    state.levels[0].clusters = level
    for c in range(state.cluster_pulls.size):
        state.cluster_scores[c] = ceiling(state.cluster_scores[c], state.cluster_rates[c], rise)
        if state.cluster_scores[c] > state.cluster_scores[top]:
            top = c
    _solve_cluster(state, top, level)
    best = state.cluster_scores[top]
    for c in range(state.cluster_pulls.size):
        if c != top and state.cluster_scores[c] >= best - APART * state.law.tie * abs(best):
            _solve_cluster(state, c, level)
            best = max(best, state.cluster_scores[c])


@kernel
def _solve_cluster(state: TwoLevelState, c: int, level: float) -> None:
    mean, pulls = standing(state, c, 0, NOBODY), state.cluster_pulls[c]
    state.cluster_scores[c] = score(state, mean, pulls, level)
    state.cluster_rates[c] = rate(state, mean, pulls, level, state.cluster_scores[c])


@kernel
def _solve_arms(state: TwoLevelState, c: int, level: float) -> None:
    """Write the scores of arms of a cluster that may be best, and bounds below the best for the others."""
    rise, top = level - state.arm_levels[c], state.order[state.start[c]]
    state.arm_levels[c] = level
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        state.scores[arm] = ceiling(state.scores[arm], state.rates[arm], rise)
        if state.scores[arm] > state.scores[top]:
            top = arm
    _solve_arm(state, top, level)
    best = state.scores[top]
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        if arm != top and state.scores[arm] >= best - APART * state.law.tie * abs(best):
            _solve_arm(state, arm, level)
            best = max(best, state.scores[arm])


@kernel
def _solve_arm(state: TwoLevelState, arm: int, level: float) -> None:
    mean, pulls = state.totals[arm] / state.pulls[arm], state.pulls[arm]
    state.scores[arm] = score(state, mean, pulls, level)
    state.rates[arm] = rate(state, mean, pulls, level, state.scores[arm])


@kernel
def _best_arm(state: TwoLevelState, c: int) -> int:
    """Return the arm of a cluster with the largest score; ties as in ``largest``."""
    best, first, beyond = -math.inf, state.start[c], state.start[c + 1]
    for place in range(first, beyond):
        best = max(best, state.scores[state.order[place]])
    chosen, within = NOBODY, state.law.tie * abs(best)
    for place in range(first, beyond):
        arm = state.order[place]
        tied = state.scores[arm] == best or state.scores[arm] >= best - within
        if tied and (chosen == NOBODY or state.pulls[arm] < state.pulls[chosen]):
            chosen = arm
    return int(chosen)
