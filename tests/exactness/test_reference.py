"""The plain reference against 50-digit arithmetic, a grid, and states worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import mpmath
import pytest

from tests.exactness.reference import FAMILIES, Reference

INF = math.inf
EACH = pytest.mark.parametrize("family", FAMILIES)
Number = Any


def xlog(x: Number, y: Number) -> Number:
    return x * mpmath.log(x / y) if x else mpmath.mpf(0)


#: Textbook formulas, in as many digits as mpmath is set to, for y > x.
EXACT: dict[str, Callable[[Number, Number], Number]] = {
    "bernoulli": lambda x, y: xlog(x, y) + xlog(1 - x, 1 - y) if y < 1 else mpmath.inf,
    "gaussian": lambda x, y: (x - y) ** 2 / 2,
    "poisson": lambda x, y: y - x + xlog(x, y),
    "exponential": lambda x, y: x / y - 1 - mpmath.log(x / y),
    "negative-binomial": lambda x, y: xlog(x, y) - xlog(1 + x, 1 + y),
}
SLOPES: dict[str, Callable[[Number, Number], Number]] = {
    "bernoulli": lambda x, y: (1 - x) / (1 - y) - x / y,
    "gaussian": lambda x, y: y - x,
    "poisson": lambda x, y: 1 - x / y,
    "exponential": lambda x, y: 1 / y - x / y**2,
    "negative-binomial": lambda x, y: (y - x) / (y + y**2),
}


def exact_threshold(a: float, n: int) -> Number:
    return mpmath.log(n) + mpmath.mpf(a) * mpmath.log(max(mpmath.log(n), mpmath.mpf(1)))


def width_around(policy: Reference, arm: int) -> tuple[Sequence[int], float]:
    """The cluster of an arm and its width."""
    c = next(c for c, cluster in enumerate(policy.clusters) if arm in cluster)
    return policy.clusters[c], INF if policy.widths is None else policy.widths[c]


def exact_evidence(
    policy: Reference, arm: int, pulls: Sequence[int], means: Sequence[float], q: Number
) -> Number:
    cluster, width = width_around(policy, arm)
    value = mpmath.mpf(0)
    for j in cluster:
        y = q - (0 if j == arm else mpmath.mpf(width))
        if y > means[j]:
            value += policy.weight * pulls[j] * EXACT[policy.family](mpmath.mpf(means[j]), y)
    return value


def room_for_rounding(
    policy: Reference, arm: int, pulls: Sequence[int], means: Sequence[float], value: float, f: float
) -> float:
    """How far an index may be off: a few units in the last place, more where it is ill conditioned."""
    cluster, width = width_around(policy, arm)
    if policy.family == "gaussian":
        return 2e-15 * max(abs(value), *(abs(means[j]) for j in cluster), width if width < INF else 0.0)
    # These indices grow as exp(f/t), which amplifies the rounding of f.
    steep = policy.family in ("exponential", "negative-binomial")
    growth = f / (policy.weight * min(pulls[j] for j in cluster)) if steep else 0.0
    return min(2e-15 + 6e-16 * growth, 1e-13) * value


def check_indices(policy: Reference, pulls: Sequence[int], totals: Sequence[float], n: int) -> None:
    """Prove each index: in 50 digits, the evidence is <= f(n) just below it and > f(n) just above it."""
    means = [s / t for s, t in zip(totals, pulls, strict=True)]
    with mpmath.workdps(50):
        f = exact_threshold(policy.a, n)
        for k, v in enumerate(policy.indices(pulls, totals, n)):
            room = room_for_rounding(policy, k, pulls, means, v, float(f))
            at = (policy, pulls, totals, n, k)
            assert exact_evidence(policy, k, pulls, means, mpmath.mpf(v) - room) <= f, at
            if policy.family == "bernoulli" and v + room >= 1:
                assert v <= 1, at
            else:
                assert exact_evidence(policy, k, pulls, means, mpmath.mpf(v) + room) > f, at


def random_mean(family: str, rng: Random) -> float:
    if family == "gaussian":
        return rng.choice([0.0, rng.gauss(0, 1), rng.gauss(5, 0.01), 1e3 * rng.gauss(0, 1)])
    if family == "bernoulli":
        tiny = 10 ** rng.uniform(-8, -1)
        return rng.choice([0.0, 1.0, rng.random(), rng.uniform(0.4, 0.45), tiny, 1 - tiny])
    mean = rng.choice([rng.random(), rng.uniform(5, 5.1), 10 ** rng.uniform(-6, 6)])
    return 0.0 if family in ("poisson", "negative-binomial") and rng.random() < 0.2 else mean


def random_state(family: str, rng: Random) -> tuple[Reference, list[int], list[float], int]:
    K = rng.choice([1, 2, 3, 6, 6, 12])
    arms = rng.sample(range(K), K)
    cut = rng.randint(1, K)
    clusters = [arms[:cut], arms[cut:]] if cut < K else [arms]
    widths = [rng.choice([0.0, INF, 10 ** rng.uniform(-6, 1), rng.random() / 10]) for _ in clusters]
    pulls = [rng.choice([1, 1, 2, 10, 10**6, round(10 ** rng.uniform(0, 6))]) for _ in range(K)]
    totals = [t * random_mean(family, rng) for t in pulls]
    policy = Reference(
        family,
        clusters,
        rng.choice([None, widths, widths, widths]),
        a=rng.choice([0.0, 5.0]),
        weight=rng.choice([1.0, 0.25, 3.5]) if family in ("gaussian", "exponential") else 1.0,
    )
    return policy, pulls, totals, rng.choice([sum(pulls) + 1, 2, 10**9])


@EACH
def test_divergences_and_slopes_to_fifty_digits(family: str) -> None:
    rng = Random(1)
    for _ in range(4000):
        x = random_mean(family, rng)
        far = 1 - x if family == "bernoulli" else 10.0
        y = x + rng.choice([far * rng.random(), max(abs(x), 1e-3) * 10 ** rng.uniform(-15, 0)])
        if not (x < y and (family != "bernoulli" or y < 1)):
            continue
        d, slope = FAMILIES[family](x, y)
        with mpmath.workdps(50):
            p, q = mpmath.mpf(x), mpmath.mpf(y)
            assert abs(d / EXACT[family](p, q) - 1) < 5e-15, (x, y)
            assert abs(slope / SLOPES[family](p, q) - 1) < 5e-15, (x, y)


def test_divergences_at_the_ends() -> None:
    assert FAMILIES["bernoulli"](0.3, 1.0)[0] == INF
    assert FAMILIES["bernoulli"](0.0, 0.5) == (math.log(2), 2.0)
    assert FAMILIES["bernoulli"](1e-320, 0.5)[0] == math.log(2)
    assert FAMILIES["poisson"](0.0, 3.0) == (3.0, 1.0)
    assert FAMILIES["exponential"](0.0, 3.0)[0] == INF


@EACH
def test_indices_to_fifty_digits(family: str) -> None:
    rng = Random(2)
    for _ in range(300):
        check_indices(*random_state(family, rng))


@EACH
@pytest.mark.parametrize("width", [0.0, 0.01, INF])
def test_indices_of_extreme_states(family: str, width: float) -> None:
    """Few and many pulls side by side, means at the ends of the domain, fifty arms."""
    least = 1e-6 if family == "exponential" else 0.0
    means = [least, 1.0, 0.5, least, 1.0 - 1e-9, 1e-9, 1.0]
    for pulls in (
        [1] * 7,
        [10**6] * 7,
        [1, 10**6, 1, 10**6, 1, 10**6, 1],
        [10**6, 1, 10**6, 1, 10**6, 1, 10**6],
    ):
        totals = [t * m for t, m in zip(pulls, means, strict=True)]
        for a, n in ((0.0, 2), (0.0, sum(pulls) + 1), (5.0, 10**12)):
            check_indices(Reference(family, [[0, 1, 2, 3, 4], [5, 6]], [width, width], a), pulls, totals, n)
    many = [range(50)]
    check_indices(Reference(family, many, [width]), [2] * 50, [0.5 + 0.02 * k for k in range(50)], 101)


@EACH
def test_index_below_the_own_mean(family: str) -> None:
    pulls, totals = [10, 10_000], [8.0, 2000.0]
    policy = Reference(family, [[0, 1]], [0.05])
    value = policy.indices(pulls, totals, 10_011)[0]
    assert 0.25 < value < 0.8
    check_indices(policy, pulls, totals, 10_011)


def naive(family: str, x: float, y: float) -> float:
    if y <= x:
        return 0.0
    if family == "gaussian":
        return (x - y) ** 2 / 2
    if family == "poisson":
        return y - x + x * math.log(x / y)
    if family == "exponential":
        return x / y - 1 - math.log(x / y)
    if family == "negative-binomial":
        return x * math.log(x / y) - (1 + x) * math.log((1 + x) / (1 + y))
    return x * math.log(x / y) + (1 - x) * math.log((1 - x) / (1 - y)) if y < 1 else INF


@EACH
def test_indices_against_a_grid(family: str) -> None:
    """The candidates of a grid at which the textbook evidence is at most f(n) are those up to the index."""
    rng = Random(3)
    for _ in range(15):
        pulls = [rng.randint(1, 60) for _ in range(5)]
        means = [rng.uniform(0.05, 0.95) for _ in range(5)]
        totals = [t * m for t, m in zip(pulls, means, strict=True)]
        policy = Reference(family, [[3, 0], [1, 4, 2]], [rng.random() / 3, 0.0])
        n = sum(pulls) + 1
        for k, v in enumerate(policy.indices(pulls, totals, n)):
            cluster, width = width_around(policy, k)
            top = 1.0 if family == "bernoulli" else 2 * abs(v) + 1
            for i in range(501):
                q = top * i / 500
                value = sum(pulls[j] * naive(family, means[j], q - (j != k) * width) for j in cluster)
                assert (value <= math.log(n)) == (q <= v), (policy, pulls, totals, k, q)


def test_closed_forms() -> None:
    """Gaussian arms, a Poisson and a Bernoulli arm with rewards of 0, a Bernoulli arm with rewards of 1."""
    f = math.log(20)
    gaussian = Reference("gaussian", [[0], [1]], None, weight=4.0).indices([3, 5], [6.0, -5.0], 20)
    assert gaussian == pytest.approx([2 + math.sqrt(f / 6), -1 + math.sqrt(f / 10)], rel=1e-15)
    assert Reference("poisson", [[0]], None).indices([4], [0.0], 20) == pytest.approx([f / 4], rel=1e-15)
    bernoulli = Reference("bernoulli", [[0, 1]], None).indices([4, 3], [0.0, 3.0], 20)
    assert bernoulli == pytest.approx([-math.expm1(-f / 4), 1.0], rel=1e-15)
    # Two Gaussian arms of mean 2 in a cluster of width 1: (q - 2)² + 2 (q - 3)² = log 20.
    both = Reference("gaussian", [[0, 1]], [1.0]).indices([2, 4], [4.0, 8.0], 20)[0]
    assert both == pytest.approx((8 + math.sqrt(3 * f - 2)) / 3, rel=1e-15)


def test_an_index_ends_where_means_do() -> None:
    assert Reference("exponential", [[0]], None, weight=0.001).indices([1], [1.0], 10) == [1e100]


def test_bernoulli_arm_that_always_paid_in_a_cluster() -> None:
    policy = Reference("bernoulli", [[0, 1]], [0.0])
    assert policy.indices([3, 2], [3.0, 2.0], 6) == [1.0, 1.0]
    low, same = policy.indices([3, 2], [3.0, 1.0], 6)
    assert low == pytest.approx(same, rel=1e-15)
    assert low < 1
    assert Reference("bernoulli", [[0, 1]], [0.5]).indices([3, 2], [3.0, 1.0], 6)[0] == 1.0


@pytest.mark.parametrize(
    ("n", "f"), [(1, 0.0), (2, math.log(2)), (20, math.log(20) + 5 * math.log(math.log(20)))]
)
def test_threshold(n: int, f: float) -> None:
    policy = Reference("poisson", [[0]], None, a=5.0)
    assert policy.threshold(n) == pytest.approx(f, rel=1e-15)
    assert policy.indices([1], [0.0], n) == pytest.approx([f], rel=1e-15)


@EACH
def test_infinite_width_is_kl_ucb(family: str) -> None:
    rng = Random(4)
    for _ in range(50):
        policy, pulls, totals, n = random_state(family, rng)
        wide = replace(policy, widths=[INF] * len(policy.clusters))
        plain = replace(policy, widths=None)
        alone = replace(policy, clusters=[[k] for k in range(len(pulls))], widths=[0.0] * len(pulls))
        assert wide.indices(pulls, totals, n) == plain.indices(pulls, totals, n)
        assert alone.indices(pulls, totals, n) == plain.indices(pulls, totals, n)
        assert wide.choose(pulls, totals, n) == plain.choose(pulls, totals, n)


def test_ties_go_to_the_least_pulled_then_to_the_lowest() -> None:
    # With width 0 all arms of a cluster have the same index, up to rounding.
    policy = Reference("bernoulli", [[2, 0, 1, 3]], [0.0])
    assert policy.choose([5, 3, 3, 4], [2.0, 1.0, 2.0, 0.0], 16) == 1
    assert policy.choose([5, 4, 2, 3], [4.0, 3.0, 1.0, 3.0], 15) == 2
    assert policy.choose([2, 2, 2, 2], [0.0, 2.0, 1.0, 1.0], 9) == 0


@pytest.mark.parametrize(("ahead", "chosen"), [(0.0, 0), (2e-14, 0), (1e-12, 1)])
def test_indices_closer_than_rounding_are_tied(ahead: float, chosen: int) -> None:
    policy = Reference("gaussian", [[0], [1]], None)
    assert policy.choose([4, 4], [400.0, 400.0 * (1 + ahead)], 9) == chosen


def test_without_a_tie_the_largest_index_wins() -> None:
    policy = Reference("bernoulli", [[0, 1], [2]], None)
    assert policy.choose([1, 1, 100], [0.0, 1.0, 99.0], 103) == 1
    assert policy.choose([50, 60, 100], [40.0, 20.0, 60.0], 211) == 0


@pytest.mark.parametrize(
    ("pulls", "totals", "cluster"),
    [
        ([10, 10, 10, 10], [5.0, 4.0, 3.0, 2.0], 0),
        ([10, 10, 10, 10], [4.0, 3.0, 5.0, 2.0], 1),
        ([20, 10, 10, 10], [10.0, 4.0, 5.0, 2.0], 1),  # equal means: fewest pulls
        ([10, 10, 20, 10], [5.0, 4.0, 10.0, 2.0], 0),
        ([10, 10, 10, 10], [4.0, 3.0, 5.0, 5.0], 1),  # and as many: lowest number
        ([10, 10, 10, 10], [5.0, 5.0, 4.0, 4.0], 0),
    ],
)
def test_the_cluster_of_the_leader_is_plain(pulls: list[int], totals: list[float], cluster: int) -> None:
    """With leader="plain" the given cluster has KL-UCB's indices, the others those of Clus-UCB."""
    clusters, n = [[0, 3], [1, 2]], sum(pulls) + 1
    clustered = Reference("bernoulli", clusters, [0.0, 0.0])
    kl = Reference("bernoulli", clusters, None).indices(pulls, totals, n)
    wanted = clustered.indices(pulls, totals, n)
    assert all(abs(wanted[k] - kl[k]) > 1e-6 for k in range(4))
    for k in clusters[cluster]:
        wanted[k] = kl[k]
    assert replace(clustered, leader="plain").indices(pulls, totals, n) == wanted


