"""A plain Python reference of online use, and helpers that tests of online use share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from tests.exactness.reference import Reference

#: Arms of a cluster stand apart, so that labels, places and clusters are easily confused.
CLUSTERS = cb.Clusters.from_labels(
    ["red", "blue", "red", "green", "blue", "red"],
    widths=[0.05, 0.1, 0.3],
    arms=["a", "b", "c", "d", "e", "f"],
)
MEANS = [0.30, 0.45, 0.32, 0.20, 0.50, 0.28]
KINDS: dict[str, Callable[..., Any]] = {
    "kl-ucb": cb.KLUCB,
    "clus-ucb": cb.ClusUCB,
    "plain leader": partial(cb.ClusUCB, leader="plain"),
}
FAMILIES = list(cb.families.FAMILIES)
EACH_KIND = pytest.mark.parametrize("kind", KINDS)
EACH_FAMILY = pytest.mark.parametrize("family", FAMILIES)

_SENTENCE = re.compile(
    r"[\w.]+: \w+ must be .+, but got .+[.?]|Unknown \w+ .+\. (Did you mean|Available:) .+[.?]"
)


def refusal(call: Callable[[], object]) -> str:
    """The one sentence a call is refused with."""
    with pytest.raises(cb.InvalidInputError) as caught:
        call()
    sentence = str(caught.value)
    assert _SENTENCE.fullmatch(sentence), sentence
    return sentence


def refused_unchanged(policy: cb.Policy, call: Callable[[], object]) -> str:
    """The one sentence a call is refused with, having changed nothing."""
    before = policy.to_json()
    sentence = refusal(call)
    assert policy.to_json() == before
    return sentence


def draw(policy: cb.Policy, arm: Any, rng: np.random.Generator) -> float:
    """One reward of an arm of ``CLUSTERS``; arms added later pay as the first."""
    mean = dict(zip(CLUSTERS.arms, MEANS, strict=True)).get(arm, MEANS[0])
    return float(policy.family.draw(mean, 1, rng)[0])


def after_rewards(kind: str, seed: int, family: str = "bernoulli", rounds: int = 60, **settings: Any) -> Any:
    """Return a policy after some rounds of online use."""
    policy = KINDS[kind](CLUSTERS, family=family, **settings)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        arm = policy.ask()
        policy.tell(arm, draw(policy, arm, rng))
    return policy


def reference(policy: cb.Policy) -> Reference:
    """The plain reference of a policy, of what its public face says."""
    clusters = policy.clusters
    place = {arm: number for number, arm in enumerate(clusters.arms)}
    settings: dict[str, Any] = policy.settings
    family: Any = policy.family
    weights = {"gaussian": lambda: family.sigma**-2, "exponential": lambda: family.shape}
    return Reference(
        family.name,
        [[place[arm] for arm in clusters.members(name)] for name in clusters.names],
        clusters.widths if policy.uses_widths else None,
        a=settings["a"],
        refresh=settings["refresh"],
        leader=settings.get("leader", "clustered"),
        weight=weights.get(family.name, lambda: 1.0)(),
    )


def rounded(mean: float, family: Any) -> float:
    """A mean rounded to 1/8: its logit between two ends, its log above one, else in standard deviations."""
    low, high = family.lowest, family.highest
    if not low < mean < high:
        return mean
    if high < math.inf:
        place = round_half_up(math.log((mean - low) / (high - mean)))
        return float(low + (high - low) * math.exp(place) / (1.0 + math.exp(place)))
    if low > -math.inf:
        return float(low + math.exp(round_half_up(math.log(mean - low))))
    return float(round_half_up(mean / family.sigma) * family.sigma)


def round_half_up(number: float) -> float:
    return math.floor(number * 8.0 + 0.5) / 8.0


class Learner:
    """A policy online: every choice from scratch, by the plain reference.

    What is awaited counts as paid, with the mean of its arm so far or, where that has none, of all arms,
    rounded.
    """

    def __init__(self, policy: cb.Policy) -> None:
        self.settings: dict[str, Any] = policy.settings
        self.family: Any = policy.family
        self.of = reference(policy)
        self.cluster = {arm: name for name in policy.clusters.names for arm in policy.clusters.members(name)}
        self.arms = list(policy.clusters.arms)
        self.widths = dict(zip(policy.clusters.names, policy.clusters.widths, strict=True))
        self.pulls = dict.fromkeys(self.arms, 0)
        self.totals = dict.fromkeys(self.arms, 0.0)
        self.waiting = dict.fromkeys(self.arms, 0)
        self.rounds = 0
        self.retired: set[Any] = set()
        self.last: Any = None
        self.until = 0

    @property
    def awaited(self) -> dict[Any, int]:
        return {arm: count for arm, count in self.waiting.items() if count}

    def ask(self, available: Any = None) -> Any:
        arm = self._choice(self.arms if available is None else available)
        self.expect(arm)
        return arm

    def expect(self, arm: Any, pulls: int = 1) -> None:
        self.waiting[arm] += pulls
        self.rounds += pulls

    def correct(self, arm: Any, change: float) -> None:
        self.totals[arm] += change

    def retire_arm(self, arm: Any) -> None:
        self.retired.add(arm)

    def restore_arm(self, arm: Any) -> None:
        self.retired.discard(arm)

    def tell(self, arm: Any, reward: float, pulls: int = 1) -> None:
        expected = min(pulls, self.waiting[arm])
        self.waiting[arm] -= expected
        self.rounds += pulls - expected
        self.pulls[arm] += pulls
        self.totals[arm] += reward

    def cancel(self, arm: Any) -> None:
        self.waiting[arm] -= 1
        self.rounds -= 1
        if self.until - self.settings["refresh"] > self.rounds:
            self.last, self.until = None, 0

    def add_arm(self, arm: Any, cluster: Any) -> None:
        self.arms.append(arm)
        self.cluster[arm] = cluster
        self.pulls[arm] = self.waiting[arm] = 0
        self.totals[arm] = 0.0

    def remove_arm(self, arm: Any) -> None:
        self.arms.remove(arm)
        self.retired.discard(arm)
        for known in (self.cluster, self.pulls, self.totals, self.waiting):
            del known[arm]
        if self.last == arm:
            self.last, self.until = None, 0

    def _choice(self, available: Any) -> Any:
        """The arm to pull: of those available and not retired, given what is known of all."""
        open_arms = [arm for arm in self.arms if arm in available and arm not in self.retired]
        if not any(self.pulls.values()):
            return min(open_arms, key=lambda arm: self.waiting[arm])
        pulls, totals = self._as_if_paid()
        for arm in open_arms:
            if not pulls[arm]:
                return arm
        n = self.rounds + 1
        if n >= self.until or self.last not in open_arms:
            self.last, self.until = self._best(pulls, totals, n, open_arms), n + self.settings["refresh"]
        return self.last

    def _as_if_paid(self) -> tuple[dict[Any, int], dict[Any, float]]:
        everywhere = rounded(sum(self.totals.values()) / sum(self.pulls.values()), self.family)
        pulls, totals = {}, {}
        for arm in self.arms:
            known, missing = self.pulls[arm], self.waiting[arm]
            mean = self.totals[arm] / known if known else everywhere
            pulls[arm] = known + missing
            totals[arm] = self.totals[arm] + missing * mean
        return pulls, totals

    def _best(self, pulls: dict[Any, int], totals: dict[Any, float], n: int, open_arms: list[Any]) -> Any:
        known = [arm for arm in self.arms if pulls[arm]]
        names = list(dict.fromkeys(self.cluster[arm] for arm in known))
        groups = [[k for k, arm in enumerate(known) if self.cluster[arm] == name] for name in names]
        widths = None if self.of.widths is None else [self.widths[name] for name in names]
        among = [k for k, arm in enumerate(known) if arm in open_arms]
        rules = replace(self.of, clusters=groups, widths=widths)
        return known[rules.choose([pulls[arm] for arm in known], [totals[arm] for arm in known], n, among)]


def check_same(policy: cb.Policy, learner: Learner) -> None:
    """Check that a policy and its plain counterpart know the same."""
    assert policy.clusters.arms == tuple(learner.arms)
    assert policy.rounds == learner.rounds
    assert policy.pulls == learner.pulls
    assert policy.totals == learner.totals
    assert policy.awaited == learner.awaited
    assert set(policy.retired) == learner.retired


class Walk:
    """A policy and its plain counterpart through the same random days; every arm asked for must agree."""

    def __init__(self, policy: Any, seed: int) -> None:
        self.policy, self.learner = policy, Learner(policy)
        self.chance, self.rng = Random(seed), np.random.default_rng(seed)
        self.pending: list[Any] = []
        self.added = 0

    def step(self, *ways: str) -> None:
        """Do one of the things named, at random."""
        getattr(self, self.chance.choice(ways))()
        check_same(self.policy, self.learner)

    def ask(self) -> None:
        arm = self.policy.ask()
        assert arm == self.learner.ask()
        self.pending.append(arm)

    def ask_many(self) -> None:
        count = self.chance.randint(1, 4)
        arms = self.policy.ask(count)
        assert arms == [self.learner.ask() for _ in range(count)]
        self.pending += arms

    def ask_some(self) -> None:
        count = self.chance.randint(1, len(self.learner.arms))
        available = self.chance.sample(self.learner.arms, count)
        if set(available) <= self.learner.retired:
            refused_unchanged(self.policy, lambda: self.policy.ask(available=available))
            return
        arm = self.policy.ask(available=available)
        assert arm == self.learner.ask(available)
        self.pending.append(arm)

    def expect(self) -> None:
        arm, pulls = self.chance.choice(self.learner.arms), self.chance.randint(1, 3)
        for one in (self.policy, self.learner):
            one.expect(arm, pulls)
        self.pending += [arm] * pulls

    def correct(self) -> None:
        """Take back a whole reward, or give one more, where the family allows that."""
        arm, change = self.chance.choice(self.learner.arms), self.chance.choice([-1.0, 1.0])
        total, pulls = self.learner.totals[arm] + change, self.learner.pulls[arm]
        if pulls and self.policy.family.supports(total, pulls):
            for one in (self.policy, self.learner):
                one.correct(arm, change)
        else:
            refused_unchanged(self.policy, lambda: self.policy.correct(arm, change))

    def retire(self) -> None:
        arm = self.chance.choice(self.learner.arms)
        if set(self.learner.arms) <= self.learner.retired | {arm}:
            refused_unchanged(self.policy, lambda: self.policy.retire_arm(arm))
            return
        for one in (self.policy, self.learner):
            one.retire_arm(arm)

    def restore(self) -> None:
        arm = self.chance.choice(self.learner.arms)
        for one in (self.policy, self.learner):
            one.restore_arm(arm)

    def tell(self) -> None:
        if self.pending:
            self._pay(self.pending.pop(self.chance.randrange(len(self.pending))))

    def tell_unasked(self) -> None:
        arm = self.chance.choice(self.learner.arms)
        if arm in self.pending:
            self.pending.remove(arm)
        self._pay(arm)

    def cancel(self) -> None:
        if self.pending:
            arm = self.pending.pop(self.chance.randrange(len(self.pending)))
            self.policy.cancel(arm)
            self.learner.cancel(arm)

    def add(self) -> None:
        self.added += 1
        cluster = self.chance.choice(list(dict.fromkeys(self.learner.cluster.values())))
        for one in (self.policy, self.learner):
            one.add_arm(f"new {self.added}", cluster)

    def remove(self) -> None:
        arm = self.chance.choice(self.learner.arms)
        if set(self.learner.arms) <= self.learner.retired | {arm}:
            refused_unchanged(self.policy, lambda: self.policy.remove_arm(arm))
        else:
            self.pending = [other for other in self.pending if other != arm]
            for one in (self.policy, self.learner):
                one.remove_arm(arm)

    def save(self) -> None:
        self.policy = cb.Policy.from_json(self.policy.to_json())

    def _pay(self, arm: Any) -> None:
        reward = draw(self.policy, arm, self.rng)
        self.policy.tell(arm, reward)
        self.learner.tell(arm, reward)
