"""Kindred online: saved, copied and asked ahead it chooses the same; no extreme leaves a NaN."""

from __future__ import annotations

import copy
import json
import math
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.families import FAMILIES
from clusterbandits.policies import kindred
from clusterbandits.policies.kinship.tables import COLUMNS, WIDTH
from clusterbandits.policies.protocol import entries
from tests.policies.learner import refusal
from tests.processes import without_jit

INF = math.inf
CLUSTERS = cb.Clusters.from_labels(
    ["red", "blue", "red", "green", "blue", "red"], widths=[0.05, INF, 0.3], arms=list("abcdef")
)
MEANS = dict(zip("abcdef", [0.30, 0.45, 0.32, 0.20, 0.50, 0.28], strict=True))
EACH_FAMILY = pytest.mark.parametrize("family", FAMILIES)
pytestmark = pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")

#: Without widths, with a prior, and with a width that the alarm finds to be wrong.
PLAIN_CASES: list[tuple[str, Any, str]] = [
    *((family, INF, "kindred") for family in FAMILIES),
    ("bernoulli", INF, "kindred:prior=0.3@20"),
    ("bernoulli", [0.0, INF], "kindred:alarm=widen,alarm_level=1"),
]
_WITHOUT_JIT = """
import json, sys
from tests.policies.test_kindred import PLAIN_CASES, path
json.dump([path(*case) for case in PLAIN_CASES], sys.stdout)
"""


def path(family: str, widths: Any, spec: str) -> list[int]:
    """The arms of 80 rounds against fixed rewards."""
    rng = np.random.default_rng(3)
    rewards = [cb.as_family(family).draw(mean, 80, rng) for mean in (0.9, 0.1, 0.3, 0.4, 0.5)]
    policy = cb.policy(spec, cb.Clusters([2, 3], widths=widths), family=family)
    arms: list[int] = cb.play(policy, np.array(rewards), 80).tolist()
    return arms


def test_plain_python_chooses_the_same(tmp_path: Path) -> None:
    compiled = [path(*case) for case in PLAIN_CASES]
    assert json.loads(without_jit(_WITHOUT_JIT, tmp_path)) == compiled
    # The alarm goes off, and its width is ignored from then on.
    ignored = path("bernoulli", [0.0, INF], "kindred:alarm=ignore")
    assert compiled[-1] != ignored


def reward_of(policy: cb.Policy, arm: Any, rng: np.random.Generator) -> float:
    return float(policy.family.draw(MEANS.get(arm, 0.3), 1, rng)[0])


def walked(policy: Any, rng: np.random.Generator, rounds: int) -> Any:
    """Ask and tell, with some rewards that arrive late."""
    waiting: list[Any] = []
    for _ in range(rounds):
        waiting.append(policy.ask())
        if rng.random() < 0.8:
            arm = waiting.pop(int(rng.integers(len(waiting))))
            policy.tell(arm, reward_of(policy, arm, rng))
    return policy


def used(policy: Any) -> dict[str, Any]:
    """All that was learned and is used: what belongs to a width only where there is one."""
    tables: dict[str, Any] = copy.deepcopy(policy._live.kinship)._asdict()
    free = np.isinf(policy._live.widths)
    for name in ("first", "step", "means"):
        tables[name][free, WIDTH] = 0.0
    for name in ("within", "within_before"):
        tables[name][free] = 1.0
    tables["exceptions"][WIDTH][:, free[policy._live.cluster]] = 0.0
    # The stream of counts starts again every time; how often something was learned is no part of it.
    del tables["counting"], tables["lessons"]
    return tables


def check_goes_on(policy: Any, again: Any, rounds: int = 150) -> None:
    """Check that two policies are the same, tables included, and choose the same arms."""
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        for (name, one), other in zip(used(policy).items(), used(again).values(), strict=True):
            assert np.array_equal(one, other), name
        arm = policy.ask()
        assert again.ask() == arm
        if rng.random() < 0.9:
            reward = reward_of(policy, arm, rng)
            policy.tell(arm, reward)
            again.tell(arm, reward)
    assert again.to_json() == policy.to_json()


def changed(policy: Any, rng: np.random.Generator) -> Any:
    """Add and remove arms on the way."""
    walked(policy, rng, 60)
    policy.add_arm("new", "red")
    walked(policy, rng, 60)
    policy.remove_arm("d")
    policy.remove_arm("a")
    return walked(policy, rng, 60)


