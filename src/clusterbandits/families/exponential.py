"""Waiting times: mean y > 0, variance y², natural parameter −1/y; Gamma of known shape = weight."""

import math

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.families.relative_entropy import relative_entropy, root_above, root_below
from clusterbandits.limits import LARGEST_MEAN

#: From here on the upper bound of every mean is above LARGEST_MEAN.
_STEEP = 600.0
#: A total this small, from a tiny shape, would round to 0, which no reward of this family is.
_SMALLEST = 1e-100


@kernel
def divergence(x: float, y: float, gap: float) -> float:
    """Return x/y − 1 − log(x/y), for shape 1; gap = y − x."""
    return relative_entropy(y, x, -gap) / y


@kernel
def variance(y: float) -> float:
    """Return y²."""
    return y * y


@kernel
def natural_gap(x: float, y: float, gap: float) -> float:
    """Return 1/x − 1/y; gap = y − x."""
    return gap / y / x


@kernel
def upper(x: float, level: float) -> float:
    """Return the largest y with d(x, y) ≤ level: x/y is the lower root of Poisson's from 1."""
    return x / root_below(1.0, level) if level < _STEEP else math.inf


@kernel
def lower(x: float, level: float) -> float:
    """Return the smallest y with d(x, y) ≤ level: x/y is the upper root of Poisson's from 1."""
    return x / root_above(1.0, level)


@kernel
def total(rng: np.random.Generator, mean: float, pulls: int, weight: float) -> float:
    """Draw the sum of that many rewards: one Gamma."""
    return min(max(rng.gamma(pulls * weight, mean / weight), _SMALLEST), pulls * LARGEST_MEAN)
