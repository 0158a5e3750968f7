"""Online use: ``ask`` for the next arm, ``tell`` its reward, in any order and at any time."""

from __future__ import annotations

import copy
import math
import threading
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

from clusterbandits.errors import WidthWarning
from clusterbandits.limits import MOST_ROUNDS
from clusterbandits.policies.choosing import as_labels
from clusterbandits.policies.lineup import Lineup
from clusterbandits.policies.protocol import KERNELS, entries
from clusterbandits.validate import as_float, invalid, shown, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterbandits.partition import Label
    from clusterbandits.policies.protocol import State

#: Attributes that the first online call creates; simulations do not use them.
_LAZY = frozenset(
    {
        "_all_awaited",
        "_all_observed",
        "_awaited",
        "_chosen_on",
        "_each",
        "_kernels",
        "_live",
        "_look",
        "_next_round",
        "_numbers",
        "_open",
        "_retired",
        "_views",
    }
)
#: Attributes that follow from the others and are not copied.
_DERIVED = frozenset({"_lock", "_kernels", "_views", "_chosen_on", "_known"})


class Online(Lineup):
    """``ask`` and ``tell``, on the same kernels as simulations.

    The number of the next round is one more than the number of pulls, those with outstanding rewards
    included. An outstanding reward counts as the empirical mean of its arm, so that a batch contains
    different arms. For an arm without rewards, it counts as the mean of all rewards, rounded so that it
    seldom changes: to 1/8 on the scale of the family (logits of means with two limits, logs of means above 0,
    else standard deviations).

    Every public method holds the policy's lock, even for reading, because kernels release the GIL. Warnings
    are issued after the lock is released, so a warning handler may use the policy, even from another thread.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Begin online use when one of its attributes is first read."""
            if name not in _LAZY:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            with self._lock:
                if "_live" not in vars(self):
                    self._begin()
            return vars(self)[name]

    def _begin(self) -> None:
        live: State = self.fresh_state()
        self._kernels = entries(live)
        self._next_round = 1
        self._numbers = {label: number for number, label in enumerate(self.clusters.arms)}
        self._each = self.kernels.wants_each
        self._begin_choosing(live)
        self._begin_watch(live)
        self._live = live

    def __getstate__(self) -> dict[str, Any]:
        """Return a copy of all attributes except the lock and derived ones."""
        with self._lock:
            if "_live" in vars(self):
                self._settle()
            return copy.deepcopy({key: value for key, value in vars(self).items() if key not in _DERIVED})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what ``__getstate__`` returned, with a new lock."""
        vars(self).update(state)
        self._lock = threading.RLock()
        if "_live" in state:
            KERNELS.setdefault(type(self._live), self.kernels)
            self._kernels = entries(self._live)
            self._forget_views(self._live)

    def fresh_state(self) -> State:
        """Return the state before the first round."""
        raise NotImplementedError

    @property
    def rounds(self) -> int:
        """The number of pulls, those with outstanding rewards and those of removed arms included."""
        with self._lock:
            return self._next_round - 1

    @property
    def pulls(self) -> dict[Label, int]:
        """The number of observed rewards per arm."""
        with self._lock:
            return dict(zip(self.clusters.arms, self._live.pulls.tolist(), strict=True))

    @property
    def totals(self) -> dict[Label, float]:
        """The sum of observed rewards per arm."""
        with self._lock:
            return dict(zip(self.clusters.arms, self._live.totals.tolist(), strict=True))

    @property
    def awaited(self) -> dict[Label, int]:
        """The number of outstanding rewards per arm, for arms that have any."""
        with self._lock:
            counts = zip(self.clusters.arms, self._awaited.tolist(), strict=True)
            return {label: count for label, count in counts if count}

    def ask(self, k: int | None = None, *, available: Iterable[Label] | None = None) -> Any:
        """Return the arm to pull next, or a batch of arms to pull before their rewards arrive.

        Parameters
        ----------
        k
            Number of arms in the batch; by default, a single label is returned instead of a list. Other
            threads wait until the batch is complete.
        available
            Arms to choose from; by default, all arms that are not retired.

        Notes
        -----
        How a policy chooses from a subset of its arms, those that are available and not retired:

        - Kindred, Thompson, Clus-TS, Hier-TS, and the variants of KL-UCB, Clus-UCB and IMED also use the
          rewards of the other arms, which are informative about their clusters. The empirical leader is the
          best arm of the subset.
        - All other policies choose as if the other arms had been removed with ``remove_arm``.

        Kindred and Thompson need no preparation for a subset. Other policies prepare a state per subset and
        keep the last four. With 600 arms, this takes about 0.3 to 2 ms (Clus-TS, Hier-TS and CKL-UCB: 6 to
        20 ms).

        Examples
        --------
        >>> from clusterbandits import KLUCB, Clusters
        >>> policy = KLUCB(Clusters({"red": ["a", "b"], "blue": ["c"]}))
        >>> policy.ask(available=["b", "c"]), policy.ask(2, available=["b", "c"])
        ('b', ['c', 'b'])
        """
        if k is None and available is None:
            with self._lock:
                return self.clusters.arms[self._ask(self._open)]
        owner = f"{type(self).__name__}.ask"
        count = 1 if k is None else whole("k", owner, k, least=1, most=10**6)
        labels = as_labels(available, owner)
        with self._lock:
            if self._next_round + count > MOST_ROUNDS + 1:
                self._refuse_rounds(count)
            open_arms = self._open_arms(labels, owner)
            numbers = [self._ask(open_arms) for _ in range(count)]
            found = [self.clusters.arms[number] for number in numbers]
            return found[0] if k is None else found

    def _ask(self, open_arms: Any) -> int:
        if self._next_round > MOST_ROUNDS:
            self._refuse_rounds(1)
        number = self._choose(open_arms)
        self._expect(number, 1)
        return number

    def _refuse_rounds(self, count: int) -> NoReturn:
        left = MOST_ROUNDS - self._next_round + 1
        raise invalid(
            "k", f"{type(self).__name__}.ask", f"at most {left}, for a total of {MOST_ROUNDS:g} rounds", count
        )

    def _expect(self, number: int, pulls: int) -> None:
        self._awaited[number] += pulls
        self._all_awaited += pulls
        self._next_round += pulls
        if self._views:
            self._mark(number)

    def expect(self, arm: Label, pulls: int = 1) -> None:
        """Register pulls of an arm that was chosen elsewhere, as if ``ask`` had returned it.

        Parameters
        ----------
        arm
            Label of the arm, which may be retired.
        pulls
            Number of outstanding rewards to add, by default 1.

        Examples
        --------
        >>> from clusterbandits import KLUCB, Clusters
        >>> policy = KLUCB(Clusters([2, 1]))
        >>> policy.expect(2)
        >>> policy.awaited, policy.rounds, policy.ask()
        ({2: 1}, 1, 0)
        """
        owner = f"{type(self).__name__}.expect"
        many = whole("pulls", owner, pulls, least=1)
        with self._lock:
            number = self._number(arm, owner)
            if self._next_round + many > MOST_ROUNDS + 1:
                raise invalid(
                    "pulls", owner, f"small enough for a total of at most {MOST_ROUNDS:g} rounds", pulls
                )
            self._expect(number, many)

    def tell(self, arm: Label, reward: float, pulls: int = 1) -> None:
        """Record a reward of an arm, whether or not ``ask`` returned the arm.

        Parameters
        ----------
        arm
            Label of the arm.
        reward
            Observed reward or, with ``pulls``, the sum of that many rewards.
        pulls
            Number of rewards in the sum, by default 1.
        """
        self._tell(arm, reward, pulls)

    def _tell_past(self, rows: Iterable[tuple[Label, int, float]]) -> None:
        """Record rows of arm, pulls and total, then learn from all of them at once."""
        past = list(rows)
        for arm, pulls, total in past:
            self._tell(arm, total, pulls, learns=False)
        for arm, _, _ in past:
            self._kernels.learn(self._live, self._numbers[arm])

    def _tell(self, arm: Label, reward: float, pulls: int, *, learns: bool = True) -> None:
        owner = f"{type(self).__name__}.tell"
        many = 1 if type(pulls) is int and pulls == 1 else whole("pulls", owner, pulls, least=1)
        total = self.family.read_total(reward, many, owner)
        with self._lock:
            number = self._number(arm, owner)
            if many > 1 and self._each:
                raise invalid("pulls", owner, "1, since this policy needs each reward individually", pulls)
            waiting = int(self._awaited[number])
            expected = many if many < waiting else waiting
            following = self._next_round + many - expected
            if following > MOST_ROUNDS + 1:
                raise invalid(
                    "pulls", owner, f"small enough for a total of at most {MOST_ROUNDS:g} rounds", pulls
                )
            self._kernels.update(self._live, number, many, total)
            if learns:
                self._kernels.learn(self._live, number)
            if expected:
                self._awaited[number] = waiting - expected
                self._all_awaited -= expected
            self._all_observed += many
            self._next_round = following
            if self._views:
                self._mark(number)
            noticed = self._watch() if following >= self._look else ()
        for sentence in noticed:
            warnings.warn(sentence, WidthWarning, stacklevel=3)

    def correct(self, arm: Label, change: float) -> None:
        """Correct the total of an arm, if a recorded reward turns out to be larger or smaller.

        Pulls, rounds and outstanding rewards do not change. Policies that need each reward separately cannot
        be corrected.

        Parameters
        ----------
        arm
            Label of the arm.
        change
            Amount to add to its total; negative to reduce it. The new total must be possible for the reward
            family and the number of pulls.

        Examples
        --------
        >>> from clusterbandits import KLUCB, Clusters
        >>> policy = KLUCB(Clusters([2, 1]))
        >>> policy.tell(0, 0)
        >>> policy.correct(0, 1)
        >>> policy.pulls[0], policy.totals[0]
        (1, 1.0)
        """
        owner = f"{type(self).__name__}.correct"
        by = as_float(change)
        if not math.isfinite(by):
            raise invalid("change", owner, "a finite number", change)
        with self._lock:
            number = self._number(arm, owner)
            self._check_sums(owner)
            pulls, total = int(self._live.pulls[number]), float(self._live.totals[number])
            if not pulls:
                raise invalid("arm", owner, "an arm with at least one reward", arm)
            changed = self._cut_off(total + by, pulls, abs(total) + abs(by))
            if changed is None:
                allowed = (
                    f"such that the total remains possible for {pulls} rewards, each {self.family.support}"
                )
                raise invalid("change", owner, allowed, change)
            self._live.totals[number] = changed
            self._kernels.update(self._live, number, 0, 0.0)
            self.saved.learn_again(self._live, number)
            self._kernels.learn(self._live, number)
            if self._views:
                self._mark(number)

    def cancel(self, arm: Label, pulls: int = 1) -> None:
        """Drop outstanding rewards that will never arrive; their rounds do not count any more."""
        owner = f"{type(self).__name__}.cancel"
        many = whole("pulls", owner, pulls, least=1)
        with self._lock:
            number = self._number(arm, owner)
            waiting = int(self._awaited[number])
            if many > waiting:
                raise invalid(
                    "pulls",
                    owner,
                    f"at most {waiting}, the number of outstanding rewards of arm {shown(arm)}",
                    pulls,
                )
            self._expect(number, -many)
            chosen_on = self._live if self._chosen_on is None else self._chosen_on.state
            self.saved.forget(chosen_on, self._next_round)
            self._watch_earlier()