WAYS: dict[str, Callable[[Any], Any]] = {
    "json": lambda policy: cb.Policy.from_json(policy.to_json()),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda policy: pickle.loads(pickle.dumps(policy)),
}


@EACH_FAMILY
@pytest.mark.parametrize("way", WAYS)
def test_it_goes_on_with_rewards_awaited(way: str, family: str) -> None:
    for seed, rounds in enumerate((0, 1, 5, 40, 300)):
        policy = walked(cb.Kindred(CLUSTERS, family=family), np.random.default_rng(seed), rounds)
        check_goes_on(policy, WAYS[way](policy))


@EACH_FAMILY
@pytest.mark.parametrize("way", WAYS)
def test_it_goes_on_after_arms_came_and_went(way: str, family: str) -> None:
    policy = changed(cb.Kindred(CLUSTERS, family=family), np.random.default_rng(2))
    check_goes_on(policy, WAYS[way](policy))


@pytest.mark.parametrize("way", WAYS)
def test_it_goes_on_without_a_width_that_was_wrong(way: str) -> None:
    """The tables of a width that is ignored are others than those of the declared width."""
    policy: Any = cb.Kindred(
        cb.Clusters({"red": ["a", "b"], "blue": ["c", "d", "e"]}, widths=0.1), alarm="widen"
    )
    for arm, total in zip("abcde", (900, 100, 480, 500, 490), strict=True):
        policy.tell(arm, total, pulls=1000)
    walked(policy, np.random.default_rng(5), 200)
    assert [one.cluster for one in policy.alarms()] == ["red"]
    assert policy._live.kinship.alike[0, WIDTH] == -INF
    check_goes_on(policy, WAYS[way](policy))


def test_arms_that_are_added_join_what_their_cluster_has_learned() -> None:
    policy: Any = cb.Kindred(cb.Clusters({"good": ["a", "b"], "poor": ["c", "d"]}, widths=INF))
    for arm, total in zip("abcd", (500, 510, 20, 25), strict=True):
        policy.tell(arm, total, pulls=1000)
    policy.add_arm("new", "poor")
    found = [policy.ask() for _ in range(200)]
    for arm in found:
        policy.cancel(arm)
    # It is not asked for first, and seldom at all: its cluster is poor.
    assert found.count("new") < 10
    policy.add_arm("newer", "good")
    assert "newer" in {policy.ask() for _ in range(200)}


@EACH_FAMILY
def test_asking_ahead_uses_what_was_learned_last(family: str) -> None:
    """A policy keeps the state in which awaited rewards have arrived; a copy makes it again."""
    rng = np.random.default_rng(7)
    policy: Any = cb.Kindred(CLUSTERS, family=family)
    waiting = [policy.ask() for _ in range(12)]
    for _ in range(120):
        arm = waiting.pop(int(rng.integers(len(waiting))))
        policy.tell(arm, reward_of(policy, arm, rng))
        following = copy.deepcopy(policy).ask()
        waiting.append(policy.ask())
        assert waiting[-1] == following


def test_awaited_rewards_are_not_learned_from() -> None:
    policy: Any = walked(cb.Kindred(CLUSTERS), np.random.default_rng(3), 100)
    before = policy._live.kinship.due.copy(), policy._live.kinship.alike.copy()
    policy.ask(50)
    assert np.array_equal(policy._live.kinship.due, before[0])
    assert np.array_equal(policy._live.kinship.alike, before[1])


def test_clusters_are_learned_again_when_their_pulls_have_grown_by_3_percent() -> None:
    policy: Any = cb.Kindred(cb.Clusters([2, 1], widths=0.1))
    policy.tell(0, 300, pulls=1000)
    kin = policy._live.kinship
    assert kin.due.tolist() == [1030, 1]
    policy.tell(1, 29, pulls=29)
    assert kin.pulls.tolist() == [1000, 0, 0]
    policy.tell(2, 1)
    assert kin.pulls.tolist() == [1000, 0, 1]
    policy.tell(1, 1)
    assert kin.pulls.tolist() == [1000, 30, 1]
    assert kin.totals.tolist() == [300, 30, 1]
    assert kin.due.tolist() == [1030 + 30, 2]


