"""Divergences, slopes and roots against 60-digit arithmetic, up to the ends of every domain."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from clusterbandits import Bernoulli, Bounded, Exponential, Family, Gaussian, Poisson
from tests.families import exact

#: Divergences, slopes and differences; a few units in the last place, more where terms are made of quotients.
TOLERANCES = {family.name: 4e-15 for family in exact.FAMILIES} | {"negative-binomial": 2e-14}
#: Roots, where the lowest carry the rounding of a logarithm.
ROOT_TOLERANCE = 2e-13
EACH = pytest.mark.parametrize("family", exact.FAMILIES, ids=lambda family: family.spec)


def relative_error(found: float, wanted: exact.Number) -> float:
    if wanted == 0 or mpmath.isinf(wanted):
        return 0.0 if found == wanted else mpmath.inf
    return float(abs(mpmath.mpf(found) / wanted - 1))


@EACH
def test_divergence_everywhere(family: Family) -> None:
    means = exact.grid(family, 16)
    found = family.divergence(means[:, None], means[None, :])
    assert not np.isnan(found).any()
    worst = max(
        relative_error(found[i, j], exact.divergence(family, x, y))
        for i, x in enumerate(means)
        for j, y in enumerate(means)
    )
    assert worst < TOLERANCES[family.name]


@EACH
@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
def test_divergence_beside_the_diagonal(family: Family, step: float) -> None:
    for x in exact.grid(family, 12):
        for y in (x * (1 - step), x * (1 + step)):
            if family.contains(y):
                found = family.divergence(x, y)
                assert relative_error(found, exact.divergence(family, x, y)) < TOLERANCES[family.name], (x, y)


@EACH
def test_slope_everywhere(family: Family) -> None:
    means = exact.grid(family, 12)
    inner = [y for y in means if y not in (family.low, family.high)]
    found = family.slope(means[:, None], np.array(inner)[None, :])
    for i, x in enumerate(means):
        for j, y in enumerate(inner):
            if x != y:
                assert relative_error(found[i, j], exact.slope(family, x, y)) < TOLERANCES[family.name], (
                    x,
                    y,
                )
            else:
                assert found[i, j] == 0


def test_slope_at_the_ends_is_the_derivative_from_inside() -> None:
    assert Bernoulli().slope([0.0, 1.0, 0.5, 0.5], [0.0, 1.0, 0.0, 1.0]).tolist() == [1, -1, -np.inf, np.inf]
    assert Poisson().slope([0.0, 2.0], [0.0, 0.0]).tolist() == [1, -np.inf]
    assert Bounded(-2.0, 6.0).slope([-2.0, 6.0, 1.0], [-2.0, 6.0, 6.0]).tolist() == [1 / 8, -1 / 8, np.inf]


WIDTHS = [0.0, 1e-300, 1e-18, 1e-12, 1e-6, 0.01, 0.5, 1.0, 7.0]


@EACH
@pytest.mark.parametrize("width", WIDTHS)
def test_differences_have_no_cancellation(family: Family, width: float) -> None:
    means = [x for x in exact.grid(family, 7) if abs(x) < 100]
    with mpmath.workdps(700):
        for x in means:
            for y in means:
                check_differences(family, x, y, width)


@EACH
def test_differences_where_everything_nearly_cancels(family: Family) -> None:
    """Arms close to the best, widths close to the gap, widths close to the best mean itself."""
    rng = np.random.default_rng(5)
    for _ in range(400):
        y = float(rng.uniform(0.3, 0.9))
        gap = float(10 ** rng.uniform(-14, np.log10(y)))
        x = y - gap
        share = float(
            rng.choice([rng.uniform(0, 1), 1 - 10 ** rng.uniform(-9, 0), 10 ** rng.uniform(-12, 0)])
        )
        if x > 0:
            check_differences(family, x, y, share * gap)
    for x, y, width in [(1.25e-11, 27.87105233819419, 27.87105233818187), (1e-13, 3.0, 3.0 - 1e-12)]:
        if family.contains(y):
            check_differences(family, x, y, width)


def check_differences(family: Family, x: float, y: float, width: float) -> None:
    if mpmath.isinf(exact.divergence(family, x, y)) and x < y:
        assert family.rise(x, y, width) == (0.0 if width == 0 else np.inf)
        return
    blur = 0.0
    if exact.is_bounded(family) and y < family.high:
        # How far y − width is from an end is only known to a unit in the last place of that end.
        blur = np.spacing(family.high) / (family.high - y)
        if family.low < y - width and family.low != 0:
            blur += np.spacing(abs(family.low)) / (y - width - family.low)
    for found, wanted in (
        (family.rise(x, y, width), exact.rise(family, x, y, width)),
        (family.divergence_above(x, y, width), exact.divergence_above(family, x, y, width)),
    ):
        assert abs(found - wanted) <= (TOLERANCES[family.name] + blur) * abs(wanted) + 1e-307, (x, y, width)


@EACH
def test_infinite_widths_leave_nothing(family: Family) -> None:
    assert family.rise(0.2, 0.6, np.inf) == family.divergence(0.2, 0.6)
    assert family.divergence_above(0.2, 0.6, np.inf) == 0


@EACH
def test_roots_everywhere(family: Family) -> None:
    levels = np.logspace(-16, 2.8, 7)
    means = exact.grid(family, 6)
    upper = family.upper(means[:, None], levels[None, :])
    lower = family.lower(means[:, None], levels[None, :])
    assert not np.isnan(upper).any()
    assert not np.isnan(lower).any()
    for i, x in enumerate(means):
        for j, level in enumerate(levels):
            top, bottom = exact.beyond(family, x, level)
            if exact.divergence(family, x, top) > level:
                wanted = min(exact.root(family, x, level, top), family.high)
                assert relative_error(upper[i, j], wanted) < ROOT_TOLERANCE, (x, level)
            else:
                assert upper[i, j] == top
            wanted = exact.root(family, x, level, bottom) if x != bottom else bottom
            if abs(wanted) > 1e-290:
                assert relative_error(lower[i, j], wanted) < ROOT_TOLERANCE, (x, level)
            else:
                assert lower[i, j] <= 1e-290


@EACH
def test_roots_at_the_ends_of_the_levels(family: Family) -> None:
    means = exact.grid(family, 4)
    assert np.array_equal(family.upper(means, 0.0), means)
    assert np.array_equal(family.lower(means, 0.0), means)
    low, high = exact.ends(family)
    assert set(family.lower(means, np.inf)) == {low}
    assert set(family.upper(means, np.inf)) == {high}


@pytest.mark.parametrize(
    ("x", "level"), [(1e-300, 1e-200), (1e-300, 1e-300), (1e-200, 1e-300), (1e-40, 1e-33), (5e-324, 1.0)]
)
def test_roots_of_the_smallest_means(x: float, level: float) -> None:
    with mpmath.workdps(700):
        for family in (Bernoulli(), Poisson()):
            top = x + 2 * mpmath.mpf(level) + 2 * mpmath.sqrt(mpmath.mpf(x) * level)
            wanted = exact.root(family, x, level, min(top, 1))
            assert relative_error(family.upper(x, level), wanted) < ROOT_TOLERANCE, family


def test_means_so_far_apart_that_their_ratio_leaves_the_floats() -> None:
    assert Poisson().divergence(5e-324, 1e100) == 1e100
    assert (
        relative_error(Poisson().divergence(1e100, 5e-324), exact.divergence(Poisson(), 1e100, 5e-324))
        < 1e-15
    )


def test_the_largest_levels() -> None:
    steep = Exponential(shape=1.0)
    for level in (1.0, 100.0, 440.0, 459.0):
        wanted = exact.root(steep, 1e-100, level, mpmath.mpf("1e-100") * mpmath.exp(level + 2))
        assert relative_error(steep.upper(1e-100, level), wanted) < ROOT_TOLERANCE
    assert Exponential().lower(1.0, 1e308) < 1e-307
    for family in (steep, Poisson(), Gaussian()):
        assert family.upper(1.0, 1e308) == family.high == 1e100


@EACH
def test_roots_invert_the_divergence(family: Family) -> None:
    rng = np.random.default_rng(0)
    low, high = exact.ends(family) if exact.is_bounded(family) else (0.0, 1.0)
    x = low + (high - low) * rng.uniform(0.05, 0.95, 2000)
    level = 10.0 ** rng.uniform(-8, 0.3, 2000)
    for root in (family.upper(x, level), family.lower(x, level)):
        # A root is known to one unit in its last place, which the slope carries over to the level.
        size = np.maximum(np.abs(root), abs(low))
        blur = 8 * np.finfo(float).eps * np.abs(family.slope(x, root)) * size
        inner = (root > family.low) & (root < family.high)
        miss = np.abs(family.divergence(x, root) - level)
        assert np.all(miss[inner] <= (blur + 1e-13 * level)[inner])
