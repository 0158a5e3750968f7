"""Clus-TS draws from the posterior restricted to the widths: against rejection and quadrature."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special, stats

import clusterbandits as cb
from clusterbandits.families import FAMILIES
from clusterbandits.families.posterior import Density, strength
from clusterbandits.policies.protocol import entries
from clusterbandits.policies.restricted.mass import log_mass

Floats = NDArray[np.float64]
SMALLEST_P = 1e-4


def drawn(
    pulls: list[int], totals: list[float], width: float, count: int, family: str = "bernoulli"
) -> Floats:
    """Draw the means of one cluster, through the policy's own kernels."""
    policy = cb.ClusTS(cb.Clusters([len(pulls)], widths=width), family=family, alarm="ignore")
    for arm, (many, total) in enumerate(zip(pulls, totals, strict=True)):
        policy.tell(arm, total, pulls=many)
    state: Any = policy._live
    select = entries(state).select
    draws = np.empty((count, len(pulls)))
    for place in range(count):
        select(state, 1000)
        draws[place] = state.draws
    return draws


def by_rejection(sampler: Any, width: float, count: int) -> Floats:
    """Draw from the posterior without the width until enough draws respect it."""
    kept: list[Floats] = []
    while sum(map(len, kept)) < count:
        draws = sampler(200_000)
        kept.append(draws[np.ptp(draws, axis=1) <= width])
    return np.concatenate(kept)[:count]


def flat(size: int) -> tuple[list[int], list[float]]:
    return [4] * size, [float(i % 3 + 1) for i in range(size)]


def sharp(size: int) -> tuple[list[int], list[float]]:
    return [400] * size, [160.0 + i % 4 for i in range(size)]


def sharpest(size: int) -> tuple[list[int], list[float]]:
    return [40_000] * size, [16_000.0 + 40 * (i % 4) for i in range(size)]


CASES = [
    (flat, 2, 0.02),
    (flat, 2, 0.5),
    (flat, 3, 0.05),
    (flat, 3, 0.3),
    (flat, 10, 0.5),
    (sharp, 2, 0.02),
    (sharp, 3, 0.02),
    (sharp, 3, 0.1),
    (sharp, 10, 0.05),
    (sharp, 10, 0.2),
    (sharpest, 3, 0.02),
    (sharpest, 10, 0.02),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("shape", "size", "width"), CASES)
def test_draws_equal_rejection(shape: Any, size: int, width: float) -> None:
    pulls, totals = shape(size)
    rng = np.random.default_rng(11)
    s, t = np.array(totals), np.array(pulls)
    expected = by_rejection(lambda n: rng.beta(s + 1, t - s + 1, (n, size)), width, 2000)
    found = drawn(pulls, totals, width, 2000)
    assert np.ptp(found, axis=1).max() <= width * (1 + 1e-12)
    columns = [*range(size)]
    for column in columns:
        assert stats.ks_2samp(found[:, column], expected[:, column]).pvalue > SMALLEST_P
    for summary in (np.ptp, np.min, np.max):
        assert stats.ks_2samp(summary(found, axis=1), summary(expected, axis=1)).pvalue > SMALLEST_P


@pytest.mark.statistical
@pytest.mark.parametrize(
    "family",
    [
        "gaussian:sigma=0.5",
        "poisson",
        "exponential",
        "exponential:shape=3",
        "negative-binomial",
        "negative-binomial:shape=0.2",
    ],
)
def test_other_families_equal_rejection(family: str) -> None:
    pulls, totals, width = [3, 6, 10], [2.0, 5.0, 7.0], 0.2
    s, t = np.array(totals), np.array(pulls)
    rng = np.random.default_rng(5)
    shape = float(family.partition("shape=")[2] or 1.0)
    samplers: dict[str, Any] = {
        "gaussian": lambda n: rng.normal(s / t, 0.5 / np.sqrt(t), (n, 3)),
        "poisson": lambda n: rng.gamma(s + 1, 1 / t, (n, 3)),
        "exponential": lambda n: shape * s / rng.gamma(shape * t, 1.0, (n, 3)),
        "negative-binomial": lambda n: (
            shape * rng.gamma(s + 1, 1.0, (n, 3)) / rng.gamma(shape * t, 1.0, (n, 3))
        ),
    }
    expected = by_rejection(samplers[family.partition(":")[0]], width, 3000)
    found = drawn(pulls, totals, width, 3000, family)
    for column in range(3):
        assert stats.ks_2samp(found[:, column], expected[:, column]).pvalue > SMALLEST_P
    assert stats.ks_2samp(np.ptp(found, axis=1), np.ptp(expected, axis=1)).pvalue > SMALLEST_P


