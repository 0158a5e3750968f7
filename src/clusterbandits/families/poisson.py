"""Counts: mean y ≥ 0, variance y, natural parameter log y."""

import math

import numpy as np

from clusterbandits.compiled import allocating_kernel, kernel
from clusterbandits.families.relative_entropy import relative_entropy, root_above, root_below


@kernel
def divergence(x: float, y: float, gap: float) -> float:
    """Return y − x + x log(x/y); gap = y − x."""
    return relative_entropy(x, y, gap)


@kernel
def variance(y: float) -> float:
    """Return y."""
    return y


@kernel
def natural_gap(x: float, gap: float) -> float:
    """Return log(y) − log(x) for 0 < x < y; gap = y − x."""
    return math.log1p(gap / x)


@kernel
def upper(x: float, level: float) -> float:
    """Return the largest y with d(x, y) ≤ level."""
    return root_above(x, level)


@kernel
def lower(x: float, level: float) -> float:
    """Return the smallest y with d(x, y) ≤ level."""
    return root_below(x, level)


@allocating_kernel
def total(rng: np.random.Generator, mean: float, pulls: int) -> float:
    """Draw the sum of that many rewards: one Poisson."""
    return float(rng.poisson(pulls * mean))
