"""What another policy has learned: taken over by a new policy, or merged into one that goes on."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.errors import WidthWarning
from clusterbandits.limits import MOST_ROUNDS
from clusterbandits.policies.told import Told
from clusterbandits.validate import Described, invalid, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clusterbandits.families import Family
    from clusterbandits.partition import Label

    Row = NDArray[Any]
    _Snapshot = tuple[tuple[Label, ...], Family, dict[str, Any]]

#: Totals that are computed may be beyond what the family can pay by this share, and are then cut off.
_ROUNDING = 1e-9


class Merging(Told):
    """The part of a learner that takes in what others have learned."""

    #: Whether every reward must be told on its own.
    _each: bool

    @property
    def _in_order(self) -> bool:
        """Whether it learns from rewards one after another, so that sums of them are not enough."""
        return False

    def take_over(self, other: Any) -> None:
        """Take in all that another policy knows, to go on in its place with other settings or widths.

        These are pulls, totals, rounds, awaited rewards and retired arms. This policy must be before its
        first round and may be of another kind.

        Parameters
        ----------
        other
            A policy with the same arms in the same order and the same reward family; it stays as it is.

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
                raise invalid("policy", owner, "one before its first round", given)
            self._check_learns(owner)
            if theirs["retired"]:
                self._check_limits(owner)
            self._resume_counts(theirs)
            self.saved.learn_all(self._live)
            self._forget_views(self._live)
            noticed = self._watch() if self._next_round >= self._look else []
        _warn(noticed)

    def merge(self, other: Any, since: Any = None) -> None:
        """Add what another copy of this policy has learned: rewards, and pulls whose rewards it awaits.

        Retired arms stay those of this policy.

        Parameters
        ----------
        other
            A policy with the same arms in the same order and the same reward family; it stays as it is.
        since
            An earlier state of ``other``, from which both copies started: what was known then is not added
            again. A reward that was awaited then must be told to one of the copies, not to both. Left out,
            all that ``other`` knows is added.

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
        # One lock after the other: two policies may be merged into each other at the same time.
        snapshot = _snapshot("other", other, owner)
        earlier = None if since is None else _snapshot("since", since, owner)
        with self._lock:
            theirs = self._same_arms("other", snapshot, owner)
            before = None if earlier is None else self._same_arms("since", earlier, owner)
            self._check_learns(owner)
            told = self._merged(self._told(), theirs, before, owner)
            self._apply(told)
            self.saved.add(self._live, theirs["choice"], {} if before is None else before["choice"])
            noticed = self._watch() if self._next_round >= self._look else []
        _warn(noticed)

    def _same_arms(self, parameter: str, snapshot: _Snapshot, owner: str) -> dict[str, Any]:
        """Return what another policy was told, if its arms, family and sums are those of this one."""
        arms, family, told = snapshot
        if arms != self.clusters.arms:
            given = Described(f"one with the arms {shown(list(arms))}")
            raise invalid(parameter, owner, "a policy with the same arms in the same order", given)
        if family != self.family:
            raise invalid(parameter, owner, f"a policy for {self.family.spec} rewards", family.spec)
        if self.needs_squares and "squares" not in told:
            given = Described("one without them")
            raise invalid(parameter, owner, "a policy that keeps sums of squares", given)
        return told

    def _check_learns(self, owner: str) -> None:
        """Refuse a policy that learns from rewards one after another."""
        if self._in_order:
            given = Described("one that learns from every reward in turn")
            raise invalid("policy", owner, "one that learns from sums of rewards", given)

    def _merged(
        self, mine: dict[str, Any], theirs: dict[str, Any], before: dict[str, Any] | None, owner: str
    ) -> dict[str, Any]:
        """Return the sums of what two policies were told, without what both knew before."""
        nothing = {key: np.zeros(len(mine["pulls"])) for key in self._per_arm}
        known = nothing if before is None else before
        if np.any(np.asarray(theirs["pulls"]) < np.asarray(known["pulls"])):
            given = Described("a policy that knows of more pulls")
            raise invalid("since", owner, "an earlier state of the other policy", given)
        told: dict[str, Any] = {key: _added(mine[key], theirs[key], known[key]) for key in self._per_arm}
        told["pulls"] = told["pulls"].astype(np.int64)
        told["awaited"] = np.maximum(told["awaited"], 0).astype(np.int64)
        sizes = [np.abs(part["totals"]) for part in (mine, theirs, known)]
        for number, (total, pulls) in enumerate(zip(told["totals"], told["pulls"], strict=True)):
            possible = self._cut_off(float(total), int(pulls), float(sum(part[number] for part in sizes)))
            if possible is None:
                given = Described(f"a total of {total:g} in {pulls} pulls of an arm")
                raise invalid("since", owner, "an earlier state of the other policy", given)
            told["totals"][number] = possible
        gone = _gone(mine) + _gone(theirs) - (0 if before is None else _gone(before))
        told["rounds"] = int(told["pulls"].sum() + told["awaited"].sum()) + max(gone, 0)
        if told["rounds"] > MOST_ROUNDS:
            given = Described(f"{told['rounds']:g} rounds together")
            raise invalid("other", owner, f"small enough for {MOST_ROUNDS:g} rounds in all", given)
        return told

    def _apply(self, told: dict[str, Any]) -> None:
        """Set the sums of all arms and learn from those that have changed."""
        state: Any = self._live
        more, fewer_rounds = told["pulls"] - state.pulls, told["rounds"] < self._next_round - 1
        corrected = (more == 0) & (told["totals"] != state.totals)
        for number in np.flatnonzero((more > 0) | corrected).tolist():
            state.totals[number] = told["totals"][number]
            if self.needs_squares:
                state.squares[number] = max(told["squares"][number], 0.0)
            self._kernels.update(state, number, int(more[number]), 0.0)
        for number in np.flatnonzero((more > 0) | corrected).tolist():
            if corrected[number]:
                self.saved.learn_again(state, number)
            self._kernels.learn(state, number)
        self._awaited[:] = told["awaited"]
        self._all_awaited, self._all_told = int(self._awaited.sum()), int(state.pulls.sum())
        self._next_round = told["rounds"] + 1
        self._forget_views(state)
        if fewer_rounds:
            self.saved.forget(state, self._next_round)
            self._watch_earlier()

    def _check_sums(self, owner: str) -> None:
        """Refuse a policy that needs every reward on its own."""
        if self._each:
            given = Described("one that needs every reward on its own")
            raise invalid("policy", owner, "one that learns from sums of rewards", given)

    def _cut_off(self, total: float, pulls: int, size: float) -> float | None:
        """Return a total that the family can pay, within rounding of numbers of that size, or None."""
        if not pulls:
            return 0.0 if abs(total) <= _ROUNDING * size else None
        # Rewards of a scale family are as small as one likes: what rounds to nothing is no sum of them.
        lowest = total if self.family.scale_family else self.family.lowest * pulls
        nearest = min(max(total, lowest), self.family.highest * pulls)
        possible = nearest if abs(nearest - total) <= _ROUNDING * size else total
        return possible if math.isfinite(possible) and self.family.supports(possible, pulls) else None


def _snapshot(parameter: str, other: Any, owner: str) -> _Snapshot:
    """Return the arms and the family of another policy, and what it was told."""
    if not isinstance(other, Told):
        raise invalid(parameter, owner, "a policy", other)
    with other._lock:
        return other.clusters.arms, other.family, other._told()


def _added(mine: Any, theirs: Any, before: Any) -> Row:
    added: Row = np.asarray(mine) + (np.asarray(theirs) - np.asarray(before))
    return added


def _gone(told: dict[str, Any]) -> int:
    """Return how many rounds are those of arms since removed."""
    return int(told["rounds"] - sum(told["pulls"]) - sum(told["awaited"]))


def _warn(noticed: Iterable[str]) -> None:
    for sentence in noticed:
        warnings.warn(sentence, WidthWarning, stacklevel=3)