def test_arms_with_few_pulls_are_weighed_as_exceptions_at_every_pull() -> None:
    policy: Any = cb.Kindred(cb.Clusters([3]))
    policy.tell(0, 300, pulls=1000)
    policy.tell(1, 300, pulls=1000)
    kin = policy._live.kinship
    odds = [kin.exceptions[8, :, 2].copy()]
    for reward in (1, 1, 0):
        policy.tell(2, reward)
        odds.append(kin.exceptions[8, :, 2].copy())
    # Rewards of 1 are likelier alone than around 0.3, and a reward of 0 is less likely.
    assert (odds[1] > odds[0]).all()
    assert (odds[2] > odds[1]).all()
    assert (odds[3] < odds[2]).all()
    assert kin.pulls.tolist() == [1000, 1000, 0]
    policy.tell(2, 30, pulls=56)
    assert kin.pulls.tolist() == [1000, 1000, 0]
    # With 64 pulls the whole cluster is learned again, though it has grown by less than 3 %.
    policy.tell(2, 2, pulls=5)
    assert kin.pulls.tolist() == [1000, 1000, 64]


@pytest.mark.statistical
def test_the_best_arm_of_a_poor_cluster_is_found() -> None:
    """Its cluster is tight, and another one is nearly as good as this arm."""
    instance = cb.Instance([[0.55, *[0.25] * 9], [0.5] * 5])
    found = cb.simulate(
        instance, "kindred", 40_000, 100, 3, clusters=cb.Clusters([10, 5]), checkpoints=[20_000, 40_000]
    )
    late = np.diff(found.regret(0), axis=1)[:, 0] / 20_000
    # A run that has not found it loses 0.05 per round; without exceptions a quarter of all runs do.
    assert (late > 0.04).mean() < 0.12


def test_the_first_arm_of_every_cluster_comes_first() -> None:
    policy = cb.Kindred(CLUSTERS)
    arms = []
    for _ in range(3):
        arms.append(policy.ask())
        policy.tell(arms[-1], 0)
    assert arms == ["a", "b", "d"]


EDITED: list[tuple[str, Any]] = [
    *(("learned_totals", bad) for bad in ([9.0] + [0.0] * 5, [-1.0] + [0.0] * 5, [0.0] * 5, None, ["1"] * 6)),
    *(
        ("learned_pulls", bad)
        for bad in ([10**6] + [0] * 5, [-1] + [0] * 5, [0.5] * 6, [0] * 7, "0", [None] * 6)
    ),
]


@pytest.mark.parametrize(("key", "value"), EDITED)
def test_what_cannot_have_been_learned_is_refused(key: str, value: Any) -> None:
    """A total above the pulls of 0 or 1 rewards would have no posterior to draw from."""
    policy: Any = cb.Kindred(CLUSTERS)
    for arm in "abc":
        policy.tell(arm, 1)
    document = json.loads(policy.to_json())
    document["choice"][key] = value
    assert f"Policy.from_json: {key}" in refusal(lambda: cb.Policy.from_json(json.dumps(document)))


