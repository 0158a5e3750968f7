"""The observations of a policy as plain data: saved, restored, and moved to other arms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clusterbandits.partition import check_arms
from clusterbandits.policies.choosing import Choosing
from clusterbandits.validate import as_float, between, invalid, is_list, is_number, whole

if TYPE_CHECKING:
    from clusterbandits.clusters import Clusters


class Observed(Choosing):
    """The part of a policy that saves and restores its observations."""

    most_arms: ClassVar[int]

    def _begin(self) -> None:
        """Set up the state before the first round."""
        raise NotImplementedError

    @property
    def _per_arm(self) -> tuple[str, ...]:
        """The names, in saved files, of the statistics per arm."""
        return ("pulls", "totals", *(("squares",) if self.needs_squares else ()), "awaited")

    @property
    def _observed_keys(self) -> tuple[str, ...]:
        """The names, in saved files, of all observations."""
        return (*self._per_arm, "retired", "rounds", "choice", "watched")

    def _regroup(self, clusters: Clusters) -> None:
        """Move the statistics of the remaining arms to a state for other clusters."""
        check_arms("arm", f"{type(self).__name__}.add_arm", len(clusters.arms), self.most_arms)
        observed = self._observed()
        per_arm = zip(*(observed[key] for key in self._per_arm), strict=True)
        known = dict(zip(self.clusters.arms, per_arm, strict=True))
        rows = [known.get(label, (0,) * len(self._per_arm)) for label in clusters.arms]
        observed["retired"] = [label for label in observed["retired"] if label in clusters.arms]
        before, self.clusters = self.clusters, clusters
        try:
            self._begin()
        except BaseException:  # Memory may run out.
            self.clusters = before
            raise
        columns = zip(self._per_arm, zip(*rows, strict=True), strict=True)
        self._resume(observed | dict(columns))

    def _observed(self) -> dict[str, Any]:
        """Return all observations as plain data."""
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

    def _take_up(self, observed: dict[str, Any], owner: str) -> None:
        """Check and restore what ``_observed`` returned, in a state before its first round."""
        arms = len(self.clusters.arms)
        for key in self._per_arm:
            if not isinstance(observed[key], list) or len(observed[key]) != arms:
                raise invalid(key, owner, f"a list with a number for each of {arms} arms", observed[key])
        pulls = [whole("pulls", owner, count, least=0) for count in observed["pulls"]]
        awaited = [whole("awaited", owner, count, least=0) for count in observed["awaited"]]
        rounds = whole("rounds", owner, observed["rounds"], least=sum(pulls) + sum(awaited))
        totals = [self._total(*one, owner) for one in zip(observed["totals"], pulls, strict=True)]
        clean: dict[str, Any] = {"pulls": pulls, "totals": totals, "awaited": awaited, "rounds": rounds}
        if self.needs_squares:
            clean["squares"] = [between("squares", owner, one, 0, math.inf) for one in observed["squares"]]
        self._check_retired(observed["retired"], owner)
        self.saved.checked(observed["choice"], self._live, self._numbers, rounds, owner)
        self._next_round = rounds + 1
        self._check_watched(observed["watched"], owner)
        self._resume(observed | clean)

    def _total(self, total: object, pulls: int, owner: str) -> float:
        if not pulls and as_float(total) != 0.0:
            raise invalid("totals", owner, "0 for an arm that was never pulled", total)
        if not is_number(total):
            raise invalid("totals", owner, "numbers", total)
        return self.family.read_total(total, pulls, owner) if pulls else 0.0

    def _check_retired(self, labels: object, owner: str) -> None:
        """Refuse an impossible list of retired arms."""
        listed = list(labels) if is_list(labels) else None
        if listed is None or any(type(one) not in {str, int} or one not in self._numbers for one in listed):
            raise invalid("retired", owner, "a list of arms of the policy", labels)
        if len(set(listed)) < len(listed) or len(listed) >= len(self._numbers):
            raise invalid("retired", owner, "different arms, and not all of them", labels)
        if listed:
            self._check_limits(owner)

    def _resume(self, observed: dict[str, Any]) -> None:
        """Restore checked observations in a state before its first round."""
        self._resume_counts(observed)
        self._restore_watched(observed["watched"])
        # After the alarms: learning depends on which widths are still in use.
        self.saved.load(observed["choice"], self._live, self._numbers)

    def _resume_counts(self, observed: dict[str, Any]) -> None:
        """Restore rewards, outstanding rewards, retired arms and rounds."""
        state: Any = self._live
        for number, (many, total) in enumerate(zip(observed["pulls"], observed["totals"], strict=True)):
            if many:
                state.totals[number] = total
                if self.needs_squares:
                    state.squares[number] = observed["squares"][number]
                self._kernels.update(state, number, many, 0.0)
        self._awaited[:] = observed["awaited"]
        self._all_awaited, self._all_observed = sum(observed["awaited"]), sum(observed["pulls"])
        retired = np.zeros(self._awaited.size, dtype=np.bool_)
        retired[[self._numbers[label] for label in observed["retired"]]] = True
        self._retire(retired)
        self._next_round = observed["rounds"] + 1
