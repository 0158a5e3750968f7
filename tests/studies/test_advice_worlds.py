"""Plausible worlds: drawn from the posterior they are said to be drawn from."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betaln, expit

from clusterbandits.studies.history import History, read_history
from clusterbandits.studies.observed_groups import Rewards
from clusterbandits.studies.plausible_means import plausible_means


def history(trials: list[int], successes: list[int], groups: list[int] | None = None) -> History:
    arms = list(range(len(trials)))
    return read_history(
        {"arm": arms, "group": groups or [0] * len(arms), "trials": trials, "successes": successes}
    )


def revenue(trials: list[int], totals: list[float], squares: list[float], groups: list[int]) -> History:
    columns = {"arm": list(range(len(trials))), "group": groups, "trials": trials}
    return read_history({**columns, "total": totals, "squares": squares}, family="bounded:low=0,high=10")


def half_cauchy(low: float, high: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from the half-Cauchy law between two values, by inversion."""
    return np.tan(rng.uniform(math.atan(low), math.atan(high), count))


def laws(
    groups: int, middle: float, deviation: float, unit: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw centres and spreads of groups from their prior, ``[world, group]``."""
    count = 1_500_000
    overall = middle + deviation * rng.standard_normal(count)
    centres = overall[:, None] + unit * half_cauchy(0.05, 4.0, count, rng)[:, None] * rng.standard_normal(
        (count, groups)
    )
    log_common = np.log(half_cauchy(0.01, 3.0, count, rng))[:, None]
    # A Cauchy law between the ends of the grid, by inversion.
    low, high = (np.arctan((np.log(end) - log_common) / 0.2) for end in (0.01, 3.0))
    log_spreads = log_common + 0.2 * np.tan(low + (high - low) * rng.random((count, groups)))
    return centres, unit * np.exp(log_spreads)


def moments(
    logs: np.ndarray, means: np.ndarray, variances: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return posterior means and standard deviations, and how many equal draws the weights are worth."""
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    expected = weights @ means
    return expected, np.sqrt(weights @ (variances + means**2) - expected**2), 1 / (weights @ weights)


@pytest.mark.parametrize(
    ("trials", "successes", "groups"),
    [
        ([20, 5, 10], [3, 3, 0], [0, 0, 0]),
        ([7], [2], [0]),
        ([0, 12], [0, 12], [0, 0]),
        ([30, 30, 30, 30], [14, 15, 16, 15], [0, 0, 1, 1]),
        ([50, 60, 40], [0, 1, 9], [0, 0, 1]),
        ([12, 9, 15, 8, 0, 0], [3, 4, 2, 1, 0, 0], [0, 0, 1, 1, 1, 2]),
    ],
)
def test_they_come_from_the_posterior(trials: list[int], successes: list[int], groups: list[int]) -> None:
    """Against laws that are drawn from their prior and weighed."""
    member, n, x = np.array(groups), np.array(trials, dtype=float), np.array(successes, dtype=float)
    centres, spreads = laws(member.max() + 1, 0.0, 3.0, 1.0, np.random.default_rng(3))
    rate, precision = expit(centres)[:, member], spreads[:, member] ** -2
    up, down = precision / np.maximum(1 - rate, 1e-12), precision / np.maximum(rate, 1e-12)
    logs = (betaln(up + x, down + n - x) - betaln(up, down)).sum(axis=1)
    mean = (up + x) / (up + down + n)
    expected, deviation, worth = moments(logs, mean, mean * (1 - mean) / (up + down + n + 1))
    assert worth > 5_000
    drawn = plausible_means(history(trials, successes, groups), 40_000, np.random.default_rng(0))
    # Four standard errors of both, and what the grids may be off.
    room = 4 * deviation * np.sqrt(1 / 40_000 + 1 / worth) + 0.003
    assert (np.abs(drawn.mean(axis=0) - expected) < room).all()
    np.testing.assert_allclose(drawn.std(axis=0), deviation, rtol=0.06, atol=0.002)


def test_revenues_come_from_the_posterior() -> None:
    trials, totals, squares = [10, 5, 8, 6, 0], [30.0, 20.0, 16.0, 9.0, 0.0], [120.0, 95.0, 50.0, 20.0, 0.0]
    groups = [0, 0, 1, 1, 1]
    tried, member = np.array(trials) > 0, np.array(groups)
    table = revenue(trials, totals, squares, groups)
    observed = [Rewards(sums) for sums in table.sums()]
    places, variances = (
        np.concatenate([getattr(one, name) for one in observed]) for name in ("places", "variances")
    )
    unit = max(places.std(), np.sqrt(variances.mean()))
    centres, spreads = laws(2, 5.0, 5.0, unit, np.random.default_rng(3))
    centre, variance = centres[:, member], spreads[:, member] ** 2
    total = variance[:, tried] + variances
    logs = -0.5 * ((places - centre[:, tried]) ** 2 / total + np.log(total)).sum(axis=1)
    mean, left = centre.copy(), variance.copy()
    mean[:, tried] = (variance[:, tried] * places + variances * centre[:, tried]) / total
    left[:, tried] = variance[:, tried] * variances / total
    expected, deviation, worth = moments(logs, mean[:, tried], left[:, tried])
    assert worth > 5_000
    drawn = plausible_means(table, 40_000, np.random.default_rng(0))
    room = 4 * deviation * np.sqrt(1 / 40_000 + 1 / worth) + 0.002 * unit
    assert (np.abs(drawn[:, tried].mean(axis=0) - expected) < room).all()
    np.testing.assert_allclose(drawn[:, tried].std(axis=0), deviation, rtol=0.05)


def test_other_groups_tell_how_far_arms_are_apart() -> None:
    """An arm with few trials is drawn closer to its group where the arms of other groups are close."""
    deviations = []
    for successes in ([300, 302, 298, 301], [100, 500, 250, 350]):
        both = history([1000] * 4 + [1000, 5], [*successes, 300, 2], [0] * 4 + [1, 1])
        deviations.append(plausible_means(both, 4000, np.random.default_rng(0))[:, 5].std())
    assert deviations[0] < 0.5 * deviations[1]


@pytest.mark.parametrize("precise", [10**6, 10**13])
def test_a_precise_arm_may_stand_far_from_the_rest_of_its_group(precise: int) -> None:
    """For a small spread the centre of the group is then where no centre is for a usual one."""
    drawn = plausible_means(history([precise] + [20] * 20, [900] + [10] * 20), 500, np.random.default_rng(0))
    assert drawn[:, 0].mean() == pytest.approx(900 / precise, rel=0.02)
    np.testing.assert_allclose(drawn[:, 1:].mean(axis=0), 0.5, atol=0.1)


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
