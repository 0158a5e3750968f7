"""Online use in production, for every policy: available and retired arms, merged copies, corrections."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.policies import POLICIES, Policy

GROUPS = {"red": ["a", "b", "c"], "blue": ["d", "e", "f"]}
ARMS = list("abcdef")
NAMES = sorted(POLICIES)
DETERMINISTIC = [name for name in NAMES if not POLICIES[name].randomised]
#: Other policies know of clusters, and know them from arms that are not available too.
AS_IF_REMOVED = [name for name in DETERMINISTIC if not POLICIES[name].uses_widths or name == "ossb"]
pytestmark = pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")


def made(name: str) -> Policy:
    settings: dict[str, Any] = {"horizon": 1000} if POLICIES[name].needs_horizon else {}
    return cb.policy(name, cb.Clusters(GROUPS, widths=0.3), **settings)


def after_rewards(name: str, rounds: int = 60, seed: int = 1, awaited: int = 0) -> Policy:
    """Return a policy after some rounds, with some rewards still awaited."""
    policy, chance = made(name), random.Random(seed)
    for _ in range(rounds):
        arm = policy.ask()
        policy.tell(arm, float(chance.random() < 0.2 + 0.1 * ARMS.index(arm)))
    if awaited:
        policy.ask(awaited)
    return policy


def seen(policy: Policy) -> tuple[Any, ...]:
    return policy.pulls, policy.totals, policy.awaited, policy.rounds, policy.retired


@pytest.mark.parametrize("awaited", [0, 9])
@pytest.mark.parametrize("name", NAMES)
def test_all_arms_available_is_no_limit(name: str, awaited: int) -> None:
    plain, limited = (after_rewards(name, awaited=awaited) for _ in range(2))
    for number in range(30):
        arm = plain.ask()
        assert limited.ask(available=ARMS if number % 2 else reversed(ARMS)) == arm
        for policy in (plain, limited):
            policy.tell(arm, number % 2)


@pytest.mark.parametrize("awaited", [0, 9])
@pytest.mark.parametrize("name", NAMES)
def test_only_available_arms_are_chosen(name: str, awaited: int) -> None:
    policy, chance = after_rewards(name, awaited=awaited), random.Random(2)
    for _ in range(40):
        some = chance.sample(ARMS, chance.randint(1, 5))
        chosen = policy.ask(2, available=some)
        assert set(chosen) <= set(some)
        policy.tell(chosen[0], 1)
        policy.cancel(chosen[1])


@pytest.mark.parametrize("awaited", [0, 9])
@pytest.mark.parametrize("name", AS_IF_REMOVED)
def test_the_choice_among_some_is_that_without_the_others(name: str, awaited: int) -> None:
    policy, chance = after_rewards(name, awaited=awaited), random.Random(3)
    for _ in range(15):
        some = chance.sample(ARMS, chance.randint(2, 5))
        alone = copy.copy(policy)
        for arm in ARMS:
            if arm not in some:
                alone.remove_arm(arm)
        arm = policy.ask(available=some)
        assert arm == alone.ask()
        policy.tell(arm, float(chance.random() < 0.5))


def test_kindred_learns_from_arms_that_are_not_available() -> None:
    """The other arms of a group show that its best is worse than the other group's."""
    low, high = (made("kindred") for _ in range(2))
    for policy, mean in ((low, 0.02), (high, 0.98)):
        for arm in "ab":
            policy.tell(arm, round(200 * mean), 200)
        policy.tell("d", 100, 200)
    first, second = (policy.chances(400, available=["c", "d"])["c"] for policy in (low, high))
    assert first < 0.2
    assert second > 0.8


@pytest.mark.parametrize("name", NAMES)
def test_retired_arms_are_kept_but_not_chosen(name: str) -> None:
    policy = after_rewards(name)
    policy.expect("a", 3)
    for arm in ("a", "e"):
        policy.retire_arm(arm)
    assert not set(policy.ask(30)) & {"a", "e"}
    before = policy.pulls["a"]
    policy.tell("a", 1)
    policy.cancel("a")
    assert policy.pulls["a"] == before + 1
    again = Policy.from_json(policy.to_json())
    assert seen(again) == seen(policy)
    assert again.ask(20) == policy.ask(20)
    policy.add_arm("g", "blue")
    policy.remove_arm("b")
    assert list(policy.retired) == ["a", "e"]
    policy.restore_arm("e")
    assert list(policy.retired) == ["a"]
    assert policy.ask(available=["a", "e"]) == "e"


def test_what_cannot_be_retired_or_available_changes_nothing() -> None:
    policy = after_rewards("kindred")
    policy.retire_arm("a")
    before = policy.to_json()
    for wrong in ([], ["x"], ["a"], "", 5, [["a"]], [None]):
        with pytest.raises(cb.InvalidInputError):
            policy.ask(available=wrong)  # type: ignore[arg-type]
    for call in (policy.retire_arm, policy.restore_arm, policy.expect):
        with pytest.raises(cb.InvalidInputError):
            call("x")
    for arm in "bcdef"[:-1]:
        policy.retire_arm(arm)
    with pytest.raises(cb.InvalidInputError, match="at least two arms that are not retired"):
        policy.retire_arm("f")
    for arm in "bcde":
        policy.restore_arm(arm)
    assert policy.to_json() == before


