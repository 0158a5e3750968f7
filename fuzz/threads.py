"""Several threads that share a policy: no reward is lost, and it can be saved at any time."""

from __future__ import annotations

import copy
import sys
import threading
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

import clusterbandits as cb
from fuzz.policies import pick, random_policy

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.random import Generator

SHORT = 8
#: The time limit per thread in seconds, which may include compilation.
_PATIENCE = 250.0
_ARMS = cb.Clusters([3, 2], widths=[0.1, 0.3])
_MOST_ADDED = 10
_FAMILIES = tuple(cb.families.FAMILIES)
_OPERATIONS = (*["ask"] * 8, *["batch"] * 2, *["tell"] * 8, *["cancel"] * 2)
_RARE = ("explain", "save", "read", "copy", "add")


def attempt(rng: Generator, _folder: Path) -> Counter[str]:
    """Run threads on a policy; compare its statistics with their calls."""
    policy = random_policy(rng, _ARMS, pick(rng, _FAMILIES))
    return use_together(policy, int(rng.integers(2, 9)), int(rng.integers(100, 400)), rng)


def use_together(policy: Any, threads: int, operations: int, rng: Generator) -> Counter[str]:
    """Run several threads with several calls each."""
    users = [User(policy, number, child) for number, child in enumerate(rng.spawn(threads))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cb.WidthWarning)
            crew = [threading.Thread(target=user.work, args=(operations,)) for user in users]
            for thread in crew:
                thread.start()
            for thread in crew:
                thread.join(_PATIENCE)
                assert not thread.is_alive(), "a thread waits without end"
    finally:
        sys.setswitchinterval(interval)
    for user in users:
        if user.error is not None:
            raise user.error
    _check(policy, users)
    return Counter(operations=threads * operations)


def _check(policy: Any, users: list[User]) -> None:
    pulls = sum((user.pulls for user in users), Counter[Any]())
    totals = sum((user.totals for user in users), Counter[Any]())
    awaited = sum((Counter(user.asked) for user in users), Counter[Any]())
    assert policy.pulls == {arm: pulls[arm] for arm in policy.clusters.arms}
    assert policy.totals == {arm: totals[arm] for arm in policy.clusters.arms}
    assert policy.awaited == dict(awaited)
    assert policy.rounds == pulls.total() + awaited.total()
    assert set(policy.clusters.arms) == {*_ARMS.arms, *(arm for user in users for arm in user.added)}
    assert cb.Policy.from_json(policy.to_json()).to_json() == policy.to_json()


class User:
    """A thread and its record. Rewards are integers, so that their sums do not depend on the order."""

    def __init__(self, policy: Any, number: int, rng: Generator) -> None:
        self.policy, self.number, self.rng = policy, number, rng
        self.pulls: Counter[Any] = Counter()
        self.totals: Counter[Any] = Counter()
        self.asked: list[Any] = []
        self.added: list[Any] = []
        self.error: BaseException | None = None

    def work(self, operations: int) -> None:
        """Make random calls until an error."""
        try:
            for _ in range(operations):
                getattr(self, pick(self.rng, _RARE if self.rng.random() < 0.05 else _OPERATIONS))()
        except BaseException as error:
            self.error = error

    def ask(self) -> None:
        """Ask for an arm."""
        self.asked.append(self.policy.ask())

    def batch(self) -> None:
        """Ask for several arms."""
        arms = self.policy.ask(4)
        assert len(arms) == 4
        self.asked += arms

    def tell(self) -> None:
        """Tell the reward of an arm that this thread asked for, or of any arm."""
        arm = self.asked.pop() if self.asked else None
        if arm is not None:
            reward = int(self.rng.integers(0, 2)) + (self.policy.family.name == "exponential")
            self.policy.tell(arm, reward)
            self.pulls[arm] += 1
            self.totals[arm] += reward

    def cancel(self) -> None:
        """Cancel a choice of this thread."""
        if self.asked:
            self.policy.cancel(self.asked.pop())

    def explain(self) -> None:
        """Explain."""
        assert str(self.policy.explain())

    def save(self) -> None:
        """Save the policy and restore it."""
        text = self.policy.to_json()
        assert cb.Policy.from_json(text).to_json() == text

    def read(self) -> None:
        """Read its statistics."""
        assert set(self.policy.pulls.values()) >= {0} or self.policy.rounds
        assert np.isfinite(list(self.policy.totals.values())).all()
        for alarm in self.policy.alarms():
            assert alarm.evidence >= alarm.needed * (1.0 - 1e-9) >= 0.0

    def copy(self) -> None:
        """Use a copy."""
        other = copy.deepcopy(self.policy)
        assert other.rounds == sum(other.pulls.values()) + sum(other.awaited.values())
        other.tell(other.ask(), 1)

    def add(self) -> None:
        """Add an arm."""
        if len(self.added) < _MOST_ADDED and self.policy.settings.get("distances") is None:
            self.added.append(f"{self.number}-{len(self.added)}")
            self.policy.add_arm(self.added[-1], pick(self.rng, _ARMS.names))
