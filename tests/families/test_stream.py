"""The random stream of policies: SFC64 as NumPy has it, and distributions as SciPy has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import clusterbandits as cb
from clusterbandits.families import FAMILIES
from clusterbandits.families.posterior import draw_mean
from clusterbandits.families.stream import beta, fresh_stream, gamma, normal, uniform

DRAWS = 20_000


def a_stream(seed: int = 1) -> Any:
    return fresh_stream(np.random.default_rng(seed))


def test_uniform_numbers_are_those_of_numpy() -> None:
    stream, generator = a_stream(), np.random.SFC64()
    now = generator.state
    now["state"]["state"] = stream.copy()
    now["has_uint32"] = 0
    generator.state = now
    expected = np.random.Generator(generator).random(1000)
    assert [uniform(stream) for _ in range(1000)] == expected.tolist()


def test_streams_of_other_seeds_differ() -> None:
    assert len({uniform(a_stream(seed)) for seed in range(100)}) == 100


def test_normal_draws() -> None:
    stream = a_stream(2)
    drawn = np.array([normal(stream) for _ in range(10 * DRAWS)])
    assert stats.kstest(drawn, "norm").pvalue > 1e-4
    beyond = np.count_nonzero(np.abs(drawn) > 3.5)
    assert stats.binomtest(beyond, drawn.size, 2 * stats.norm.sf(3.5)).pvalue > 1e-4


@pytest.mark.parametrize("shape", [1e-3, 0.05, 0.7, 1.0, 1.5, 30.0, 1e9])
def test_gamma_draws(shape: float) -> None:
    stream = a_stream(3)
    drawn = np.array([gamma(stream, shape) for _ in range(DRAWS)])
    assert (drawn > 0).all()
    # Below the smallest float that a draw can be, the distribution has an atom.
    kept = drawn[drawn > 1e-290]
    low = stats.gamma.cdf(1e-290, shape)
    assert stats.kstest((stats.gamma.cdf(kept, shape) - low) / (1 - low), "uniform").pvalue > 1e-4
    assert stats.binomtest(drawn.size - kept.size, drawn.size, low).pvalue > 1e-4


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.02, 3.0), (2.5, 0.5), (400.0, 1e5)])
def test_beta_draws(a: float, b: float) -> None:
    stream = a_stream(4)
    drawn = [beta(stream, a, b) for _ in range(DRAWS)]
    assert stats.kstest(drawn, "beta", (a, b)).pvalue > 1e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_knowledge_has_the_mean_that_it_says(family: str) -> None:
    """Conjugate: the mean of draws is total / pulls, whatever the family."""
    law, stream = cb.as_family(family).law, a_stream(5)
    drawn = np.array([draw_mean(law, stream, 12.0, 4.8) for _ in range(DRAWS)])
    error = drawn.std() / math.sqrt(DRAWS)
    assert abs(drawn.mean() - 0.4) < 4.5 * error
