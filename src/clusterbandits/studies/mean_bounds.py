r"""Confidence bounds for the means of arms, valid for any number of trials.

Rewards 0 or 1 have the bounds of Clopper and Pearson. For rewards of any distribution from low to high, with
t trials, mean m, sample variance V and u = high − low, each of two bounds fails with probability at most δ:

.. math::
    \sup\{q : t\, d(m, q) \le \log(1/δ)\}, \qquad
    m + \sqrt{2 V \log(2/δ) / t} + \tfrac{7}{3} u \log(2/δ) / (t - 1)

The first is Chernoff's inequality with the divergence d of the family ``bounded``; the second, the empirical
Bernstein inequality, is narrower if rewards vary less than rewards that are low or high. The narrower of the
two, at δ/2 each, fails with probability at most δ for any skewness of the rewards. Lower bounds mirror them.

References
----------
Garivier and Cappé, The KL-UCB algorithm for bounded stochastic bandits and beyond, COLT 2011. Maurer and
Pontil, Empirical Bernstein bounds and sample-variance penalization, COLT 2009.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betaincinv

from clusterbandits.families import Bernoulli, Bounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


#: The rounding error of sums in tables, relative to the largest possible sum.
ROUNDING = 1e-6


class Sums(NamedTuple):
    """The observations of some arms: the numbers of their rewards, the totals, and the sums of squares.

    Examples
    --------
    >>> sums = Sums(Bounded(high=50.0), np.array([400.0]), np.array([600.0]), np.array([12_000.0]))
    >>> sums.lower(0.025).round(2).tolist(), sums.upper(0.025).round(2).tolist()
    ([0.56], [3.12])
    """

    family: Bernoulli | Bounded
    trials: Floats
    totals: Floats
    #: None if unknown; only Chernoff's inequality is then used.
    squares: Floats | None = None

    def times(self, factor: float) -> Sums:
        """Return the sums of a multiple of the trials, at the same means and variances."""
        squares = None if self.squares is None else factor * self.squares
        return Sums(self.family, factor * self.trials, factor * self.totals, squares)

    def upper(self, risk: Floats | float) -> Floats:
        """Return upper bounds of the means, each of which fails with a probability of at most ``risk``."""
        if isinstance(self.family, Bernoulli):
            return upper_bounds(self.trials, self.totals, risk)
        return _bounded_upper(self.family, self, risk)

    def lower(self, risk: Floats | float) -> Floats:
        """Return lower bounds of the means, each of which fails with a probability of at most ``risk``."""
        if isinstance(self.family, Bernoulli):
            return lower_bounds(self.trials, self.totals, risk)
        mirrored = Bounded(-self.family.high, -self.family.low)
        return -_bounded_upper(mirrored, self._replace(totals=-self.totals), risk)


def upper_bounds(trials: Floats, successes: Floats, risk: Floats | float) -> Floats:
    """Return the upper bounds of Clopper and Pearson, which fail with a probability of at most ``risk``."""
    failures = trials - successes
    # Computed from the failures, for which a tail of 1e-12 keeps its digits.
    safe = np.where(failures > 0, failures, 1.0)
    return np.where(failures > 0, 1.0 - betaincinv(safe, successes + 1.0, risk), 1.0)


def lower_bounds(trials: Floats, successes: Floats, risk: Floats | float) -> Floats:
    """Return the lower bounds of Clopper and Pearson, which fail with a probability of at most ``risk``."""
    safe = np.where(successes > 0, successes, 1.0)
    return np.where(successes > 0, betaincinv(safe, trials - successes + 1.0, risk), 0.0)


def _bounded_upper(family: Bounded, sums: Sums, risk: Floats | float) -> Floats:
    trials = np.maximum(sums.trials, 1.0)
    # Rounding can move the mean of many rewards beyond the end of the domain.
    means = np.clip(sums.totals / trials, family.low, family.high)
    doubt = -np.log(np.asarray(risk, dtype=np.float64))
    if sums.squares is None:
        found = family.upper(means, doubt / trials)
    else:
        doubt = doubt + math.log(2.0)
        chernoff = family.upper(means, doubt / trials)
        found = np.minimum(chernoff, _bernstein_upper(family, sums, means, doubt + math.log(2.0)))
    return np.asarray(np.where(sums.trials > 0, found, family.high))


def _bernstein_upper(family: Bounded, sums: Sums, means: Floats, doubt: Floats) -> Floats:
    """Return the empirical Bernstein bound, given log(2/δ)."""
    assert sums.squares is not None
    pairs = np.maximum(sums.trials - 1.0, 1.0)
    # Rounded sums of squares are at most this much too small.
    rounded = ROUNDING * sums.trials * (family.high - family.low) ** 2
    variances = (np.maximum(sums.squares - sums.trials * means * means, 0.0) + rounded) / pairs
    reach = np.sqrt(2.0 * variances * doubt / (pairs + 1.0))
    found = means + reach + 7.0 / 3.0 * (family.high - family.low) * doubt / pairs
    return np.where(sums.trials > 1, found, family.high)
