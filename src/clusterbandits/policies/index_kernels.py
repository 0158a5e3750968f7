"""``select``, ``hold`` and ``update`` of KL-UCB and Clus-UCB."""

from __future__ import annotations

from clusterbandits.compiled import kernel
from clusterbandits.policies.certainty import certain_rounds, is_certain
from clusterbandits.policies.evidence import threshold
from clusterbandits.policies.protocol import KERNELS, Kernels
from clusterbandits.policies.race import choose, mark_stale
from clusterbandits.policies.state import HELD, LAST, NOBODY, UNPULLED, UNTIL, IndexState


@kernel
def select(state: IndexState, n: int) -> int:
    """Return the first arm never pulled, the arm kept until the next refresh, or the largest index."""
    memory = state.memory
    if memory[UNPULLED] > 0:
        arm = 0
        while state.pulls[arm] > 0:
            arm += 1
        return arm
    if n < memory[UNTIL]:
        return int(memory[LAST])
    if not is_certain(state, n):
        memory[LAST] = choose(state, threshold(n, state.a))
        if memory[HELD] != memory[LAST]:
            memory[HELD] = NOBODY
    memory[UNTIL] = n + state.refresh
    return int(memory[LAST])


@kernel
def hold(state: IndexState, arm: int, n: int, limit: int) -> int:
    """Return for how many rounds the arm is certain, up to a refresh that might choose another."""
    memory = state.memory
    if memory[UNPULLED] > 0:
        return 1
    started = memory[UNTIL] - state.refresh
    if n == started:
        certain = certain_rounds(state, arm, n)
        if state.refresh > 1:
            certain = ((certain - 1) // state.refresh + 1) * state.refresh
        memory[UNTIL] = n + certain
    return min(int(memory[UNTIL]) - n, limit)


@kernel
def update(state: IndexState, arm: int, pulls: int, total: float) -> None:
    """Add to the arm's statistics; lines of its cluster no longer hold, nor a certificate for another arm."""
    if state.pulls[arm] == 0 and pulls > 0:
        state.memory[UNPULLED] -= 1
    state.pulls[arm] += pulls
    state.totals[arm] += total
    mark_stale(state, state.cluster[arm])
    if state.memory[HELD] != arm:
        state.memory[HELD] = NOBODY


KERNELS[IndexState] = Kernels(select, hold, update)
