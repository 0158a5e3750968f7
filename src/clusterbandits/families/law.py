"""The reward family as kernels receive it: plain numbers, so that one compilation serves all families.

Each family is an exponential family with divergence d(x, y) = ∫ₓʸ (u − x)/V(u) du, where V is the variance as
a function of the mean. Its file defines the six functions below, with the same names and arguments.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterbandits.compiled import allocating_kernel, constants, inner_kernel, separate_kernel, switch
from clusterbandits.limits import LARGEST_MEAN

if TYPE_CHECKING:
    import numpy as np

    from clusterbandits.families.family import Family


class Law(NamedTuple):
    """A reward family as numbers: the index of the family, and its parameters.

    All other traits follow from the index.
    """

    #: The index of the family in ``KINDS``; only this file uses it.
    code: int
    #: The known parameter: 1/σ² for Gaussian rewards, the shape for Gamma and negative binomial rewards.
    weight: float
    #: The smallest reward, which is also the smallest mean.
    lowest: float
    #: The largest reward, which is also the largest mean; ∞ if rewards have no upper limit.
    highest: float

    @property
    def convex(self) -> bool:
        """Whether d(x, y) is convex in y: upper roots are concave in the level, posteriors log-concave."""
        return KINDS[self.code].convex

    @property
    def scale_family(self) -> bool:
        """Whether the mean is a scale parameter: V(y) = y²/weight, and d(x, y) depends only on x/y."""
        return KINDS[self.code].scale_family

    @property
    def beta_likelihood(self) -> bool:
        """Whether t rewards of total s have likelihood y^s (1 − y)^(t − s), as for Bernoulli rewards."""
        return KINDS[self.code].beta_likelihood

    @property
    def prior_weight(self) -> float:
        """The prior is equivalent to prior_weight / weight pulls with reward 0; 0 is the flat prior."""
        return KINDS[self.code].prior_weight

    @property
    def flat_pulls(self) -> float:
        """The flat prior is conjugate, and equivalent to flat_pulls / weight pulls."""
        return KINDS[self.code].flat_pulls

    @property
    def flat_total(self) -> float:
        """The total of the pulls that the flat prior is equivalent to, if rewards have no upper limit."""
        return KINDS[self.code].flat_total

    @property
    def tie(self) -> float:
        """The relative difference below which two scores in the unit of rewards are tied.

        It exceeds their rounding error, and is far below the effect of one reward.
        """
        return KINDS[self.code].tie


#: The families in registration order.
KINDS: list[type[Family]] = []
TRAITS = tuple(name for name, value in vars(Law).items() if isinstance(value, property))
# Constants instead of fields, which would be passed in every call: kernels compile a sixth faster.
constants(Law, TRAITS, KINDS)


def of_family(name: str, law: Law, *given: Any) -> Any:
    """Call the function ``name`` of the law's family, defined in the file of that family."""
    return getattr(sys.modules[KINDS[law.code].__module__], name)(law, *given)


switch(of_family, KINDS)


@inner_kernel
def unit(law: Law) -> float:
    """Return the largest minus the smallest reward, or 1 if rewards have no upper limit."""
    return law.highest - law.lowest if law.highest < math.inf else 1.0


@separate_kernel
def divergence(law: Law, x: float, y: float, gap: float) -> float:
    """Return d(x, y), the information per reward of mean x against mean y; ``gap`` is y − x."""
    return float(of_family("divergence", law, x, y, gap))


@separate_kernel
def variance(law: Law, y: float) -> float:
    """Return the variance of one reward of mean y."""
    return float(of_family("variance", law, y))


@separate_kernel
def natural_gap(law: Law, x: float, y: float, gap: float) -> float:
    """Return θ(y) − θ(x) for the natural parameter θ and x < y, accurate at any distance; gap = y − x."""
    return float(of_family("natural_gap", law, x, y, gap))


@separate_kernel
def upper(law: Law, x: float, level: float) -> float:
    """Return sup{q : d(x, q) ≤ level} for level ≥ 0, at most the end of the domain."""
    # Rounding can move x itself above the end.
    return min(float(of_family("upper", law, x, level)), max(x, LARGEST_MEAN))


@separate_kernel
def lower(law: Law, x: float, level: float) -> float:
    """Return inf{q : d(x, q) ≤ level} for level ≥ 0."""
    return float(of_family("lower", law, x, level))


@inner_kernel
def total(law: Law, rng: np.random.Generator, mean: float, pulls: int) -> float:
    """Draw the sum of ``pulls`` rewards of one arm in one step."""
    return float(of_family("total", law, rng, mean, pulls)) if pulls > 0 else 0.0


@allocating_kernel
def drawn_total(law: Law, rng: np.random.Generator, mean: float, pulls: int) -> float:
    """Call ``total`` from outside kernels: unlike a kernel, it releases its reference to the generator."""
    return total(law, rng, mean, pulls)


@allocating_kernel
def draw_each(law: Law, rng: np.random.Generator, mean: float, rewards: Any) -> None:
    """Fill an array with rewards of one arm that are drawn one by one."""
    for i in range(rewards.size):
        rewards[i] = total(law, rng, mean, 1)
