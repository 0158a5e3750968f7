"""Arms that are retired, available, expected or corrected: what is allowed, and what is refused unchanged."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.policies.views import steady_mean
from tests.policies.learner import CLUSTERS, EACH_FAMILY, after_rewards, refused_unchanged, rounded
from tests.policies.test_online import BAD_COUNTS, NO_NUMBERS

pytestmark = pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")
WAYS: dict[str, Callable[[Any], Any]] = {
    "json": lambda policy: cb.Policy.from_json(policy.to_json()),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda policy: pickle.loads(pickle.dumps(policy)),
}


@pytest.mark.parametrize(
    "available",
    [
        [],
        (),
        range(0),
        "a",
        "abc",
        b"ab",
        3,
        True,
        {"a": 1},
        {},
        ["z"],
        ["a", "z"],
        ["a", None],
        [["a"]],
        [0],
        [math.nan],
        ["c"],
        ("c", "f"),
    ],
    ids=repr,
)
def test_what_cannot_be_available_is_refused(available: Any) -> None:
    policy = after_rewards("clus-ucb", seed=1, rounds=20)
    policy.retire_arm("c")
    policy.retire_arm("f")
    for k in (None, 2):
        sentence = refused_unchanged(policy, partial(policy.ask, k, available=copy.copy(available)))
        assert "ClusUCB.ask: available must be " in sentence or "Unknown arm " in sentence


def test_what_may_be_available() -> None:
    policy = after_rewards("kl-ucb", seed=1, rounds=20)
    for available in (
        ("a", "b"),
        {"a", "b"},
        np.array(["a", "b", "b"]),
        (arm for arm in "ab"),
        dict.fromkeys("ab").keys(),
        ["a"] * 1000,
    ):
        assert policy.ask(available=available) in {"a", "b"}
    numbered = cb.KLUCB(cb.Clusters([2, 1]))
    assert numbered.ask(available=np.array([1, 2])) == 1
    assert numbered.ask(available=range(2)) in {0, 1}


def test_retiring_and_restoring_twice_is_the_same_as_once() -> None:
    policy = cb.KLUCB(CLUSTERS)
    for _ in range(2):
        policy.retire_arm("b")
        policy.retire_arm("a")
        assert policy.retired == ("a", "b")
    for _ in range(2):
        policy.restore_arm("a")
        assert policy.retired == ("b",)


def test_one_arm_stays() -> None:
    policy = cb.KLUCB(CLUSTERS)
    for arm in "abcde":
        policy.retire_arm(arm)
    for call in (policy.retire_arm, policy.remove_arm):
        sentence = refused_unchanged(policy, partial(call, "f"))
        assert "one of at least two arms that are not retired, but got 'f'" in sentence
    assert policy.ask(3) == ["f", "f", "f"]
    policy.remove_arm("a")
    policy.retire_arm("b")
    policy.add_arm("new", "blue")
    policy.retire_arm("f")
    assert policy.ask() == "new"


@pytest.mark.parametrize("arm", ["z", 0, None, ["a"], {}])
@pytest.mark.parametrize("call", ["retire_arm", "restore_arm", "expect", "correct"])
def test_unknown_arms_are_refused(call: str, arm: Any) -> None:
    policy = after_rewards("clus-ucb", seed=3, rounds=20)
    rest = [1] if call == "correct" else []
    sentence = refused_unchanged(policy, lambda: getattr(policy, call)(arm, *rest))
    assert "Available: a, b, c, d, e, f." in sentence


@pytest.mark.parametrize("way", WAYS)
def test_retired_arms_survive(way: str) -> None:
    policy = after_rewards("clus-ucb", seed=2)
    policy.retire_arm("e")
    policy.retire_arm("a")
    policy.ask(5)
    again = WAYS[way](policy)
    assert again.retired == ("a", "e")
    assert again.to_json() == policy.to_json()
    assert again.ask(10) == policy.ask(10)
    again.add_arm("new", "red")
    assert again.retired == ("a", "e")
    again.remove_arm("a")
    again.remove_arm("b")
    assert again.retired == ("e",)
    assert policy.retired == ("a", "e")


def test_what_is_known_of_a_retired_arm_is_kept() -> None:
    policy = after_rewards("kl-ucb", seed=2)
    policy.expect("b", 2)
    before = policy.pulls["b"], policy.totals["b"], policy.rounds
    policy.retire_arm("b")
    policy.tell("b", 1)
    assert policy.awaited == {"b": 1}
    policy.cancel("b")
    policy.expect("b")
    policy.correct("b", -1)
    assert (policy.pulls["b"], policy.totals["b"], policy.rounds) == (
        before[0] + 1,
        before[1],
        before[2],
    )
    assert "b" not in policy.ask(50)
    policy.restore_arm("b")
    assert "b" in policy.ask(50)


def test_simulations_have_all_arms() -> None:
    policy = cb.KLUCB(cb.Clusters([2, 1]))
    policy.retire_arm(0)
    assert 0 in cb.play(policy, np.ones((3, 50)))


@pytest.mark.parametrize("pulls", BAD_COUNTS)
def test_bad_numbers_of_pulls_are_not_expected(pulls: Any) -> None:
    policy = after_rewards("clus-ucb", seed=3, rounds=20)
    assert "ClusUCB.expect: pulls" in refused_unchanged(policy, lambda: policy.expect("a", pulls))


def test_no_more_rounds_are_expected_than_floats_can_count() -> None:
    policy = cb.KLUCB(CLUSTERS)
    policy.tell("a", 10**14, pulls=10**15 - 10)
    assert "pulls must be" in refused_unchanged(policy, lambda: policy.expect("b", 11))
    policy.expect("b", 10)
    assert "ask: k must" in refused_unchanged(policy, policy.ask)
    assert "ask: k must" in refused_unchanged(policy, lambda: policy.ask(available=["b"]))
    assert policy.rounds == 10**15


@pytest.mark.parametrize("change", [*NO_NUMBERS, True], ids=repr)
def test_what_is_no_change_is_refused(change: Any) -> None:
    policy = after_rewards("kl-ucb", seed=3, rounds=20)
    sentence = refused_unchanged(policy, lambda: policy.correct("a", change))
    assert "KLUCB.correct: change must be a finite number" in sentence


@pytest.mark.parametrize(
    ("family", "reward", "change"),
    [
        ("bernoulli", 1, 0.5),
        ("bernoulli", 1, -1.5),
        ("gaussian", 1, 1e101),
        ("poisson", 2, 0.5),
        ("poisson", 2, -3),
        ("exponential", 2, -2),
        ("exponential", 2, -2.5),
        ("negative-binomial", 2, 0.25),
        ("bounded", 1, 0.5),
    ],
)
def test_totals_the_family_never_pays_are_refused(family: str, reward: float, change: float) -> None:
    policy = cb.KLUCB(CLUSTERS, family=family)
    policy.tell("a", reward)
    assert "KLUCB.correct: change" in refused_unchanged(policy, lambda: policy.correct("a", change))


def test_an_arm_without_rewards_cannot_be_corrected() -> None:
    policy = cb.KLUCB(CLUSTERS)
    policy.tell("a", 1)
    sentence = refused_unchanged(policy, lambda: policy.correct("b", 0))
    assert "KLUCB.correct: arm must be an arm with at least one reward" in sentence


def test_rounding_does_not_refuse_a_correction() -> None:
    policy = cb.KLUCB(CLUSTERS)
    for reward in (0.1, 0.2):
        policy.tell("a", reward)
    policy.correct("a", -0.30000000000000010)
    assert policy.totals["a"] == 0.0
    policy.correct("a", 2.0000000000000004)
    assert policy.totals["a"] == 2.0


@EACH_FAMILY
def test_kindred_learns_from_corrections(family: str) -> None:
    policy, twin = cb.Kindred(CLUSTERS, family=family), cb.Kindred(CLUSTERS, family=family)
    for arm in CLUSTERS.arms:
        policy.tell(arm, 40, pulls=100)
        twin.tell(arm, 40, pulls=100)
    for arm, change in (("a", 20), ("e", -10), ("d", 1)):
        policy.correct(arm, change)
    kin: Any = policy._live.kinship  # type: ignore[attr-defined]
    assert kin.totals.tolist() == [60, 40, 40, 41, 30, 40]
    # Learned from what was right in the first place, the tables are the same.
    right = cb.Kindred(CLUSTERS, family=family)
    for arm, total in policy.totals.items():
        right.tell(arm, total, pulls=100)
    wanted: Any = right._live.kinship  # type: ignore[attr-defined]
    assert np.array_equal(kin.alike, wanted.alike)
    assert np.array_equal(kin.common, wanted.common)
    assert not np.array_equal(kin.alike, twin._live.kinship.alike)  # type: ignore[attr-defined]
    again = cb.Policy.from_json(policy.to_json())
    assert again.to_json() == policy.to_json()
    assert again.ask(20) == policy.ask(20)


@EACH_FAMILY
@pytest.mark.parametrize("mean", [1e-300, 1e-9, 0.01, 0.3, 0.5, 0.999, 1.0, 0.0, -7.3, 1e20, 1e99, -1e99])
def test_a_steady_mean_is_close(family: str, mean: float) -> None:
    """It is what the plain reference says; rounding may differ in the last digits."""
    law = cb.as_family(family)
    if law.low <= mean <= law.high:
        steady = steady_mean(law.law, mean)
        assert steady == pytest.approx(rounded(mean, law), rel=1e-12, abs=1e-12)
        assert law.low <= steady <= law.high
        assert steady == pytest.approx(mean, rel=0.07, abs=0.07)
