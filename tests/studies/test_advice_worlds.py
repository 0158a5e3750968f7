"""Plausible worlds: drawn from the posterior they are said to be drawn from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln

from clusterbandits.studies.history import History, read_history
from clusterbandits.studies.plausible_worlds import plausible_means


def history(trials: list[int], successes: list[int], groups: list[int] | None = None) -> History:
    arms = list(range(len(trials)))
    return read_history(
        {"arm": arms, "group": groups or [0] * len(arms), "trials": trials, "successes": successes}
    )


def reference(trials: list[int], successes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return posterior means and standard deviations, by weighing laws drawn from their prior."""
    rng = np.random.default_rng(3)
    n, x = np.array(trials, dtype=float), np.array(successes, dtype=float)
    centre, spread = rng.random((2, 400_000))
    pseudo = 1 / spread**2 - 1
    up, down = (centre * pseudo)[:, None], ((1 - centre) * pseudo)[:, None]
    logs = (betaln(up + x, down + n - x) - betaln(up, down)).sum(axis=1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = (up + x) / (pseudo[:, None] + n)
    second = mean * (1 - mean) / (pseudo[:, None] + n + 1) + mean**2
    expected = weights @ mean
    return expected, np.sqrt(weights @ second - expected**2)


@pytest.mark.parametrize(
    ("trials", "successes"),
    [
        ([20, 5, 10], [3, 3, 0]),
        ([7], [2]),
        ([0, 12], [0, 12]),
        ([30, 30, 30, 30], [14, 15, 16, 15]),
        ([50, 60], [0, 1]),
    ],
)
def test_they_come_from_the_posterior(trials: list[int], successes: list[int]) -> None:
    drawn = plausible_means(history(trials, successes), 40_000, np.random.default_rng(0))
    mean, deviation = reference(trials, successes)
    # Three standard errors of the draws, and one percent for spreads beyond the ends of the grid.
    assert np.abs(drawn.mean(axis=0) - mean).max() < (3 * deviation / 200 + 0.003).max()
    np.testing.assert_allclose(drawn.std(axis=0), deviation, rtol=0.04, atol=0.002)


def test_groups_do_not_mix() -> None:
    both = history([100, 100, 100, 100], [10, 12, 80, 82], [0, 1, 0, 1])
    drawn = plausible_means(both, 2000, np.random.default_rng(0))
    apart = plausible_means(history([100, 100], [10, 80]), 2000, np.random.default_rng(1))
    np.testing.assert_allclose(drawn[:, [0, 2]].mean(axis=0), apart.mean(axis=0), atol=0.01)


def test_equal_arms_are_not_spread_out() -> None:
    """Arm by arm, means would spread as wide as the estimates again; groups know better."""
    rng = np.random.default_rng(5)
    ratio = []
    for _ in range(40):
        successes = rng.binomial(100, 0.3, size=20)
        drawn = plausible_means(history([100] * 20, successes.tolist()), 200, rng)
        ratio.append(np.ptp(drawn, axis=1).mean() / np.ptp(successes / 100))
    assert np.mean(ratio) < 0.7


def test_spread_arms_stay_spread() -> None:
    drawn = plausible_means(history([10_000] * 4, [1000, 3000, 5000, 9000]), 500, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0), [0.1, 0.3, 0.5, 0.9], atol=0.002)


@pytest.mark.parametrize(
    ("trials", "successes"),
    [([0], [0]), ([0, 0], [0, 0]), ([10**9, 10**9], [0, 10**9]), ([10**12], [5]), ([1] * 300, [1] * 300)],
)
def test_extremes_are_means(trials: list[int], successes: list[int]) -> None:
    drawn = plausible_means(history(trials, successes), 500, np.random.default_rng(0))
    assert np.isfinite(drawn).all()
    assert ((drawn >= 0) & (drawn <= 1)).all()


def test_equal_seeds_draw_equal_worlds() -> None:
    one = history([10, 20], [3, 4])
    first, second = (plausible_means(one, 50, np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(first, second)
