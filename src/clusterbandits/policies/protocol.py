"""What every policy is made of: three kernels on a state of arrays, chosen by the state's class.

``select(state, n)`` returns the arm of round n, ``hold(state, arm, n, limit)`` for how many rounds from n on
that choice is certain whatever they pay, ``update(state, arm, pulls, total)`` takes in what they paid. The
functions of this file dispatch: a kernel that calls them is compiled once for every class of state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from clusterbandits.compiled import specialise

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


class Kernels(NamedTuple):
    """The three compiled functions of a policy."""

    select: Callable[..., int]
    hold: Callable[..., int]
    update: Callable[..., None]


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


@specialise(select)
def _select(state: Any, _n: int) -> Callable[..., int]:
    chosen = KERNELS[state.instance_class].select

    def implementation(state: Any, n: int) -> int:
        return chosen(state, n)

    return implementation


@specialise(hold)
def _hold(state: Any, _arm: int, _n: int, _limit: int) -> Callable[..., int]:
    chosen = KERNELS[state.instance_class].hold

    def implementation(state: Any, arm: int, n: int, limit: int) -> int:
        return chosen(state, arm, n, limit)

    return implementation


@specialise(update)
def _update(state: Any, _arm: int, _pulls: int, _total: float) -> Callable[..., None]:
    chosen = KERNELS[state.instance_class].update

    def implementation(state: Any, arm: int, pulls: int, total: float) -> None:
        chosen(state, arm, pulls, total)

    return implementation
