"""The families once more, from their textbook formulas in 60-digit arithmetic."""

from __future__ import annotations

from typing import Any

import mpmath

from clusterbandits import Bernoulli, Exponential, Family, Gaussian, Poisson

mpmath.mp.dps = 60
Number = Any

FAMILIES: tuple[Family, ...] = (
    Bernoulli(),
    Gaussian(),
    Gaussian(sigma=0.25),
    Poisson(),
    Exponential(),
    Exponential(shape=3.5),
)


def _xlog(x: Number, ratio: Number) -> Number:
    return x * mpmath.log(ratio) if x else mpmath.mpf(0)


def divergence(family: Family, x: Number, y: Number) -> Number:
    p, q = mpmath.mpf(x), mpmath.mpf(y)
    if p == q:
        return mpmath.mpf(0)
    if isinstance(family, Gaussian):
        return (p - q) ** 2 / (2 * mpmath.mpf(family.sigma) ** 2)
    if isinstance(family, Exponential):
        return mpmath.mpf(family.shape) * (p / q - 1 - mpmath.log(p / q))
    if q == 0 or (q == 1 and isinstance(family, Bernoulli)):
        return mpmath.inf
    if isinstance(family, Poisson):
        return q - p + _xlog(p, p / q)
    return _xlog(p, p / q) + _xlog(1 - p, (1 - p) / (1 - q))


def slope(family: Family, x: Number, y: Number) -> Number:
    p, q = mpmath.mpf(x), mpmath.mpf(y)
    if isinstance(family, Gaussian):
        return (q - p) / mpmath.mpf(family.sigma) ** 2
    if isinstance(family, Exponential):
        return mpmath.mpf(family.shape) * (q - p) / q**2
    return 1 - p / q if isinstance(family, Poisson) else (1 - p) / (1 - q) - p / q


def rise(family: Family, x: Number, y: Number, width: Number) -> Number:
    """d⁺(x, y) − d⁺(x, y − width) as it is written."""
    floor = mpmath.mpf(y) - mpmath.mpf(width)
    low = divergence(family, x, floor) if mpmath.mpf(x) < floor else mpmath.mpf(0)
    return divergence(family, x, y) - low if x < y else mpmath.mpf(0)


def root(family: Family, x: float, level: float, end: Number) -> Number:
    """Bisect from x towards an end whose divergence is above the level."""
    inside, outside = mpmath.mpf(x), mpmath.mpf(end)
    for _ in range(1000):
        wide = inside > 0 and outside > 0 and max(inside / outside, outside / inside) > 4
        middle = mpmath.sqrt(inside * outside) if wide else (inside + outside) / 2
        if divergence(family, x, middle) <= level:
            inside = middle
        else:
            outside = middle
        if abs(inside - outside) < abs(inside) * mpmath.mpf("1e-25"):
            break
    return inside
