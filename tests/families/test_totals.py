"""The total of m rewards drawn at once has the law of m rewards added up."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from clusterbandits import Bernoulli, Bounded, Exponential, Family, Gaussian, InvalidInputError, Poisson
from tests.families import exact

EACH = pytest.mark.parametrize("family", exact.FAMILIES, ids=lambda family: family.spec)
LEAST_P = 1e-3


def draw(family: Family, mean: float, pulls: int, times: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.array([family.total(mean, pulls, rng) for _ in range(times)])


@EACH
@pytest.mark.parametrize("pulls", [1, 7, 300])
def test_law_of_the_total(family: Family, pulls: int) -> None:
    found = exact.standard(family, draw(family, 0.3, pulls, times=4000, seed=pulls), pulls)
    law = exact.total_law(family, 0.3, pulls)
    if not hasattr(law.dist, "pmf"):
        assert stats.kstest(found, law.cdf).pvalue > LEAST_P
        return
    edges = np.unique(law.ppf([0.0, 0.1, 0.3, 0.5, 0.7, 0.9]))
    share = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    cells = np.concatenate([[-np.inf], edges, [np.inf]])
    seen = np.array([np.sum((found > low) & (found <= high)) for low, high in pairwise(cells)])
    possible = share * found.size > 1e-9
    assert np.all(found == np.round(found))
    assert seen[~possible].sum() == 0
    assert stats.chisquare(seen[possible], share[possible] * found.size).pvalue > LEAST_P


@EACH
def test_total_equals_single_rewards_in_law(family: Family) -> None:
    at_once = exact.standard(family, draw(family, 0.3, 20, times=1500, seed=1), 20)
    rng = np.random.default_rng(2)
    added = np.array([sum(family.total(0.3, 1, rng) for _ in range(20)) for _ in range(1500)])
    assert stats.ks_2samp(at_once, exact.standard(family, added, 20)).pvalue > LEAST_P


@EACH
def test_a_million_million_pulls(family: Family) -> None:
    pulls, mean = 10**12, 0.3
    found = exact.standard(family, draw(family, mean, pulls, times=2000, seed=3), pulls)
    law = exact.total_law(family, mean, pulls)
    assert law.mean() == pytest.approx(float(exact.standard(family, pulls * mean, pulls)))
    score = (found - law.mean()) / law.std()
    assert stats.kstest(score, stats.norm.cdf).pvalue > LEAST_P


@pytest.mark.parametrize(("mean", "wanted"), [(0.0, 0.0), (1.0, 10.0**12)])
def test_certain_rewards(mean: float, wanted: float) -> None:
    assert Bernoulli().total(mean, 10**12, np.random.default_rng(0)) == wanted


def test_no_pulls_pay_nothing() -> None:
    for family in exact.FAMILIES:
        assert family.total(0.5, 0, np.random.default_rng(0)) == 0


@pytest.mark.parametrize("pulls", [-1, 1.5, "3", None, True, np.nan])
def test_pulls_are_whole(pulls: Any) -> None:
    with pytest.raises(InvalidInputError, match="Poisson: pulls must be a whole number"):
        Poisson().total(0.5, pulls, np.random.default_rng(0))


def test_counts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="Poisson: pulls must be at most 1 for a mean of 1e"):
        Poisson().total(1e18, 100, 0)
    with pytest.raises(InvalidInputError, match="must be a whole number of at most"):
        Bernoulli().total(0.5, 10**16, 0)
    assert abs(Poisson().total(1e6, 10**12, 0) - 1e18) < 1e10


def test_a_seed_serves_as_generator() -> None:
    assert Bernoulli().total(0.5, 100, 3) == Bernoulli().total(0.5, 100, np.random.default_rng(3))


def test_only_gaussian_rewards_have_no_floor() -> None:
    assert all(family.law.lowest >= 0 for family in (Bernoulli(), Poisson(), Exponential(), Bounded()))
    assert Bounded(low=-2.0).law.lowest == -2.0
    assert Gaussian().law.lowest < 0
    assert draw(Gaussian(), 0.0, 1, times=50, seed=0).min() < 0
