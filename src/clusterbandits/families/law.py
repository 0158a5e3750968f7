"""The law of rewards as kernels see it: a code and a weight, so that one compilation serves all families.

Each family is an exponential family: its divergence is d(x, y) = ∫ₓʸ (u − x)/V(u) du · weight, with V the
variance function of its standard member. These six functions are all that differs between families.
"""

import math
from typing import NamedTuple

import numpy as np

from clusterbandits.compiled import allocating_kernel, inner_kernel, kernel
from clusterbandits.families import bernoulli, exponential, gaussian, poisson
from clusterbandits.limits import LARGEST_MEAN

BERNOULLI, GAUSSIAN, POISSON, EXPONENTIAL = range(4)


class Law(NamedTuple):
    """A reward distribution: its number and parameter, and the traits that policies ask for."""

    #: The number of the family; only the functions of this module use it.
    code: int
    #: The known parameter: 1/σ² of Gaussian rewards, the shape of Exponential ones, else 1.
    weight: float
    #: The least and the largest reward; means lie between them too.
    lowest: float
    highest: float
    #: Whether d(x, y) is convex in y. Then the upper root is concave in the level, and posteriors are
    #: log-concave.
    convex: bool
    #: Whether the mean is a scale: V(y) = y²/weight, and d(x, y) depends on x/y alone.
    scale_family: bool
    #: Whether t rewards with total s have likelihood y^s (1 − y)^(t − s), whose integral is a Beta function.
    beta_likelihood: bool
    #: The prior counts as prior_weight / weight pulls with reward 0; 0 is the flat prior.
    prior_weight: float
    #: Scores in the unit of rewards that differ by less, relative to the largest, are tied: above their
    #: rounding error, far below the effect of one reward.
    tie: float


@kernel
def divergence(law: Law, x: float, y: float, gap: float) -> float:
    """Return d(x, y): how hard samples of mean x argue, each, against mean y; ``gap`` is y − x."""
    if law.code == BERNOULLI:
        return bernoulli.divergence(x, y, gap)
    if law.code == GAUSSIAN:
        return gaussian.divergence(gap, law.weight)
    if law.code == POISSON:
        return poisson.divergence(x, y, gap)
    if law.code == EXPONENTIAL:
        return law.weight * exponential.divergence(x, y, gap)
    return math.nan


@kernel
def variance(law: Law, y: float) -> float:
    """Return the variance of one reward of mean y."""
    if law.code == BERNOULLI:
        return bernoulli.variance(y)
    if law.code == GAUSSIAN:
        return gaussian.variance(y) / law.weight
    if law.code == POISSON:
        return poisson.variance(y)
    if law.code == EXPONENTIAL:
        return exponential.variance(y) / law.weight
    return math.nan


@kernel
def natural_gap(law: Law, x: float, y: float, gap: float) -> float:
    """Return θ(y) − θ(x) for the natural parameter θ and x < y, however near or far; ``gap`` is y − x."""
    if law.code == BERNOULLI:
        return bernoulli.natural_gap(x, y, gap)
    if law.code == GAUSSIAN:
        return law.weight * gaussian.natural_gap(gap)
    if law.code == POISSON:
        return poisson.natural_gap(x, gap)
    if law.code == EXPONENTIAL:
        return law.weight * exponential.natural_gap(x, y, gap)
    return math.nan


@kernel
def upper(law: Law, x: float, level: float) -> float:
    """Return sup{q : d(x, q) ≤ level} for level ≥ 0, the end of the domain at most."""
    # Rounding may have lifted x itself above the end.
    end = max(x, LARGEST_MEAN)
    if law.code == BERNOULLI:
        return bernoulli.upper(x, level)
    if law.code == GAUSSIAN:
        return min(gaussian.upper(x, level / law.weight), end)
    if law.code == POISSON:
        return min(poisson.upper(x, level), end)
    if law.code == EXPONENTIAL:
        return min(exponential.upper(x, level / law.weight), end)
    return math.nan


@kernel
def lower(law: Law, x: float, level: float) -> float:
    """Return inf{q : d(x, q) ≤ level} for level ≥ 0."""
    if law.code == BERNOULLI:
        return bernoulli.lower(x, level)
    if law.code == GAUSSIAN:
        return gaussian.lower(x, level / law.weight)
    if law.code == POISSON:
        return poisson.lower(x, level)
    if law.code == EXPONENTIAL:
        return exponential.lower(x, level / law.weight)
    return math.nan


@inner_kernel
def total(law: Law, rng: np.random.Generator, mean: float, pulls: int) -> float:
    """Draw the sum of that many rewards of one arm in one go."""
    if pulls == 0:
        return 0.0
    if law.code == BERNOULLI:
        return bernoulli.total(rng, mean, pulls)
    if law.code == GAUSSIAN:
        return gaussian.total(rng, mean, pulls, law.weight)
    if law.code == POISSON:
        return poisson.total(rng, mean, pulls)
    if law.code == EXPONENTIAL:
        return exponential.total(rng, mean, pulls, law.weight)
    return math.nan


@allocating_kernel
def drawn_total(law: Law, rng: np.random.Generator, mean: float, pulls: int) -> float:
    """Return ``total`` for callers outside kernels: it gives the generator back, which kernels would keep."""
    return total(law, rng, mean, pulls)
