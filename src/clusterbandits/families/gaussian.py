"""Normal rewards of known variance 1/weight: any mean y, natural parameter y · weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.family import Family, rounding
from clusterbandits.families.stream import normal
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.validate import between

if TYPE_CHECKING:
    from numpy.random import Generator

    from clusterbandits.families.family import Floats
    from clusterbandits.families.law import Law
    from clusterbandits.families.stream import Stream


@dataclass(frozen=True)
class Gaussian(Family):
    """Normal rewards with known standard deviation.

    d(x, y) = (x − y)² / (2σ²).

    Parameters
    ----------
    sigma
        Standard deviation of a reward, by default 1.

    Examples
    --------
    >>> Gaussian(sigma=2.0).divergence(0.0, 2.0)
    0.5
    """

    sigma: float = 1.0

    name = "gaussian"
    lowest = -math.inf
    support = f"a number of at most {LARGEST_MEAN:g} in size"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", between("sigma", "Gaussian", self.sigma, 1e-50, 1e50))

    def _weight(self) -> float:
        return 1.0 / (self.sigma * self.sigma)

    def _supports(self, totals: Any, pulls: int) -> Any:
        return abs(totals) <= pulls * rounding(pulls) * LARGEST_MEAN

    def draw(self, mean: float, count: int, rng: Generator) -> Floats:
        """Draw ``count`` rewards of mean ``mean``, one by one."""
        return rng.normal(mean, self.sigma, count)


@kernel
def divergence(law: Law, _x: float, _y: float, gap: float) -> float:
    """Return gap² · weight / 2, with gap = y − x."""
    return 0.5 * (gap * law.weight) * gap


@kernel
def variance(law: Law, _y: float) -> float:
    """Return 1/weight, which does not depend on the mean."""
    return 1.0 / law.weight


@kernel
def natural_gap(law: Law, _x: float, _y: float, gap: float) -> float:
    """Return (y − x) · weight; gap = y − x."""
    return law.weight * gap


@kernel
def upper(law: Law, x: float, level: float) -> float:
    """Return the largest y with d(x, y) ≤ level."""
    return x + math.sqrt(2.0 * (level / law.weight))


@kernel
def lower(law: Law, x: float, level: float) -> float:
    """Return the smallest y with d(x, y) ≤ level."""
    return x - math.sqrt(2.0 * (level / law.weight))


@kernel
def total(law: Law, rng: Generator, mean: float, pulls: int) -> float:
    """Draw the sum of ``pulls`` rewards from its normal distribution."""
    return rng.normal(pulls * mean, math.sqrt(pulls / law.weight))


@inner_kernel
def draw_mean(law: Law, stream: Stream, pulls: float, total: float) -> float:
    """Draw a mean from the normal distribution around total / pulls."""
    return total / pulls + normal(stream) / math.sqrt(law.weight * pulls)


@kernel
def log_evidence(law: Law, pulls: float, total: float, known: float, known_total: float) -> float:
    """Return the log of the normal density of the empirical mean."""
    both, apart = pulls + known, total / pulls - known_total / known
    return 0.5 * math.log(known / both) - 0.5 * law.weight * pulls * known / both * apart * apart
