"""Take over or merge the rewards that another policy has observed."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.errors import WidthWarning
from clusterbandits.limits import MOST_ROUNDS
from clusterbandits.policies.observed import Observed
from clusterbandits.validate import Described, invalid, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clusterbandits.families import Family
    from clusterbandits.partition import Label

    Row = NDArray[Any]
    _Snapshot = tuple[tuple[Label, ...], Family, dict[str, Any]]

#: The relative rounding error by which a computed total may exceed the possible range; it is then clipped.
_ROUNDING = 1e-9


class Merging(Observed):
    """The part of a policy that adds observations of other policies."""

    #: Whether each reward must be given separately.
    _each: bool

    @property
    def _in_order(self) -> bool:
        """Whether the policy depends on the order of rewards, so that sums are not enough."""
        return False

    def take_over(self, other: Any) -> None:
        """Take over all observations of another policy, to continue with other settings or widths.

        These are pulls, totals, rounds, outstanding rewards and retired arms. This policy must not have
        started and may be of another kind.

        Parameters
        ----------
        other
            Policy with the same arms in the same order and the same reward family; it is not changed.

        Examples
        --------
        >>> from clusterbandits import KLUCB, Clusters, ClusUCB
        >>> before = KLUCB(Clusters([2, 1]))
        >>> before.tell(0, 3, pulls=5)
        >>> policy = ClusUCB(Clusters([2, 1], widths=0.1))
        >>> policy.take_over(before)
        >>> policy.pulls, policy.rounds
        ({0: 5, 1: 0, 2: 0}, 5)
        """
        owner = f"{type(self).__name__}.take_over"
        snapshot = _snapshot("other", other, owner)
        with self._lock:
            theirs = self._same_arms("other", snapshot, owner)
            if self._next_round > 1:
                given = Described(f"one after {self._next_round - 1} rounds")
                raise invalid("policy", owner, "a policy before its first round", given)
            self._check_learns(owner)
            if theirs["retired"]:
                self._check_limits(owner)
            self._resume_counts(theirs)
            self.saved.learn_all(self._live)
            self._forget_views(self._live)
            noticed = self._watch() if self._next_round >= self._look else []
        _warn(noticed)

    def merge(self, other: Any, since: Any = None) -> None:
        """Add the rewards and outstanding pulls of another copy of this policy.

        The retired arms of this policy do not change.

        Parameters
        ----------
        other
            Policy with the same arms in the same order and the same reward family; it is not changed.
        since
            Earlier state of ``other`` from which both copies started: its observations are not added again. A
            reward that was outstanding then must be passed to only one of the copies. By default, all
            observations of ``other`` are added.

        Examples
        --------
        >>> import copy
        >>> from clusterbandits import KLUCB, Clusters
        >>> policy = KLUCB(Clusters([2, 1]))
        >>> policy.tell(0, 1)
        >>> since, other = copy.copy(policy), copy.copy(policy)
        >>> policy.tell(1, 1)
        >>> other.tell(2, 1)
        >>> policy.merge(other, since=since)
        >>> policy.pulls, policy.rounds
        ({0: 1, 1: 1, 2: 1}, 3)
        """
        owner = f"{type(self).__name__}.merge"
        if other is self:
            raise invalid("other", owner, "another policy", Described("the policy itself"))
        # Never both locks at once: two threads may merge two policies into each other.
        snapshot = _snapshot("other", other, owner)
        earlier = None if since is None else _snapshot("since", since, owner)
        with self._lock:
            theirs = self._same_arms("other", snapshot, owner)
            before = None if earlier is None else self._same_arms("since", earlier, owner)
            self._check_learns(owner)
            observed = self._merged(self._observed(), theirs, before, owner)
            self._apply(observed)
            self.saved.add(self._live, theirs["choice"], {} if before is None else before["choice"])
            noticed = self._watch() if self._next_round >= self._look else []
        _warn(noticed)

    def _same_arms(self, parameter: str, snapshot: _Snapshot, owner: str) -> dict[str, Any]:
        """Return the observations of another policy; refuse other arms, another family or missing sums."""
        arms, family, observed = snapshot
        if arms != self.clusters.arms:
            given = Described(f"one with the arms {shown(list(arms))}")
            raise invalid(parameter, owner, "a policy with the same arms in the same order", given)
        if family != self.family:
            raise invalid(parameter, owner, f"a policy for {self.family.spec} rewards", family.spec)
        if self.needs_squares and "squares" not in observed:
            given = Described("one without them")
            raise invalid(parameter, owner, "a policy that keeps sums of squares", given)
        return observed

    def _check_learns(self, owner: str) -> None:
        """Refuse a policy that depends on the order of rewards."""
        if self._in_order:
            given = Described("one that learns from every reward in turn")
            raise invalid("policy", owner, "a policy that learns from sums of rewards", given)

    def _merged(
        self, mine: dict[str, Any], theirs: dict[str, Any], before: dict[str, Any] | None, owner: str
    ) -> dict[str, Any]:
        """Return the sums of the observations of two policies, counting common earlier ones once."""
        nothing = {key: np.zeros(len(mine["pulls"])) for key in self._per_arm}
        known = nothing if before is None else before
        if np.any(np.asarray(theirs["pulls"]) < np.asarray(known["pulls"])):
            given = Described("a policy that knows of more pulls")
            raise invalid("since", owner, "an earlier state of the other policy", given)
        observed: dict[str, Any] = {key: _added(mine[key], theirs[key], known[key]) for key in self._per_arm}
        observed["pulls"] = observed["pulls"].astype(np.int64)
        observed["awaited"] = np.maximum(observed["awaited"], 0).astype(np.int64)
        sizes = [np.abs(part["totals"]) for part in (mine, theirs, known)]
        for number, (total, pulls) in enumerate(zip(observed["totals"], observed["pulls"], strict=True)):
            possible = self._cut_off(float(total), int(pulls), float(sum(part[number] for part in sizes)))
            if possible is None:
                given = Described(f"a total of {total:g} in {pulls} pulls of an arm")
                raise invalid("since", owner, "an earlier state of the other policy", given)
            observed["totals"][number] = possible
        gone = _gone(mine) + _gone(theirs) - (0 if before is None else _gone(before))
        observed["rounds"] = int(observed["pulls"].sum() + observed["awaited"].sum()) + max(gone, 0)
        if observed["rounds"] > MOST_ROUNDS:
            given = Described(f"{observed['rounds']:g} rounds together")
            raise invalid(
                "other", owner, f"a policy such that both have at most {MOST_ROUNDS:g} rounds together", given
            )
        return observed

    def _apply(self, observed: dict[str, Any]) -> None:
        """Set the sums of all arms and learn from those that have changed."""
        state: Any = self._live
        more, fewer_rounds = observed["pulls"] - state.pulls, observed["rounds"] < self._next_round - 1
        corrected = (more == 0) & (observed["totals"] != state.totals)
        for number in np.flatnonzero((more > 0) | corrected).tolist():
            state.totals[number] = observed["totals"][number]
            if self.needs_squares:
                state.squares[number] = max(observed["squares"][number], 0.0)
            self._kernels.update(state, number, int(more[number]), 0.0)
        for number in np.flatnonzero((more > 0) | corrected).tolist():
            if corrected[number]:
                self.saved.learn_again(state, number)
            self._kernels.learn(state, number)
        self._awaited[:] = observed["awaited"]
        self._all_awaited, self._all_observed = int(self._awaited.sum()), int(state.pulls.sum())
        self._next_round = observed["rounds"] + 1
        self._forget_views(state)
        if fewer_rounds:
            self.saved.forget(state, self._next_round)
            self._watch_earlier()

    def _check_sums(self, owner: str) -> None:
        """Refuse a policy that needs each reward separately."""
        if self._each:
            given = Described("one that needs each reward individually")
            raise invalid("policy", owner, "a policy that learns from sums of rewards", given)

    def _cut_off(self, total: float, pulls: int, size: float) -> float | None:
        """Return the nearest possible total within the rounding error of numbers of this size, or None."""
        if not pulls:
            return 0.0 if abs(total) <= _ROUNDING * size else None
        # Rewards of a scale family are arbitrarily small but never 0, so a total of 0 is impossible.
        lowest = total if self.family.scale_family else self.family.lowest * pulls
        nearest = min(max(total, lowest), self.family.highest * pulls)
        possible = nearest if abs(nearest - total) <= _ROUNDING * size else total
        return possible if math.isfinite(possible) and self.family.supports(possible, pulls) else None


def _snapshot(parameter: str, other: Any, owner: str) -> _Snapshot:
    """Return the arms, the family and the observations of another policy."""
    if not isinstance(other, Observed):
        raise invalid(parameter, owner, "a policy", other)
    with other._lock:
        return other.clusters.arms, other.family, other._observed()


def _added(mine: Any, theirs: Any, before: Any) -> Row:
    added: Row = np.asarray(mine) + (np.asarray(theirs) - np.asarray(before))
    return added


def _gone(observed: dict[str, Any]) -> int:
    """Return the number of rounds of arms that were removed since."""
    return int(observed["rounds"] - sum(observed["pulls"]) - sum(observed["awaited"]))


def _warn(noticed: Iterable[str]) -> None:
    for sentence in noticed:
        warnings.warn(sentence, WidthWarning, stacklevel=3)
