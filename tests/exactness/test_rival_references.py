"""The plain references of the other policies against 50 digits, linear programs, and states by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import betaln, rel_entr

from tests.exactness.alarm import misfit, penalty, scheduled
from tests.exactness.reference import FAMILIES, Reference
from tests.exactness.rivals import CKLUCB, HedgedClusUCB, IMEDClus, KLUCBPlusPlus, Rival, Seen, largest
from tests.exactness.steering import OSSB, Costs, extra, steer
from tests.exactness.test_reference import EXACT, random_state, random_tape
from tests.exactness.test_rivals import ALL

INF = math.inf
EACH = pytest.mark.parametrize("family", FAMILIES)
CLUSTERS, WIDTHS = [[4, 0], [1, 3, 2]], [0.05, 0.2]


def ordinary_mean(family: str, rng: Random) -> float:
    return rng.gauss(0, 1) if family == "gaussian" else rng.uniform(0.05, 0.95)


def random_costs(family: str, rng: Random) -> tuple[list[float], float, Costs]:
    best = ordinary_mean(family, rng)
    means = [best - rng.uniform(0.01, 1.0) * (1.0 if family == "gaussian" else best) for _ in range(4)]
    width = rng.choice([0.0, INF, rng.uniform(0, 0.3), 1e-3, 1e-10])
    return means, width, Costs.of(OSSB(family, [[0]], None), means, best, width)


@EACH
def test_no_digits_are_lost_in_the_difference_of_divergences(family: str) -> None:
    rng, policy = Random(1), OSSB(family, [[0]], None, weight=2.0)
    for _ in range(500):
        x, y = sorted(ordinary_mean(family, rng) for _ in range(2))
        z = y - (y - x) * 10 ** rng.uniform(-12, 0.5)
        with mpmath.workdps(50):
            exact = EXACT[family](mpmath.mpf(x), mpmath.mpf(y))
            exact -= EXACT[family](mpmath.mpf(x), mpmath.mpf(z)) if z > x else 0
            assert abs(extra(policy, x, z, y) / (2 * exact) - 1) < 5e-15, (x, z, y)


@EACH
def test_the_cheaper_of_two_ways_is_the_cheapest(family: str) -> None:
    """A has every constraint tight, B is enough, and no other pulls cost less than both."""
    rng, cheaper = Random(2), set()
    for _ in range(200):
        means, width, costs = random_costs(family, rng)
        matrix = np.tile(costs.shared, (4, 1))
        np.fill_diagonal(matrix, costs.own)
        assert matrix @ costs.all_tight() == pytest.approx(np.ones(4), rel=1e-9)
        program = linprog(costs.gaps, A_ub=-matrix, b_ub=-np.ones(4))
        assert min(costs.A, costs.B) == pytest.approx(program.fun, rel=1e-6), (means, width)
        cheaper.add(costs.A < costs.B)
    assert cheaper == {True, False}


def test_nothing_rules_out_a_cluster_sooner_when_the_best_arm_always_paid() -> None:
    for width in (0.0, 0.1, INF):
        costs = Costs.of(OSSB("bernoulli", [[0]], None), [0.5, 0.9], 1.0, width)
        assert costs.A == 0.0
        assert costs.all_tight() == [0.0, 0.0]


@EACH
def test_indices_left_out_are_not_the_largest(family: str) -> None:
    rng = Random(3)
    for _ in range(150):
        clustered, pulls, totals, n = random_state(family, rng)
        K = len(pulls)
        given = (family, clustered.clusters, clustered.widths or [INF] * len(clustered.clusters))
        row = [[rng.choice([0.0, INF, rng.random()]) for _ in range(K)] for _ in range(K)]
        for policy in (
            HedgedClusUCB(*given, a=clustered.a, weight=clustered.weight, hedge=0.5),
            CKLUCB(*given, weight=clustered.weight, distances=row),
            KLUCBPlusPlus(*given, weight=clustered.weight, horizon=10 * n),
        ):
            seen = Seen(pulls, totals, n)
            assert policy.pick(seen) == seen.least_pulled(largest(family, policy.scores(seen)["index"]))


@EACH
def test_hedged_index_is_the_larger_of_two(family: str) -> None:
    rng, larger = Random(4), set()
    for _ in range(100):
        clustered, pulls, totals, n = random_state(family, rng)
        plain = replace(clustered, widths=None)
        hedged = HedgedClusUCB(**vars(clustered), hedge=0.5)
        f = 0.5 * clustered.threshold(n)
        values = hedged.scores(Seen(pulls, totals, n))["index"]
        for k, one in enumerate(clustered.indices(pulls, totals, n)):
            two = plain.index([(plain.weight * pulls[k], totals[k] / pulls[k], 0.0)], f)
            assert values[k] == max(one, two)
            larger.add(one > two)
    assert larger == {True, False}


@EACH
def test_paths_of_the_first_reference(family: str) -> None:
    rewards = [[0.1 + reward for reward in arm] for arm in random_tape(5, 120, seed=7)]
    if family == "bernoulli":
        rewards = random_tape(5, 120, seed=7)
    far = [[INF] * 5 for _ in range(5)]
    for cluster, width in zip(CLUSTERS, WIDTHS, strict=True):
        for k, j in product(cluster, cluster):
            far[k][j] = width
    for leader, refresh, a in (("clustered", 1, 0.0), ("plain", 7, 0.0), ("clustered", 1, 5.0)):
        first = Reference(family, CLUSTERS, WIDTHS, a, refresh, leader)
        expected = first.play(rewards, 120)
        assert HedgedClusUCB(**vars(first)).play(rewards, 120) == expected
        assert CKLUCB(**vars(first)).play(rewards, 120) == expected
        if leader == "clustered":
            assert CKLUCB(**vars(first), distances=far).play(rewards, 120) == expected


def test_scores_by_hand() -> None:
    """Three Gaussian arms in two clusters after 4, 2 and 3 pulls: before round 10."""
    seen = Seen([4, 2, 3], [2.0, 1.5, 0.0], 10)
    log, log6 = math.log(10), math.log(6)
    bars = [math.log(y * (1 + math.log(y) ** 2)) for y in (2, 4 / 3)]
    moss = [0.5, 0.75 + math.sqrt(math.log(10 / 6) / 2), math.sqrt(math.log(10 / 9) / 3)]
    imed = [0.125 + math.log(4), math.log(2), 3 * 0.28125 + math.log(3)]
    inside = [0.5 + math.sqrt(log6 / 2), 0.75 + math.sqrt(log6), -INF]
    outside = [0.5 + math.sqrt(log / 2), 0.75 + math.sqrt(log), -INF]
    known: list[tuple[str, dict[str, Any], str, list[float]]] = [
        ("ucb1", {}, "index", [0.5 + math.sqrt(log / 2), 0.75 + math.sqrt(log), math.sqrt(2 * log / 3)]),
        ("moss", {"alpha": 1.0}, "index", moss),
        ("kl-ucb++", {"horizon": 12}, "index", [0.5, 0.75 + math.sqrt(bars[0]), math.sqrt(2 * bars[1] / 3)]),
        ("imed", {}, "H", imed),
        # d⁺(m_0, 0.75 - 0.125) = 1/128 counts against arm 1, and nothing against arm 0.
        ("imed-clus", {}, "H", [imed[0], imed[1] + 4 / 128, imed[2]]),
        ("imed-clus", {"hedge": 1.0}, "H", imed),
        ("imed-clus", {"hedge": 0.5}, "H", [imed[0], imed[1] + 4 / 128, imed[2]]),
        ("tlp-mean", {}, "outer", [3.5 / 6 + math.sqrt(log / 3), math.sqrt(2 * log / 3)]),
        ("ucbc", {}, "outer", [3.5 / 6 + math.sqrt(log / 3), math.sqrt(2 * log / 3)]),
        ("tlp-max", {}, "outer", [0.75 + math.sqrt(log / 3), math.sqrt(2 * log / 3)]),
        *((name, {}, "index", inside) for name in ("tlp-mean", "tlp-max", "ucbc")),
        *((name, {"clock": "round"}, "index", outside) for name in ("tlp-mean", "tlp-max", "ucbc")),
    ]
    for name, settings, what, values in known:
        policy = ALL[name]("gaussian", [[0, 1], [2]], [0.125, 1.0], **settings)
        assert policy.scores(seen)[what] == pytest.approx(values, rel=1e-14), (name, settings)


def test_infinite_scores_are_tied() -> None:
    policy = IMEDClus("bernoulli", [[0, 1], [2]], [0.0, 0.0])
    assert policy.scores(Seen([1, 2, 1], [1.0, 0.0, 0.0], 5))["H"] == [INF] * 3
    assert policy.choose([2, 3, 1], [2.0, 0.0, 0.0], 7) == 2


@pytest.mark.parametrize(
    ("pulls", "width", "chosen"),
    [
        ([9, 9, 8, 99], 0.0, 0),  # the lowest mean
        ([9, 9, 8, 25], 0.0, 2),  # the leader has been pulled less than the cluster
        ([9, 9, 4, 99], 0.0, 2),  # fewer pulls than √22
        ([9, 9, 8, 99], INF, 2),
        ([9, 9, 8, 99], 0.4, 2),
    ],
)
def test_steering_by_hand(pulls: list[int], width: float, chosen: int) -> None:
    policy = Rival("gaussian", [[0, 1, 2], [3]], [width, 0.0])
    totals = [t * m for t, m in zip(pulls, [0.5, 0.625, 0.75, 1.0], strict=True)]
    seen = Seen(pulls, totals, sum(pulls) + 1)
    assert steer(policy, seen, 2) == chosen
    assert steer(policy, seen, 3) == 3


def test_allocation_by_hand() -> None:
    """Two Gaussian arms beside the best, and a cluster of width 0 in which the lower arm says most."""
    pulls, means = [100, 10, 9, 10], [1.0, 0.5, 0.75, 0.5]
    seen = Seen(pulls, [t * m for t, m in zip(pulls, means, strict=True)], 130)
    policy = OSSB("gaussian", [[0, 1], [2, 3]], [0.1, 0.0])
    assert policy.allocation(seen) == pytest.approx([0.0, 8.0, 0.0, 8.0])
    assert replace(policy, widths=[0.1, INF]).allocation(seen) == pytest.approx([0.0, 8.0, 32.0, 8.0])
    assert policy.pick(seen) == 1
    early = Seen(pulls, seen.totals, 3)
    assert (policy.pick(early), policy.explored) == (0, 1)
    assert replace(policy, gamma=1.0).pick(early) == 1
    assert replace(policy, epsilon=5.0).pick(seen) == 2
    assert replace(policy, epsilon=4.0).pick(seen) == 1


def test_the_alarm_looks_less_and_less_often() -> None:
    looks = [n for n in range(1, 200) if scheduled(n)]
    assert looks == [*range(1, 65), *range(66, 129, 2), *range(131, 192, 3), 194, 198]


def test_misfit_and_penalty() -> None:
    rng = Random(5)
    for _ in range(100):
        pulls = [rng.randint(1, 50) for _ in range(4)]
        totals = [rng.randint(0, t) for t in pulls]
        means = [s / t for s, t in zip(totals, pulls, strict=True)]
        width = rng.choice([0.0, 0.01, 0.2])
        grid = np.linspace(min(means), max(max(means) - width, min(means)), 20_001)[:, None]
        nearest = np.clip(means, grid, grid + width)
        ahead, behind = rel_entr(means, nearest), rel_entr(1 - np.array(means), 1 - nearest)
        least = ((ahead + behind) @ pulls).min()
        assert misfit(pulls, means, width) == pytest.approx(least, rel=1e-4, abs=1e-9)
        assert misfit(pulls, means, width) <= least * (1 + 1e-8)
        for t, s, m in zip(pulls, totals, means, strict=True):
            likelihood = m**s * (1 - m) ** (t - s)
            assert penalty(t, s) == pytest.approx(math.log(likelihood) - betaln(s + 1, t - s + 1), rel=1e-9)
    assert misfit([3, 5], [0.4, 0.6], 0.25) == 0.0
    assert misfit([4, 4], [0.0, 1.0], 0.0) == pytest.approx(8 * math.log(2))
