"""Holding by trial: for how many rounds a choice is certain, found by trying.

A policy says with ``certain(state, arm, n, rounds)`` whether its choice of round n stays for so many rounds
whatever they pay; here is looked for a large number of rounds for which it does. Rewards are never below 0
(but for Gaussian ones, which hold nothing), so the worst that can come is rounds that pay nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.compiled import kernel, plain, specialise
from clusterbandits.policies.layout import FOREVER, NOBODY

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

#: Places in the memory of a policy: arms never pulled; the arm it would rather keep, and for how many rounds
#: from the present one on that was found to be certain; what it remembers itself. Last comes, for every arm,
#: for how many rounds to try.
UNPULLED, KEPT, PROVEN, OWN = range(4)

CERTAIN: dict[type, Callable[..., bool]] = {}


def certain(state: Any, arm: int, n: int, rounds: int) -> bool:
    """Tell whether the arm selected in round n is selected in so many rounds whatever they pay."""
    return CERTAIN[type(state)](state, arm, n, rounds)


@specialise(certain)
def _certain(state: Any, _arm: int, _n: int, _rounds: int) -> Callable[..., bool]:
    return plain(CERTAIN[state.instance_class])


def fresh_memory(arms: int, *own: int) -> NDArray[np.int64]:
    """Return the memory of a policy before the first round, with places of its own."""
    return np.array([arms, NOBODY, 0, *own, *([1] * arms)], dtype=np.int64)


@kernel
def keeps(state: Any, n: int) -> bool:
    """Tell whether the arm kept is certain to be the choice of round n: no other need be looked at then."""
    memory = state.memory
    memory[PROVEN] = 0 if memory[KEPT] == NOBODY else _proven(state, memory[KEPT], n)
    return bool(memory[PROVEN] > 0)


@kernel
def gallop(state: Any, arm: int, n: int, limit: int) -> int:
    """Return for how many rounds from n on, ``limit`` at most, the arm is certain to be selected."""
    if state.pulls.size == 1:
        return min(limit, FOREVER)
    memory = state.memory
    if memory[UNPULLED] > 0 or limit == 1:
        return 1
    rounds = memory[PROVEN] if memory[PROVEN] > 0 else _proven(state, arm, n)
    memory[PROVEN] = 0
    return int(max(1, min(rounds, limit)))


@kernel
def _proven(state: Any, arm: int, n: int) -> int:
    """Return for how many rounds the arm is certain, 0 where not even for one.

    A few more are tried than the last time, and half as many as long as that fails: most trials succeed.
    """
    if state.law.lowest < 0.0:
        return 1 if certain(state, arm, n, 1) else 0
    memory = state.memory
    place = memory.size - state.pulls.size + arm
    rounds = memory[place]
    while rounds > 0 and not certain(state, arm, n, rounds):
        rounds //= 2
    memory[place] = min(rounds + rounds // 4 + 1, FOREVER)
    return int(rounds)


@kernel
def take_in(state: Any, arm: int, pulls: int, total: float) -> None:
    """Add to the arm's statistics."""
    if state.pulls[arm] == 0 and pulls > 0:
        state.memory[UNPULLED] -= 1
    state.pulls[arm] += pulls
    state.totals[arm] += total
