"""The time of a divergence and of a confidence root, called one by one as in kernels."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import rel_entr

from benchmarks.measure import Measurement, seconds
from clusterbandits.families import FAMILIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COUNT = 200_000


def _plain_bernoulli(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    total: NDArray[np.float64] = rel_entr(x, y) + rel_entr(1 - x, 1 - y)
    return total


def _bisected(x: NDArray[np.float64], level: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Bernoulli upper roots to 4 decimals by binary search, as in the paper's code."""
    low, high = x.copy(), np.ones_like(x)
    for _ in range(14):
        middle = (low + high) / 2
        inside = _plain_bernoulli(x, middle) <= level
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


def measure() -> list[Measurement]:
    """Measure nanoseconds per element, compared with NumPy formulas."""
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0.01, 0.99, (2, _COUNT))
    level = 10.0 ** rng.uniform(-5, 0.5, _COUNT)
    scale = 1e9 / _COUNT
    found = []
    for family in (kind() for kind in FAMILIES.values()):
        divergence = seconds(partial(family.divergence, x, y))
        root = seconds(partial(family.upper, x, level))
        found.append(Measurement(f"{family.name} divergence", scale * divergence, "ns"))
        found.append(Measurement(f"{family.name} upper root", scale * root, "ns"))
    plain, bisected = (seconds(lambda: _plain_bernoulli(x, y)), seconds(lambda: _bisected(x, level)))
    found.append(Measurement("bernoulli divergence, scipy rel_entr", scale * plain, "ns"))
    found.append(Measurement("bernoulli upper root to 4 decimals, NumPy bisection", scale * bisected, "ns"))
    return found
