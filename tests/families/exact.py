"""The families once more: textbook formulas in 60-digit arithmetic, and what tests need to know of each.

A new family needs an entry in every dictionary here; the tests of accuracy, laws, linear programs and
properties then run for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from clusterbandits import Bernoulli, Bounded, Exponential, Family, Gaussian, NegativeBinomial, Poisson

mpmath.mp.dps = 60
Number = Any
Formula = Callable[[Any, Number, Number], Number]

FAMILIES: tuple[Family, ...] = (
    Bernoulli(),
    Gaussian(),
    Gaussian(sigma=0.25),
    Poisson(),
    Exponential(),
    Exponential(shape=3.5),
    NegativeBinomial(),
    NegativeBinomial(shape=0.2),
    NegativeBinomial(shape=40.0),
    Bounded(),
    Bounded(low=0.0, high=50.0),
    Bounded(low=-0.3, high=1.1),
)


def _xlog(x: Number, ratio: Number) -> Number:
    return x * mpmath.log(ratio) if x else mpmath.mpf(0)


def _bernoulli(_: Bernoulli, p: Number, q: Number) -> Number:
    if q in (0, 1):
        return mpmath.inf
    return _xlog(p, p / q) + _xlog(1 - p, (1 - p) / (1 - q))


def _share(family: Bounded, mean: Number) -> Number:
    low, high = mpmath.mpf(family.low), mpmath.mpf(family.high)
    return (mean - low) / (high - low)


def _bounded(family: Bounded, p: Number, q: Number) -> Number:
    return _bernoulli(Bernoulli(), _share(family, p), _share(family, q))


_DIVERGENCES: dict[str, Formula] = {
    "bernoulli": _bernoulli,
    "gaussian": lambda f, p, q: (p - q) ** 2 / (2 * mpmath.mpf(f.sigma) ** 2),
    "poisson": lambda _, p, q: mpmath.inf if q == 0 else q - p + _xlog(p, p / q),
    "exponential": lambda f, p, q: mpmath.mpf(f.shape) * (p / q - 1 - mpmath.log(p / q)),
    "negative-binomial": lambda f, p, q: (
        mpmath.inf if q == 0 else _xlog(p, p / q) - _xlog(p + f.shape, (p + f.shape) / (q + f.shape))
    ),
    "bounded": _bounded,
}
_SLOPES: dict[str, Formula] = {
    "bernoulli": lambda _, p, q: (1 - p) / (1 - q) - p / q,
    "gaussian": lambda f, p, q: (q - p) / mpmath.mpf(f.sigma) ** 2,
    "poisson": lambda _, p, q: 1 - p / q,
    "exponential": lambda f, p, q: mpmath.mpf(f.shape) * (q - p) / q**2,
    "negative-binomial": lambda f, p, q: (q - p) / (q + q**2 / mpmath.mpf(f.shape)),
    "bounded": lambda f, p, q: (q - p) / ((q - f.low) * (f.high - q)),
}
#: The law of the total of n rewards of mean m, as scipy knows it; see ``standard`` for bounded ones.
_TOTALS: dict[str, Callable[[Any, float, int], Any]] = {
    "bernoulli": lambda _, m, n: stats.binom(n, m),
    "gaussian": lambda f, m, n: stats.norm(n * m, f.sigma * np.sqrt(n)),
    "poisson": lambda _, m, n: stats.poisson(n * m),
    "exponential": lambda f, m, n: stats.gamma(f.shape * n, scale=m / f.shape),
    "negative-binomial": lambda f, m, n: stats.nbinom(f.shape * n, f.shape / (f.shape + m)),
    "bounded": lambda f, m, n: stats.binom(n, (m - f.low) / (f.high - f.low)),
}
_TINY = mpmath.mpf(10) ** -100_000
#: Points beyond the upper and the lower root from x at a level.
_BEYOND: dict[str, Callable[[Any, float, float], tuple[Number, Number]]] = {
    "bernoulli": lambda _, x, __: (1.0, 0.0 if x == 0 else _TINY),
    "gaussian": lambda f, x, level: (x + f.sigma * (2 + level), x - f.sigma * (2 + level)),
    "poisson": lambda _, x, level: (
        x + 2 * level + mpmath.sqrt(2 * x * level) + 1,
        0.0 if x == 0 else x * _TINY,
    ),
    "exponential": lambda f, x, level: (
        mpmath.mpf(x) * mpmath.exp(level / f.shape + 2),
        mpmath.mpf(x) / (4 + 2 * level / f.shape),
    ),
    "negative-binomial": lambda f, x, level: (
        (mpmath.mpf(x) + f.shape) * mpmath.exp(4 + 2 * level / f.shape),
        0.0 if x == 0 else x * _TINY,
    ),
    "bounded": lambda f, x, __: (
        f.high,
        f.low if x == f.low else f.low + (mpmath.mpf(f.high) - f.low) * _TINY,
    ),
}
#: The limits of the lower and of the upper root for large levels, where rewards have no upper limit.
_ENDS = {
    "gaussian": (-np.inf, 1e100),
    "poisson": (0.0, 1e100),
    "exponential": (0.0, 1e100),
    "negative-binomial": (0.0, 1e100),
}
#: Where random means are drawn from, where rewards have no upper limit.
_RANGES = {
    "gaussian": (-5.0, 5.0),
    "poisson": (0.01, 20.0),
    "exponential": (0.01, 20.0),
    "negative-binomial": (0.01, 20.0),
}


def one_of(kind: type[Family]) -> Family:
    """Return a family of a kind: bounded rewards with ends that are no whole numbers."""
    return FAMILIES[-1] if kind is Bounded else kind()


def is_bounded(family: Family) -> bool:
    return family.highest < np.inf


def ends(family: Family) -> tuple[float, float]:
    return (family.low, family.high) if is_bounded(family) else _ENDS[family.name]


def mean_range(family: Family) -> tuple[float, float]:
    return (family.low, family.high) if is_bounded(family) else _RANGES[family.name]


def divergence(family: Family, x: Number, y: Number) -> Number:
    p, q = mpmath.mpf(x), mpmath.mpf(y)
    return mpmath.mpf(0) if p == q else _DIVERGENCES[family.name](family, p, q)


def slope(family: Family, x: Number, y: Number) -> Number:
    return _SLOPES[family.name](family, mpmath.mpf(x), mpmath.mpf(y))


def divergence_above(family: Family, x: Number, y: Number, width: Number) -> Number:
    """d⁺(x, y − width) as it is written."""
    floor = mpmath.mpf(y) - mpmath.mpf(width)
    return divergence(family, x, floor) if mpmath.mpf(x) < floor else mpmath.mpf(0)


def rise(family: Family, x: Number, y: Number, width: Number) -> Number:
    """d⁺(x, y) − d⁺(x, y − width) as it is written."""
    return divergence_above(family, x, y, 0) - divergence_above(family, x, y, width)


def total_law(family: Family, mean: float, pulls: int) -> Any:
    return _TOTALS[family.name](family, mean, pulls)


def standard(family: Family, totals: Any, pulls: int) -> Any:
    """Return totals in the unit of ``total_law``: those of bounded rewards as numbers of high ones."""
    if not isinstance(family, Bounded):
        return totals
    many = (np.asarray(totals) - pulls * family.low) / (family.high - family.low)
    whole = np.round(many)
    return np.where(np.abs(many - whole) <= 1e-12 * pulls, whole, many)


def beyond(family: Family, x: float, level: float) -> tuple[Number, Number]:
    return _BEYOND[family.name](family, x, level)


def grid(family: Family, points: int) -> NDArray[np.float64]:
    """Means log-spaced to 1e-12 from each end of the domain, ends that belong to it included."""
    if is_bounded(family):
        near = (family.high - family.low) * np.logspace(-12, np.log10(0.5), points)
        means = np.concatenate([[family.low, family.high], family.low + near, family.high - near])
    else:
        positive = np.logspace(-12, 12, 2 * points)
        means = np.concatenate([-positive, [0.0], positive])
    return np.unique(means[family.contains(means)])


def root(family: Family, x: float, level: float, end: Number) -> Number:
    """Bisect from x towards an end whose divergence is above the level."""
    inside, outside = mpmath.mpf(x), mpmath.mpf(end)
    for _ in range(1000):
        start = inside or mpmath.mpf("1e-40")
        wide = start > 0 and outside > 0 and max(start / outside, outside / start) > 4
        middle = mpmath.sqrt(start * outside) if wide else (inside + outside) / 2
        if divergence(family, x, middle) <= level:
            inside = middle
        else:
            outside = middle
        if abs(inside - outside) < abs(inside) * mpmath.mpf("1e-25"):
            break
    return inside
