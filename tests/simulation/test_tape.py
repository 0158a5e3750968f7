"""Policies against rewards fixed beforehand: as asked one by one, with and without holding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import clusterbandits as cb
from clusterbandits.families import FAMILIES

pytestmark = pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")

CLUSTERS = cb.Clusters([2, 3], widths=[0.4, 0.7])
MEANS = np.array([0.3, 0.7, 0.1, 0.2, 0.8])
loosely: Any = cb.play


def rewards(family: str, columns: int, seed: int = 0) -> NDArray[np.float64]:
    generator = np.random.default_rng(seed)
    shape = (MEANS.size, columns)
    means = MEANS[:, None]
    drawn: dict[str, NDArray[Any]] = {
        "bernoulli": generator.random(shape) < means,
        "gaussian": generator.normal(means, 1.0, shape),
        "poisson": generator.poisson(means, shape),
        "exponential": generator.exponential(means, shape),
        "negative-binomial": generator.geometric(np.broadcast_to(1.0 / (1.0 + means), shape)) - 1,
        "bounded": (generator.random(shape) + (generator.random(shape) < means)) / 2,
    }
    return drawn[family].astype(np.float64)


def policies(family: str) -> list[cb.Policy]:
    return [
        cb.KLUCB(CLUSTERS, family=family),
        cb.KLUCB(CLUSTERS, a=2.5, refresh=7, family=family),
        cb.ClusUCB(CLUSTERS, family=family),
        cb.ClusUCB(CLUSTERS, a=5, refresh=50, family=family),
        cb.ClusUCB(CLUSTERS, leader="plain", family=family),
        cb.ClusUCB(CLUSTERS, leader="plain", refresh=3, family=family),
        cb.ClusUCB(cb.Clusters([5], widths=0), family=family),
        cb.ClusUCB(cb.Clusters([5], widths=math.inf), family=family),
    ]


def asked(policy: cb.Policy, tape: NDArray[np.float64], horizon: int) -> list[int]:
    """Return the arms that a policy chooses online, round by round."""
    used = [0] * len(tape)
    path = []
    for _ in range(horizon):
        arm = int(policy.ask())
        policy.tell(arm, tape[arm, used[arm]])
        used[arm] += 1
        path.append(arm)
    return path


@pytest.mark.parametrize("family", FAMILIES)
def test_played_as_asked_round_by_round(family: str) -> None:
    tape = rewards(family, 500)
    for policy in policies(family):
        path = cb.play(policy, tape)
        assert path.dtype == np.int64
        assert path.shape == (500,)
        assert path.tolist() == asked(policy, tape, 500), policy


@pytest.mark.parametrize("family", FAMILIES)
def test_holding_changes_nothing(family: str) -> None:
    for seed in range(3):
        tape = rewards(family, 6000, seed)
        for policy in policies(family):
            held, chosen = cb.play(policy, tape), cb.play(policy, tape, stepwise=True)
            assert np.array_equal(held, chosen), policy


def test_the_smallest_tapes() -> None:
    assert cb.play(cb.KLUCB(cb.Clusters([1], widths=0)), [[1]]).tolist() == [0]
    assert cb.play(cb.KLUCB(cb.Clusters([1], widths=0)), [[0, 1, 0]]).tolist() == [0, 0, 0]
    for horizon in range(1, 6):
        path = cb.play(cb.ClusUCB(CLUSTERS), rewards("bernoulli", 1), horizon)
        assert path.tolist() == list(range(horizon))


def test_by_default_as_many_rounds_as_columns() -> None:
    tape = rewards("bernoulli", 300)
    policy = cb.ClusUCB(CLUSTERS)
    path = cb.play(policy, tape)
    assert path.size == 300
    assert np.array_equal(cb.play(policy, tape, 300), path)
    assert np.array_equal(cb.play(policy, tape, None), path)
    assert np.array_equal(loosely(policy, tape, 3e2), path)
    for horizon in (1, 5, 6, 299):
        assert np.array_equal(cb.play(policy, tape, horizon), path[:horizon])


def test_a_tape_is_read_to_its_last_reward_and_no_further() -> None:
    tape = rewards("bernoulli", 2000)
    for policy in policies("bernoulli"):
        path = cb.play(policy, tape, 1500)
        most = int(np.bincount(path).max())
        assert np.array_equal(cb.play(policy, tape[:, :most], 1500), path)
        with pytest.raises(cb.InvalidInputError, match=r"^play: tape must be long enough"):
            cb.play(policy, tape[:, : most - 1], 1500)


def test_what_is_behind_the_last_pull_is_not_looked_at() -> None:
    tape = rewards("bernoulli", 400)
    policy = cb.ClusUCB(CLUSTERS)
    path = cb.play(policy, tape)
    other = tape.copy()
    for arm, pulls in enumerate(np.bincount(path, minlength=5).tolist()):
        other[arm, pulls:] = 1 - other[arm, pulls:]
    assert np.array_equal(cb.play(policy, other), path)


def test_every_reward_that_is_used_counts() -> None:
    """Against a policy that is blind to the order or to some arm."""
    ones, zeros = np.ones((2, 50)), np.zeros((2, 50))
    policy = cb.KLUCB(cb.Clusters([2], widths=1))
    best_second = np.stack([zeros[0], ones[0]])
    best_first = np.stack([ones[0], zeros[0]])
    assert np.bincount(cb.play(policy, best_second)).argmax() == 1
    assert np.bincount(cb.play(policy, best_first)).argmax() == 0
    assert abs(np.diff(np.bincount(cb.play(policy, ones)))[0]) <= 1


def test_memory_and_tape_are_left_alone() -> None:
    tape = rewards("bernoulli", 200)
    copy = tape.copy()
    policy = cb.ClusUCB(CLUSTERS)
    fresh = cb.play(policy, tape)
    asked(policy, rewards("bernoulli", 100, seed=5), 100)
    before = policy.to_json()
    assert np.array_equal(cb.play(policy, tape), fresh)
    assert policy.to_json() == before
    assert np.array_equal(tape, copy)
    assert tape.flags.writeable


def test_tapes_of_every_make() -> None:
    tape = rewards("bernoulli", 60)
    policy = cb.ClusUCB(CLUSTERS)
    path = cb.play(policy, tape)
    makes: list[Any] = [
        tape.tolist(),
        tape.astype(bool),
        tape.astype(np.int8),
        tape.astype(np.float32),
        np.asfortranarray(tape),
        np.repeat(tape, 2, axis=1)[:, ::2],
        pd.DataFrame(tape),
        [tuple(row) for row in tape.astype(int).tolist()],
    ]
    for make in makes:
        assert np.array_equal(cb.play(policy, make), path)


@pytest.mark.parametrize("name", ["kl-ucb", "clus-ucb", "clus-ucb:refresh=9", "clus-ucb:leader=plain"])
def test_rewards_without_chance_give_what_simulate_gives(name: str) -> None:
    """Means of 0 and 1 pay the same in every run, so that there is one path."""
    instance = cb.Instance([[0.0, 1.0], [0.0, 0.0, 1.0]])
    policy = cb.policy(name, instance.clusters())
    path = cb.play(policy, np.tile(instance.means[:, None], 1000))
    counts = np.cumsum(np.eye(5, dtype=np.int64)[path], axis=0)
    for paired in (False, True):
        result = cb.simulate(instance, policy, 1000, runs=2, paired=paired, checkpoints=range(1, 1001))
        assert np.array_equal(result.pulls[0, 0], counts)
        assert np.array_equal(result.pulls[0, 1], counts)


@pytest.mark.parametrize(
    "tape",
    [
        None,
        1.0,
        "tape",
        [],
        [[]] * 5,
        [1, 0, 1, 1, 0],
        np.zeros((4, 10)),
        np.zeros((6, 10)),
        np.zeros((10, 5)),
        np.zeros((5, 0)),
        np.zeros((5, 10, 1)),
        [[1, 0]] * 4 + [[1]],
        [["x"] * 3] * 5,
        {"a": [1]},
        object(),
    ],
)
def test_what_is_no_table_of_rewards_is_refused(tape: object) -> None:
    with pytest.raises(
        cb.InvalidInputError,
        match=r"^play: tape must be a table of numbers with a row for each of 5 arms"
        r" and at least one column, but got .*\.$",
    ):
        loosely(cb.KLUCB(CLUSTERS), tape)


def test_text_and_complex_numbers_are_no_rewards() -> None:
    for tape in ([["1"] * 3] * 5, np.ones((5, 3), dtype=complex)):
        with pytest.raises(cb.InvalidInputError, match="play: tape must be"):
            loosely(cb.KLUCB(CLUSTERS), tape)


@pytest.mark.parametrize(
    ("family", "wrong"),
    [
        ("bernoulli", -0.1),
        ("bernoulli", 1.1),
        ("bernoulli", math.nan),
        ("bernoulli", math.inf),
        ("poisson", -1.0),
        ("poisson", 0.5),
        ("poisson", math.nan),
        ("exponential", -1.0),
        ("exponential", 0.0),
        ("gaussian", math.nan),
        ("gaussian", -math.inf),
        ("gaussian", 1e200),
    ],
)
def test_rewards_the_family_never_pays_are_refused(family: str, wrong: float) -> None:
    """Even where the round they stand for is never played."""
    tape = rewards(family, 20)
    policy = cb.ClusUCB(CLUSTERS, family=family)
    assert cb.play(policy, tape).size == 20
    tape[3, 19] = wrong
    with pytest.raises(
        cb.InvalidInputError, match=rf"^play: reward must be .*, for {family} rewards, but got"
    ) as caught:
        cb.play(policy, tape)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("horizon", [0, -1, 1.5, True, "10", math.nan, math.inf, 10**15 + 1, [5]])
def test_horizons_that_are_none_are_refused(horizon: object) -> None:
    with pytest.raises(cb.InvalidInputError, match=r"^play: horizon must be a whole number"):
        loosely(cb.KLUCB(CLUSTERS), np.zeros((5, 10)), horizon)


@pytest.mark.parametrize("horizon", [51, 10**6, 10**12, 10**15])
def test_more_rounds_than_the_tape_has_rewards_are_refused(horizon: int) -> None:
    """Without making room for them first."""
    with pytest.raises(cb.InvalidInputError, match=r"^play: tape must be long enough for"):
        cb.play(cb.KLUCB(CLUSTERS), np.zeros((5, 10)), horizon)


def test_too_short_a_tape_says_which_arm_ran_out() -> None:
    clusters = cb.Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.5)
    tape = np.array([[0] * 8, [0] * 8, [1] * 8], dtype=float)
    with pytest.raises(cb.InvalidInputError) as caught:
        cb.play(cb.KLUCB(clusters), tape, 20)
    said = str(caught.value)
    assert said.startswith("play: tape must be long enough for 20 rounds, but got 8 rewards of")
    assert "'c'" in said
    path = cb.play(cb.KLUCB(clusters), np.repeat(tape, 3, axis=1), 20)
    ninth = int(np.flatnonzero(path == 2)[8]) + 1
    assert f"round {ninth}" in said


@pytest.mark.parametrize("policy", [None, "kl-ucb", cb.KLUCB, CLUSTERS, 5])
def test_what_is_no_policy_is_refused(policy: object) -> None:
    with pytest.raises(cb.InvalidInputError, match=r"^play: policy must be a policy, but got"):
        loosely(policy, np.zeros((5, 10)))