@pytest.mark.parametrize("name", NAMES)
def test_an_expected_pull_is_like_one_that_was_asked_for(name: str) -> None:
    asked, other = after_rewards(name), after_rewards(name)
    arm = asked.ask()
    other.expect(arm)
    assert seen(other) == seen(asked)
    if not asked.randomised:
        assert [other.ask() for _ in range(5)] == [asked.ask() for _ in range(5)]


@pytest.mark.parametrize("name", NAMES)
def test_two_copies_merge_to_what_one_would_know(name: str) -> None:
    since = after_rewards(name, awaited=2)
    left, right, single = (copy.copy(since) for _ in range(3))
    rewards = [("a", 1.0), ("b", 0.0), ("c", 1.0), ("d", 1.0), ("e", 0.0), ("f", 1.0)] * 4
    for number, (arm, reward) in enumerate(rewards):
        (left if number % 3 else right).tell(arm, reward)
        single.tell(arm, reward)
    left.merge(right, since=since)
    assert left.pulls == single.pulls
    assert left.totals == pytest.approx(single.totals)
    again = made(name)
    again.merge(single)
    assert again.pulls == single.pulls
    if not left.randomised and not since.awaited:
        assert left.ask() == single.ask()


def test_what_cannot_be_merged() -> None:
    policy, other = after_rewards("kl-ucb"), after_rewards("kl-ucb", 20)
    before = policy.to_json()
    wrong: list[tuple[Any, Any]] = [
        (policy, None),
        (5, None),
        (cb.KLUCB(cb.Clusters([2, 2])), None),
        (cb.KLUCB(cb.Clusters(GROUPS, widths=0.3), family="poisson"), None),
        (other, after_rewards("kl-ucb", 40)),
    ]
    for given, since in wrong:
        with pytest.raises(cb.InvalidInputError):
            policy.merge(given, since=since)
    assert policy.to_json() == before


@pytest.mark.parametrize("name", NAMES)
def test_a_corrected_reward_is_one_that_was_told_right(name: str) -> None:
    right, wrong = after_rewards(name), after_rewards(name)
    right.tell("d", 1)
    wrong.tell("d", 0)
    wrong.correct("d", 1)
    assert seen(wrong) == seen(right)
    if not right.randomised:
        assert wrong.ask(4) == right.ask(4)
    for change in (-1e9, 1e9, float("nan"), float("inf")):
        with pytest.raises(cb.InvalidInputError):
            wrong.correct("d", change)


def test_kindred_learns_from_a_correction() -> None:
    right, wrong = made("kindred"), made("kindred")
    for policy, total in ((right, 180), (wrong, 20)):
        for arm in ARMS:
            policy.tell(arm, total if arm == "d" else 100, 200)
    wrong.correct("d", 160)
    assert wrong.chances(2000)["d"] == pytest.approx(right.chances(2000)["d"], abs=0.05)
    assert right.chances(2000)["d"] > 0.9


@pytest.mark.parametrize("after", NAMES)
def test_another_policy_takes_over(after: str) -> None:
    before = after_rewards("thompson", awaited=4)
    before.retire_arm("b")
    policy = made(after)
    policy.take_over(before)
    assert seen(policy) == seen(before)
    assert "b" not in policy.ask(10)
    direct = made(after)
    for arm, pulls in before.pulls.items():
        if pulls:
            direct.tell(arm, before.totals[arm], pulls)
    direct.retire_arm("b")
    for arm, count in before.awaited.items():
        direct.expect(arm, count)
    assert direct.pulls == before.pulls
    with pytest.raises(cb.InvalidInputError, match="first round"):
        policy.take_over(before)


@pytest.mark.parametrize("name", NAMES)
def test_chances_change_nothing_and_agree_with_choices(name: str) -> None:
    policy = after_rewards(name, awaited=3)
    before = policy.to_json()
    found = policy.chances(500, available=["a", "c", "d", "f"])
    assert policy.to_json() == before
    assert sum(found.values()) == pytest.approx(1)
    assert found["b"] == found["e"] == 0
    counts = dict.fromkeys(ARMS, 0)
    tries = 500 if policy.randomised else 1
    for _ in range(tries):
        arm = policy.ask(available=["a", "c", "d", "f"])
        policy.cancel(arm)
        counts[arm] += 1
    for arm, chance in found.items():
        error = np.sqrt(2 * max(chance * (1 - chance), 1e-3) / tries)
        assert abs(counts[str(arm)] / tries - chance) <= (5 * error if policy.randomised else 0)