def moments_by_quadrature(pulls: list[int], totals: list[float], width: float) -> Floats:
    """The means of all arms under the width, by integrating over the lowest."""
    a, b = np.array(totals) + 1.0, np.array(pulls) - np.array(totals) + 1.0
    size = len(pulls)

    def inside(x: float, shift: float = 0.0) -> Floats:
        cdf = special.betainc
        return np.asarray(cdf(a + shift, b, min(x + width, 1.0)) - cdf(a + shift, b, x))

    def density(x: float, j: int) -> float:
        return float(stats.beta.pdf(x, a[j], b[j]) * np.delete(inside(x), j).prod())

    def weighted(x: float, k: int) -> float:
        part, first = inside(x)[k], inside(x, 1.0)[k] * a[k] / (a[k] + b[k])
        mean_inside = float(first / part) if part > 1e-200 else x
        return sum(density(x, j) * (x if j == k else mean_inside) for j in range(size))

    options = {"limit": 400, "epsabs": 0.0, "epsrel": 1e-8, "points": (0.2, 0.4, 0.45, 0.6)}
    whole = integrate.quad(lambda x: sum(density(x, j) for j in range(size)), 1e-9, 1 - 1e-9, **options)[0]
    return np.array(
        [integrate.quad(weighted, 1e-9, 1 - 1e-9, args=(k,), **options)[0] / whole for k in range(size)]
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("pulls", "totals", "width"),
    [
        ([3, 7], [1.0, 6.0], 0.1),
        ([5, 40, 12], [1.0, 22.0, 9.0], 0.05),
        ([60, 90, 30], [18.0, 45.0, 20.0], 0.1),
        ([8] * 10, [float(i % 7) for i in range(10)], 0.3),
        ([8] * 10, [float(i % 7) for i in range(10)], 0.02),
    ],
)
def test_means_equal_quadrature(pulls: list[int], totals: list[float], width: float) -> None:
    found = drawn(pulls, totals, width, 4000)
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert np.abs((found.mean(axis=0) - moments_by_quadrature(pulls, totals, width)) / errors).max() < 4.5


@pytest.mark.statistical
def test_width_0_pools() -> None:
    found = drawn([5, 20, 9], [2.0, 11.0, 3.0], 0.0, 3000)
    assert (np.ptp(found, axis=1) == 0).all()
    assert stats.kstest(found[:, 0], stats.beta(17, 19).cdf).pvalue > SMALLEST_P


@pytest.mark.statistical
@pytest.mark.parametrize(
    "family", ["gaussian", "poisson", "exponential:shape=0.5", "negative-binomial:shape=0.5"]
)
def test_width_0_pools_in_every_family(family: str) -> None:
    found = drawn([5, 20, 9], [2.0, 11.0, 3.0], 0.0, 3000, family)[:, 0]
    laws = {
        "gaussian": stats.norm(16 / 34, 34**-0.5),
        "poisson": stats.gamma(17, scale=1 / 34),
        "exponential:shape=0.5": stats.invgamma(17 + 2, scale=8),
        # Three priors 1/(u + r): one more than the posterior of one arm has, twice.
        "negative-binomial:shape=0.5": stats.betaprime(17, 17 + 2, scale=0.5),
    }
    assert stats.kstest(found, laws[family].cdf).pvalue > SMALLEST_P


@pytest.mark.parametrize(("width", "mean"), [(1e-17, 0.5), (1e-8, 1e9), (1e-14, 0.5)])
def test_widths_that_floats_cannot_tell_are_0(width: float, mean: float) -> None:
    family = "gaussian" if mean > 1 else "bernoulli"
    found = drawn([10, 10], [10 * mean, 10 * mean], width, 400, family)
    assert (np.ptp(found, axis=1) == 0).all()
    assert found[:, 0].std() > 0.07


@pytest.mark.parametrize(
    ("pulls", "total", "low", "high"),
    [(1.0, 0.5, 0.0, 1.0), (2.0, 0.3, 0.0, 0.02), (1.25, 1.0078, 0.9, 1.0), (10.0, 0.5, 1e-4, 0.05)],
)
def test_mass_of_fractional_totals(pulls: float, total: float, low: float, high: float) -> None:
    """Rewards between 0 and 1: u^s (1 − u)^(t−s) is no polynomial."""
    of = Density(cb.Bernoulli().law, pulls, total / pulls)
    found = log_mass(of, low, high) - log_mass(of, 0.0, 1.0)
    a, b = total + 1, pulls - total + 1
    expected = special.betainc(a, b, high) - special.betainc(a, b, low)
    assert found == pytest.approx(math.log(expected), abs=1e-8)


def test_contradicted_widths_pin_the_means() -> None:
    found = drawn([10**6, 10**6], [10**5, 9 * 10**5], 0.1, 300)
    assert np.ptp(found, axis=1).max() <= 0.1 * (1 + 1e-12)
    assert np.allclose(found.mean(axis=0), [0.45, 0.55], atol=0.01)
    assert np.ptp(found, axis=1).min() > 0.0999


