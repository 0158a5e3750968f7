"""The protocol of policies: a few kernels on a state of arrays, chosen by the class of the state.

``select(state, n)`` returns the arm of round n; ``update(state, arm, pulls, total)`` takes in the rewards.
These two are all a policy needs: it is then played round by round. The others are optional:

``hold(state, arm, n, limit)`` returns for how many rounds from n on the choice is certain whatever rewards
they bring. Skip-ahead simulation is exact only if that is true, so a policy that has ``hold`` declares in
``relies_on`` what its reasoning assumes, and ``clusterbandits.testing.check_policy`` tries to refute it.
``watch(state, n)`` lets the policy look at its data before round n and returns the round of its next look.
``wants_each(state)`` tells whether every reward must be taken in on its own, for sums of squares.

The functions of this file dispatch: a kernel that calls them is compiled once per class of state.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from clusterbandits.compiled import allocating_kernel, kernel, made_kernel, plain, specialise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

#: Longer than any horizon.
FOREVER = 10**15


class State(Protocol):
    """The fields that every state has."""

    @property
    def pulls(self) -> NDArray[np.int64]:
        """Number of pulls per arm."""

    @property
    def totals(self) -> NDArray[np.float64]:
        """Sum of rewards per arm."""


class Assumption(StrEnum):
    """What the reasoning behind ``hold`` can rely on."""

    FALLS_WITH_PULLS = "an arm's score does not rise when a pull pays nothing"
    RISES_WITH_TOTALS = "an arm's score does not fall when its total grows"
    RISES_WITH_ROUNDS = "an arm's score does not fall with the number of the round"
    REWARDS_NOT_NEGATIVE = "no reward is below 0; families without this bound are played round by round"


@kernel
def one_round(_state: Any, _arm: int, _n: int, _limit: int) -> int:
    """Return 1: the choice is certain for its own round alone."""
    return 1


@kernel
def never(_state: Any, _n: int) -> int:
    """Return a round that never comes: there is nothing to look at."""
    return FOREVER


@kernel
def sums_suffice(_state: Any) -> bool:
    """Tell that the sum of several rewards is enough."""
    return False


@kernel
def uncertain(_state: Any, _arm: int, _n: int, rounds: int) -> bool:
    """Tell that a choice is certain for its own round alone."""
    return rounds == 1


class Kernels(NamedTuple):
    """The compiled functions of a policy."""

    select: Callable[..., int]
    update: Callable[..., None]
    hold: Callable[..., int] = one_round
    watch: Callable[..., int] = never
    wants_each: Callable[..., bool] = sums_suffice
    #: For ``hold_by_search``: whether the choice of round n is certain for so many rounds.
    certain: Callable[..., bool] = uncertain


#: The kernels of every class of state that was made.
KERNELS: dict[type, Kernels] = {}


def select(state: Any, n: int) -> int:
    """Return the arm to play in round n."""
    return KERNELS[type(state)].select(state, n)


def hold(state: Any, arm: int, n: int, limit: int) -> int:
    """Return for how many rounds from n on, ``limit`` at most, the arm is certain to be selected."""
    return KERNELS[type(state)].hold(state, arm, n, limit)


def update(state: Any, arm: int, pulls: int, total: float) -> None:
    """Take in the sum of the rewards of so many pulls of an arm."""
    KERNELS[type(state)].update(state, arm, pulls, total)


def certain(state: Any, arm: int, n: int, rounds: int) -> bool:
    """Tell whether the arm selected in round n is selected in so many rounds whatever rewards they bring."""
    return KERNELS[type(state)].certain(state, arm, n, rounds)


def watch(state: Any, n: int) -> int:
    """Look at the data before round n; return the round of the next look."""
    return KERNELS[type(state)].watch(state, n)


def wants_each(state: Any) -> bool:
    """Tell whether every reward must be taken in on its own."""
    return KERNELS[type(state)].wants_each(state)


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
    """Return the kernels as Python may call them: those handed a generator must count references to it."""
    kernels = KERNELS[kind]
    if "rng" not in getattr(kind, "_fields", ()):
        return kernels
    return kernels._replace(select=_select_counted, update=_update_counted, watch=_watch_counted)


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


@specialise(certain)
def _certain(state: Any, _arm: int, _n: int, _rounds: int) -> Callable[..., bool]:
    return plain(KERNELS[state.instance_class].certain)


@specialise(wants_each)
def _wants_each(state: Any) -> Callable[..., bool]:
    return plain(KERNELS[state.instance_class].wants_each)


def picked(formulas: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """Return a kernel that calls the formula whose place is ``state.formula``.

    Policies that differ in a formula alone share a state class, and one compilation of everything else.
    """
    chain = formulas[0]
    for number, formula in enumerate(formulas[1:], 1):
        chain = _either(number, formula, chain)
    return chain


def _either(number: int, formula: Callable[..., Any], rest: Callable[..., Any]) -> Callable[..., Any]:
    @made_kernel
    def either(state: Any, *arguments: Any) -> Any:
        if state.formula == number:
            return formula(state, *arguments)
        return rest(state, *arguments)

    return either