def random_tape(K: int, length: int, seed: int) -> list[list[float]]:
    rng = Random(seed)
    return [[float(rng.random() < 0.3 + 0.1 * k) for _ in range(length)] for k in range(K)]


@pytest.mark.parametrize("refresh", [1, 2, 7, 50])
@pytest.mark.parametrize("leader", ["clustered", "plain"])
def test_play_chooses_when_it_should_and_holds_between(refresh: int, leader: str) -> None:
    tape = random_tape(5, 200, seed=refresh)
    policy = Reference("bernoulli", [[4, 0], [1, 3, 2]], [0.4, 0.2], 0.0, refresh, leader)
    arms = policy.play(tape, 200)
    assert arms[:5] == [0, 1, 2, 3, 4]
    assert len(set(arms[5:])) > 1
    for n in range(6, 201):
        if n in range(6, 201, refresh):
            pulls = [arms[: n - 1].count(k) for k in range(5)]
            totals = [sum(tape[k][: pulls[k]], start=0.0) for k in range(5)]
            assert arms[n - 1] == policy.choose(pulls, totals, n)
        else:
            assert arms[n - 1] == arms[n - 2]


def test_play_by_hand() -> None:
    """Two arms, one paying and one not: log n = t log(1/(1 - q)) for the one, index 1 for the other."""
    policy = Reference("bernoulli", [[0], [1]], None)
    assert policy.play([[0.0] * 9, [1.0] * 9], 6) == [0, 1, 1, 1, 1, 1]
    assert policy.play([[1.0] * 9, [1.0] * 9], 6) == [0, 1, 0, 1, 0, 1]
    assert replace(policy, refresh=3).play([[1.0] * 9, [1.0] * 9], 9) == [0, 1, 0, 0, 0, 1, 1, 1, 0]
    assert policy.play([[1.0], [1.0]], 1) == [0]


def test_clusters_matter() -> None:
    tape = random_tape(6, 400, seed=1)
    clusters = [[0, 2, 4], [1, 3, 5]]
    narrow = Reference("bernoulli", clusters, [0.05, 0.05]).play(tape, 400)
    plain = Reference("bernoulli", clusters, None).play(tape, 400)
    assert narrow != plain
    assert Reference("bernoulli", clusters, [INF, INF]).play(tape, 400) == plain
