"""``hold`` by search: find a large number of rounds for which the choice is certain.

A policy defines ``certain(state, arm, n, rounds)``: whether its choice in round n stays the same for that
many rounds, whatever their rewards. ``hold_by_search`` searches for a large number of such rounds. The
reasoning does not apply to rewards below 0, so families with negative rewards are simulated round by round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.compiled import kernel, records
from clusterbandits.policies.arms import NOBODY
from clusterbandits.policies.protocol import FOREVER, certain

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fresh_memory(arms: int, **own: int) -> NDArray[Any]:
    """Return the memory before the first round, an array of one record.

    ``unpulled`` is the number of arms without pulls; ``kept`` the arm chosen last, if the choice may still be
    certain; ``proven`` the number of rounds, from the present one on, for which it is certain.
    """
    fields = {"unpulled": arms, "kept": NOBODY, "proven": 0, **own}
    memory = records(np.dtype([(name, np.int64) for name in fields]), 1)
    for name, value in fields.items():
        memory[name] = value
    return memory


def fresh_reach(arms: int) -> NDArray[np.int64]:
    """Return the number of rounds that the search tries first for each arm."""
    return np.ones(arms, dtype=np.int64)


@kernel
def keeps(state: Any, n: int) -> bool:
    """Return whether the kept arm is certain to be the choice in round n, so that no search is needed."""
    memory = state.memory[0]
    memory.proven = 0 if memory.kept == NOBODY else _proven(state, memory.kept, n)
    return bool(memory.proven > 0)


@kernel
def hold_by_search(state: Any, arm: int, n: int, limit: int) -> int:
    """Return the number of rounds from n on, at most ``limit``, for which the arm is certain."""
    if state.pulls.size == 1:
        return min(limit, FOREVER)
    memory = state.memory[0]
    if memory.unpulled > 0 or limit == 1:
        return 1
    rounds = memory.proven if memory.proven > 0 else _proven(state, arm, n)
    memory.proven = 0
    return int(max(1, min(rounds, limit)))


@kernel
def _proven(state: Any, arm: int, n: int) -> int:
    """Return the number of rounds for which the arm is certain; 0 if it is not certain at all.

    The search starts a little above the last result and halves the number until it succeeds; most searches
    succeed at once.
    """
    if state.law.lowest < 0.0:
        return 1 if certain(state, arm, n, 1) else 0
    rounds = state.reach[arm]
    while rounds > 0 and not certain(state, arm, n, rounds):
        rounds //= 2
    state.reach[arm] = min(rounds + rounds // 4 + 1, FOREVER)
    return int(rounds)


@kernel
def take_in(state: Any, arm: int, pulls: int, total: float) -> None:
    """Update the statistics of the arm."""
    if state.pulls[arm] == 0 and pulls > 0:
        state.memory[0].unpulled -= 1
    state.pulls[arm] += pulls
    state.totals[arm] += total
