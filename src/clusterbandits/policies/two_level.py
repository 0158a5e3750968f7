"""Policies that choose a cluster by its pooled statistics, then an arm in it by its own: TLP, UCBC.

A policy of this kind is two formulas, in the file that carries its name: ``score(state, mean, pulls, level)``
at a threshold f, and ``standing(state, c, spent, held)``, the mean a cluster is judged by. They share a state
and one compilation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from clusterbandits.compiled import kernel, records
from clusterbandits.families.law import Law, divergence, unit, variance
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.policies.arms import (
    APART,
    NOBODY,
    Floats,
    Ints,
    first_unpulled,
    largest,
    layout_of,
    members_of,
)
from clusterbandits.policies.hold_search import (
    fresh_memory,
    fresh_reach,
    hold_by_search,
    keeps,
    take_in,
)
from clusterbandits.policies.kl_ucb import threshold
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Assumption, Kernels, by_formula
from clusterbandits.policies.saved import KeptChoice

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

_LEVELS = np.dtype([("clusters", np.float64), ("arms", np.float64)])


class TwoLevelState(NamedTuple):
    """Statistics of arms, pulls of clusters, and the number of the formulas."""

    law: Law
    #: The place of the policy's formulas.
    formula: int
    a: float
    #: Rounds for which a choice is kept.
    refresh: int
    #: Whether scores are UCB1's instead of KL-UCB's.
    plain_bonus: bool
    #: Whether arms inside a cluster are judged by its own number of pulls instead of the round.
    own_clock: bool
    pulls: Ints
    totals: Floats
    cluster: Ints
    order: Ints
    start: Ints
    memory: NDArray[Any]
    reach: Ints
    cluster_pulls: Ints
    #: Scores at the last choice, and how fast they rise at most.
    scores: Floats
    rates: Floats
    cluster_scores: Floats
    cluster_rates: Floats
    #: Thresholds at the last choice: one record with ``clusters`` and ``arms``.
    levels: NDArray[Any]


SCORES: list[Callable[..., float]] = []
STANDINGS: list[Callable[..., float]] = []


_score_formula = by_formula(lambda _: SCORES)
_standing_formula = by_formula(lambda _: STANDINGS)


@kernel
def score(state: TwoLevelState, mean: float, pulls: int, level: float) -> float:
    """Return the score of so many pulls with that mean at a threshold f."""
    return float(_score_formula(state, mean, pulls, level))


@kernel
def standing(state: TwoLevelState, c: int, spent: int, held: int) -> float:
    """Return the mean a cluster is judged by after so many more pulls of one arm that paid nothing."""
    return float(_standing_formula(state, c, spent, held))


@kernel
def rate(state: TwoLevelState, mean: float, pulls: int, level: float, value: float) -> float:
    """Return how fast a score rises with the threshold from now on, at most: it is concave in it.

    Where the divergence is not convex, nothing is known.
    """
    if not state.law.convex:
        return math.inf
    if state.plain_bonus:
        return unit(state.law) / math.sqrt(2.0 * level * pulls) if level > 0.0 else math.inf
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
def select(state: TwoLevelState, n: int) -> int:
    """Return the first arm never pulled, the arm kept until the next refresh, or the best one."""
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
    """Return the best arm of the best cluster, and remember how its rivals stand."""
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
def ceiling(value: float, a_level: float, rise: float) -> float:
    """Return how high a score can have come since the threshold was lower."""
    return value + a_level * rise if rise > 0.0 else value


@kernel
def certain(state: TwoLevelState, arm: int, n: int, rounds: int) -> bool:
    """Tell whether cluster and arm stay ahead of their rivals, if all rounds but the last pay nothing.

    Nothing about rivals has changed since they were last solved for but the threshold.
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
        mate = state.order[place]
        if mate != arm:
            highest = max(highest, ceiling(state.scores[mate], state.rates[mate], rise))
    held = state.pulls[arm] + spent
    return exceeds(state, state.totals[arm] / held, held, early, highest)


@kernel
def hold(state: TwoLevelState, arm: int, n: int, limit: int) -> int:
    """Return for how many rounds the arm is certain, up to a refresh that might choose another."""
    memory = state.memory[0]
    if memory.unpulled > 0:
        return 1
    if n == memory.until - state.refresh:
        rounds = hold_by_search(state, arm, n, limit)
        memory.until = n + ((rounds - 1) // state.refresh + 1) * state.refresh
    return min(int(memory.until) - n, limit)


@kernel
def update(state: TwoLevelState, arm: int, pulls: int, total: float) -> None:
    """Add to the statistics of the arm and of its cluster."""
    take_in(state, arm, pulls, total)
    state.cluster_pulls[state.cluster[arm]] += pulls
    if arm != state.memory[0].kept:
        state.memory[0].kept = NOBODY


@kernel
def arm_score(state: TwoLevelState, arm: int, level: float) -> float:
    """Return the score of an arm at a threshold f."""
    return score(state, state.totals[arm] / state.pulls[arm], state.pulls[arm], level)


class TwoLevelPolicy(Policy):
    """A policy that chooses a cluster, then an arm in it; a subclass sets ``score`` and ``standing``."""

    score: ClassVar[Callable[..., float]]
    standing: ClassVar[Callable[..., float]]
    #: Whether ``score`` is UCB1's, whose rise with the threshold has another bound than KL-UCB's.
    plain_bonus: ClassVar[bool] = False
    relies_on = (
        Assumption.FALLS_WITH_PULLS,
        Assumption.RISES_WITH_TOTALS,
        Assumption.RISES_WITH_ROUNDS,
        Assumption.REWARDS_NOT_NEGATIVE,
    )
    saved = KeptChoice()
    kernels = Kernels(select, update, hold=hold, certain=certain)
    _formula: ClassVar[int]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._formula = len(SCORES)
        SCORES.append(cls.score)
        STANDINGS.append(cls.standing)
        cls.score, cls.standing = staticmethod(cls.score), staticmethod(cls.standing)

    def new_state(self, rng: Generator | None) -> TwoLevelState:
        """Make a state before the first round."""
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
            scores=np.zeros(arms),
            rates=np.zeros(arms),
            cluster_scores=np.zeros(len(members)),
            cluster_rates=np.zeros(len(members)),
            levels=records(_LEVELS, 1),
        )

    def _scores(self) -> list[float]:
        state = cast("TwoLevelState", self._live)
        clocks = state.cluster_pulls if state.own_clock else [self._next_round] * state.cluster_pulls.size
        levels = [threshold(int(clock), state.a) for clock in clocks]
        return [
            float(arm_score(state, arm, levels[int(state.cluster[arm])])) for arm in range(state.pulls.size)
        ]
