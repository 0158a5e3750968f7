"""The reward distribution as kernels see it: numbers, so that one compilation serves all families.

Each family is an exponential family with divergence d(x, y) = ∫ₓʸ (u − x)/V(u) du, where V is the variance as
a function of the mean. Its file defines the six functions below, with the same names and arguments.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from clusterbandits.compiled import allocating_kernel, inner_kernel, kernel, switch
from clusterbandits.limits import LARGEST_MEAN


class Law(NamedTuple):
    """A reward distribution: its number and parameter, and the traits that policies ask for."""

    #: The place of the family's file in ``FILES``; only ``of_family`` uses it.
    code: int
    #: The known parameter: 1/σ² of Gaussian rewards, the shape of Exponential and negative binomial ones.
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


#: The file of every family, in the order of registration.
FILES: list[ModuleType] = []


def of_family(name: str, law: Law, *given: Any) -> Any:
    """Call the function of that name in the file of the law's family."""
    return getattr(FILES[law.code], name)(law, *given)


switch(of_family, FILES)


@kernel
def divergence(law: Law, x: float, y: float, gap: float) -> float:
    """Return d(x, y), the information per reward of mean x against mean y; ``gap`` is y − x."""
    return float(of_family("divergence", law, x, y, gap))


@kernel
def variance(law: Law, y: float) -> float:
    """Return the variance of one reward of mean y."""
    return float(of_family("variance", law, y))


@kernel
def natural_gap(law: Law, x: float, y: float, gap: float) -> float:
    """Return θ(y) − θ(x) for the natural parameter θ and x < y, however near or far; ``gap`` is y − x."""
    return float(of_family("natural_gap", law, x, y, gap))


@kernel
def upper(law: Law, x: float, level: float) -> float:
    """Return sup{q : d(x, q) ≤ level} for level ≥ 0, the end of the domain at most."""
    # Rounding may have lifted x itself above the end.
    return min(float(of_family("upper", law, x, level)), max(x, LARGEST_MEAN))


@kernel
def lower(law: Law, x: float, level: float) -> float:
    """Return inf{q : d(x, q) ≤ level} for level ≥ 0."""
    return float(of_family("lower", law, x, level))


@inner_kernel
def total(law: Law, rng: np.random.Generator, mean: float, pulls: int) -> float:
    """Draw the sum of that many rewards of one arm in one go."""
    return float(of_family("total", law, rng, mean, pulls)) if pulls > 0 else 0.0


@allocating_kernel
def drawn_total(law: Law, rng: np.random.Generator, mean: float, pulls: int) -> float:
    """Return ``total`` for callers outside kernels: it gives the generator back, which kernels would keep."""
    return total(law, rng, mean, pulls)


@allocating_kernel
def draw_each(law: Law, rng: np.random.Generator, mean: float, rewards: Any) -> None:
    """Fill an array with rewards of one arm, drawn one by one."""
    for i in range(rewards.size):
        rewards[i] = total(law, rng, mean, 1)