def test_what_is_known_before_rewards_is_nobodys_own() -> None:
    """Of 100 kinds a few are kept, for all threads; policies change copies alone."""
    widths = np.linspace(0.01, 0.5, 100).tolist()
    states: dict[float, Any] = {}

    def make() -> None:
        for width in widths:
            states[width] = cb.Kindred(cb.Clusters([2], widths=width)).fresh_state()

    threads = [threading.Thread(target=make) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(states) == 100
    assert len(kindred._BEFORE) <= 64
    first: Any = cb.Kindred(cb.Clusters([2], widths=0.5))
    first.tell(0, 1)
    again: Any = cb.Kindred(cb.Clusters([2], widths=0.5)).fresh_state()
    assert again.kinship.observed.tolist() == [0.0]
    assert again.kinship.due.tolist() == [1.0]


def check_tables(state: Any) -> None:
    """Check that all that was learned is a number, and that probabilities add up to 1."""
    kin = state.kinship
    for name, table in zip(kin._fields, kin, strict=True):
        assert not np.isnan(np.asarray(table, dtype=float)).any(), name
    limited = np.isfinite(state.widths)
    assert np.isfinite(kin.alike[:, :WIDTH]).all()
    assert np.isfinite(kin.alike[limited]).all()
    assert np.isfinite(kin.unrelated).all()
    assert (kin.step[:, :WIDTH] > 0).all()
    for sums in (kin.common, kin.own, kin.means[:, :WIDTH], kin.means[limited]):
        assert (np.diff(sums, axis=-1) >= 0).all()
        assert sums[..., -1] == pytest.approx(1, abs=1e-9)
    assert (kin.ways >= 0).all()
    assert (kin.ways <= 1 + 1e-12).all()
    assert np.isfinite(kin.votes).all()
    assert kin.alike.shape[1] == COLUMNS


def check_draws(policy: Any, count: int = 60) -> None:
    """Check that draws are means of the family."""
    state, family = policy._live, policy.family
    select = entries(state).select
    for _ in range(count):
        assert 0 <= select(state, 10**6) < state.pulls.size
        assert np.isfinite(state.draws).all()
        # Arms that must be tried first are not drawn.
        if state.pulls.size > 1 and (state.pulls.all() or family.highest < INF):
            assert (state.draws >= family.lowest).all()
            assert (state.draws <= family.highest).all()


def after_rewards(family: str, rows: Any, widths: Any, sizes: Any, **settings: Any) -> Any:
    policy = cb.Kindred(cb.Clusters(sizes, widths=widths), family=family, alarm="ignore", **settings)
    for arm, (pulls, total) in enumerate(rows):
        if pulls:
            policy.tell(arm, total, pulls=pulls)
    check_tables(policy._live)
    check_draws(policy)
    return policy


MANY = 10**12
EXTREMES: dict[str, tuple[str, list[tuple[int, float]]]] = {
    "no reward 1": ("bernoulli", [(50, 0), (1, 0), (10**5, 0), (7, 0)]),
    "all rewards 1": ("bernoulli", [(50, 50), (1, 1), (10**5, 10**5), (7, 7)]),
    "rates of 1e-4": ("bernoulli", [(10**6, 100), (10**6, 90), (10**5, 9), (10**4, 0)]),
    "rates of 1 - 1e-4": ("bernoulli", [(10**6, 10**6 - 100), (10**6, 10**6 - 90), (10**5, 10**5), (9, 9)]),
    "rates of 1e-9": ("bernoulli", [(MANY, 1000), (MANY, 900), (10**9, 0), (1, 0)]),
    "0 and 1": ("bernoulli", [(MANY, 0), (MANY, MANY), (1, 0), (1, 1)]),
    "many pulls": ("bernoulli", [(MANY, 4e11), (MANY, 5e11), (MANY, 4e11), (1, 0)]),
    "parts of rewards": ("bernoulli", [(3, 1e-300), (5, 1e-17), (2, 2 - 1e-15), (0, 0)]),
    "far from 0": ("gaussian", [(10, 1e8), (10, 1e8 + 3), (20, 2e8), (1, 1e7)]),
    "far apart": ("gaussian", [(10, 0), (10, 1e8), (20, -2e8), (1, 1e7)]),
    "little noise": ("gaussian:sigma=1e-6", [(10, 1e8), (10, 1e8 + 3), (MANY, 5e11), (1, 0.5)]),
    "much noise": ("gaussian:sigma=1e6", [(10, 0), (10, 3), (MANY, 5e11), (1, 0.5)]),
    "no counts": ("poisson", [(50, 0), (1, 0), (10**5, 0), (MANY, 0)]),
    "large counts": ("poisson", [(50, 10**9), (1, 10**12), (10**5, 0), (MANY, 1)]),
    "small and large": ("exponential", [(100, 1e-7), (50, 6e-8), (100, 1e11), (50, 4e10)]),
    "all small": ("exponential", [(100, 1e-7), (50, 6e-8), (MANY, 1e3), (1, 1e-12)]),
    "all large": ("exponential:shape=0.01", [(100, 1e11), (50, 4e10), (MANY, 1e21), (1, 1e12)]),
    "no failures": ("negative-binomial", [(50, 0), (1, 0), (10**5, 0), (MANY, 0)]),
    "many failures": ("negative-binomial:shape=0.01", [(50, 10**9), (1, 10**12), (10**5, 0), (MANY, 1)]),
}


@pytest.mark.parametrize("widths", [0.0, 1e-9, 0.05, 1e9, INF])
@pytest.mark.parametrize("case", EXTREMES)
def test_extremes_leave_no_nan(case: str, widths: float) -> None:
    family, rows = EXTREMES[case]
    for sizes in ([4], [2, 2], [1, 1, 1, 1], [1, 3]):
        after_rewards(family, rows, widths, sizes)
    after_rewards(family, rows[:1], widths, [1])


@EACH_FAMILY
@pytest.mark.parametrize("prior", [(0.5, 1e-6), (1e-9, 1.0), (0.3, 1e6), (1e-12, 1e6), (0.999, 1e-3)])
def test_extreme_priors_leave_no_nan(family: str, prior: tuple[float, float]) -> None:
    for widths in (0.0, 0.1, INF):
        after_rewards(family, [(0, 0), (10, 3), (0, 0), (10**6, 10**5)], widths, [2, 2], prior=prior)


@EACH_FAMILY
def test_single_arms_equal_arms_and_short_runs(family: str) -> None:
    one = cb.Instance([[0.4]], family=family)
    assert cb.simulate(one, "kindred", 1, runs=2).mean(0)[-1] == 0
    assert cb.simulate(one, "kindred", 50, runs=2).mean(0)[-1] == 0
    equal = cb.Instance([[0.4] * 3, [0.4] * 2], family=family)
    result = cb.simulate(equal, "kindred", 300, runs=5, clusters=equal.clusters(0.0))
    assert (result.pulls[0, :, -1].sum(axis=1) == 300).all()
    assert result.mean(0)[-1] == 0
    two = cb.Instance([[0.4, 0.5]], family=family)
    assert cb.simulate(two, "kindred", 1, runs=3).mean(0)[-1] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("family", "means"),
    [
        ("gaussian:sigma=0.01", [[0.1, 1.0], [0.5]]),
        ("gaussian", [[0, 0, 0, 12], [8, 8]]),
        ("gaussian", [[1e6, 3e6], [2e6]]),
        ("poisson", [[1, 30], [20]]),
        ("bernoulli", [[0.001, 0.9], [0.5]]),
    ],
)
def test_means_far_apart_in_units_of_noise_are_found(family: str, means: Any) -> None:
    """The prior of means has no scale of its own: the best arm is found however far from its cluster."""
    instance = cb.Instance(means, family=family)
    result = cb.simulate(instance, "kindred", 3000, runs=10, seed=2, clusters=instance.clusters(INF))
    late = result.pulls[0, :, -1] @ (instance.gaps == 0)
    assert late.min() > 0.9 * 3000


