"""Rewards 0 or 1: mean y in [0, 1], variance y(1 − y), natural parameter log(y / (1 − y))."""

import math

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.relative_entropy import (
    MOST_STEPS,
    above,
    below,
    relative_entropy,
)


@kernel
def divergence(x: float, y: float, gap: float) -> float:
    """Return x log(x/y) + (1−x) log((1−x)/(1−y)), as two terms that are never negative; gap = y − x."""
    return relative_entropy(x, y, gap) + relative_entropy(1.0 - x, 1.0 - y, -gap)


@kernel
def variance(y: float) -> float:
    """Return y (1 − y)."""
    return y * (1.0 - y)


@kernel
def natural_gap(x: float, y: float, gap: float) -> float:
    """Return logit(y) − logit(x) for 0 < x < y; gap = y − x."""
    if y >= 1.0:
        return math.inf
    return math.log1p(gap / (1.0 - y)) + math.log1p(gap / x)


@kernel
def upper(x: float, level: float) -> float:
    """Return the largest y with d(x, y) ≤ level, by Newton's method from above."""
    if x == 0.0:
        return -math.expm1(-level)
    rest = 1.0 - x
    y = min(x + math.sqrt(0.5 * level), above(x, level))
    if rest > 0.0:
        # Beyond the root of the second term alone too, which takes over near 1.
        y = min(y, x - rest * math.expm1(-1.0 - level / rest))
    for _ in range(MOST_STEPS):
        if y <= x or y >= 1.0:
            return min(max(x, y), 1.0)
        closer = y - (divergence(x, y, y - x) - level) * (variance(y) / (y - x))
        if closer >= y:
            return y
        y = closer
    return y


@kernel
def lower(x: float, level: float) -> float:
    """Return the smallest y with d(x, y) ≤ level, by Newton's method from below."""
    if x == 1.0:
        return math.exp(-level)
    rest = 1.0 - x
    second = x - level - math.sqrt(level) * math.sqrt(level + 2.0 * rest)
    y = max(x - math.sqrt(0.5 * level), below(x, level), second)
    for _ in range(MOST_STEPS):
        if y >= x or y <= 0.0:
            return min(max(0.0, y), x)
        closer = y + (divergence(x, y, y - x) - level) * (variance(y) / (x - y))
        if closer <= y:
            return y
        y = closer
    return y


@inner_kernel
def total(rng: np.random.Generator, mean: float, pulls: int) -> float:
    """Draw the sum of that many rewards: one binomial."""
    return float(rng.binomial(pulls, mean))
