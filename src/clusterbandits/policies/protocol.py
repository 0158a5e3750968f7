"""What every policy is made of: a few kernels on a state of arrays, chosen by the state's class.

``select(state, n)`` returns the arm of round n, ``hold(state, arm, n, limit)`` for how many rounds from n on
that choice is certain whatever they pay, ``update(state, arm, pulls, total)`` takes in what they paid.
``watch(state, n)`` lets the policy look at what it was told before round n and returns the round in which it
will look again. The functions of this file dispatch: a kernel that calls them is compiled once for every
class of state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from clusterbandits.compiled import allocating_kernel, kernel, plain, specialise
from clusterbandits.policies.layout import FOREVER

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


class State(Protocol):
    """What every state has: how often each arm was pulled, and what it paid in total."""

    @property
    def pulls(self) -> NDArray[np.int64]:
        """How often each arm was pulled."""

    @property
    def totals(self) -> NDArray[np.float64]:
        """What each arm has paid."""


@kernel
def one_round(_state: Any, _arm: int, _n: int, _limit: int) -> int:
    """Return 1: what a policy holds that chooses at random, or has no certainty."""
    return 1


@kernel
def never(_state: Any, _n: int) -> int:
    """Watch nothing."""
    return FOREVER


class Kernels(NamedTuple):
    """The compiled functions of a policy."""

    select: Callable[..., int]
    hold: Callable[..., int]
    update: Callable[..., None]
    watch: Callable[..., int] = never


KERNELS: dict[type, Kernels] = {}


def select(state: Any, n: int) -> int:
    """Return the arm to play in round n."""
    return KERNELS[type(state)].select(state, n)


def hold(state: Any, arm: int, n: int, limit: int) -> int:
    """Return for how many rounds from n on, ``limit`` at most, the arm is certain to be selected."""
    return KERNELS[type(state)].hold(state, arm, n, limit)


def update(state: Any, arm: int, pulls: int, total: float) -> None:
    """Take in that an arm was pulled that often and paid that total."""
    KERNELS[type(state)].update(state, arm, pulls, total)


def watch(state: Any, n: int) -> int:
    """Look at what was told before round n; return the round in which to look again."""
    return KERNELS[type(state)].watch(state, n)


@allocating_kernel
def _select_counted(state: Any, n: int) -> int:
    return select(state, n)


@allocating_kernel
def _update_counted(state: Any, arm: int, pulls: int, total: float) -> None:
    update(state, arm, pulls, total)


@allocating_kernel
def _watch_counted(state: Any, n: int) -> int:
    return watch(state, n)


def kernels_for_python(kind: type) -> Kernels:
    """Return the kernels as Python may call them: those handed a generator must count who holds it."""
    kernels = KERNELS[kind]
    if "rng" not in getattr(kind, "_fields", ()):
        return kernels
    return Kernels(_select_counted, kernels.hold, _update_counted, _watch_counted)


@specialise(select)
def _select(state: Any, _n: int) -> Callable[..., int]:
    return plain(KERNELS[state.instance_class].select)


@specialise(hold)
def _hold(state: Any, _arm: int, _n: int, _limit: int) -> Callable[..., int]:
    return plain(KERNELS[state.instance_class].hold)


@specialise(update)
def _update(state: Any, _arm: int, _pulls: int, _total: float) -> Callable[..., None]:
    return plain(KERNELS[state.instance_class].update)


@specialise(watch)
def _watch(state: Any, _n: int) -> Callable[..., int]:
    return plain(KERNELS[state.instance_class].watch)
