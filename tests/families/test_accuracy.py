"""Divergences, slopes and roots against 60-digit arithmetic, up to the ends of every domain."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from clusterbandits import Bernoulli, Exponential, Family, Gaussian, Poisson
from tests.families import exact

TOLERANCE = 1e-10
EACH = pytest.mark.parametrize("family", exact.FAMILIES, ids=lambda family: family.spec)


def grid(family: Family, points: int) -> NDArray[np.float64]:
    """Means log-spaced to 1e-12 from each end of the domain, the ends themselves included."""
    if isinstance(family, Bernoulli):
        near = np.logspace(-12, np.log10(0.5), points)
        return np.unique(np.concatenate([[0.0, 1.0], near, 1.0 - near]))
    positive = np.logspace(-12, 12, 2 * points)
    if isinstance(family, Gaussian):
        return np.concatenate([-positive[::-1], [0.0], positive])
    return np.concatenate([[0.0], positive]) if isinstance(family, Poisson) else positive


def relative_error(found: float, wanted: exact.Number) -> float:
    if wanted == 0 or mpmath.isinf(wanted):
        return 0.0 if found == wanted else mpmath.inf
    return float(abs(mpmath.mpf(found) / wanted - 1))


@EACH
def test_divergence_everywhere(family: Family) -> None:
    means = grid(family, 16)
    found = family.divergence(means[:, None], means[None, :])
    assert not np.isnan(found).any()
    worst = max(
        relative_error(found[i, j], exact.divergence(family, x, y))
        for i, x in enumerate(means)
        for j, y in enumerate(means)
    )
    assert worst < TOLERANCE


@EACH
@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
def test_divergence_beside_the_diagonal(family: Family, step: float) -> None:
    for x in grid(family, 12):
        for y in (x * (1 - step), x * (1 + step)):
            if family.contains(y):
                found = family.divergence(x, y)
                assert relative_error(found, exact.divergence(family, x, y)) < TOLERANCE, (x, y)


@EACH
def test_slope_everywhere(family: Family) -> None:
    means = grid(family, 12)
    inner = [y for y in means if y not in (family.low, family.high)]
    found = family.slope(means[:, None], np.array(inner)[None, :])
    for i, x in enumerate(means):
        for j, y in enumerate(inner):
            if x != y:
                assert relative_error(found[i, j], exact.slope(family, x, y)) < TOLERANCE, (x, y)
            else:
                assert found[i, j] == 0


def test_slope_at_the_ends_is_the_derivative_from_inside() -> None:
    assert Bernoulli().slope([0.0, 1.0, 0.5, 0.5], [0.0, 1.0, 0.0, 1.0]).tolist() == [1, -1, -np.inf, np.inf]
    assert Poisson().slope([0.0, 2.0], [0.0, 0.0]).tolist() == [1, -np.inf]


@EACH
@pytest.mark.parametrize("width", [0.0, 1e-300, 1e-18, 1e-12, 1e-6, 0.01, 0.5, 1.0, 7.0, np.inf])
def test_rise_has_no_cancellation(family: Family, width: float) -> None:
    means = [x for x in grid(family, 7) if abs(x) < 100]
    with mpmath.workdps(400):
        for x in means:
            for y in means:
                found = float(family.rise(x, y, width))
                if mpmath.isinf(exact.divergence(family, x, y)) and x < y:
                    assert found == (0.0 if width == 0 else np.inf)
                elif width == np.inf:
                    assert found == family.divergence_above(x, y)
                else:
                    wanted = exact.rise(family, x, y, width)
                    # y − width is rounded to a float, which tells where x is almost as close to y.
                    blur = np.spacing(abs(y)) / abs(y - x) if x != y else 0.0
                    assert abs(found - wanted) <= (TOLERANCE + blur) * abs(wanted) + 1e-310, (x, y)


@EACH
def test_roots_everywhere(family: Family) -> None:
    levels = np.logspace(-16, 2.8, 11)
    means = grid(family, 6)
    upper = family.upper(means[:, None], levels[None, :])
    lower = family.lower(means[:, None], levels[None, :])
    assert not np.isnan(upper).any()
    assert not np.isnan(lower).any()
    for i, x in enumerate(means):
        for j, level in enumerate(levels):
            top, bottom = ends(family, x, level)
            if exact.divergence(family, x, top) > level:
                assert relative_error(upper[i, j], exact.root(family, x, level, top)) < TOLERANCE, (x, level)
            else:
                assert upper[i, j] == top
            wanted = exact.root(family, x, level, bottom) if x != bottom else bottom
            if abs(wanted) > 1e-290:
                assert relative_error(lower[i, j], wanted) < TOLERANCE, (x, level)
            else:
                assert lower[i, j] <= 1e-290


def ends(family: Family, x: float, level: float) -> tuple[exact.Number, exact.Number]:
    """Points beyond the upper and the lower root."""
    if isinstance(family, Bernoulli):
        return 1.0, 0.0 if x == 0 else mpmath.mpf(10) ** -100_000
    if isinstance(family, Gaussian):
        return x + 1e3, x - 1e3
    if isinstance(family, Poisson):
        return x + 2 * level + mpmath.sqrt(2 * x * level) + 1, 0.0 if x == 0 else x * mpmath.mpf(
            10
        ) ** -100_000
    return mpmath.mpf(x) * mpmath.exp(level + 2), mpmath.mpf(x) / (4 + 2 * level)


@EACH
def test_roots_at_the_ends_of_the_levels(family: Family) -> None:
    means = grid(family, 4)
    assert np.array_equal(family.upper(means, 0.0), means)
    assert np.array_equal(family.lower(means, 0.0), means)
    ends = {"bernoulli": (0.0, 1.0), "gaussian": (-np.inf, np.inf)}.get(family.name, (0.0, np.inf))
    assert set(family.lower(means, np.inf)) == {ends[0]}
    assert set(family.upper(means, np.inf)) == {ends[1]}


@pytest.mark.parametrize(
    ("x", "level"), [(1e-300, 1e-200), (1e-300, 1e-300), (1e-200, 1e-300), (1e-40, 1e-33), (5e-324, 1.0)]
)
def test_roots_of_the_smallest_means(x: float, level: float) -> None:
    with mpmath.workdps(700):
        for family in (Bernoulli(), Poisson()):
            top = x + 2 * mpmath.mpf(level) + 2 * mpmath.sqrt(mpmath.mpf(x) * level)
            wanted = exact.root(family, x, level, min(top, 1))
            assert relative_error(family.upper(x, level), wanted) < TOLERANCE, family


def test_the_largest_levels() -> None:
    assert Poisson().upper(1.0, 1e308) >= 1e308
    assert Exponential().lower(1.0, 1e308) < 1e-307
    assert Exponential().upper(1.0, 1e308) == np.inf


@EACH
def test_roots_invert_the_divergence(family: Family) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.05, 0.95, 2000)
    level = 10.0 ** rng.uniform(-8, 0.3, 2000)
    for root in (family.upper(x, level), family.lower(x, level)):
        # A root is known to one unit in its last place, which the slope carries over to the level.
        blur = 8 * np.finfo(float).eps * np.abs(family.slope(x, root)) * np.abs(root)
        inner = (root > family.low) & (root < family.high)
        miss = np.abs(family.divergence(x, root) - level)
        assert np.all(miss[inner] <= (blur + 1e-13 * level)[inner])