@pytest.mark.parametrize("family", FAMILIES)
def test_no_failure_on_random_states(family: str) -> None:
    """Thousands of clusters: any number of pulls, any spread and width, rewards 0 and 1."""
    rng = np.random.default_rng(23)
    slow = family in {"exponential", "negative-binomial"}
    sizes = rng.integers(2, 11, 300 if slow else 1000)
    widths = 10 ** rng.uniform(-4, 0.3, sizes.size)
    policy = cb.ClusTS(cb.Clusters(sizes.tolist(), widths=widths.tolist()), family=family, alarm="ignore")
    arms, turns = int(sizes.sum()), {"bernoulli": 20}.get(family, 1 if slow else 5)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    kernels = entries(policy._live)
    for _ in range(turns):
        state: Any = policy.fresh_state()
        pulls = np.floor(10 ** rng.uniform(0, 7, arms)).astype(int)
        centre = np.repeat(rng.uniform(0, 1, sizes.size), sizes)
        means = np.clip(
            centre + rng.normal(0, 1, arms) * np.repeat(10 ** rng.uniform(-4, 0, sizes.size), sizes), 0, 1
        )
        totals = np.round(pulls * means)
        if family == "exponential":
            totals = np.maximum(totals, 1e-3)
        state.pulls[:] = state.known_pulls[:] = pulls
        state.totals[:] = state.known_totals[:] = totals
        state.memory["unpulled"] = 0
        kernels.select(state, 10**9)
        spans = np.maximum.reduceat(state.draws, starts) - np.minimum.reduceat(state.draws, starts)
        assert np.isfinite(state.draws).all()
        assert (spans <= widths * (1 + 1e-9) + 1e-15).all()
        if family != "gaussian":
            assert (state.draws >= 0).all()
        if family in {"bernoulli", "bounded"}:
            assert (state.draws <= 1).all()


def test_supposed_rewards_leave_nothing_behind() -> None:
    """What a batch supposes of awaited pulls is forgotten with them."""
    policy: Any = cb.ClusTS(cb.Clusters([3], widths=0.02), alarm="ignore")
    for arm, total in enumerate((1, 5, 9)):
        policy.tell(arm, total, pulls=10)
    before: Any = cb.ClusTS.from_json(policy.to_json())
    batch = policy.ask(40)
    for arm in batch:
        policy.cancel(arm)
    policy._live.stream[:] = before._live.stream
    assert policy.ask() == before.ask()
    assert np.array_equal(policy._live.draws, before._live.draws)


@pytest.mark.parametrize("shape", [0.01, 0.1, 1.0, 2.5, 50.0])
@pytest.mark.parametrize(
    ("low", "high"),
    [(1e-3, 1e3), (1e-50, 1e50), (0.99, 1.02), (1000.0, 1000.0 + 1e-9), (5.0, 50.0), (1e-3, 1e-2)],
)
def test_masses_of_exponential_means(shape: float, low: float, high: float) -> None:
    """With F = t r, the mass is e^F m^F (F m)^(1 - F) [Γ(F - 1, F m/high) - Γ(F - 1, F m/low)]."""
    for pulls in (1, 20):
        with mpmath.workdps(80):
            strength = mpmath.mpf(pulls) + 1 / mpmath.mpf(shape)
            force, mode = strength * mpmath.mpf(shape), pulls / strength
            scale = force * mode
            part = mpmath.gammainc(force - 1, scale / mpmath.mpf(high), scale / mpmath.mpf(low))
            exact = mpmath.log(part * scale ** (1 - force) * mpmath.exp(force) * mode**force)
        of = Density(cb.as_family(f"exponential:shape={shape}").law, float(strength), float(mode))
        assert log_mass(of, low, high) == pytest.approx(float(exact), abs=1e-6)


@pytest.mark.parametrize("shape", [0.01, 0.5, 1.0, 30.0, 1e4])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1e-3), (0.0, 1e3), (0.4, 0.41), (5.0, 50.0)])
@pytest.mark.parametrize(("pulls", "total"), [(1.0, 0.0), (1.0, 3.0), (20.0, 11.0), (2.25, 0.7)])
def test_masses_of_negative_binomial_means(
    shape: float, low: float, high: float, pulls: float, total: float
) -> None:
    """Between two means lies the part of a Beta function of which u / (u + r) is the argument."""
    law = cb.NegativeBinomial(shape).law
    of = Density(law, strength(law, pulls), total / strength(law, pulls))
    with mpmath.workdps(60):
        r, s, t = mpmath.mpf(shape), mpmath.mpf(total), mpmath.mpf(pulls)
        ends = [mpmath.mpf(u) / (mpmath.mpf(u) + r) for u in (low, high)]
        part = r ** (-r * t) * mpmath.betainc(s + 1, r * t, *ends)
        mode = s / (t + 1 / r)
        top = mode**s * (mode + r) ** (-s - r * t - 1)
        exact = mpmath.log(part / top)
    assert log_mass(of, low, high) == pytest.approx(float(exact), abs=1e-6)
