"""Exponential and Gamma rewards: mean y > 0, variance y²/r, natural parameter −r/y, shape r = weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.family import Family, rounding
from clusterbandits.families.relative_entropy import relative_entropy, root_above, root_below
from clusterbandits.families.stream import gamma
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.validate import between

if TYPE_CHECKING:
    from numpy.random import Generator

    from clusterbandits.families.law import Law
    from clusterbandits.families.stream import Stream

#: At this level and above, the upper bound of every mean is above LARGEST_MEAN.
_STEEP = 600.0
#: The smallest total: with a tiny shape, smaller ones would round to 0, which is not a possible reward.
_SMALLEST = 1e-100


@dataclass(frozen=True)
class Exponential(Family):
    """Waiting times or amounts: exponential rewards, or Gamma rewards of a known shape.

    d(x, y) = r (x/y − 1 − log(x/y)), with shape r. Posteriors have the prior 1/mean.

    Parameters
    ----------
    shape
        Known shape of the Gamma distribution, by default 1, the exponential distribution.

    Examples
    --------
    >>> Exponential().divergence(1.0, 2.0)
    0.1931471805599453
    """

    shape: float = 1.0

    name = "exponential"
    lowest = 1 / LARGEST_MEAN
    convex = False
    scale_family = True
    prior_weight = 1.0
    flat_pulls = -1.0
    #: Upper roots grow like exp(level), which amplifies the rounding error of the level.
    tie = 5e-13
    support = f"a number from {lowest:g} to {LARGEST_MEAN:g}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", between("shape", "Exponential", self.shape, 1e-50, 1e50))

    def _weight(self) -> float:
        return self.shape

    def _supports(self, totals: Any, pulls: int) -> Any:
        least, most = pulls / rounding(pulls) / LARGEST_MEAN, pulls * rounding(pulls) * LARGEST_MEAN
        return (totals >= least) & (totals <= most)


@kernel
def divergence(law: Law, x: float, y: float, gap: float) -> float:
    """Return weight · (x/y − 1 − log(x/y)); gap = y − x."""
    return law.weight * (relative_entropy(y, x, -gap) / y)


@kernel
def variance(law: Law, y: float) -> float:
    """Return y² / weight."""
    return y * y / law.weight


@kernel
def natural_gap(law: Law, x: float, y: float, gap: float) -> float:
    """Return weight · (1/x − 1/y); gap = y − x."""
    return law.weight * (gap / y / x)


@kernel
def upper(law: Law, x: float, level: float) -> float:
    """Return the largest y with d(x, y) ≤ level: x/y is the lower root of the Poisson divergence at 1."""
    scaled = level / law.weight
    return x / root_below(1.0, scaled) if scaled < _STEEP else math.inf


@kernel
def lower(law: Law, x: float, level: float) -> float:
    """Return the smallest y with d(x, y) ≤ level: x/y is the upper root of the Poisson divergence at 1."""
    return x / root_above(1.0, level / law.weight)


@kernel
def total(law: Law, rng: Generator, mean: float, pulls: int) -> float:
    """Draw the sum of ``pulls`` rewards from its Gamma distribution."""
    return min(max(rng.gamma(pulls * law.weight, mean / law.weight), _SMALLEST), pulls * LARGEST_MEAN)


@inner_kernel
def draw_mean(law: Law, stream: Stream, pulls: float, total: float) -> float:
    """Draw a mean from its posterior, weight · total / Gamma(weight · pulls + 1)."""
    return law.weight * total / gamma(stream, law.weight * pulls + 1.0)


@kernel
def log_evidence(law: Law, pulls: float, total: float, known: float, known_total: float) -> float:
    """Return the log of the ratio of two inverse Gamma integrals."""
    after = _log_integral(law.weight, pulls + known, total + known_total)
    return after - _log_integral(law.weight, known, known_total)


@kernel
def _log_integral(weight: float, pulls: float, total: float) -> float:
    shape = weight * pulls + 1.0
    return math.lgamma(shape) - shape * math.log(weight * total)
