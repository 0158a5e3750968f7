"""The kernels of policies that need no more than a draw for every arm: Thompson, TSC, ε-greedy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.families.posterior import draw_mean
from clusterbandits.policies.gallop import UNPULLED, fresh_memory, take_in
from clusterbandits.policies.layout import Floats, Ints, layout_of
from clusterbandits.policies.leader import first_unpulled, leader_of
from clusterbandits.policies.protocol import KERNELS, Kernels, one_round

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.families.law import Law

THOMPSON, TSC, EPSILON_GREEDY = range(3)


class DrawState(NamedTuple):
    """Statistics, which policy it is, and its source of chance."""

    law: Law
    kind: int
    #: ε-greedy's c K / g².
    parameter: float
    pulls: Ints
    totals: Floats
    order: Ints
    start: Ints
    memory: Ints
    rng: np.random.Generator


def fresh_state(
    law: Law, kind: int, parameter: float, members: Sequence[Sequence[int]], rng: np.random.Generator
) -> DrawState:
    """Return the state before the first round."""
    layout = layout_of(members)
    arms = layout.order.size
    return DrawState(
        law=law,
        kind=kind,
        parameter=float(parameter),
        pulls=np.zeros(arms, dtype=np.int64),
        totals=np.zeros(arms),
        order=layout.order,
        start=layout.start,
        memory=fresh_memory(arms),
        rng=rng,
    )


@kernel
def select(state: DrawState, n: int) -> int:
    """Return the arm that chance, and what is known, choose."""
    if state.memory[UNPULLED] > 0:
        return first_unpulled(state.pulls)
    if state.kind == THOMPSON:
        return _largest_draw(state, 0, state.pulls.size)
    if state.kind == TSC:
        c = _drawn_cluster(state)
        return _largest_draw(state, state.start[c], state.start[c + 1])
    if state.rng.random() * n < state.parameter:
        return min(int(state.rng.random() * state.pulls.size), state.pulls.size - 1)
    return leader_of(state.pulls, state.totals)


@kernel
def _largest_draw(state: DrawState, first: int, beyond: int) -> int:
    chosen, best = state.order[first], -math.inf
    if beyond - first > 1:
        for place in range(first, beyond):
            arm = state.order[place]
            value = draw_mean(state.law, state.rng, float(state.pulls[arm]), state.totals[arm])
            if value > best:
                chosen, best = arm, value
    return int(chosen)


@kernel
def _drawn_cluster(state: DrawState) -> int:
    chosen, best = 0, -math.inf
    for c in range(state.start.size - 1):
        pulls, total = 0, 0.0
        for place in range(state.start[c], state.start[c + 1]):
            pulls += state.pulls[state.order[place]]
            total += state.totals[state.order[place]]
        value = draw_mean(state.law, state.rng, float(pulls), total)
        if value > best:
            chosen, best = c, value
    return chosen


KERNELS[DrawState] = Kernels(select, one_round, take_in)
