"""Rewards 0 or 1: mean y in [0, 1], variance y(1 − y), natural parameter log(y / (1 − y))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.family import Family
from clusterbandits.families.relative_entropy import MOST_STEPS, above, below, relative_entropy
from clusterbandits.families.stream import beta

if TYPE_CHECKING:
    from numpy.random import Generator

    from clusterbandits.families.family import Floats
    from clusterbandits.families.law import Law
    from clusterbandits.families.stream import Stream


@dataclass(frozen=True)
class Bernoulli(Family):
    """Rewards 0 or 1, such as clicks and conversions.

    d(x, y) = x log(x/y) + (1−x) log((1−x)/(1−y)). This divergence is valid for all rewards between 0 and 1,
    but it is not the tightest where they take other values than 0 and 1.

    Examples
    --------
    >>> Bernoulli().divergence(0.4, 0.6)
    0.08109302162163287
    >>> Bernoulli().upper([0.1, 0.5], 0.02).round(4)
    array([0.1704, 0.599 ])

    References
    ----------
    Garivier and Cappé, The KL-UCB algorithm for bounded stochastic bandits and beyond, COLT 2011.
    """

    name = "bernoulli"
    flat_pulls = 2.0
    highest = 1.0
    beta_likelihood = True
    counts = True
    support = "a number from 0 to 1"

    def _supports(self, totals: Any, pulls: int) -> Any:
        return (totals >= 0.0) & (totals <= pulls)

    def draw(self, mean: float, count: int, rng: Generator) -> Floats:
        """Draw ``count`` rewards of mean ``mean``, one by one."""
        return (rng.random(count) < mean).astype(np.float64)


@kernel
def divergence(_law: Law, x: float, y: float, gap: float) -> float:
    """Return x log(x/y) + (1−x) log((1−x)/(1−y)), as two terms that are never negative; gap = y − x."""
    return relative_entropy(x, y, gap) + relative_entropy(1.0 - x, 1.0 - y, -gap)


@kernel
def variance(_law: Law, y: float) -> float:
    """Return y (1 − y)."""
    return y * (1.0 - y)


@kernel
def natural_gap(_law: Law, x: float, y: float, gap: float) -> float:
    """Return logit(y) − logit(x) for 0 < x < y; gap = y − x."""
    if y >= 1.0:
        return math.inf
    return math.log1p(gap / (1.0 - y)) + math.log1p(gap / x)


@kernel
def upper(law: Law, x: float, level: float) -> float:
    """Return the largest y with d(x, y) ≤ level, by Newton's method from above."""
    if x == 0.0:
        return -math.expm1(-level)
    rest = 1.0 - x
    y = min(x + math.sqrt(0.5 * level), above(x, level))
    if rest > 0.0:
        # The second term dominates near 1, and its root alone is a bound too.
        y = min(y, x - rest * math.expm1(-1.0 - level / rest))
    for _ in range(MOST_STEPS):
        if y <= x or y >= 1.0:
            return min(max(x, y), 1.0)
        closer = y - (divergence(law, x, y, y - x) - level) * (variance(law, y) / (y - x))
        if closer >= y:
            return y
        y = closer
    return y


@kernel
def lower(law: Law, x: float, level: float) -> float:
    """Return the smallest y with d(x, y) ≤ level, by Newton's method from below."""
    if x == 1.0:
        return math.exp(-level)
    rest = 1.0 - x
    second = x - level - math.sqrt(level) * math.sqrt(level + 2.0 * rest)
    y = max(x - math.sqrt(0.5 * level), below(x, level), second)
    for _ in range(MOST_STEPS):
        if y >= x or y <= 0.0:
            return min(max(0.0, y), x)
        closer = y + (divergence(law, x, y, y - x) - level) * (variance(law, y) / (x - y))
        if closer <= y:
            return y
        y = closer
    return y


@inner_kernel
def total(_law: Law, rng: Generator, mean: float, pulls: int) -> float:
    """Draw the sum of ``pulls`` rewards from its binomial distribution."""
    return float(rng.binomial(pulls, mean))


@inner_kernel
def draw_mean(_law: Law, stream: Stream, pulls: float, total: float) -> float:
    """Draw a mean from Beta(total, pulls − total)."""
    return beta(stream, total, pulls - total)


@kernel
def log_evidence(_law: Law, pulls: float, total: float, known: float, known_total: float) -> float:
    """Return the log of the ratio of two Beta integrals."""
    # Failures are summed separately: they may be smaller than the rounding error of the pulls.
    failures, known_failures = pulls - total, known - known_total
    return _log_beta(total + known_total, failures + known_failures) - _log_beta(known_total, known_failures)


@kernel
def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
