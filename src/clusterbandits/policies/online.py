"""A learner in production: ask which arm to play, tell what it paid, in any order and at any time."""

from __future__ import annotations

import copy
import threading
import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clusterbandits.errors import WidthWarning
from clusterbandits.limits import MOST_ROUNDS
from clusterbandits.partition import check_arms
from clusterbandits.policies.protocol import kernels_for_python
from clusterbandits.policies.watchful import Watchful
from clusterbandits.validate import as_float, check_keys, invalid, is_number, one_of, shown, whole

if TYPE_CHECKING:
    from clusterbandits.clusters import Clusters
    from clusterbandits.families import Family
    from clusterbandits.partition import Label
    from clusterbandits.policies.protocol import Kernels, State

#: What every arm has been told, by the names that files give it.
_PER_ARM = ("pulls", "totals", "awaited")
#: All that a learner was told.
TOLD = (*_PER_ARM, "rounds", "choice", "watched")


class Online(Watchful):
    """``ask`` and ``tell`` on the kernels that simulations run.

    The number of the next round is one more than all pulls known of, those told and those still awaited. An
    awaited pull counts as if it had paid its arm's mean so far (the mean of all arms, where it has none), so
    that a batch spreads instead of asking for one arm throughout.

    Every public call holds the policy's lock, reads included, because kernels release the GIL. Warnings are
    issued after the lock is released, so that a handler may use the policy, even from another thread.
    """

    clusters: Clusters
    family: Family
    most_arms: ClassVar[int]

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._begin()

    def _begin(self) -> None:
        """Set up the state before the first round."""
        self._live: State = self.fresh_state()
        self._kernels: Kernels = kernels_for_python(type(self._live))
        self._awaited = [0] * len(self.clusters.arms)
        self._all_awaited = 0
        self._next_round = 1
        self._numbers = {label: number for number, label in enumerate(self.clusters.arms)}
        self._begin_watch()

    def __getstate__(self) -> dict[str, Any]:
        """Return a copy of all attributes but the lock and the kernels, for ``copy`` and ``pickle``."""
        with self._lock:
            kept = {key: value for key, value in vars(self).items() if key not in {"_lock", "_kernels"}}
            return copy.deepcopy(kept)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what ``__getstate__`` returned, with a new lock."""
        vars(self).update(state)
        self._lock = threading.RLock()
        self._kernels = kernels_for_python(type(self._live))

    def fresh_state(self) -> State:
        """Return the state before the first round."""
        raise NotImplementedError

    @property
    def rounds(self) -> int:
        """How many pulls it knows of, told or awaited, those of arms since removed included."""
        with self._lock:
            return self._next_round - 1

    @property
    def pulls(self) -> dict[Label, int]:
        """How many rewards of every arm it was told."""
        with self._lock:
            return dict(zip(self.clusters.arms, self._live.pulls.tolist(), strict=True))

    @property
    def totals(self) -> dict[Label, float]:
        """What every arm has paid so far."""
        with self._lock:
            return dict(zip(self.clusters.arms, self._live.totals.tolist(), strict=True))

    @property
    def awaited(self) -> dict[Label, int]:
        """Arms that were asked for and whose rewards have not arrived, with how many are missing."""
        with self._lock:
            counts = zip(self.clusters.arms, self._awaited, strict=True)
            return {label: count for label, count in counts if count}

    def ask(self, k: int | None = None) -> Any:
        """Return the arm to play next, or a list of arms to play before any of them has paid.

        Parameters
        ----------
        k
            How many arms; left out, one arm is returned by itself. Other threads wait until all are chosen.
        """
        count = 1 if k is None else whole("k", f"{type(self).__name__}.ask", k, least=1, most=10**6)
        with self._lock:
            left = MOST_ROUNDS - self._next_round + 1
            if count > left:
                allowed = f"at most {left}, {MOST_ROUNDS:g} in all"
                raise invalid("k", f"{type(self).__name__}.ask", allowed, count)
            if k is None:
                return self.clusters.arms[self._ask()]
            return [self.clusters.arms[self._ask()] for _ in range(count)]

    def tell(self, arm: Label, reward: float, pulls: int = 1) -> None:
        """Take in what an arm paid, whether or not it was asked for.

        Parameters
        ----------
        arm
            The label of the arm.
        reward
            What it paid: one reward or, with ``pulls``, the sum of that many.
        pulls
            How many rewards the sum is made of.
        """
        owner = f"{type(self).__name__}.tell"
        many = 1 if type(pulls) is int and pulls == 1 else whole("pulls", owner, pulls, least=1)
        total = self.family.read_total(reward, many, owner)
        with self._lock:
            number = self._number(arm, owner)
            waiting = self._awaited[number]
            expected = many if many < waiting else waiting
            following = self._next_round + many - expected
            if following > MOST_ROUNDS + 1:
                raise invalid("pulls", owner, f"at most {MOST_ROUNDS:g} in all", pulls)
            self._kernels.update(self._live, number, many, total)
            self._awaited[number] = waiting - expected
            self._all_awaited -= expected
            self._next_round = following
            noticed = self._watch() if following >= self._look else ()
        for sentence in noticed:
            warnings.warn(sentence, WidthWarning, stacklevel=2)

    def cancel(self, arm: Label, pulls: int = 1) -> None:
        """Stop waiting for rewards that will never come: those rounds then never happened."""
        owner = f"{type(self).__name__}.cancel"
        many = whole("pulls", owner, pulls, least=1)
        with self._lock:
            number = self._number(arm, owner)
            waiting = self._awaited[number]
            if many > waiting:
                raise invalid("pulls", owner, f"at most the {waiting} awaited of arm {shown(arm)}", pulls)
            self._awaited[number] -= many
            self._all_awaited -= many
            self._next_round -= many
            self._forget_cancelled()
            self._watch_earlier()

    def add_arm(self, arm: Label, cluster: Label) -> None:
        """Take in a new arm of an existing cluster; it will be asked for first."""
        with self._lock:
            self._regroup(self.clusters.with_arm(arm, cluster))

    def remove_arm(self, arm: Label) -> None:
        """Forget an arm; rounds go on counting. A cluster goes with its last arm."""
        with self._lock:
            self._number(arm, f"{type(self).__name__}.remove_arm")
            self._regroup(self.clusters.without_arm(arm))

    def _ask(self) -> int:
        if not self._all_awaited:
            number = int(self._kernels.select(self._live, self._next_round))
        elif self._live.pulls.any():
            supposed = self._as_if_paid()
            number = int(self._kernels.select(supposed, self._next_round))
            self._remember_choice(supposed)
        else:
            number = self._awaited.index(min(self._awaited))
        self._awaited[number] += 1
        self._all_awaited += 1
        self._next_round += 1
        return number

    def _as_if_paid(self) -> State:
        state: State = _copy(self._live)
        pooled = float(state.totals.sum() / state.pulls.sum())
        for number, missing in enumerate(self._awaited):
            if not missing:
                continue
            known = int(state.pulls[number])
            mean = float(state.totals[number]) / known if known else pooled
            self._kernels.update(state, number, missing, missing * mean)
        return state

    def _remember_choice(self, state: State) -> None:
        """Keep what a choice on a copy of the state decided for later rounds."""

    def _forget_cancelled(self) -> None:
        """Forget a choice that was made in a round that never happened."""

    def _number(self, arm: Label, owner: str) -> int:
        try:
            return self._numbers[arm]
        except (KeyError, TypeError):
            raise invalid("arm", owner, one_of(self.clusters.arms), arm) from None

    def _regroup(self, clusters: Clusters) -> None:
        """Move what is known of arms that stay to a state for other clusters."""
        check_arms("arm", f"{type(self).__name__}.add_arm", len(clusters.arms), self.most_arms)
        told = self._told()
        per_arm = zip(*(told[key] for key in _PER_ARM), strict=True)
        known = dict(zip(self.clusters.arms, per_arm, strict=True))
        rows = [known.get(label, (0, 0.0, 0)) for label in clusters.arms]
        if told["choice"].get("last") not in {None, *clusters.arms}:
            told["choice"] = {}
        before, self.clusters = self.clusters, clusters
        try:
            self._begin()
        except BaseException:  # Memory may run out.
            self.clusters = before
            raise
        columns = zip(_PER_ARM, zip(*rows, strict=True), strict=True)
        self._resume(told | dict(columns))

    def _told(self) -> dict[str, Any]:
        """Return all it was told, as plain data."""
        state = self._live
        per_arm = (state.pulls.tolist(), state.totals.tolist(), list(self._awaited))
        return {
            **dict(zip(_PER_ARM, per_arm, strict=True)),
            "rounds": self._next_round - 1,
            "choice": self._last_choice(),
            "watched": self._watched(),
        }

    def _take_up(self, told: dict[str, Any], owner: str) -> None:
        """Take in what ``_told`` returned, into a state before its first round."""
        arms = len(self.clusters.arms)
        for key in _PER_ARM:
            if not isinstance(told[key], list) or len(told[key]) != arms:
                raise invalid(key, owner, f"a list with a number for each of {arms} arms", told[key])
        pulls = [whole("pulls", owner, count, least=0) for count in told["pulls"]]
        awaited = [whole("awaited", owner, count, least=0) for count in told["awaited"]]
        rounds = whole("rounds", owner, told["rounds"], least=sum(pulls) + sum(awaited))
        totals = [self._total(*one, owner) for one in zip(told["totals"], pulls, strict=True)]
        self._next_round = rounds + 1
        self._check_choice(told["choice"], owner)
        self._check_watched(told["watched"], owner)
        clean = {"pulls": pulls, "totals": totals, "awaited": awaited, "rounds": rounds}
        self._resume(told | clean)

    def _total(self, total: object, pulls: int, owner: str) -> float:
        if not pulls and as_float(total) != 0.0:
            raise invalid("totals", owner, "0 for an arm that was never pulled", total)
        if not is_number(total):
            raise invalid("totals", owner, "made of numbers", total)
        return self.family.read_total(total, pulls, owner) if pulls else 0.0

    def _resume(self, told: dict[str, Any]) -> None:
        for number, (many, total) in enumerate(zip(told["pulls"], told["totals"], strict=True)):
            if many:
                self._kernels.update(self._live, number, many, total)
        self._awaited = list(told["awaited"])
        self._all_awaited = sum(told["awaited"])
        self._next_round = told["rounds"] + 1
        self._restore_choice(told["choice"])
        self._restore_watched(told["watched"])

    def _last_choice(self) -> dict[str, Any]:
        """Return what it remembers besides pulls and totals, as plain data."""
        return {}

    def _check_choice(self, data: object, owner: str) -> None:
        """Refuse what ``_last_choice`` cannot have returned."""
        check_keys([], owner, data)

    def _restore_choice(self, data: dict[str, Any]) -> None:
        """Take up again what ``_last_choice`` returned; nothing where there was no choice."""


def _copy(part: Any) -> Any:
    """Return a state with arrays of its own, those of its parts included."""
    if isinstance(part, tuple):
        return type(part)(*map(_copy, part))
    return part.copy() if isinstance(part, np.ndarray) else part
