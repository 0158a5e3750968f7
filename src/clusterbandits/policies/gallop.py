"""Holding by trial: for how many rounds a choice is certain, found by doubling.

A policy says with ``certain(state, arm, n, rounds)`` whether its choice of round n stays for so many rounds
whatever they pay; here is looked for a large number of rounds for which it does. Rewards are never below 0
(but for Gaussian ones, which hold nothing), so the worst that can come is rounds that pay nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterbandits.compiled import kernel, plain, specialise
from clusterbandits.families.law import GAUSSIAN
from clusterbandits.policies.layout import FOREVER

if TYPE_CHECKING:
    from collections.abc import Callable

#: Places in the memory of a policy that gallops: arms never pulled, and the rounds of the last hold.
UNPULLED, STRIDE = range(2)
_STEP = 4

CERTAIN: dict[type, Callable[..., bool]] = {}


def certain(state: Any, arm: int, n: int, rounds: int) -> bool:
    """Tell whether the arm selected in round n is selected in so many rounds whatever they pay."""
    return CERTAIN[type(state)](state, arm, n, rounds)


@specialise(certain)
def _certain(state: Any, _arm: int, _n: int, _rounds: int) -> Callable[..., bool]:
    return plain(CERTAIN[state.instance_class])


@kernel
def gallop(state: Any, arm: int, n: int, limit: int) -> int:
    """Return for how many rounds from n on, ``limit`` at most, the arm is certain to be selected."""
    if state.pulls.size == 1:
        return min(limit, FOREVER)
    if state.memory[UNPULLED] > 0 or state.law.code == GAUSSIAN or limit == 1:
        return 1
    rounds = max(2, min(limit, state.memory[STRIDE]))
    if certain(state, arm, n, rounds):
        while rounds < limit and certain(state, arm, n, min(limit, 2 * rounds)):
            rounds = min(limit, 2 * rounds)
    else:
        rounds //= _STEP
        while rounds > 1 and not certain(state, arm, n, rounds):
            rounds //= _STEP
        rounds = max(rounds, 1)
    state.memory[STRIDE] = rounds
    return int(rounds)


@kernel
def take_in(state: Any, arm: int, pulls: int, total: float) -> None:
    """Add to the arm's statistics."""
    if state.pulls[arm] == 0 and pulls > 0:
        state.memory[UNPULLED] -= 1
    state.pulls[arm] += pulls
    state.totals[arm] += total