@pytest.mark.parametrize("low", [-1000.0, 1000.0, 64.0, 0.0])
def test_bounds_far_from_0_change_no_choice(low: float) -> None:
    """Rewards of low or low + 1: an offset leaves fewer digits, and no NaN."""
    rng = np.random.default_rng(6)
    tape = (rng.random((4, 400)) < np.array([[0.3], [0.5], [0.4], [0.6]])).astype(float)
    for widths in (INF, 0.25):
        policies = [
            cb.Kindred(cb.Clusters([2, 2], widths=widths), family=family)
            for family in ("bounded", f"bounded:low={low},high={low + 1}")
        ]
        near, far = (
            cb.play(policy, rewards, 400)
            for policy, rewards in zip(policies, (tape, tape + low), strict=True)
        )
        assert np.array_equal(near, far)


def test_a_thousand_arms() -> None:
    rng = np.random.default_rng(1)
    rates = np.repeat(rng.beta(1, 9, 20), 50)
    policy: Any = cb.Kindred(cb.Clusters([50] * 20, widths=0.1), alarm="ignore")
    for _ in range(1500):
        arm = policy.ask()
        policy.tell(arm, float(rng.random() < rates[arm]))
    check_tables(policy._live)
    # The best clusters have most of the pulls: not every arm is tried.
    pulls = np.array(list(policy.pulls.values()))
    assert (pulls > 0).sum() < 600
    assert pulls @ rates / 1500 > 2 * rates.mean()
    alone: Any = cb.Kindred(cb.Clusters([1000], widths=INF))
    for _ in range(100):
        alone.tell(alone.ask(), 0)
    check_tables(alone._live)


def test_totals_of_1e12_pulls_decide() -> None:
    policy = after_rewards("bernoulli", [(MANY, 4e11), (MANY, 5e11), (MANY, 4.999e11)], 0.2, [2, 1])
    assert {policy.ask() for _ in range(100)} == {1}
