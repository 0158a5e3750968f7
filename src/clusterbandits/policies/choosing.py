"""Online choice of an arm: among all arms or some of them, with or without outstanding rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from clusterbandits.policies.alarms import Watchful
from clusterbandits.policies.arms import NOBODY
from clusterbandits.policies.protocol import entry_of
from clusterbandits.policies.saved import Saved
from clusterbandits.policies.views import Known, View, copied
from clusterbandits.validate import Described, invalid, is_list, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clusterbandits.families import Family
    from clusterbandits.partition import Label
    from clusterbandits.policies.arms import Ints, Mask
    from clusterbandits.policies.protocol import Kernels, State

#: The number of sets of available arms whose states are kept.
_MOST_VIEWS = 4
#: The smallest number of recorded changes after which an outdated view is updated for all arms.
_LEAST_CHANGES = 256


class Choosing(Watchful):
    """The part of a policy that chooses an arm.

    If all arms are available and no reward is outstanding, the choice is made on the live state; otherwise it
    is made on a view. A record of changed arms keeps views up to date. What a choice determines for later
    rounds is stored in the state on which it was made, and copied when another state is used.
    """

    family: Family
    #: What the policy stores besides pulls and totals.
    saved: ClassVar[Saved] = Saved()
    #: Whether the policy uses sums of squares; each reward must then be given separately.
    needs_squares: ClassVar[bool] = False
    _numbers: dict[Label, int]
    _awaited: Ints
    _all_awaited: int
    _all_observed: int
    #: The retired arms, and the arms that may be chosen: None if all may.
    _retired: Mask
    _open: Mask | None

    @property
    def kernels(self) -> Kernels:
        """The compiled functions of the policy."""
        raise NotImplementedError

    def _begin_choosing(self, live: Any) -> None:
        arms = live.pulls.size
        self._awaited = np.zeros(arms, dtype=np.int64)
        self._all_awaited = self._all_observed = 0
        self._retire(np.zeros(arms, dtype=np.bool_))
        self._forget_views(live)

    def _retire(self, retired: Mask) -> None:
        self._retired = retired
        self._open = ~retired if retired.any() else None

    def _forget_views(self, live: Any) -> None:
        """Discard all views; they are built again when needed."""
        squares = live.squares if self.needs_squares else np.zeros(0)
        self._known = Known(self.family.law, live.pulls, live.totals, squares, self._awaited)
        self._views: dict[bytes, View] = {}
        #: The numbers of the arms that have changed, and how many entries are used.
        self._changes: Ints = np.zeros(max(_LEAST_CHANGES, 4 * live.pulls.size), dtype=np.int64)
        self._change_count = 0
        #: The view on which the last choice was made; None if it was made on the live state.
        self._chosen_on: View | None = None

    def _mark(self, number: int) -> None:
        """Record for all views that an arm has changed."""
        count = self._change_count
        if count == len(self._changes):
            for view in self._views.values():
                view.seen = 0 if view.seen == count else NOBODY
            count = 0
        self._changes[count] = number
        self._change_count = count + 1

    def _choose(self, open_arms: Mask | None) -> int:
        """Return the number of the arm to pull in the next round, one of ``open_arms``."""
        if open_arms is None:
            if not self._all_awaited:
                self._settle()
                return int(self._kernels.select(self._live, self._next_round))
            if self._all_observed:
                return self._select_on(self._views.get(b"") or self._all_arms())
            return int(self._awaited.argmin())
        if self.kernels.among is None:
            if self._awaited[open_arms].any() and not self._live.pulls[open_arms].any():
                return self._fewest_awaited(open_arms)
            return self._select_on(self._some_arms(open_arms, open_arms))
        if self._all_awaited and not self._all_observed:
            return self._fewest_awaited(open_arms)
        if self.kernels.among_any:
            return self._select_any(open_arms)
        # Rewards of unavailable arms count too.
        known = open_arms | (self._live.pulls > 0) | (self._awaited > 0)
        return self._select_on(self._some_arms(known, open_arms))

    def _fewest_awaited(self, open_arms: Mask) -> int:
        numbers = np.flatnonzero(open_arms)
        return int(numbers[self._awaited[numbers].argmin()])

    def _select_on(self, view: View) -> int:
        """Return the choice on a view, and store it there."""
        view.follow(self._known, self._changes, self._change_count)
        if self._chosen_on is not view:
            self._settle()
            self.saved.carry(self._live, view.state, view.scope.places)
        place = int(view.choose(view.state, self._next_round))
        self._chosen_on = view
        if self.saved.changes_with_rewards:
            self._settle()
        return place if view.numbers is None else view.numbers[place]

    def _select_any(self, open_arms: Mask) -> int:
        """Return the choice of a policy that needs only one state for all sets of arms."""
        state = self._live
        if self._all_awaited:
            view = self._all_arms()
            view.follow(self._known, self._changes, self._change_count)
            state = view.state
        among = entry_of(cast("Callable[..., int]", self.kernels.among), state, 1, open_arms)
        return int(among(state, self._next_round, open_arms))

    def _all_arms(self) -> View:
        """Return the view of all arms."""
        if b"" not in self._views:
            numbers = np.arange(self._awaited.size, dtype=np.int64)
            self._views[b""] = self._new_view(self.supposing(self._live), numbers)
        return self._views[b""]

    def _some_arms(self, known: Mask, open_arms: Mask) -> View:
        """Return the view for a choice among some arms; the most recently used views are kept."""
        key = known.tobytes() + open_arms.tobytes()
        view = self._views.pop(key, None)
        if view is None:
            numbers = np.flatnonzero(known).astype(np.int64)
            view = self._new_view(self._limited_to(numbers), numbers, open_arms[numbers])
            others = [other for other in self._views if other]
            if len(others) == _MOST_VIEWS and self._chosen_on is self._views.pop(others[0]):
                self._settle()
        self._views[key] = view
        return view

    def _new_view(self, state: Any, numbers: Ints, open_arms: Mask | None = None) -> View:
        """Return a view of some arms, with the kernel that chooses among ``open_arms``."""
        among, ahead = self.kernels.among, self.kernels.ahead
        if among is not None and open_arms is not None:
            chosen_among = entry_of(among, state, 1, open_arms)
            return View(state, numbers, self._known, lambda state, n: chosen_among(state, n, open_arms))
        select = self._kernels.select if ahead is None else entry_of(ahead, state, 1)
        return View(state, numbers, self._known, select)

    def supposing(self, live: Any) -> State:
        """Return a copy of the live state for outstanding rewards; it shares what they do not change."""
        state = copied(live)
        if hasattr(live, "stream"):
            state = state._replace(stream=live.stream)
        return state  # type: ignore[no-any-return]

    def _limited_to(self, arms: Ints) -> Any:
        """Return the state, before its first reward, of a policy restricted to these arms."""
        policy = self.resized(self.clusters.limited_to(arms.tolist()), arms)
        policy._restore_watched(self._watched())
        state: Any = policy._live
        return state._replace(stream=self._live.stream) if hasattr(state, "stream") else state  # type: ignore[attr-defined]

    def resized(self, clusters: Any, arms: Ints) -> Self:
        """Return a new policy with the same settings for some of the arms, given by number."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Store the last choice in the live state."""
        view = self._chosen_on
        if view is not None:
            self.saved.carry(view.state, self._live, view.scope.arms)
            self._chosen_on = None

    def _watch(self) -> list[str]:
        self._settle()
        found = super()._watch()
        if found:
            self._forget_views(self._live)
        return found

    def _open_arms(self, available: Iterable[Label] | None, owner: str) -> Mask | None:
        """Return which arms may be chosen, or None if all may; refuse unknown labels."""
        if available is None:
            return self._open
        open_arms = np.zeros(self._awaited.size, dtype=np.bool_)
        for label in available:
            try:
                open_arms[self._numbers[label]] = True
            except (KeyError, TypeError):
                arms = self.clusters.arms
                raise unknown("arm", label, arms, parameter="available", owner=owner) from None
        open_arms &= ~self._retired
        if not open_arms.any():
            given = Described("only retired arms" if available else "no arms")
            raise invalid("available", owner, "a list with at least one arm that is not retired", given)
        if open_arms.all():
            return None
        self._check_limits(owner)
        return open_arms

    def _check_limits(self, owner: str) -> None:
        """Refuse a policy that cannot choose from a subset of its arms."""


def as_labels(available: object, owner: str) -> list[Any] | None:
    """Return a list of labels, or None if there is none."""
    if available is None:
        return None
    if not is_list(available):
        raise invalid("available", owner, "a list of arms", available)
    return list(available)
