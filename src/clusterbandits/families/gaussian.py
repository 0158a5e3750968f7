"""Normal rewards of known variance 1/weight: mean y anywhere, natural parameter y."""

import math

import numpy as np

from clusterbandits.compiled import kernel


@kernel
def divergence(gap: float, weight: float) -> float:
    """Return gap² · weight / 2, for gap = y − x."""
    return 0.5 * (gap * weight) * gap


@kernel
def variance(_y: float) -> float:
    """Return 1, whatever the mean."""
    return 1.0


@kernel
def natural_gap(gap: float) -> float:
    """Return y − x, the gap itself."""
    return gap


@kernel
def upper(x: float, level: float) -> float:
    """Return the largest y with d(x, y) ≤ level, for variance 1."""
    return x + math.sqrt(2.0 * level)


@kernel
def lower(x: float, level: float) -> float:
    """Return the smallest y with d(x, y) ≤ level, for variance 1."""
    return x - math.sqrt(2.0 * level)


@kernel
def total(rng: np.random.Generator, mean: float, pulls: int, weight: float) -> float:
    """Draw the sum of that many rewards: one normal."""
    return rng.normal(pulls * mean, math.sqrt(pulls / weight))
