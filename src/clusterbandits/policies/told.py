"""What a policy was told, as plain data: saved, restored, and moved to other arms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clusterbandits.partition import check_arms
from clusterbandits.policies.choosing import Choosing
from clusterbandits.validate import as_float, between, invalid, is_list, is_number, whole

if TYPE_CHECKING:
    from clusterbandits.clusters import Clusters


class Told(Choosing):
    """The part of a learner that saves what it was told, and takes it up again."""

    most_arms: ClassVar[int]

    def _begin(self) -> None:
        """Set up the state before the first round."""
        raise NotImplementedError

    @property
    def _per_arm(self) -> tuple[str, ...]:
        """What is saved of every arm, by the names that files use."""
        return ("pulls", "totals", *(("squares",) if self.needs_squares else ()), "awaited")

    @property
    def _told_keys(self) -> tuple[str, ...]:
        """The names that files use for everything a policy was told."""
        return (*self._per_arm, "retired", "rounds", "choice", "watched")

    def _regroup(self, clusters: Clusters) -> None:
        """Move what is known of arms that stay to a state for other clusters."""
        check_arms("arm", f"{type(self).__name__}.add_arm", len(clusters.arms), self.most_arms)
        told = self._told()
        per_arm = zip(*(told[key] for key in self._per_arm), strict=True)
        known = dict(zip(self.clusters.arms, per_arm, strict=True))
        rows = [known.get(label, (0,) * len(self._per_arm)) for label in clusters.arms]
        told["retired"] = [label for label in told["retired"] if label in clusters.arms]
        before, self.clusters = self.clusters, clusters
        try:
            self._begin()
        except BaseException:  # Memory may run out.
            self.clusters = before
            raise
        columns = zip(self._per_arm, zip(*rows, strict=True), strict=True)
        self._resume(told | dict(columns))

    def _told(self) -> dict[str, Any]:
        """Return all it was told, as plain data."""
        self._settle()
        state: Any = self._live
        arms = self.clusters.arms
        per_arm = {key: getattr(state, key).tolist() for key in self._per_arm if key != "awaited"}
        return {
            **per_arm,
            "awaited": self._awaited.tolist(),
            "retired": [arms[number] for number in np.flatnonzero(self._retired)],
            "rounds": self._next_round - 1,
            "choice": self.saved.dump(state, arms),
            "watched": self._watched(),
        }

    def _take_up(self, told: dict[str, Any], owner: str) -> None:
        """Take in what ``_told`` returned, into a state before its first round."""
        arms = len(self.clusters.arms)
        for key in self._per_arm:
            if not isinstance(told[key], list) or len(told[key]) != arms:
                raise invalid(key, owner, f"a list with a number for each of {arms} arms", told[key])
        pulls = [whole("pulls", owner, count, least=0) for count in told["pulls"]]
        awaited = [whole("awaited", owner, count, least=0) for count in told["awaited"]]
        rounds = whole("rounds", owner, told["rounds"], least=sum(pulls) + sum(awaited))
        totals = [self._total(*one, owner) for one in zip(told["totals"], pulls, strict=True)]
        clean: dict[str, Any] = {"pulls": pulls, "totals": totals, "awaited": awaited, "rounds": rounds}
        if self.needs_squares:
            clean["squares"] = [between("squares", owner, one, 0, math.inf) for one in told["squares"]]
        self._check_retired(told["retired"], owner)
        self.saved.checked(told["choice"], self._live, self._numbers, rounds, owner)
        self._next_round = rounds + 1
        self._check_watched(told["watched"], owner)
        self._resume(told | clean)

    def _total(self, total: object, pulls: int, owner: str) -> float:
        if not pulls and as_float(total) != 0.0:
            raise invalid("totals", owner, "0 for an arm that was never pulled", total)
        if not is_number(total):
            raise invalid("totals", owner, "made of numbers", total)
        return self.family.read_total(total, pulls, owner) if pulls else 0.0

    def _check_retired(self, labels: object, owner: str) -> None:
        """Refuse a list of retired arms that no policy can have."""
        listed = list(labels) if is_list(labels) else None
        if listed is None or any(type(one) not in {str, int} or one not in self._numbers for one in listed):
            raise invalid("retired", owner, "a list of arms of the policy", labels)
        if len(set(listed)) < len(listed) or len(listed) >= len(self._numbers):
            raise invalid("retired", owner, "different arms, and fewer than all", labels)
        if listed:
            self._check_limits(owner)

    def _resume(self, told: dict[str, Any]) -> None:
        """Take in what ``_told`` returned and was checked, into a state before its first round."""
        self._resume_counts(told)
        self._restore_watched(told["watched"])
        # What is learned again depends on the widths that are still in use.
        self.saved.load(told["choice"], self._live, self._numbers)

    def _resume_counts(self, told: dict[str, Any]) -> None:
        """Take in rewards, awaited and retired arms, and rounds."""
        state: Any = self._live
        for number, (many, total) in enumerate(zip(told["pulls"], told["totals"], strict=True)):
            if many:
                state.totals[number] = total
                if self.needs_squares:
                    state.squares[number] = told["squares"][number]
                self._kernels.update(state, number, many, 0.0)
        self._awaited[:] = told["awaited"]
        self._all_awaited, self._all_told = sum(told["awaited"]), sum(told["pulls"])
        retired = np.zeros(self._awaited.size, dtype=np.bool_)
        retired[[self._numbers[label] for label in told["retired"]]] = True
        self._retire(retired)
        self._next_round = told["rounds"] + 1
