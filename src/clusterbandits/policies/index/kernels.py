"""``select``, ``hold``, ``update`` and ``watch`` of KL-UCB, Clus-UCB and their variants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.policies.arms import NOBODY, first_unpulled
from clusterbandits.policies.clus_opt import steered
from clusterbandits.policies.clus_ucb import clustered_index, hedge_index
from clusterbandits.policies.index.ahead import ahead, among
from clusterbandits.policies.index.certificate import certain_rounds, is_certain
from clusterbandits.policies.index.race import choose, mark_stale
from clusterbandits.policies.kl_ucb import threshold
from clusterbandits.policies.protocol import Kernels
from clusterbandits.policies.width_alarm import look

if TYPE_CHECKING:
    from clusterbandits.policies.index.state import IndexState


@kernel
def select(state: IndexState, n: int) -> int:
    """Return the first arm without pulls, the arm kept until the next refresh, or the largest index's arm."""
    memory = state.memory[0]
    if memory.unpulled > 0:
        return first_unpulled(state.pulls)
    if n < memory.until:
        return int(memory.last)
    if not is_certain(state, n):
        memory.last = _steer(state, choose(state, threshold(n, state.a)), n)
        if memory.held != memory.last:
            memory.held = NOBODY
    memory.until = n + state.refresh
    return int(memory.last)


@inner_kernel
def _steer(state: IndexState, arm: int, n: int) -> int:
    """Return the arm to pull if ``arm`` has the largest index: ``arm`` or one that rules out its cluster."""
    if not state.steers or state.cluster[arm] == state.memory[0].leading or state.pulls.size == 1:
        return arm
    if state.hedge > 0.0:
        level = threshold(n, state.a)
        hedged = hedge_index(state, arm, level)
        clustered = clustered_index(state, arm, level, state.widths[state.cluster[arm]])
        if hedged > clustered + state.law.tie * abs(hedged):
            return arm
    return steered(state, arm)


@kernel
def hold(state: IndexState, arm: int, n: int, limit: int) -> int:
    """Return the number of rounds for which the arm is certain, up to a refresh that could choose another."""
    memory = state.memory[0]
    if memory.unpulled > 0:
        return 1
    started = memory.until - state.refresh
    if n == started:
        certain = certain_rounds(state, arm, n)
        if state.refresh > 1:
            certain = ((certain - 1) // state.refresh + 1) * state.refresh
        memory.until = n + certain
    return min(int(memory.until) - n, limit)


@kernel
def update(state: IndexState, arm: int, pulls: int, total: float) -> None:
    """Update the statistics of the arm; invalidate the lines of its cluster and other certificates."""
    if state.pulls[arm] == 0 and pulls > 0:
        state.memory[0].unpulled -= 1
    state.pulls[arm] += pulls
    state.totals[arm] += total
    mark_stale(state, state.cluster[arm])
    if state.memory[0].held != arm:
        state.memory[0].held = NOBODY


@kernel
def watch(state: IndexState, n: int) -> int:
    """Check the widths; invalidate all that was derived from a width that is now ignored."""
    if look(state.law, state.pulls, state.totals, state.alarm, n) and state.alarm.widens:
        for c in range(state.alarm.fired.size):
            if state.alarm.fired[c] == n:
                widen(state, c)
        # A kept arm stays until the next refresh.
        if state.memory[0].until > n:
            state.memory[0].until = n + (state.memory[0].until - n) % state.refresh
        state.memory[0].held = NOBODY
    return int(state.alarm.look[0])


@kernel
def widen(state: IndexState, c: int) -> None:
    """Ignore the width of a cluster from now on."""
    if state.distances.size == 0:
        state.widths[c] = math.inf
        mark_stale(state, c)
        return
    first, beyond = state.alarm.start[c], state.alarm.start[c + 1]
    for place in range(first, beyond):
        for other in range(first, beyond):
            if place != other:
                state.distances[state.alarm.order[place], state.alarm.order[other]] = math.inf
    mark_stale(state, 0)


KERNELS = Kernels(select, update, hold=hold, watch=watch, ahead=ahead, among=among)
