"""Policies that choose a cluster by its pooled statistics, then an arm by its own statistics: TLP, UCBC.

A policy of this kind is two formulas in the file named after it: ``score(state, mean, pulls, level)`` at a
threshold f, and ``standing(state, c, spent, held)``, the mean that represents a cluster. All of them share a
state and one compilation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from clusterbandits.compiled import kernel, records
from clusterbandits.policies.arms import NOBODY, first_unpulled, largest, layout_of, members_of
from clusterbandits.policies.hold_search import (
    fresh_memory,
    fresh_reach,
    hold_by_search,
    keeps,
    take_in,
)
from clusterbandits.policies.kl_ucb import threshold
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Assumption, Kernels
from clusterbandits.policies.saved import KeptChoice
from clusterbandits.policies.two_level_ahead import ahead, forget_kept
from clusterbandits.policies.two_level_scores import (
    LEVELS,
    SCORES,
    STANDINGS,
    TwoLevelState,
    ceiling,
    exceeds,
    rate,
    score,
    standing,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator


@kernel
def select(state: TwoLevelState, n: int) -> int:
    """Return the first arm without pulls, the arm kept until the next refresh, or the best arm."""
    memory = state.memory[0]
    if memory.unpulled > 0:
        return first_unpulled(state.pulls)
    if n >= memory.until:
        if not keeps(state, n):
            memory.kept = _choose(state, n)
        memory.last, memory.until = memory.kept, n + state.refresh
    return int(memory.last)


@kernel
def _choose(state: TwoLevelState, n: int) -> int:
    """Return the best arm of the best cluster, and store the scores of its rivals."""
    level = threshold(n, state.a)
    for c in range(state.cluster_pulls.size):
        mean, pulls = standing(state, c, 0, NOBODY), state.cluster_pulls[c]
        state.cluster_scores[c] = score(state, mean, pulls, level)
        state.cluster_rates[c] = rate(state, mean, pulls, level, state.cluster_scores[c])
    best = largest(state.law, state.cluster_scores, state.cluster_pulls)
    own_level = threshold(state.cluster_pulls[best], state.a) if state.own_clock else level
    levels = state.levels[0]
    levels.clusters, levels.arms = level, own_level
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
def certain(state: TwoLevelState, arm: int, n: int, rounds: int) -> bool:
    """Return whether cluster and arm keep the largest scores, if all rewards but the last are 0.

    For rivals, only the threshold has changed since their scores were computed.
    """
    if state.memory[0].kept != arm:
        return False
    c, spent = state.cluster[arm], rounds - 1
    together, early, late = state.cluster_pulls[c], threshold(n, state.a), threshold(n + spent, state.a)
    highest, rise = -math.inf, late - state.levels[0].clusters
    for rival in range(state.cluster_pulls.size):
        if rival != c:
            value = ceiling(state.cluster_scores[rival], state.cluster_rates[rival], rise)
            highest = max(highest, value)
    if not exceeds(state, standing(state, c, spent, arm), together + spent, early, highest):
        return False
    if state.own_clock:
        early, late = threshold(together, state.a), threshold(together + spent, state.a)
    highest, rise = -math.inf, late - state.levels[0].arms
    for place in range(state.start[c], state.start[c + 1]):
        other = state.order[place]
        if other != arm:
            highest = max(highest, ceiling(state.scores[other], state.rates[other], rise))
    held = state.pulls[arm] + spent
    return exceeds(state, state.totals[arm] / held, held, early, highest)


@kernel
def hold(state: TwoLevelState, arm: int, n: int, limit: int) -> int:
    """Return the number of rounds for which the arm is certain, up to a refresh that could choose another."""
    memory = state.memory[0]
    if memory.unpulled > 0:
        return 1
    if n == memory.until - state.refresh:
        rounds = hold_by_search(state, arm, n, limit)
        memory.until = n + ((rounds - 1) // state.refresh + 1) * state.refresh
    return min(int(memory.until) - n, limit)


@kernel
def update(state: TwoLevelState, arm: int, pulls: int, total: float) -> None:
    """Update the statistics of the arm and of its cluster."""
    take_in(state, arm, pulls, total)
    state.cluster_pulls[state.cluster[arm]] += pulls
    if arm != state.memory[0].kept:
        forget_kept(state)
        state.scores[arm] = state.cluster_scores[state.cluster[arm]] = math.inf


@kernel
def arm_score(state: TwoLevelState, arm: int, level: float) -> float:
    """Return the score of an arm at a threshold f."""
    return score(state, state.totals[arm] / state.pulls[arm], state.pulls[arm], level)


class TwoLevelPolicy(Policy):
    """Base class of policies that choose a cluster first; subclasses set ``score`` and ``standing``."""

    score: ClassVar[Callable[..., float]]
    standing: ClassVar[Callable[..., float]]
    #: Whether ``score`` is that of UCB1, whose rise with the threshold has another bound than that of KL-UCB.
    plain_bonus: ClassVar[bool] = False
    relies_on = (
        Assumption.FALLS_WITH_PULLS,
        Assumption.RISES_WITH_TOTALS,
        Assumption.RISES_WITH_ROUNDS,
        Assumption.REWARDS_NOT_NEGATIVE,
    )
    saved = KeptChoice()
    kernels = Kernels(select, update, hold=hold, certain=certain, ahead=ahead)
    _formula: ClassVar[int]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._formula = len(SCORES)
        SCORES.append(cls.score)
        STANDINGS.append(cls.standing)
        cls.score, cls.standing = staticmethod(cls.score), staticmethod(cls.standing)

    def new_state(self, rng: Generator | None) -> TwoLevelState:
        """Return the state before the first round."""
        del rng
        members = members_of(self.clusters)
        layout = layout_of(members)
        arms = layout.order.size
        return TwoLevelState(
            law=self.family.law,
            formula=self._formula,
            a=float(self.settings.get("a", 0.0)),
            refresh=int(self.settings["refresh"]),
            plain_bonus=self.plain_bonus,
            own_clock=self.settings["clock"] == "cluster",
            pulls=np.zeros(arms, dtype=np.int64),
            totals=np.zeros(arms),
            cluster=layout.cluster,
            order=layout.order,
            start=layout.start,
            memory=fresh_memory(arms, last=NOBODY, until=0),
            reach=fresh_reach(arms),
            cluster_pulls=np.zeros(len(members), dtype=np.int64),
            scores=np.full(arms, math.inf),
            rates=np.zeros(arms),
            cluster_scores=np.full(len(members), math.inf),
            cluster_rates=np.zeros(len(members)),
            levels=records(LEVELS, 1),
            arm_levels=np.zeros(len(members)),
        )

    def supposing(self, live: Any) -> Any:
        """Return a state for outstanding rewards, in which no scores are computed yet."""
        state: Any = super().supposing(live)
        state.memory["kept"][0] = NOBODY
        state.scores[:], state.cluster_scores[:] = math.inf, math.inf
        return state

    def _scores(self) -> list[float]:
        state = cast("TwoLevelState", self._live)
        clocks = state.cluster_pulls if state.own_clock else [self._next_round] * state.cluster_pulls.size
        levels = [threshold(int(clock), state.a) for clock in clocks]
        return [
            float(arm_score(state, arm, levels[int(state.cluster[arm])])) for arm in range(state.pulls.size)
        ]
