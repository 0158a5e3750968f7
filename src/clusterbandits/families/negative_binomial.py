"""Overdispersed counts: mean y ≥ 0, variance y + y²/r, natural parameter log(y / (y + r)), r = weight known.

The number of successes y before r failures is a Bernoulli experiment with chance q = y / (y + r), and
d(x, y) = (x + r) · kl(x / (x + r), y / (y + r)), with kl the divergence of Bernoulli rewards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families import bernoulli, exponential, poisson
from clusterbandits.families.family import MOST_COUNT, CountFamily
from clusterbandits.families.relative_entropy import relative_entropy
from clusterbandits.families.stream import gamma
from clusterbandits.validate import between

if TYPE_CHECKING:
    from numpy.random import Generator

    from clusterbandits.families.law import Law
    from clusterbandits.families.stream import Stream

#: From this value on, Stirling's series is exact to the last digit.
_STIRLING = 25.0


@dataclass(frozen=True)
class NegativeBinomial(CountFamily):
    """Counts whose variance exceeds their mean, such as orders per customer.

    d(x, y) = x log(x/y) − (x + r) log((x + r)/(y + r)), with shape r. The variance is y + y²/r: large shapes
    approach Poisson counts. Posteriors have the prior 1/(mean + r).

    Parameters
    ----------
    shape
        Known shape (dispersion parameter), by default 1, the geometric distribution.

    Examples
    --------
    >>> round(NegativeBinomial().divergence(1.0, 3.0), 12)
    0.287682072452
    """

    shape: float = 1.0

    name = "negative-binomial"
    convex = False
    prior_weight = 1.0
    flat_pulls = -1.0
    flat_total = 1.0
    #: Upper roots grow like exp(level), which amplifies the rounding error of the level.
    tie = 3e-13

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", between("shape", "NegativeBinomial", self.shape, 1e-6, 1e6))

    def _weight(self) -> float:
        return self.shape


@kernel
def divergence(law: Law, x: float, y: float, gap: float) -> float:
    """Return x log(x/y) − (x+r) log((x+r)/(y+r)), as two terms that are never negative; gap = y − x."""
    r = law.weight
    shrink, change = (x + r) / (y + r), r * (gap / (y + r))
    return relative_entropy(x, y * shrink, change) + relative_entropy(r, r * shrink, -change)


@kernel
def variance(law: Law, y: float) -> float:
    """Return y + y²/r."""
    return y + y / law.weight * y


@kernel
def natural_gap(law: Law, x: float, y: float, gap: float) -> float:
    """Return log(y/(y+r)) − log(x/(x+r)) for 0 < x < y; gap = y − x."""
    return math.log1p(law.weight * (gap / (y + law.weight)) / x)


@kernel
def upper(law: Law, x: float, level: float) -> float:
    """Return the largest y with d(x, y) ≤ level, from the root q of kl, or from 1 − q if y is above r."""
    r = law.weight
    if level == 0.0:
        return x
    if x < r and level < divergence(law, x, r, r - x):
        q = bernoulli.upper(law, x / (x + r), level / (x + r))
        return max(x, r * q / (1.0 - q))
    rest = bernoulli.lower(law, r / (x + r), level / (x + r))
    return max(x, r * (1.0 - rest) / rest) if rest > 0.0 else math.inf


@kernel
def lower(law: Law, x: float, level: float) -> float:
    """Return the smallest y with d(x, y) ≤ level, from the root q of kl, or from 1 − q if y is above r."""
    r = law.weight
    if level == 0.0:
        return x
    if x > r and level < divergence(law, x, r, r - x):
        rest = bernoulli.upper(law, r / (x + r), level / (x + r))
        return min(x, r * (1.0 - rest) / rest)
    q = bernoulli.lower(law, x / (x + r), level / (x + r))
    return min(x, r * q / (1.0 - q))


@kernel
def total(law: Law, rng: Generator, mean: float, pulls: int) -> float:
    """Draw the sum of ``pulls`` rewards: a Poisson draw whose mean is a Gamma draw."""
    rate = exponential.total(law, rng, mean, pulls)
    # With a small shape, a rare draw exceeds 64 bits; its Poisson noise is then negligible.
    return poisson.total(law, rng, rate, 1) if rate <= MOST_COUNT else float(math.floor(rate))


@inner_kernel
def draw_mean(law: Law, stream: Stream, pulls: float, total: float) -> float:
    """Draw a mean: divided by r, it is a ratio of two Gamma draws of shapes total and r · pulls + 1."""
    return law.weight * gamma(stream, total) / gamma(stream, law.weight * pulls + 1.0)


@kernel
def log_evidence(law: Law, pulls: float, total: float, known: float, known_total: float) -> float:
    """Return the log of the ratio of two Beta integrals."""
    after = _log_integral(law.weight * (pulls + known) + 1.0, total + known_total)
    return after - _log_integral(law.weight * known + 1.0, known_total)


@kernel
def _log_integral(failures: float, successes: float) -> float:
    """Return log B(successes, failures), without cancellation even for many failures."""
    both = failures + successes
    if failures < _STIRLING:
        return math.lgamma(successes) + math.lgamma(failures) - math.lgamma(both)
    growth = (failures - 0.5) * math.log1p(successes / failures) + successes * math.log(both) - successes
    return math.lgamma(successes) - growth - _correction(both) + _correction(failures)


@kernel
def _correction(z: float) -> float:
    """Return log Γ(z) − (z − 1/2) log z + z − log(2π)/2, by Stirling's series."""
    s = 1.0 / (z * z)
    return (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s / 1680.0))) / z
