"""The choice of an arm: among all of them or some, with rewards that are awaited or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from clusterbandits.compiled import entry
from clusterbandits.policies.alarms import Watchful
from clusterbandits.policies.saved import Saved
from clusterbandits.policies.views import Known, View, copied
from clusterbandits.validate import Described, invalid, is_list, one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clusterbandits.families import Family
    from clusterbandits.partition import Label
    from clusterbandits.policies.arms import Ints, Mask
    from clusterbandits.policies.protocol import Kernels, State

#: How many sets of available arms are kept, each with a state of its own.
_MOST_VIEWS = 4
#: The least number of changes that are recorded before a view that has fallen behind looks at all arms.
_LEAST_CHANGES = 256
_AMONG: dict[Callable[..., int], Callable[..., int]] = {}


class Choosing(Watchful):
    """The part of a learner that chooses.

    Views follow the live state by a record of the arms that have changed. What a choice decides for later
    rounds is remembered by the state on which the last one was made, and carried when another one is used.
    """

    family: Family
    #: What it remembers besides pulls and totals.
    saved: ClassVar[Saved] = Saved()
    #: Whether it uses sums of squares; every reward must then be told on its own.
    needs_squares: ClassVar[bool] = False
    _numbers: dict[Label, int]
    _awaited: Ints
    _all_awaited: int
    _all_told: int
    #: Which arms are retired, and which may be chosen; None where all may.
    _retired: Mask
    _open: Mask | None

    @property
    def kernels(self) -> Kernels:
        """The compiled functions of the policy."""
        raise NotImplementedError

    def _begin_choosing(self, live: Any) -> None:
        arms = live.pulls.size
        self._awaited = np.zeros(arms, dtype=np.int64)
        self._all_awaited = self._all_told = 0
        self._retire(np.zeros(arms, dtype=np.bool_))
        self._forget_views(live)

    def _retire(self, retired: Mask) -> None:
        self._retired = retired
        self._open = ~retired if retired.any() else None

    def _forget_views(self, live: Any) -> None:
        """Make all views again when they are next needed."""
        squares = live.squares if self.needs_squares else np.zeros(0)
        self._known = Known(live.pulls, live.totals, squares, self._awaited)
        self._law = self.family.law
        self._views: dict[bytes, View] = {}
        #: The numbers of arms that have changed, and how many of these places are used.
        self._changes: Ints = np.zeros(max(_LEAST_CHANGES, 4 * live.pulls.size), dtype=np.int64)
        self._change_count = 0
        #: The view on which the last choice was made, if it was not made on the live state.
        self._chosen_on: View | None = None

    def _mark(self, number: int) -> None:
        """Record that an arm has changed, for all views."""
        if self._change_count == self._changes.size:
            for view in self._views.values():
                view.seen = 0 if view.seen == self._change_count else -1
            self._change_count = 0
        self._changes[self._change_count] = number
        self._change_count += 1

    def _choose(self, open_arms: Mask | None) -> int:
        """Return the number of the arm to pull in the next round, one of those that are open."""
        if open_arms is None:
            if not self._all_awaited:
                return self._select_live()
            if self._all_told:
                return self._select_on(self._view(b"", None))
            return int(self._awaited.argmin())
        if self.kernels.among is not None:
            if self._all_awaited and not self._all_told:
                return self._fewest_awaited(open_arms)
            return self._select_among(open_arms)
        if self._awaited[open_arms].any() and not self._live.pulls[open_arms].any():
            return self._fewest_awaited(open_arms)
        return self._select_on(self._view(open_arms.tobytes(), open_arms))

    def _fewest_awaited(self, open_arms: Mask) -> int:
        numbers = np.flatnonzero(open_arms)
        return int(numbers[self._awaited[numbers].argmin()])

    def _select_live(self) -> int:
        if self._chosen_on is not None:
            self._settle()
        return int(self._kernels.select(self._live, self._next_round))

    def _select_on(self, view: View) -> int:
        """Return the choice on a view, which then remembers it."""
        self._move_to(view)
        place = int(self._kernels.select(view.state, self._next_round))
        return self._chosen(view, place)

    def _select_among(self, open_arms: Mask) -> int:
        """Return the choice of a policy that knows how to choose among some of its arms."""
        if not self._all_awaited:
            if self._chosen_on is not None:
                self._settle()
            return int(self._among()(self._live, self._next_round, open_arms))
        view = self._view(b"", None)
        self._move_to(view)
        return self._chosen(view, int(self._among()(view.state, self._next_round, open_arms)))

    def _among(self) -> Callable[..., int]:
        among = self.kernels.among
        assert among is not None
        if among not in _AMONG:
            _AMONG[among] = entry(among, self._live, 1, self._retired)
        return _AMONG[among]

    def _view(self, key: bytes, open_arms: Mask | None) -> View:
        """Return the view of some arms, up to date; None stands for all of them."""
        view = self._views.pop(key, None)
        if view is None:
            view = self._new_view(open_arms)
            if len(self._views) > _MOST_VIEWS:
                self._drop_view()
        self._views[key] = view
        view.follow(self._law, self._known, self._changes, self._change_count)
        return view

    def _drop_view(self) -> None:
        """Drop the view of some arms that was not used for longest."""
        key = next(key for key in self._views if key)
        if self._views[key] is self._chosen_on:
            self._settle()
        del self._views[key]

    def _new_view(self, open_arms: Mask | None) -> View:
        if open_arms is None:
            state, arms = self.supposing(self._live), np.arange(self._awaited.size)
        else:
            arms = np.flatnonzero(open_arms)
            state = self._limited_to(arms)
        return View(state, arms.astype(np.int64), self._awaited.size, squares=self.needs_squares)

    def supposing(self, live: Any) -> State:
        """Return a state for awaited rewards, equal to the live one; it shares what they do not change."""
        state = copied(live)
        if hasattr(live, "stream"):
            state = state._replace(stream=live.stream)
        return state  # type: ignore[no-any-return]

    def _limited_to(self, arms: Ints) -> Any:
        """Return the state of a policy with these arms alone, before its first reward."""
        policy = self.resized(self.clusters.limited_to(arms.tolist()), arms)
        policy._restore_watched(self._watched())
        state: Any = policy._live
        return state._replace(stream=self._live.stream) if hasattr(state, "stream") else state  # type: ignore[attr-defined]

    def resized(self, clusters: Any, arms: Ints) -> Self:
        """Return a new policy like this one for some of its arms, given by number."""
        raise NotImplementedError

    def _move_to(self, view: View) -> None:
        """Let a view remember what was chosen last."""
        if self._chosen_on is not view:
            if self._chosen_on is not None:
                self._settle()
            self.saved.carry(self._live, view.state, view.scope.places)

    def _chosen(self, view: View, place: int) -> int:
        self._chosen_on = view
        if self.saved.changes_with_rewards:
            self._settle()
        return int(view.scope.arms[place])

    def _settle(self) -> None:
        """Let the live state remember what was chosen last."""
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
        """Return which arms may be chosen, None where all may; labels that are none of them are refused."""
        if available is None:
            return self._open
        open_arms = np.zeros(self._awaited.size, dtype=np.bool_)
        for label in available:
            try:
                open_arms[self._numbers[label]] = True
            except (KeyError, TypeError):
                allowed = f"made of arms of the policy, {one_of(self.clusters.arms)}"
                raise invalid("available", owner, allowed, label) from None
        open_arms &= ~self._retired
        if not open_arms.any():
            given = Described("retired arms alone" if available else "no arm")
            raise invalid("available", owner, "a list with at least one arm that is not retired", given)
        if open_arms.all():
            return None
        self._check_limits(owner)
        return open_arms

    def _check_limits(self, owner: str) -> None:
        """Refuse a policy that cannot choose among some of its arms."""


def as_labels(available: object, owner: str) -> list[Any] | None:
    """Return a list of labels, None where none was given."""
    if available is None:
        return None
    if not is_list(available):
        raise invalid("available", owner, "a list of arms", available)
    return list(available)
