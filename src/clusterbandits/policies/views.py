"""Views: states in which outstanding rewards are replaced by assumed ones, for ``ask``.

An outstanding reward counts as the empirical mean of its arm. A view of all arms, or of some of them, is kept
up to date: one call of ``catch_up`` updates the few arms that have changed since the last choice.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import entry, inner_kernel, kernel
from clusterbandits.families.link import link, mean_at
from clusterbandits.policies.arms import NOBODY, Floats, Ints, Mask
from clusterbandits.policies.protocol import update

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterbandits.families.law import Law

#: The number of steps per unit of the scale to which the mean of all arms is rounded, so that it seldom
#: changes.
_STEPS = 8.0
#: Indices into ``Scope.guess``.
_MEAN, _UNKNOWN = range(2)


class Known(NamedTuple):
    """Rewards of all arms, and pulls whose rewards are outstanding; ``squares`` may be empty."""

    law: Law
    pulls: Ints
    totals: Floats
    squares: Floats
    awaited: Ints


class Scope(NamedTuple):
    """The arms of a view, and the assumed mean of arms without rewards."""

    #: [place]: the number of the arm; [number]: its place in the view, or ``NOBODY``.
    arms: Ints
    places: Ints
    #: [place]: whether the arm has outstanding pulls but no rewards.
    unknown: Mask
    #: The assumed mean of those arms, and their number.
    guess: Floats
    #: The sums of squares of the view's state, or empty.
    squares: Floats


@kernel
def steady_mean(law: Law, mean: float) -> float:
    """Return the mean rounded to a grid on the scale of ``link``, so that it seldom changes."""
    if not law.lowest < mean < law.highest:
        return mean
    return mean_at(law, float(np.floor(link(law, mean) * _STEPS + 0.5)) / _STEPS)


@kernel
def catch_up(state: Any, known: Known, scope: Scope, changes: Ints, first: int, beyond: int) -> bool:
    """Update the state of a view for the arms ``changes[first:beyond]``.

    Return whether one of them has no pulls left.
    """
    for i in range(first, beyond):
        _find_unknown(known, scope, changes[i])
    if scope.guess[_UNKNOWN] > 0.0:
        mean = _mean_of_all(known, scope.arms)
        if mean != scope.guess[_MEAN]:
            scope.guess[_MEAN] = mean
            for place in range(scope.arms.size):
                if scope.unknown[place]:
                    _suppose(state, known, scope, scope.arms[place], place)
    emptied = False
    for i in range(first, beyond):
        place = scope.places[changes[i]]
        if place != NOBODY:
            emptied = _suppose(state, known, scope, changes[i], place) or emptied
    return emptied


@inner_kernel
def _find_unknown(known: Known, scope: Scope, arm: int) -> None:
    """Record whether a changed arm has outstanding pulls but no rewards."""
    place = scope.places[arm]
    if place != NOBODY:
        unknown = known.awaited[arm] > 0 and known.pulls[arm] == 0
        if unknown != scope.unknown[place]:
            scope.unknown[place] = unknown
            scope.guess[_UNKNOWN] += 1.0 if unknown else -1.0


@kernel
def _mean_of_all(known: Known, arms: Ints) -> float:
    """Return the rounded mean of all rewards of a view's arms."""
    pulls, total = 0, 0.0
    for place in range(arms.size):
        pulls += known.pulls[arms[place]]
        total += known.totals[arms[place]]
    return steady_mean(known.law, total / pulls) if pulls > 0 else math.nan


@kernel
def _suppose(state: Any, known: Known, scope: Scope, arm: int, place: int) -> bool:
    """Set the statistics of one arm with assumed rewards; return whether it has no pulls left."""
    pulls, total, missing = known.pulls[arm], known.totals[arm], known.awaited[arm]
    mean = 0.0
    if missing > 0:
        mean = total / pulls if pulls > 0 else scope.guess[_MEAN]
        total += missing * mean
    more = pulls + missing - state.pulls[place]
    same = more == 0 and state.totals[place] == total
    if scope.squares.size > 0:
        squares = known.squares[arm] + missing * mean * mean
        same = same and scope.squares[place] == squares
        scope.squares[place] = squares
    if not same:
        state.totals[place] = total
        update(state, place, more, 0.0)
    return bool(more < 0 and pulls + missing == 0)


_ENTRIES: dict[type, Callable[..., bool]] = {}


class View:
    """A state of all or some arms in which outstanding rewards are replaced by assumed ones.

    Parameters
    ----------
    state
        State of the arms of the view, not shared.
    arms
        Numbers of these arms.
    known
        Rewards and outstanding pulls of all arms.
    choose
        Function that returns the place of the arm to pull, given a state and a round.
    """

    __slots__ = ("_catch_up", "choose", "numbers", "scope", "seen", "state")

    def __init__(self, state: Any, arms: Ints, known: Known, choose: Callable[[Any, int], int]) -> None:
        places = np.full(known.pulls.size, NOBODY, dtype=np.int64)
        places[arms] = np.arange(arms.size)
        unknown, guess = np.zeros(arms.size, dtype=np.bool_), np.array([math.nan, 0.0])
        self.state = state
        #: The numbers of its arms; None if the view has all arms.
        self.numbers = None if arms.size == places.size else arms.tolist()
        self.choose = choose
        self.scope = Scope(arms, places, unknown, guess, state.squares if known.squares.size else np.zeros(0))
        #: The number of recorded changes that the view includes; ``NOBODY`` if all arms may have changed.
        self.seen = NOBODY
        self._catch_up = _entry(state, known, self.scope)

    def follow(self, known: Known, changes: Ints, count: int) -> None:
        """Apply the changes since the last call."""
        first = self.seen
        if first == NOBODY:
            changes, first, beyond = self.scope.arms, 0, self.scope.arms.size
        else:
            beyond = count
        self.seen = count
        if self._catch_up(self.state, known, self.scope, changes, first, beyond):
            _count_unpulled(self.state)


def _entry(state: Any, known: Known, scope: Scope) -> Callable[..., bool]:
    """Return the compiled ``catch_up`` for a state."""
    if not isinstance(state, tuple):
        return _set_all
    if type(state) not in _ENTRIES:
        _ENTRIES[type(state)] = entry(catch_up, state, known, scope, scope.arms, 0, 1)
    return _ENTRIES[type(state)]


def _set_all(state: Any, known: Known, scope: Scope, *_changes: Any) -> bool:
    """Set the statistics of all arms in the state of a Python policy, without calls of its methods."""
    pulls, totals, missing = (part[scope.arms] for part in (known.pulls, known.totals, known.awaited))
    guess = _mean_of_all(known, scope.arms) if np.any((pulls == 0) & (missing > 0)) else 0.0
    means = np.where(pulls > 0, totals / np.maximum(pulls, 1), guess)
    state.pulls[:] = pulls + missing
    state.totals[:] = totals + missing * means
    if scope.squares.size:
        scope.squares[:] = known.squares[scope.arms] + missing * means * means
    return False


def _count_unpulled(state: Any) -> None:
    """Recount the arms without pulls, because kernels only count them down."""
    memory = getattr(state, "memory", None)
    if memory is not None and "unpulled" in (memory.dtype.names or ()):
        memory["unpulled"][0] = np.count_nonzero(state.pulls == 0)


def copied(part: Any) -> Any:
    """Return a deep copy of the arrays of a state."""
    if isinstance(part, tuple):
        return type(part)(*map(copied, part))
    return part.copy() if hasattr(part, "copy") else part
