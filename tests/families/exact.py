"""The families once more, from their textbook formulas in 60-digit arithmetic."""

from __future__ import annotations

from typing import Any

import mpmath

mpmath.mp.dps = 60
Number = Any


def _xlog(x: Number, ratio: Number) -> Number:
    return x * mpmath.log(ratio) if x else mpmath.mpf(0)


def divergence(name: str, x: float, y: float, weight: float = 1.0) -> Number:
    p, q = mpmath.mpf(x), mpmath.mpf(y)
    if p == q:
        return mpmath.mpf(0)
    if name == "bernoulli":
        if (q == 0 and p > 0) or (q == 1 and p < 1):
            return mpmath.inf
        return (_xlog(p, p / q) if q else 0) + (_xlog(1 - p, (1 - p) / (1 - q)) if q < 1 else 0)
    if name == "gaussian":
        return weight * (p - q) ** 2 / 2
    if name == "poisson":
        return mpmath.inf if q == 0 else q - p + _xlog(p, p / q)
    return weight * (p / q - 1 - mpmath.log(p / q))


def slope(name: str, x: float, y: float, weight: float = 1.0) -> Number:
    p, q = mpmath.mpf(x), mpmath.mpf(y)
    if name == "bernoulli":
        return (1 - p) / (1 - q) - p / q
    if name == "gaussian":
        return weight * (q - p)
    if name == "poisson":
        return 1 - p / q
    return weight * (1 / q - p / q**2)


def root(name: str, x: float, level: float, low: Number, high: Number, weight: float = 1.0) -> Number:
    """Bisect between two points of which one has a divergence below the level and one above."""
    inside, outside = mpmath.mpf(low), mpmath.mpf(high)
    for _ in range(170):
        middle = (inside + outside) / 2
        if divergence(name, x, middle, weight) <= level:
            inside = middle
        else:
            outside = middle
    return inside
