"""Hier-TS: the weights of its grid, and what it draws, against scipy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import betaln

import clusterbandits as cb
from clusterbandits.families.posterior import flat_prior, log_evidence
from clusterbandits.policies.hier_ts import MEANS, POINTS, STRENGTHS
from clusterbandits.policies.protocol import entries

PULLS, TOTALS = [5, 40, 12], [1.0, 22.0, 9.0]


def asked(policy: Any, count: int) -> tuple[Any, np.ndarray[Any, Any]]:
    state = policy._live
    select = entries(state).select
    draws = np.array([[select(state, 100), *state.draws] for _ in range(count)])
    return state, draws[:, 1:]


def after_rewards(family: str = "bernoulli", **settings: Any) -> Any:
    policy = cb.HierTS(cb.Clusters([3], widths=0.2), family=family, alarm="ignore", **settings)
    for arm, (pulls, total) in enumerate(zip(PULLS, TOTALS, strict=True)):
        policy.tell(arm, total, pulls=pulls)
    return policy


def expected_weights() -> np.ndarray[Any, Any]:
    """How likely all rewards are at every point: arms are draws from Beta(ν m + 1, ν (1 − m) + 1)."""
    means = (np.arange(MEANS) + 0.5) / MEANS
    logs = []
    for strength in 0.25 * 4.0 ** np.arange(STRENGTHS):
        a, b = strength * means + 1, strength * (1 - means) + 1
        both = zip(PULLS, TOTALS, strict=True)
        logs.append(sum(betaln(a + s, b + t - s) - betaln(a, b) for t, s in both))
    weights = np.exp(np.concatenate(logs) - np.max(logs))
    return np.asarray(weights / weights.sum())


def test_the_grid_is_weighed_by_the_likelihood() -> None:
    state, _ = asked(after_rewards(), 1)
    found = np.diff(state.grid[0] / state.grid[0, POINTS - 1], prepend=0.0)
    assert found == pytest.approx(expected_weights(), abs=1e-12)


@pytest.mark.statistical
def test_draws_are_the_mixture_over_the_grid() -> None:
    _, draws = asked(after_rewards(), 6000)
    rng = np.random.default_rng(2)
    points = rng.choice(POINTS, size=6000, p=expected_weights())
    strength, mean = 0.25 * 4.0 ** (points // MEANS), (points % MEANS + 0.5) / MEANS
    for arm, (t, s) in enumerate(zip(PULLS, TOTALS, strict=True)):
        a, b = strength * mean + 1 + s, strength * (1 - mean) + 1 + t - s
        assert stats.ks_2samp(draws[:, arm], rng.beta(a, b)).pvalue > 1e-4


def test_draws_can_respect_widths() -> None:
    _, draws = asked(after_rewards(widths="respected"), 500)
    assert np.ptp(draws, axis=1).max() <= 0.2 * (1 + 1e-12)
    _, free = asked(after_rewards(), 500)
    assert np.ptp(free, axis=1).max() > 0.2


@pytest.mark.parametrize(
    "family", ["gaussian:sigma=0.5", "poisson", "exponential:shape=2", "negative-binomial:shape=2"]
)
def test_other_families_draw_around_their_means(family: str) -> None:
    _, draws = asked(after_rewards(family), 4000)
    means = np.array(TOTALS) / np.array(PULLS)
    pooled = sum(TOTALS) / sum(PULLS)
    # Drawn towards the mean of all, and not beyond it.
    for arm, mean in enumerate(means):
        drawn = float(np.median(draws[:, arm]))
        assert min(mean, pooled) - 0.12 < drawn < max(mean, pooled) + 0.12


@pytest.mark.parametrize(
    ("family", "density"),
    [
        ("bernoulli", lambda u, t, s: u**s * (1 - u) ** (t - s)),
        ("poisson", lambda u, t, s: u**s * math.exp(-t * u)),
        ("exponential:shape=2", lambda u, t, s: u ** (-2 * t - 1) * math.exp(-2 * s / u)),
        ("gaussian:sigma=0.5", lambda u, t, s: math.exp(4 * (s * u - t * u * u / 2))),
        ("negative-binomial:shape=2", lambda u, t, s: u**s * (1 + u / 2) ** (-s - 2 * t - 1)),
        ("negative-binomial:shape=30", lambda u, t, s: u**s * (1 + u / 30) ** (-s - 30 * t - 1)),
    ],
)
def test_likelihoods_are_ratios_of_integrals(family: str, density: Any) -> None:
    law, data = cb.as_family(family).law, (6.0, 4.0)
    low, high = {"bernoulli": (0, 1), "gaussian": (-20, 20)}.get(family.partition(":")[0], (1e-9, 200))

    def integral(t: float, s: float) -> float:
        return float(integrate.quad(density, low, high, args=(t, s), points=[0.3, 0.7, 1.0], limit=400)[0])

    found, expected = [], []
    for known, mean in ((3.0, 0.5), (5.0, 0.7)):
        flat, flat_total = flat_prior(law)
        found.append(log_evidence(law, *data, known + flat, known * mean + flat_total))
        both = integral(data[0] + known, data[1] + known * mean)
        expected.append(math.log(both / integral(known, known * mean)))
    # Up to what does not depend on what was known.
    assert found[1] - found[0] == pytest.approx(expected[1] - expected[0], abs=1e-7)


def test_gaussian_weights_do_not_depend_on_the_origin() -> None:
    grids = []
    for origin in (0.0, 1e7):
        policy: Any = cb.HierTS(cb.Clusters([3], widths=1), family="gaussian", alarm="ignore")
        for arm, mean in enumerate((0.1, 0.4, 0.3)):
            policy.tell(arm, 100 * (origin + mean), pulls=100)
        state, _ = asked(policy, 1)
        grids.append(state.grid[0] / state.grid[0, POINTS - 1])
    assert np.abs(grids[0] - grids[1]).max() < 1e-4
