"""The protocol of policies: a few kernels on a state of arrays, dispatched by the class of the state.

``select(state, n)`` returns the arm of round n; ``update(state, arm, pulls, total)`` records rewards. A
policy needs no more than these two; it is then simulated round by round. The others are optional:

``hold(state, arm, n, limit)`` returns the number of rounds from n on for which the choice is certain,
whatever their rewards. Skip-ahead simulation is exact only if that is true, so a policy with ``hold``
declares in ``relies_on`` what its reasoning assumes, and ``clusterbandits.testing.check_policy`` searches for
counterexamples. ``ahead(state, n)`` makes the same choice as ``select``, but faster if the rewards of several
arms have changed: online use calls it while rewards are outstanding. ``among(state, n, open_arms)`` chooses
among some of the arms, for ``available`` and retired arms, and also uses the rewards of the others. One state
is used for one such set only, and the other arms have pulls, unless ``among_any`` lifts both conditions.
Without ``among``, a policy chooses as if the other arms had been removed. ``watch(state, n)`` checks the data
before round n and returns the round of the next check. ``learn(state, arm)`` is called after rewards of an
arm, for computations that are not needed in every round. While rewards are outstanding, online use passes
assumed rewards to ``update`` but not to ``learn``; ``update`` is then also called with 0 or fewer pulls,
after the total of the arm was set. With ``wants_each``, rewards are passed one by one, for sums of squares.

The functions of this module dispatch by class: a kernel that calls them is compiled once per class of state.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from clusterbandits.compiled import chain, entry, kernel, plain, specialise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

#: A number of rounds larger than any horizon.
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
    """The assumptions that ``hold`` can rely on."""

    FALLS_WITH_PULLS = "an arm's score does not rise after a reward of 0"
    RISES_WITH_TOTALS = "an arm's score does not fall when its total grows"
    RISES_WITH_ROUNDS = "an arm's score does not fall with the number of the round"
    REWARDS_NOT_NEGATIVE = "no reward is below 0; for all other families, every round is simulated"


@kernel
def one_round(_state: Any, _arm: int, _n: int, _limit: int) -> int:
    """Return 1: the choice is certain for its own round only."""
    return 1


@kernel
def never(_state: Any, _n: int) -> int:
    """Return a round after all horizons: there is nothing to check."""
    return FOREVER


@kernel
def nothing_to_learn(_state: Any, _arm: int) -> None:
    """Do nothing: ``update`` does all computations."""


@kernel
def uncertain(_state: Any, _arm: int, _n: int, rounds: int) -> bool:
    """Return whether ``rounds`` is at most 1: the choice is certain for its own round only."""
    return rounds == 1


class Kernels(NamedTuple):
    """The compiled functions of a policy."""

    select: Callable[..., int]
    update: Callable[..., None]
    hold: Callable[..., int] = one_round
    watch: Callable[..., int] = never
    learn: Callable[..., None] = nothing_to_learn
    #: Whether rewards must be passed one by one; otherwise sums are enough.
    wants_each: bool = False
    #: For ``hold_by_search``: whether the choice of round n is certain for a number of rounds.
    certain: Callable[..., bool] = uncertain
    #: Chooses while rewards are outstanding; None to use ``select``.
    ahead: Callable[..., int] | None = None
    #: Chooses among some of the arms; None to choose as if there were no others.
    among: Callable[..., int] | None = None
    #: Whether one state is enough for all sets of arms, and arms outside the set need no pulls.
    among_any: bool = False


#: The kernels by class of state.
KERNELS: dict[type, Kernels] = {}


def _dispatched(name: str) -> Callable[..., Any]:
    """Return a function that calls a kernel of the state's class, from kernels and from Python."""

    def call(state: Any, *arguments: Any) -> Any:
        return getattr(KERNELS[type(state)], name)(state, *arguments)

    @specialise(call)
    def pick(state: Any, *_: Any) -> Callable[..., Any]:
        return plain(cast("Callable[..., Any]", getattr(KERNELS[state.instance_class], name)))

    return call


select: Callable[[Any, int], int] = _dispatched("select")
update: Callable[[Any, int, int, float], None] = _dispatched("update")
hold: Callable[[Any, int, int, int], int] = _dispatched("hold")
watch: Callable[[Any, int], int] = _dispatched("watch")
learn: Callable[[Any, int], None] = _dispatched("learn")
certain: Callable[[Any, int, int, int], bool] = _dispatched("certain")


_ENTRIES: dict[type, Kernels] = {}


def entries(state: Any) -> Kernels:
    """Return the compiled kernels of a state for online use; they accept only plain integers and floats."""
    kind = type(state)
    if kind not in _ENTRIES:
        kernels = KERNELS[kind]
        if isinstance(state, tuple):
            kernels = kernels._replace(
                select=entry(kernels.select, state, 1),
                update=entry(kernels.update, state, 0, 1, 0.0),
                learn=plain(kernels.learn)
                if kernels.learn is nothing_to_learn
                else entry(kernels.learn, state, 0),
            )
        _ENTRIES[kind] = kernels
    return _ENTRIES[kind]


_LATER: dict[tuple[Callable[..., Any], type], Callable[..., Any]] = {}


def entry_of(function: Callable[..., Any], state: Any, *example: Any) -> Callable[..., Any]:
    """Return a kernel that is compiled at its first use, because few policies need it."""
    key = function, type(state)
    if key not in _LATER:
        _LATER[key] = entry(function, state, *example) if isinstance(state, tuple) else function
    return _LATER[key]


def by_formula(formulas: Callable[[type], Sequence[Callable[..., Any]]]) -> Callable[..., Any]:
    """Return a function that calls the formula with number ``state.formula`` of the state's class.

    Policies that differ only in a formula share a state class, and one compilation of all other code.
    """

    def call(state: Any, *arguments: Any) -> Any:
        return formulas(type(state))[state.formula](state, *arguments)

    @specialise(call)
    def pick(state: Any, *given: Any) -> Callable[..., Any]:
        arguments = ["state", *(f"p{i}" for i in range(len(given)))]
        listed = formulas(state.instance_class)
        # A formula that several policies share is the last case of the chain, so it is compiled once.
        common = max(listed, key=listed.count)
        special = {number: one for number, one in enumerate(listed) if one is not common}
        return chain(special, "state.formula", arguments, common)

    return call
