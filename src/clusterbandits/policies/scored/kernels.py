"""The scores of UCB1, MOSS and KL-UCB++: the larger the total, the fewer the pulls, the later, the larger."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.families.law import Law, upper
from clusterbandits.policies.gallop import CERTAIN, KEPT, UNPULLED, fresh_memory, gallop, keeps, take_in
from clusterbandits.policies.leader import APART, first_unpulled, largest
from clusterbandits.policies.protocol import KERNELS, Kernels

if TYPE_CHECKING:
    from clusterbandits.policies.layout import Floats, Ints

UCB1, MOSS, KL_UCB_PLUS = range(3)


class ScoreState(NamedTuple):
    """Statistics, which score it is, and that score's one parameter: MOSS's α, KL-UCB++'s horizon."""

    law: Law
    kind: int
    parameter: float
    pulls: Ints
    totals: Floats
    memory: Ints
    #: The score of every arm; KL-UCB++'s change only when the arm is pulled.
    scores: Floats


def fresh_state(law: Law, kind: int, parameter: float, arms: int) -> ScoreState:
    """Return the state before the first round."""
    return ScoreState(
        law=law,
        kind=kind,
        parameter=float(parameter),
        pulls=np.zeros(arms, dtype=np.int64),
        totals=np.zeros(arms),
        memory=fresh_memory(arms),
        scores=np.zeros(arms),
    )


@kernel
def score(state: ScoreState, pulls: int, total: float, n: int) -> float:
    """Return what an arm with these statistics scores in round n."""
    mean = total / pulls
    if state.kind == UCB1:
        return mean + math.sqrt(2.0 * math.log(n) / pulls)
    if state.kind == MOSS:
        share = n / (state.pulls.size * pulls)
        bonus = 0.5 * (1.0 + state.parameter) * math.log(share) / pulls if share > 1.0 else 0.0
        return mean + math.sqrt(bonus)
    share = state.parameter / (state.pulls.size * pulls)
    surplus = math.log(share) if share > 1.0 else 0.0
    inflated = share * (1.0 + surplus * surplus)
    return upper(state.law, mean, math.log(inflated) / pulls if inflated > 1.0 else 0.0)


@kernel
def score_of(state: ScoreState, arm: int, n: int) -> float:
    """Return the arm's score in round n."""
    if state.kind == KL_UCB_PLUS:
        return float(state.scores[arm])
    return score(state, state.pulls[arm], state.totals[arm], n)


@kernel
def select(state: ScoreState, n: int) -> int:
    """Return the arm with the largest score: the one before where no other can have come near."""
    if state.memory[UNPULLED] > 0:
        return first_unpulled(state.pulls)
    if not keeps(state, n):
        if state.kind != KL_UCB_PLUS:
            for arm in range(state.pulls.size):
                state.scores[arm] = score_of(state, arm, n)
        state.memory[KEPT] = largest(state.law, state.scores, state.pulls)
    return int(state.memory[KEPT])


@kernel
def certain(state: ScoreState, arm: int, n: int, rounds: int) -> bool:
    """Tell whether no rival's score can reach the arm's, if all rounds but the last pay nothing."""
    worst = score(state, state.pulls[arm] + rounds - 1, state.totals[arm], n)
    clearly = worst - APART * state.law.tie * abs(worst)
    for rival in range(state.pulls.size):
        if rival != arm and not score_of(state, rival, n + rounds - 1) < clearly:
            return False
    return True


@kernel
def update(state: ScoreState, arm: int, pulls: int, total: float) -> None:
    """Add to the arm's statistics."""
    take_in(state, arm, pulls, total)
    if state.kind == KL_UCB_PLUS and state.pulls[arm] > 0:
        state.scores[arm] = score(state, state.pulls[arm], state.totals[arm], 1)


CERTAIN[ScoreState] = certain
KERNELS[ScoreState] = Kernels(select, gallop, update)
