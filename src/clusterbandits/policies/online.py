"""Online use: ``ask`` for the arm to play, ``tell`` its reward, in any order and at any time."""

from __future__ import annotations

import copy
import math
import threading
import warnings
from typing import TYPE_CHECKING, Any, ClassVar

from clusterbandits.errors import WidthWarning
from clusterbandits.limits import MOST_ROUNDS
from clusterbandits.partition import check_arms
from clusterbandits.policies.alarms import Watchful
from clusterbandits.policies.protocol import KERNELS, entries
from clusterbandits.policies.saved import Saved
from clusterbandits.validate import as_float, between, invalid, is_number, one_of, shown, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterbandits.clusters import Clusters
    from clusterbandits.families import Family
    from clusterbandits.partition import Label
    from clusterbandits.policies.protocol import Kernels, State

#: What is made when a policy is first asked or told, not before: simulations never use it.
_LAZY = frozenset({"_live", "_kernels", "_awaited", "_all_awaited", "_next_round", "_numbers", "_look"})


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
    #: What it remembers besides pulls and totals.
    saved: ClassVar[Saved] = Saved()
    #: Whether it uses sums of squares; every reward must then be told on its own.
    needs_squares: ClassVar[bool] = False
    _live: State
    _kernels: Kernels
    _awaited: list[int]
    _all_awaited: int
    _next_round: int
    _numbers: dict[Label, int]

    def __init__(self) -> None:
        self._lock = threading.RLock()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Begin online use when the first of its attributes is asked for."""
            if name not in _LAZY:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            with self._lock:
                if "_live" not in vars(self):
                    self._begin()
            return vars(self)[name]

    def _begin(self) -> None:
        """Set up the state before the first round."""
        live: State = self.fresh_state()
        self._kernels = entries(live)
        self._awaited = [0] * len(self.clusters.arms)
        self._all_awaited = 0
        self._next_round = 1
        self._numbers = {label: number for number, label in enumerate(self.clusters.arms)}
        #: A state in which awaited rewards have arrived, and the arms in which it may be out of date.
        self._supposed: State | None = None
        self._outdated: set[int] = set()
        self._each = self.kernels.wants_each
        self._begin_watch(live)
        self._live = live

    def __getstate__(self) -> dict[str, Any]:
        """Return a copy of all attributes but the lock and the kernels, for ``copy`` and ``pickle``."""
        with self._lock:
            kept = {key: value for key, value in vars(self).items() if key not in {"_lock", "_kernels"}}
            if "_live" in kept:
                kept["_supposed"] = None
            return copy.deepcopy(kept)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what ``__getstate__`` returned, with a new lock."""
        vars(self).update(state)
        self._lock = threading.RLock()
        if "_live" in state:
            KERNELS.setdefault(type(self._live), self.kernels)
            self._kernels = entries(self._live)

    @property
    def kernels(self) -> Kernels:
        """The compiled functions of the policy."""
        raise NotImplementedError

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
        self._tell(arm, reward, pulls)

    def _tell_past(self, rows: Iterable[tuple[Label, int, float]]) -> None:
        """Take in rows of an arm, its pulls and their total, and then learn from all of them at once."""
        told = list(rows)
        for arm, pulls, total in told:
            self._tell(arm, total, pulls, learns=False)
        for arm, _, _ in told:
            self._kernels.learn(self._live, self._numbers[arm])

    def _tell(self, arm: Label, reward: float, pulls: int, *, learns: bool = True) -> None:
        owner = f"{type(self).__name__}.tell"
        many = 1 if type(pulls) is int and pulls == 1 else whole("pulls", owner, pulls, least=1)
        total = self.family.read_total(reward, many, owner)
        with self._lock:
            number = self._number(arm, owner)
            if many > 1 and self._each:
                raise invalid("pulls", owner, "1, since this policy needs every reward on its own", pulls)
            waiting = self._awaited[number]
            expected = many if many < waiting else waiting
            following = self._next_round + many - expected
            if following > MOST_ROUNDS + 1:
                raise invalid("pulls", owner, f"at most {MOST_ROUNDS:g} in all", pulls)
            self._kernels.update(self._live, number, many, total)
            if learns:
                self._kernels.learn(self._live, number)
            self._awaited[number] = waiting - expected
            self._all_awaited -= expected
            self._next_round = following
            if self._supposed is not None:
                self._outdated.add(number)
            noticed = self._watch() if following >= self._look else ()
        for sentence in noticed:
            warnings.warn(sentence, WidthWarning, stacklevel=3)

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
            self._supposed = None
            self.saved.forget(self._live, self._next_round)
            self._watch_earlier()

    def add_arm(self, arm: Label, cluster: Label) -> None:
        """Add a new arm to an existing cluster; policies that pull every arm once ask for it first."""
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
            self.saved.carry(self._live, supposed)
            number = int(self._kernels.select(supposed, self._next_round))
            self.saved.carry(supposed, self._live)
        else:
            number = self._awaited.index(min(self._awaited))
        self._awaited[number] += 1
        self._all_awaited += 1
        self._next_round += 1
        if self._supposed is not None:
            self._outdated.add(number)
        return number

    def _as_if_paid(self) -> State:
        """Return a state in which every awaited pull has paid the mean of its arm.

        It is kept, so that an ``ask`` changes as many arms in it as have changed since the last one.
        """
        if self._supposed is None or self._each:
            self._supposed = _copy(self._live)
            self._outdated = {number for number, missing in enumerate(self._awaited) if missing}
        supposed, live = self._supposed, self._live
        unknown = [k for k in self._outdated if not live.pulls[k] and self._awaited[k]]
        pooled = float(live.totals.sum() / live.pulls.sum()) if unknown else 0.0
        for number in sorted(self._outdated):
            missing, known = self._awaited[number], int(live.pulls[number])
            mean = float(live.totals[number]) / known if known else pooled
            if self._each:
                for _ in range(missing):
                    self._kernels.update(supposed, number, 1, mean)
                continue
            more = known + missing - int(supposed.pulls[number])
            supposed.totals[number] = (
                float(live.totals[number]) + missing * mean if missing else live.totals[number]
            )
            self._kernels.update(supposed, number, more, 0.0)
        # The mean of all arms stands in for that of an arm without rewards, and changes with each.
        self._outdated = set(unknown)
        return supposed

    def _number(self, arm: Label, owner: str) -> int:
        try:
            return self._numbers[arm]
        except (KeyError, TypeError):
            raise invalid("arm", owner, one_of(self.clusters.arms), arm) from None

    @property
    def _per_arm(self) -> tuple[str, ...]:
        """What is saved of every arm, by the names that files use."""
        return ("pulls", "totals", *(("squares",) if self.needs_squares else ()), "awaited")

    @property
    def _told_keys(self) -> tuple[str, ...]:
        """The names that files use for everything a policy was told."""
        return (*self._per_arm, "rounds", "choice", "watched")

    def _regroup(self, clusters: Clusters) -> None:
        """Move what is known of arms that stay to a state for other clusters."""
        check_arms("arm", f"{type(self).__name__}.add_arm", len(clusters.arms), self.most_arms)
        told = self._told()
        per_arm = zip(*(told[key] for key in self._per_arm), strict=True)
        known = dict(zip(self.clusters.arms, per_arm, strict=True))
        rows = [known.get(label, (0,) * len(self._per_arm)) for label in clusters.arms]
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
        state: Any = self._live
        per_arm = {key: getattr(state, key).tolist() for key in self._per_arm if key != "awaited"}
        return {
            **per_arm,
            "awaited": list(self._awaited),
            "rounds": self._next_round - 1,
            "choice": self.saved.dump(state, self.clusters.arms),
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

    def _resume(self, told: dict[str, Any]) -> None:
        state: Any = self._live
        for number, (many, total) in enumerate(zip(told["pulls"], told["totals"], strict=True)):
            if many:
                self._kernels.update(state, number, many, total)
        if self.needs_squares:
            state.squares[:] = told["squares"]
        self._awaited = list(told["awaited"])
        self._all_awaited = sum(told["awaited"])
        self._next_round = told["rounds"] + 1
        self._restore_watched(told["watched"])
        # What is learned again depends on the widths that are still in use.
        self.saved.load(told["choice"], state, self._numbers)


def _copy(part: Any) -> Any:
    """Return a state with arrays of its own, those of its parts included."""
    if isinstance(part, tuple):
        return type(part)(*map(_copy, part))
    return part.copy() if hasattr(part, "copy") else part
