"""Online use of every policy of the registry: late rewards, some arms, corrections, merged copies."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.policies.protocol import select, update
from tests.exactness.problems import Problem
from tests.exactness.test_conformance import CASES, made
from tests.policies.learner import rounded

pytestmark = pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")
EACH_CASE = pytest.mark.parametrize(("name", "problem"), CASES, ids=lambda part: getattr(part, "name", part))
EACH_POLICY = pytest.mark.parametrize("name", cb.POLICIES)
CLUSTERS = cb.Clusters({"red": list("abc"), "blue": list("de"), "green": ["f"]}, widths=[0.2, 0.1, 0.3])
#: They choose among some arms as if the others had been removed, also with the same draws.
AS_IF_REMOVED = [
    name for name, kind in cb.POLICIES.items() if name not in {"kindred", "clus-ts", "hier-ts", "ckl-ucb"}
    if not kind.uses_widths or name == "ossb"
]  # fmt: skip


def new(name: str, clusters: cb.Clusters = CLUSTERS, **settings: Any) -> Any:
    horizon: dict[str, Any] = {"horizon": 500} if cb.POLICIES[name].needs_horizon else {}
    return cb.policy(name, clusters, **horizon, **settings)


def deterministic(name: str) -> bool:
    return not cb.POLICIES[name].randomised


def plain_choice(policy: Any) -> Any:
    """Return the choice of a copy in which each outstanding reward is the mean of its arm."""
    twin = copy.deepcopy(policy)
    state, arms, awaited = twin._live, twin.clusters.arms, twin.awaited
    pulls, totals = twin.pulls, twin.totals
    if awaited and not any(pulls.values()):
        return min(arms, key=lambda arm: awaited.get(arm, 0))
    everywhere = sum(totals.values()) / max(sum(pulls.values()), 1)
    for number, arm in enumerate(arms):
        if arm in awaited:
            mean = totals[arm] / pulls[arm] if pulls[arm] else rounded(everywhere, policy.family)
            update(state, number, awaited[arm], awaited[arm] * mean)
    return arms[select(state, twin.rounds + 1)]


class Days:
    """A policy through random days; rewards are those of a tape."""

    def __init__(self, policy: Any, tape: Any, seed: int) -> None:
        self.policy, self.tape = policy, tape
        self.chance = Random(seed)
        self.pending: list[Any] = []

    def ask(self) -> None:
        wanted = plain_choice(self.policy)
        arm = self.policy.ask()
        assert arm == wanted
        self.pending.append(arm)

    def tell(self) -> None:
        if self.pending:
            arm = self.pending.pop(self.chance.randrange(len(self.pending)))
            self.policy.tell(arm, float(self.tape[arm, self.policy.pulls[arm]]))

    def cancel(self) -> None:
        if self.pending:
            self.policy.cancel(self.pending.pop(self.chance.randrange(len(self.pending))))

    def expect(self) -> None:
        arm = self.chance.choice(self.policy.clusters.arms)
        self.policy.expect(arm, 2)
        self.pending += [arm] * 2

    def correct(self) -> None:
        """Halve the total of an arm, or subtract one for counts."""
        arm = self.chance.choice(self.policy.clusters.arms)
        total, pulls = self.policy.totals[arm], self.policy.pulls[arm]
        change = -1.0 if self.policy.family.counts else -total / 2
        if pulls and self.policy.family.supports(total + change, pulls):
            self.policy.correct(arm, change)

    def save(self) -> None:
        self.policy = cb.Policy.from_json(self.policy.to_json())


@EACH_CASE
def test_awaited_pulls_count_as_if_they_had_paid_the_mean(name: str, problem: Problem) -> None:
    days = Days(made(name, problem), problem.tape(7, 300), seed=len(name))
    for _ in range(70):
        what = days.chance.choice(["ask"] * 5 + ["tell"] * 3 + ["cancel", "expect", "correct", "save"])
        getattr(days, what)()
    assert days.policy.rounds > 20


def used(policy: Any, seed: int, rounds: int = 60) -> Any:
    """Ask and tell for some rounds, with some rewards that are still awaited in the end."""
    chance = Random(seed)
    pending: list[Any] = []
    for _ in range(rounds):
        pending.append(policy.ask())
        if chance.random() < 0.8:
            arm = pending.pop(chance.randrange(len(pending)))
            policy.tell(arm, chance.random() < 0.2 + 0.1 * policy.clusters.arms.index(arm))
    return policy


def check_goes_on(policy: Any, twin: Any, rounds: int = 25, seed: int = 3) -> None:
    """Check that two policies choose the same arms from now on."""
    chance = Random(seed)
    for _ in range(rounds):
        arm = policy.ask()
        assert twin.ask() == arm
        reward = chance.random() < 0.5
        policy.tell(arm, reward)
        twin.tell(arm, reward)


@EACH_POLICY
def test_all_arms_available_are_no_limit(name: str) -> None:
    policy, twin = used(new(name), 1), used(new(name), 1)
    chance = Random(1)
    for _ in range(40):
        arm = policy.ask(available=chance.sample(CLUSTERS.arms, 6))
        assert twin.ask() == arm
        if chance.random() < 0.7:
            policy.tell(arm, 1)
            twin.tell(arm, 1)
    assert policy.ask(3, available=CLUSTERS.arms) == twin.ask(3)
    assert policy.to_json() == twin.to_json()


@EACH_POLICY
def test_retired_arms_are_arms_that_are_not_available(name: str) -> None:
    policy, twin = used(new(name), 2), used(new(name), 2)
    for gone in ("b", "f", "d"):
        policy.retire_arm(gone)
        left = [arm for arm in CLUSTERS.arms if arm not in policy.retired]
        for reward in (1, 0, 0, 1, 0, 1):
            arm = policy.ask()
            assert arm in left
            assert twin.ask(available=left) == arm
            policy.tell(arm, reward)
            twin.tell(arm, reward)
        assert policy.ask(4) == twin.ask(4, available=left)
        again = cb.Policy.from_json(policy.to_json())
        assert (again.retired, again.to_json()) == (policy.retired, policy.to_json())
        policy = copy.deepcopy(again)
    policy.restore_arm("f")
    assert policy.retired == ("b", "d")
    # Late rewards of a retired arm count.
    before = policy.pulls["b"]
    policy.tell("b", 1)
    assert policy.pulls["b"] == before + 1
    check_goes_on(policy, cb.Policy.from_json(policy.to_json()))


@pytest.mark.parametrize("name", AS_IF_REMOVED)
def test_without_knowledge_of_clusters_other_arms_are_as_if_removed(name: str) -> None:
    policy = used(new(name), 4)
    chance = Random(4)
    for _ in range(40):
        available = chance.sample(CLUSTERS.arms, chance.randint(1, 6))
        twin = cb.Policy.from_json(policy.to_json())
        for arm in CLUSTERS.arms:
            if arm not in available:
                twin.remove_arm(arm)
        arm = policy.ask(available=available)
        assert arm == twin.ask()
        if chance.random() < 0.7:
            policy.tell(arm, chance.random() < 0.5)


@EACH_POLICY
def test_sets_of_arms_that_alternate(name: str) -> None:
    """Views that are kept choose as those that are made for every choice."""
    policy = used(new(name), 5)
    chance = Random(5)
    sets = [chance.sample(CLUSTERS.arms, count) for count in (1, 2, 3, 4, 5, 5, 4, 3)]
    for n in range(60):
        available = sets[chance.randrange(2 if n < 30 else 8)]
        twin = cb.Policy.from_json(policy.to_json())
        arm = policy.ask(available=available)
        assert arm in available
        assert twin.ask(available=available) == arm
        if chance.random() < 0.6:
            policy.tell(arm, chance.random() < 0.5)
        elif chance.random() < 0.3:
            policy.cancel(arm)


@EACH_POLICY
def test_arms_without_rewards_may_be_closed(name: str) -> None:
    policy = new(name)
    assert policy.ask(available=["c", "e"]) in {"c", "e"}
    policy.tell("c", 1)
    for _ in range(12):
        arm = policy.ask(available=["c", "e"])
        assert arm in {"c", "e"}
        policy.tell(arm, 0)
    assert policy.ask(available=["f"]) == "f"
    policy.retire_arm("f")
    assert set(policy.ask(30)) <= set("abcde")


@EACH_POLICY
def test_expecting_is_asking_elsewhere(name: str) -> None:
    policy, twin = used(new(name), 6), used(new(name), 6)
    asked = [policy.ask() for _ in range(5)]
    for arm in asked:
        twin.expect(arm)
    assert (twin.awaited, twin.rounds) == (policy.awaited, policy.rounds)
    if name not in {"ossb"} and deterministic(name):
        check_goes_on(policy, twin)


@EACH_POLICY
def test_corrected_rewards_are_those_that_were_right(name: str) -> None:
    policy, twin = new(name), new(name)
    chance = Random(7)
    for arm in CLUSTERS.arms * 8:
        wrong, right = chance.randint(0, 1), chance.randint(0, 1)
        policy.tell(arm, wrong)
        twin.tell(arm, right)
        if wrong != right:
            policy.correct(arm, right - wrong)
    assert (policy.pulls, policy.totals, policy.rounds) == (twin.pulls, twin.totals, twin.rounds)
    if name != "kindred":
        assert policy.to_json() == twin.to_json()
        check_goes_on(policy, twin)


@EACH_POLICY
def test_merged_copies_know_what_one_policy_was_told(name: str) -> None:
    whole = used(new(name), 8)
    since = copy.deepcopy(whole)
    copies = [copy.deepcopy(whole) for _ in range(2)]
    chance = Random(8)
    # Common outstanding rewards go to one of the copies, and those of a copy to that copy.
    for arm in since.awaited:
        one, reward = chance.choice(copies), chance.randint(0, 1)
        for each in (one, whole):
            each.tell(arm, reward)
    for _ in range(40):
        one, arm, reward = chance.choice(copies), chance.choice(CLUSTERS.arms), chance.randint(0, 1)
        for each in (one, whole):
            each.expect(arm)
            each.tell(arm, reward)
    for one in copies:
        one.expect("a", 2)
        whole.expect("a", 2)
    copies[0].merge(copies[1], since=since)
    merged = copies[0]
    assert (merged.pulls, merged.totals, merged.rounds) == (whole.pulls, whole.totals, whole.rounds)
    assert merged.awaited == whole.awaited
    if deterministic(name):
        check_goes_on(merged, whole)


@EACH_POLICY
def test_all_that_another_policy_knows_can_be_merged(name: str) -> None:
    one, other, whole = new(name), new(name), new(name)
    for arm, reward in zip(CLUSTERS.arms * 3, [0, 1, 1, 0, 1, 0] * 3, strict=True):
        one.tell(arm, reward)
        other.tell(arm, 1 - reward)
    for arm in CLUSTERS.arms:
        whole.tell(arm, 3, pulls=6)
    one.merge(other)
    assert (one.pulls, one.totals, one.rounds) == (whole.pulls, whole.totals, whole.rounds)
    if deterministic(name):
        check_goes_on(one, whole)


@EACH_POLICY
@pytest.mark.parametrize("before", ["kl-ucb", "kindred"])
def test_another_policy_takes_over(name: str, before: str) -> None:
    source = used(new(before), 9)
    source.retire_arm("c")
    source.remove_arm("e")
    wider = cb.Clusters(source.clusters.partition, widths=0.5)
    policy, text = new(name, wider), source.to_json()
    policy.take_over(source)
    assert source.to_json() == text
    for what in ("pulls", "totals", "awaited", "rounds", "retired"):
        assert getattr(policy, what) == getattr(source, what)
    again = cb.Policy.from_json(policy.to_json())
    assert again.to_json() == policy.to_json()
    assert "c" not in policy.ask(20)
    updated = new(name, wider)
    for arm, pulls in source.pulls.items():
        updated.tell(arm, source.totals[arm], pulls=pulls)
    fresh = new(name, wider)
    for arm, count in source.awaited.items():
        source.cancel(arm, count)
    fresh.take_over(source)
    fresh.restore_arm("c")
    if deterministic(name) and fresh.rounds == updated.rounds:
        check_goes_on(fresh, updated)


def test_what_kindred_has_learned_is_shared_and_not_copied() -> None:
    policy = used(new("kindred"), 10)
    policy.ask(20)
    view, live = policy._views[b""].state, policy._live
    own = [name for name in live._fields if not _shared(getattr(view, name), getattr(live, name))]
    assert own == ["pulls", "totals", "kinship"]
    assert [
        name
        for name in live.kinship._fields
        if not _shared(getattr(view.kinship, name), getattr(live.kinship, name))
    ] == ["observed"]


def _shared(one: Any, other: Any) -> bool:
    return one is other or (isinstance(one, np.ndarray) and np.shares_memory(one, other))


@EACH_POLICY
def test_a_view_follows_the_arms_that_have_changed_alone(name: str) -> None:
    policy = used(new(name), 11)
    policy.ask(3)
    (view,) = policy._views.values()
    before = policy._change_count
    policy.tell(policy.ask(), 1)
    policy.cancel(next(iter(policy.awaited)))
    assert policy._change_count == before + 3
    policy.ask()
    assert view.seen == before + 3
