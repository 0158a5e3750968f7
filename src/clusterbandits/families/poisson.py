"""Counts: mean y ≥ 0, variance y, natural parameter log y."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterbandits.compiled import allocating_kernel, inner_kernel, kernel
from clusterbandits.families.family import CountFamily
from clusterbandits.families.relative_entropy import relative_entropy, root_above, root_below
from clusterbandits.families.stream import gamma

if TYPE_CHECKING:
    from numpy.random import Generator

    from clusterbandits.families.law import Law
    from clusterbandits.families.stream import Stream


@dataclass(frozen=True)
class Poisson(CountFamily):
    """Counts, such as units sold per day.

    d(x, y) = y − x + x log(x/y).

    Examples
    --------
    >>> Poisson().divergence(0.0, 3.0)
    3.0
    """

    name = "poisson"
    flat_total = 1.0


@kernel
def divergence(_law: Law, x: float, y: float, gap: float) -> float:
    """Return y − x + x log(x/y); gap = y − x."""
    return relative_entropy(x, y, gap)


@kernel
def variance(_law: Law, y: float) -> float:
    """Return y."""
    return y


@kernel
def natural_gap(_law: Law, x: float, _y: float, gap: float) -> float:
    """Return log(y) − log(x) for 0 < x < y; gap = y − x."""
    return math.log1p(gap / x)


@kernel
def upper(_law: Law, x: float, level: float) -> float:
    """Return the largest y with d(x, y) ≤ level."""
    return root_above(x, level)


@kernel
def lower(_law: Law, x: float, level: float) -> float:
    """Return the smallest y with d(x, y) ≤ level."""
    return root_below(x, level)


@allocating_kernel
def total(_law: Law, rng: Generator, mean: float, pulls: int) -> float:
    """Draw the sum of ``pulls`` rewards from its Poisson distribution."""
    return float(rng.poisson(pulls * mean))


@inner_kernel
def draw_mean(_law: Law, stream: Stream, pulls: float, total: float) -> float:
    """Draw a mean from its posterior, Gamma(total) / pulls."""
    return gamma(stream, total) / pulls


@kernel
def log_evidence(_law: Law, pulls: float, total: float, known: float, known_total: float) -> float:
    """Return the log of the ratio of two Gamma integrals."""
    return _log_integral(pulls + known, total + known_total) - _log_integral(known, known_total)


@kernel
def _log_integral(pulls: float, total: float) -> float:
    return math.lgamma(total) - total * math.log(pulls)
