"""Rewards of any distribution on [low, high]: the Bernoulli divergence of the scaled means.

With u = high − low, rewards of mean y have at most the variance (y − low)(high − y), which they reach if each
is either low or high. The natural parameter of that two-point distribution is log((y − low) / (high − y)) /
u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families import bernoulli
from clusterbandits.families.family import Family, rounding
from clusterbandits.families.relative_entropy import relative_entropy
from clusterbandits.families.stream import beta
from clusterbandits.validate import Described, between, invalid

if TYPE_CHECKING:
    from numpy.random import Generator

    from clusterbandits.families.family import Floats
    from clusterbandits.families.law import Law
    from clusterbandits.families.stream import Stream

_LARGEST = 1e50
#: The least width of the interval relative to its ends: a narrower one leaves too few digits for rewards.
_NARROWEST = 1e-6


@dataclass(frozen=True)
class Bounded(Family):
    """Rewards of any distribution from ``low`` to ``high``, such as revenue per visitor or a rating.

    d(x, y) = kl((x − low)/u, (y − low)/u), with u = high − low and kl the divergence of Bernoulli rewards. Of
    all distributions on the interval with the same mean, the two-point distribution on its ends is the
    hardest to learn, and d is its divergence: guarantees for it hold for all others. Means, widths, totals
    and bounds are in the units of the rewards.

    Posteriors treat t rewards of total s as S = (s − low t)/u successes in t trials, where S need not be
    whole: Beta(1 + S, 1 + t − S), scaled back. Its tails are exp(−t d(s/t, y)), and Chernoff's inequality
    bounds the error of the mean of any t rewards on the interval by the same expression, so rewards need not
    be rounded at random to an end of the interval. Posteriors, like all bounds here, are wider than necessary
    if the variance of the rewards is below that of the two-point distribution.

    An ``Instance`` that is given means simulates rewards that are low or high; for other shapes, give it
    distributions such as ``Empirical``.

    Parameters
    ----------
    low, high
        Smallest and largest possible reward, by default 0 and 1; not the smallest and largest observed.

    Examples
    --------
    >>> revenue = Bounded(high=50.0)
    >>> revenue.divergence(20.0, 30.0)
    0.08109302162163287
    >>> revenue.upper([5.0, 25.0], 0.02).round(2)
    array([ 8.52, 29.95])

    References
    ----------
    Garivier and Cappé, The KL-UCB algorithm for bounded stochastic bandits and beyond, COLT 2011. Agrawal and
    Goyal, Analysis of Thompson sampling for the multi-armed bandit problem, COLT 2012.
    """

    low: float = 0.0
    high: float = 1.0

    name = "bounded"
    flat_pulls = 2.0
    beta_likelihood = True

    def __post_init__(self) -> None:
        low, high = (
            between(name, "Bounded", getattr(self, name), -_LARGEST, _LARGEST) for name in ("low", "high")
        )
        if not high - low > _NARROWEST * max(abs(low), abs(high)):
            allowed = "larger than low, by more than a millionth of either"
            raise invalid("high", "Bounded", allowed, Described(f"high={high!r} and low={low!r}"))
        traits = {"low": low, "high": high, "lowest": low, "highest": high}
        for name, value in (traits | {"support": f"a number {self._words(low, high)}"}).items():
            object.__setattr__(self, name, value)

    def _supports(self, totals: Any, pulls: int) -> Any:
        tolerance = (rounding(pulls) - 1.0) * pulls * max(abs(self.low), abs(self.high))
        return (totals >= pulls * self.low - tolerance) & (totals <= pulls * self.high + tolerance)

    def draw(self, mean: float, count: int, rng: Generator) -> Floats:
        """Draw ``count`` rewards of mean ``mean``, one by one; each is low or high."""
        return np.where(rng.random(count) < _share(self.law, mean), self.high, self.low)


@inner_kernel
def _inside(law: Law, mean: float) -> float:
    """Return a mean, clipped to [low, high]: rounding or an assumed reward of 0 can move it outside."""
    return min(max(mean, law.lowest), law.highest)


@inner_kernel
def _share(law: Law, mean: float) -> float:
    """Return the position of a mean between low and high, from 0 to 1."""
    return (_inside(law, mean) - law.lowest) / (law.highest - law.lowest)


@inner_kernel
def _mean(law: Law, share: float) -> float:
    """Return the mean at a position from 0 to 1, computed from the nearer end."""
    if share < 0.5:
        return law.lowest + (law.highest - law.lowest) * share
    return law.highest - (law.highest - law.lowest) * (1.0 - share)


@inner_kernel
def _successes(law: Law, pulls: float, total: float) -> float:
    """Return the number of successes that a total is equivalent to."""
    return (total - law.lowest * pulls) / (law.highest - law.lowest)


@kernel
def divergence(law: Law, x: float, y: float, gap: float) -> float:
    """Return the Bernoulli divergence of the scaled means, each computed from its nearer end; gap = y − x."""
    p, q, unit = _inside(law, x), _inside(law, y), law.highest - law.lowest
    part = (gap if p == x and q == y else q - p) / unit
    low = relative_entropy((p - law.lowest) / unit, (q - law.lowest) / unit, part)
    return low + relative_entropy((law.highest - p) / unit, (law.highest - q) / unit, -part)


@kernel
def variance(law: Law, y: float) -> float:
    """Return (y − low)(high − y), the variance of the two-point distribution."""
    return (y - law.lowest) * (law.highest - y)


@kernel
def natural_gap(law: Law, x: float, y: float, gap: float) -> float:
    """Return the difference of the natural parameters of two means, for low < x < y; gap = y − x."""
    if y >= law.highest or x <= law.lowest:
        return math.inf
    tilt = math.log1p(gap / (law.highest - y)) + math.log1p(gap / (x - law.lowest))
    return tilt / (law.highest - law.lowest)


@kernel
def upper(law: Law, x: float, level: float) -> float:
    """Return the largest y with d(x, y) ≤ level."""
    if level == 0.0:
        return x
    return max(x, _mean(law, bernoulli.upper(law, _share(law, x), level)))


@kernel
def lower(law: Law, x: float, level: float) -> float:
    """Return the smallest y with d(x, y) ≤ level."""
    if level == 0.0:
        return x
    return min(x, _mean(law, bernoulli.lower(law, _share(law, x), level)))


@inner_kernel
def total(law: Law, rng: Generator, mean: float, pulls: int) -> float:
    """Draw the sum of ``pulls`` rewards, each low or high, from a binomial distribution."""
    many = bernoulli.total(law, rng, _share(law, mean), pulls)
    return pulls * law.lowest + (law.highest - law.lowest) * many


@inner_kernel
def draw_mean(law: Law, stream: Stream, pulls: float, total: float) -> float:
    """Draw a mean from the scaled Beta posterior."""
    successes = _successes(law, pulls, total)
    return _mean(law, beta(stream, successes, pulls - successes))


@kernel
def log_evidence(law: Law, pulls: float, total: float, known: float, known_total: float) -> float:
    """Return the log of the ratio of two Beta integrals."""
    return bernoulli.log_evidence(
        law, pulls, _successes(law, pulls, total), known, _successes(law, known, known_total)
    )
