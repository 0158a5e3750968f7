"""``hold`` by search: the largest number of rounds for which a choice is found to be certain.

A policy states with ``certain(state, arm, n, rounds)`` whether its choice of round n stays the same for so
many rounds whatever rewards they bring; ``hold_by_search`` looks for a large number of rounds for which it
does. Rewards below 0 would refute that reasoning, so families that have them are played round by round.
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
    """Return the memory before the first round, one record.

    ``unpulled`` is the number of arms without a pull; ``kept`` the arm that was chosen last, if its choice
    may still be certain; ``proven`` for how many rounds from the present one on that was found.
    """
    fields = {"unpulled": arms, "kept": NOBODY, "proven": 0, **own}
    memory = records(np.dtype([(name, np.int64) for name in fields]), 1)
    for name, value in fields.items():
        memory[name] = value
    return memory


def fresh_reach(arms: int) -> NDArray[np.int64]:
    """Return for how many rounds the search tries each arm first."""
    return np.ones(arms, dtype=np.int64)


@kernel
def keeps(state: Any, n: int) -> bool:
    """Tell whether the arm kept is certain to be the choice of round n: no other need be looked at then."""
    memory = state.memory[0]
    memory.proven = 0 if memory.kept == NOBODY else _proven(state, memory.kept, n)
    return bool(memory.proven > 0)


@kernel
def hold_by_search(state: Any, arm: int, n: int, limit: int) -> int:
    """Return for how many rounds from n on, ``limit`` at most, the arm is certain to be selected."""
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
    """Return for how many rounds the arm is certain, 0 where not even for one.

    A few more are tried than the last time, and half as many as long as that fails: most trials succeed.
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
    """Add to the arm's statistics."""
    if state.pulls[arm] == 0 and pulls > 0:
        state.memory[0].unpulled -= 1
    state.pulls[arm] += pulls
    state.totals[arm] += total
