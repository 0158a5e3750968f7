"""Random sequences of calls on any policy, compared with a model of plain dictionaries."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import clusterbandits as cb
from fuzz.policies import MOST_ARMS, pick, random_policy, random_total, refused, timed

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.random import Generator

SHORT = 40
_SECONDS = 5.0
_WEIGHTS = {
    "ask": 8,
    "ask_many": 3,
    "tell": 10,
    "tell_unasked": 4,
    "tell_many": 2,
    "cancel": 3,
    "add": 1,
    "remove": 1,
    "explain": 2,
    "restore": 1,
    "replicate": 1,
    "refuse": 3,
}
_OPERATIONS = [name for name, weight in _WEIGHTS.items() for _ in range(weight)]
_NOT_ARMS: tuple[Any, ...] = ("nobody", None, [], {}, math.nan, 0.5, -1, object())
_NOT_LABELS: tuple[Any, ...] = (None, True, 0.5, math.nan, [], "\ud800", b"a")
_NOT_COUNTS: tuple[Any, ...] = (0, -1, 0.5, None, "1", math.nan, math.inf, True, [1], 10**16, 10**400)
_NOT_REWARDS: tuple[Any, ...] = (math.nan, math.inf, -math.inf, None, "1", [1], 1j, 1e300, 10**400, object())


def attempt(rng: Generator, _folder: Path) -> Counter[str]:
    """Use a policy for a while; after each call, it must agree with the model."""
    walk = Walk(random_policy(rng), rng)
    tried: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", cb.WidthWarning)
        for _ in range(int(rng.integers(10, 120))):
            name = pick(rng, _OPERATIONS)
            getattr(walk, name)()
            walk.check()
            tried["operations"] += 1
    return tried


class Walk:
    """A policy and its model."""

    def __init__(self, policy: Any, rng: Generator) -> None:
        self.policy, self.rng = policy, rng
        self.pulls = dict.fromkeys(policy.clusters.arms, 0)
        self.totals = dict.fromkeys(policy.clusters.arms, 0.0)
        self.waiting = dict.fromkeys(policy.clusters.arms, 0)
        self.rounds = self.added = 0
        self.extreme = bool(rng.random() < 0.3)

    def check(self) -> None:
        """Compare all public values of the policy with the model."""
        policy = self.policy
        assert policy.clusters.arms == tuple(self.pulls)
        assert policy.pulls == self.pulls
        assert policy.totals == self.totals
        assert policy.awaited == {arm: count for arm, count in self.waiting.items() if count}
        assert policy.rounds == self.rounds
        for alarm in policy.alarms():
            assert alarm.cluster in policy.clusters.names
            assert 0.0 <= alarm.needed < math.inf
            assert alarm.evidence >= alarm.needed * (1.0 - 1e-9)
            assert 1 <= alarm.round <= self.rounds + 1

    def ask(self) -> None:
        """Ask for one arm."""
        self._asked(timed(self.policy.ask, _SECONDS))

    def ask_many(self) -> None:
        """Ask for several arms."""
        count = int(self.rng.integers(1, 6))
        arms = timed(lambda: self.policy.ask(count), _SECONDS)
        assert len(arms) == count
        for arm in arms:
            self._asked(arm)

    def _asked(self, arm: Any) -> None:
        new = [one for one in self.pulls if not self.pulls[one] and not self.waiting[one]]
        assert arm in (new or self.pulls)
        self.waiting[arm] += 1
        self.rounds += 1

    def tell(self) -> None:
        """Tell an outstanding reward."""
        self._tell(pick(self.rng, [arm for arm in self.waiting if self.waiting[arm]] or list(self.pulls)), 1)

    def tell_unasked(self) -> None:
        """Tell a reward of any arm."""
        self._tell(pick(self.rng, list(self.pulls)), 1)

    def tell_many(self) -> None:
        """Tell the sum of many rewards."""
        most = 10**13 if self.extreme else 1000
        self._tell(pick(self.rng, list(self.pulls)), int(self.rng.integers(1, most)))

    def _tell(self, arm: Any, pulls: int) -> None:
        total = random_total(self.rng, self.policy.family, pulls, extreme=self.extreme)
        timed(lambda: self.policy.tell(arm, total, pulls=pulls), _SECONDS)
        arrived = min(pulls, self.waiting[arm])
        self.waiting[arm] -= arrived
        self.rounds += pulls - arrived
        self.pulls[arm] += pulls
        self.totals[arm] += total

    def cancel(self) -> None:
        """Cancel some outstanding rewards."""
        waiting = [arm for arm in self.waiting if self.waiting[arm]]
        if waiting:
            arm = pick(self.rng, waiting)
            count = int(self.rng.integers(1, self.waiting[arm] + 1))
            self.policy.cancel(arm, count)
            self.waiting[arm] -= count
            self.rounds -= count

    def add(self) -> None:
        """Add an arm; refused if distances are given."""
        if len(self.pulls) < MOST_ARMS and self.policy.settings.get("distances") is None:
            self.added += 1
            arm = f"new {self.added}"
            self.policy.add_arm(arm, pick(self.rng, self.policy.clusters.names))
            self.pulls[arm] = self.waiting[arm] = 0
            self.totals[arm] = 0.0

    def remove(self) -> None:
        """Remove an arm, unless it is the last."""
        if len(self.pulls) > 1:
            arm = pick(self.rng, list(self.pulls))
            self.policy.remove_arm(arm)
            for known in (self.pulls, self.totals, self.waiting):
                del known[arm]

    def explain(self) -> None:
        """Explain; nothing may change."""
        before = self.policy.to_json()
        found = timed(self.policy.explain, _SECONDS)
        assert [one.arm for one in found.arms] == list(self.pulls)
        assert [one.pulls for one in found.arms] == list(self.pulls.values())
        assert str(found)
        assert found._repr_html_()
        assert self.policy.to_json() == before

    def restore(self) -> None:
        """Continue with the policy restored from JSON, which must behave in the same way."""
        text = self.policy.to_json()
        restored = timed(lambda: cb.Policy.from_json(text), _SECONDS)
        assert restored.to_json() == text
        self._check_same(copy.deepcopy(self.policy), copy.deepcopy(restored))
        self.policy = restored

    def replicate(self) -> None:
        """Use a copy, which must not affect the policy."""
        text = self.policy.to_json()
        make: Any = pick(self.rng, [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
        self._check_same(make(self.policy), make(self.policy))
        assert self.policy.to_json() == text
        self.policy = make(self.policy)

    def _check_same(self, one: Any, other: Any) -> None:
        assert one.to_json() == other.to_json()
        for _ in range(3):
            arm = timed(one.ask, _SECONDS)
            assert timed(other.ask, _SECONDS) == arm
            total = random_total(self.rng, one.family, 1, extreme=self.extreme)
            one.tell(arm, total)
            other.tell(arm, total)
        assert one.to_json() == other.to_json()

    def refuse(self) -> None:
        """Make an invalid call, which must be refused and change nothing."""
        policy, rng = self.policy, self.rng
        arm, nobody, count = pick(rng, list(self.pulls)), pick(rng, _NOT_ARMS), pick(rng, _NOT_COUNTS)
        reward = random_total(rng, policy.family, 1, extreme=False)
        calls: list[Any] = [
            lambda: policy.tell(arm, pick(rng, _NOT_REWARDS)),
            lambda: policy.tell(arm, reward, pulls=count),
            lambda: policy.cancel(arm, count),
            lambda: policy.cancel(arm, self.waiting[arm] + 1),
            lambda: policy.add_arm(arm, pick(rng, policy.clusters.names)),
            lambda: policy.add_arm("newer", nobody),
            lambda: policy.add_arm(pick(rng, _NOT_LABELS), policy.clusters.names[0]),
            lambda: policy.tell(nobody, reward),
            lambda: policy.cancel(nobody),
            lambda: policy.remove_arm(nobody),
        ]
        if count is not None:
            calls.append(lambda: policy.ask(count))
        before = policy.to_json()
        assert refused(pick(rng, calls))
        assert policy.to_json() == before
