"""Copies that learned apart are merged; a policy takes over from another; what cannot be is refused."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from tests.policies.learner import CLUSTERS, FAMILIES, after_rewards, refused_unchanged

WIDE = cb.Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.1)


@cb.kernel
def square_score(state: Any, arm: int, pulls: int, total: float, n: int) -> float:
    """Any score that uses squares and does not depend on the round."""
    return float(total / pulls + (state.squares[arm] + 1.0) / pulls + 0.0 * n)


class Squares(cb.ScorePolicy):
    name = "squares-to-merge"
    score = square_score
    needs_squares = True
    timeless = True


class InTurn(cb.PythonPolicy):
    name = "in-turn"
    remembers = ("seen",)

    def reset(self) -> None:
        self.seen = 0

    def update(self, _arm: int, _reward: float) -> None:
        self.seen += 1

    def select(self, n: int) -> int:
        return n % len(self.pulls)


OTHERS: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "text": lambda: cb.KLUCB(CLUSTERS).to_json(),
    "other arms": lambda: cb.KLUCB(WIDE),
    "fewer arms": lambda: _without("f"),
    "another order": lambda: cb.KLUCB(cb.Clusters([["a", "c", "f"], ["b", "e"], ["d"]])),
    "another family": lambda: cb.KLUCB(CLUSTERS, family="gaussian"),
    "another parameter": lambda: cb.KLUCB(CLUSTERS, family="bounded:high=2"),
}


def _without(arm: str) -> cb.Policy:
    policy = cb.KLUCB(CLUSTERS)
    policy.remove_arm(arm)
    return policy


@pytest.mark.parametrize("which", OTHERS)
def test_policies_of_other_arms_are_refused(which: str) -> None:
    policy, new = after_rewards("clus-ucb", seed=1), cb.ClusUCB(CLUSTERS)
    for call in (
        lambda: policy.merge(OTHERS[which]()),
        lambda: policy.merge(after_rewards("clus-ucb", seed=2), since=OTHERS[which]() or 3),
    ):
        assert " must be a policy" in refused_unchanged(policy, call)
    sentence = refused_unchanged(new, lambda: new.take_over(OTHERS[which]()))
    assert "ClusUCB.take_over: other must be a policy" in sentence


def test_a_policy_is_not_merged_with_itself() -> None:
    policy = after_rewards("kl-ucb", seed=1)
    assert "another policy" in refused_unchanged(policy, lambda: policy.merge(policy))


def test_what_came_later_is_no_earlier_state() -> None:
    policy = after_rewards("kl-ucb", seed=1)
    other, since = copy.deepcopy(policy), copy.deepcopy(policy)
    since.tell("a", 1)
    sentence = refused_unchanged(policy, lambda: policy.merge(other, since=since))
    assert "an earlier state of the other policy, but got a policy that knows of more pulls" in sentence


def test_totals_that_cannot_be_are_refused() -> None:
    policy, other, since = cb.KLUCB(CLUSTERS), cb.KLUCB(CLUSTERS), cb.KLUCB(CLUSTERS)
    other.tell("a", 5, pulls=6)
    since.tell("a", 1, pulls=5)
    # In the one pull since then it cannot have paid 4.
    sentence = refused_unchanged(policy, lambda: policy.merge(other, since=since))
    assert "KLUCB.merge: since must be an earlier state of the other policy" in sentence


def test_more_rounds_than_floats_can_count_are_refused() -> None:
    policy, other = cb.KLUCB(CLUSTERS), cb.KLUCB(CLUSTERS)
    policy.tell("a", 1, pulls=6 * 10**14)
    other.tell("b", 1, pulls=6 * 10**14)
    assert "1e+15 rounds" in refused_unchanged(policy, lambda: policy.merge(other))


def test_policies_that_need_every_reward_in_turn_are_refused() -> None:
    policy, other = InTurn(CLUSTERS), InTurn(CLUSTERS)
    for one in (policy, other):
        one.tell(one.ask(), 1)
    for call in (
        lambda: policy.merge(other),
        lambda: InTurn(CLUSTERS).take_over(other),
        lambda: policy.correct("b", -1),
    ):
        assert "a policy that learns from sums of rewards" in refused_unchanged(policy, call)


def test_squares_are_merged_and_taken_over_from_those_who_have_them() -> None:
    whole, copies = Squares(CLUSTERS), [Squares(CLUSTERS), Squares(CLUSTERS)]
    rng = np.random.default_rng(1)
    for n in range(60):
        arm, reward = CLUSTERS.arms[n % 6], float(rng.random())
        whole.tell(arm, reward)
        copies[n % 2 if n % 3 else 0].tell(arm, reward)
    merged, other = copies
    merged.merge(other)
    new = Squares(CLUSTERS)
    new.take_over(whole)
    for policy in (merged, new, cb.Policy.from_json(whole.to_json())):
        state: Any = policy._live
        assert state.squares == pytest.approx(whole._live.squares)  # type: ignore[attr-defined]
        assert state.scores == pytest.approx(whole._live.scores)  # type: ignore[attr-defined]
        assert (policy.pulls, policy.rounds) == (whole.pulls, whole.rounds)
    without = cb.KLUCB(CLUSTERS)
    without.tell("a", 1)
    for call in (lambda: merged.merge(without), lambda: merged.merge(other, since=without)):
        assert "keeps sums of squares" in refused_unchanged(merged, call)
    fresh = Squares(CLUSTERS)
    assert "keeps sums of squares" in refused_unchanged(fresh, lambda: fresh.take_over(without))
    assert "learns from sums" in refused_unchanged(merged, lambda: merged.correct("a", 0.1))
    # One without squares takes over from one with them.
    without = cb.KLUCB(CLUSTERS)
    without.take_over(whole)
    assert without.totals == whole.totals


def test_awaited_pulls_of_squares_count_as_means() -> None:
    policy, twin = Squares(CLUSTERS), Squares(CLUSTERS)
    rng = np.random.default_rng(2)
    for n in range(30):
        reward = float(rng.random())
        for one in (policy, twin):
            one.tell(CLUSTERS.arms[n % 6], reward)
    for _ in range(25):
        arm = policy.ask()
        assert arm == twin.ask()
        policy = Squares.from_json(policy.to_json())
    state: Any = twin._views[b""].state
    pulls, awaited = np.array(list(twin.pulls.values())), twin._awaited
    means = np.array(list(twin.totals.values())) / pulls
    assert (awaited > 0).any()
    # The last arm asked for is not followed yet.
    awaited[CLUSTERS.arms.index(arm)] -= 1
    live: Any = twin._live
    assert state.squares == pytest.approx(live.squares + awaited * means**2)


def test_only_a_new_policy_takes_over() -> None:
    source = after_rewards("kl-ucb", seed=1)
    policy = cb.ClusUCB(CLUSTERS)
    policy.ask()
    sentence = refused_unchanged(policy, lambda: policy.take_over(source))
    assert "a policy before its first round, but got one after 1 rounds" in sentence
    policy.cancel("a")
    policy.take_over(source)
    assert policy.pulls == source.pulls


def test_widths_are_looked_at_when_a_policy_takes_over() -> None:
    source = cb.KLUCB(WIDE)
    for arm, total in zip("abc", (100, 900, 500), strict=True):
        source.tell(arm, total, pulls=1000)
    policy = cb.ClusUCB(WIDE, alarm="widen")
    with pytest.warns(cb.WidthWarning, match="'red' differ by more") as caught:
        policy.take_over(source)
    assert caught[0].filename == __file__
    assert [alarm.cluster for alarm in policy.alarms()] == ["red"]
    merged = cb.ClusUCB(WIDE, alarm="widen")
    with pytest.warns(cb.WidthWarning, match="'red' differ by more") as caught:
        merged.merge(source)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("family", FAMILIES)
def test_sums_of_floats_are_merged(family: str) -> None:
    """The parts of sums do not add up to the last digit, and may leave what a family can pay."""
    rng = np.random.default_rng(3)
    law = cb.as_family(family)
    policy = cb.KLUCB(CLUSTERS, family=family)
    for arm in CLUSTERS.arms:
        for reward in law.draw(0.3, 20, rng):
            policy.tell(arm, reward)
    since, other, whole = (copy.deepcopy(policy) for _ in range(3))
    for arm in CLUSTERS.arms:
        for one, reward in zip((policy, other), law.draw(0.3, 2, rng), strict=True):
            one.tell(arm, reward)
            whole.tell(arm, reward)
    policy.merge(other, since=since)
    assert policy.pulls == whole.pulls
    assert list(policy.totals.values()) == pytest.approx(list(whole.totals.values()), rel=1e-12)


def test_corrections_are_merged() -> None:
    policy = cb.Kindred(CLUSTERS)
    for arm in CLUSTERS.arms:
        policy.tell(arm, 30, pulls=100)
    since, other = copy.deepcopy(policy), copy.deepcopy(policy)
    other.correct("c", 10)
    policy.merge(other, since=since)
    assert policy.totals["c"] == 40
    kin: Any = policy._live.kinship  # type: ignore[attr-defined]
    assert kin.totals[2] == 40


def test_awaited_pulls_and_cancelled_ones_are_merged() -> None:
    policy = cb.KLUCB(CLUSTERS)
    assert policy.ask(3) == ["a", "b", "c"]
    since, other = copy.deepcopy(policy), copy.deepcopy(policy)
    policy.tell("a", 1)
    other.cancel("b")
    other.tell("c", 0)
    other.expect("f", 4)
    policy.merge(other, since=since)
    assert (policy.awaited, policy.rounds) == ({"f": 4}, 6)
    again = cb.Policy.from_json(policy.to_json())
    assert again.to_json() == policy.to_json()


def test_rounds_that_the_other_cancelled_never_happened() -> None:
    """A choice that was made for one of them is made again."""
    policy = cb.KLUCB(CLUSTERS, refresh=50)
    for arm in CLUSTERS.arms:
        policy.tell(arm, 5, pulls=10)
    before = policy.to_json()
    policy.ask(20)
    since, other = copy.deepcopy(policy), copy.deepcopy(policy)
    for arm, count in other.awaited.items():
        other.cancel(arm, count)
    policy.merge(other, since=since)
    assert (policy.awaited, policy.rounds) == ({}, 60)
    assert policy.to_json() == before


def test_retired_arms_are_not_merged() -> None:
    policy, other = cb.KLUCB(CLUSTERS), cb.KLUCB(CLUSTERS)
    policy.retire_arm("a")
    other.retire_arm("b")
    policy.merge(other)
    assert policy.retired == ("a",)


def test_two_policies_may_be_merged_into_each_other_at_once() -> None:
    one, other = after_rewards("kl-ucb", seed=1), after_rewards("kl-ucb", seed=2)
    nothing = cb.KLUCB(CLUSTERS)
    threads = [
        threading.Thread(target=lambda a=a, b=b: [a.merge(nothing) or b.merge(nothing) for _ in range(50)])
        for a, b in ((one, other), (other, one))
    ] + [
        threading.Thread(target=lambda a=a, b=b: [a.merge(b, since=b) for _ in range(50)])
        for a, b in ((one, other), (other, one))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()
    assert (one.rounds, other.rounds) == (60, 60)
