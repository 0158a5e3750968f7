"""The protocol of policies: a few kernels on a state of arrays, chosen by the class of the state.

``select(state, n)`` returns the arm of round n; ``update(state, arm, pulls, total)`` takes in the rewards.
These two are all a policy needs: it is then played round by round. The others are optional:

``hold(state, arm, n, limit)`` returns for how many rounds from n on the choice is certain whatever rewards
they bring. Skip-ahead simulation is exact only if that is true, so a policy that has ``hold`` declares in
``relies_on`` what its reasoning assumes, and ``clusterbandits.testing.check_policy`` tries to refute it.
``ahead(state, n)`` chooses as ``select`` does, faster where the rewards of several arms have changed: online
use calls it while rewards are awaited.
``among(state, n, open_arms)`` chooses among some of the arms, for ``available`` and retired arms, with all
that is known of the others. A state sees one such set alone and the others have pulls, unless ``among_any``
says that neither matters. Without ``among`` a policy chooses as if the others had been removed.
``watch(state, n)`` lets the policy look at its data before round n and returns the round of its next look.
``learn(state, arm)`` follows the rewards of an arm and lets the policy renew what it need not renew in every
round. Rewards that online use only supposes, while they are awaited, are taken in but never learned from:
``update`` follows what is supposed of an arm, also with 0 or fewer pulls, after its total was set.
With ``wants_each`` every reward is taken in on its own, for sums of squares.

The functions of this file dispatch: a kernel that calls them is compiled once per class of state.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from clusterbandits.compiled import chain, entry, kernel, plain, specialise

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
def nothing_to_learn(_state: Any, _arm: int) -> None:
    """Do nothing: whatever the policy knows is renewed when rewards are taken in."""


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
    learn: Callable[..., None] = nothing_to_learn
    #: Whether every reward must be taken in on its own; else the sum of several is enough.
    wants_each: bool = False
    #: For ``hold_by_search``: whether the choice of round n is certain for so many rounds.
    certain: Callable[..., bool] = uncertain
    #: Chooses while rewards are awaited; None where ``select`` does.
    ahead: Callable[..., int] | None = None
    #: Chooses among some of the arms; None where that is done as if there were no others.
    among: Callable[..., int] | None = None
    #: Whether one state serves any set of arms, and arms that are not in it need no pulls.
    among_any: bool = False


#: The kernels of every class of state that was made.
KERNELS: dict[type, Kernels] = {}


def _dispatched(name: str) -> Callable[..., Any]:
    """Return a function that calls one of the kernels of a state's class, from kernels and from Python."""

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
    """Return the kernels of a state for online use: machine code, for whole numbers and floats alone."""
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
    """Return the machine code of a kernel that few policies need, compiled when the first one does."""
    key = function, type(state)
    if key not in _LATER:
        _LATER[key] = entry(function, state, *example) if isinstance(state, tuple) else function
    return _LATER[key]


def by_formula(formulas: Callable[[type], Sequence[Callable[..., Any]]]) -> Callable[..., Any]:
    """Return a function that calls the formula of a policy: number ``state.formula`` of its state's class.

    Policies that differ in a formula alone share a state class, and one compilation of everything else.
    """

    def call(state: Any, *arguments: Any) -> Any:
        return formulas(type(state))[state.formula](state, *arguments)

    @specialise(call)
    def pick(state: Any, *given: Any) -> Callable[..., Any]:
        arguments = ["state", *(f"p{i}" for i in range(len(given)))]
        listed = formulas(state.instance_class)
        # What several policies have in common is the last case of the chain, and compiled once.
        common = max(listed, key=listed.count)
        special = {number: one for number, one in enumerate(listed) if one is not common}
        return chain(special, "state.formula", arguments, common)

    return call
