r"""Safe widths: upper confidence bounds on the spans of groups, for any number of trials.

A group's span is :math:`p_i - p_j` for one fixed pair of arms, its best and its worst. The pair is unknown,
but only its bound must hold, so no correction for the number of arms is needed. With x successes in n trials,

.. math::
    U = P(X_i \le x_i \mid p_i), \qquad V = P(X_j \ge x_j \mid p_j)

are independent and at least as large as uniform numbers, so :math:`P(UV \le c) \le c (1 - \log c)` (Fisher).
For the c at which this is δ, :math:`UV > c` with probability at least 1 − δ, and then

.. math::
    p_i - p_j \le \max_{c \le t \le 1} \left[ \mathrm{up}_i(t) - \mathrm{low}_j(c / t) \right]

with the one-sided bounds of Clopper and Pearson. The safe width is the largest of these over all pairs. The
proof only needs that U and V are at least as large as uniform numbers, so it holds for all bounds that are
valid at every level t, such as those of ``mean_bounds`` for rewards of any distribution between two bounds.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from clusterbandits.families import Bernoulli
from clusterbandits.studies.mean_bounds import Sums

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

CONFIDENCE = 0.95
#: The number of splits of c; each is a bound for all splits up to the next one.
_CELLS = 256
_DIGITS = 3


def safe_widths(
    groups: Iterable[Sums | tuple[ArrayLike, ArrayLike]], confidence: float = CONFIDENCE
) -> tuple[float, ...]:
    """Return one width per group; all are at least the spans with the given confidence.

    Widths are rounded up to three digits. A group of one arm has the width 0 and does not count.

    Parameters
    ----------
    groups
        Observations of the arms of each group, or their trials and successes; all arms are independent.
    confidence
        Probability that all widths are wide enough, whatever the means are.

    Examples
    --------
    >>> safe_widths([([1000, 1000], [400, 430]), ([50, 50], [20, 21]), ([10], [3])])
    (0.079, 0.25, 0.0)
    """
    parts = [group if isinstance(group, Sums) else _successes(*group) for group in groups]
    risk = own_risk(confidence, sum(sums.trials.size > 1 for sums in parts))
    return tuple(rounded_up(widest_span(sums, risk)) for sums in parts)


def own_risk(confidence: float, groups: int) -> float:
    """Return the error probability that is allowed for each of several independent groups."""
    return -math.expm1(math.log(confidence) / max(groups, 1))


def span_bound(trials: ArrayLike, successes: ArrayLike, risk: float) -> float:
    """Return an upper bound on the largest difference of means, at most ``risk`` likely to fail.

    Parameters
    ----------
    trials, successes
        Numbers per arm; fractions are allowed, to compute the bound for more trials.
    risk
        Probability of error, whatever the means are.

    Examples
    --------
    >>> span_bound([1000, 1000], [400, 430], 0.05)
    0.0722...
    """
    return widest_span(_successes(trials, successes), risk)


def widest_span(sums: Sums, risk: float) -> float:
    """Return ``span_bound`` for arms with rewards of any kind, in the unit of the rewards."""
    if sums.trials.size < 2:
        return 0.0
    product = fisher_product(risk)
    splits = np.exp(np.linspace(math.log(product), 0.0, _CELLS + 1))
    highs = sums.upper(splits[:-1, None])
    lows = sums.lower((product / splits[1:])[:, None])
    return min(sums.family.high - sums.family.low, float(_widest_pair(highs, lows).max()))


def _successes(trials: ArrayLike, successes: ArrayLike) -> Sums:
    return Sums(Bernoulli(), np.asarray(trials, dtype=float), np.asarray(successes, dtype=float))


@functools.lru_cache(maxsize=64)
def fisher_product(risk: float) -> float:
    """Return the c at which c (1 - log c) = risk.

    Examples
    --------
    >>> round(fisher_product(0.05), 6)
    0.0087...
    """
    logarithm = brentq(lambda y: y + math.log1p(-y) - math.log(risk), 4 * math.log(risk) - 8, 0.0, xtol=1e-13)
    return math.exp(float(logarithm))


def _widest_pair(highs: Floats, lows: Floats) -> Floats:
    """Return the largest high minus low of two different arms in each row."""
    best, worst = highs.argmax(axis=1), lows.argmin(axis=1)
    rows = np.arange(len(highs))
    top, bottom = highs[rows, best], lows[rows, worst]
    second = np.partition(highs, -2, axis=1)[:, -2]
    last_but_one = np.partition(lows, 1, axis=1)[:, 1]
    apart = np.maximum(second - bottom, top - last_but_one)
    return np.asarray(np.where(best == worst, apart, top - bottom))


def rounded_up(width: float) -> float:
    """Return the next number of three digits that is not below a width.

    Examples
    --------
    >>> rounded_up(0.12301), rounded_up(0.000451), rounded_up(0.0), rounded_up(1.0)
    (0.124, 0.000451, 0.0, 1.0)
    """
    if width <= 0:
        return 0.0
    decimals = _DIGITS - 1 - math.floor(math.log10(width))
    nearest = round(width, decimals)
    return nearest if nearest >= width else round(nearest + 10.0**-decimals, decimals)
