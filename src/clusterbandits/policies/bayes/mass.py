"""A posterior between two means: how much of it lies there, and a draw from that part.

Densities are exp(−t d(mode, u)), unimodal, and need no normalisation. Mass is summed outwards from the
highest point in panels that the density's own scale sets, so that the far tails, where a width contradicts
the data, are as accurate as the middle. Exponential means, which can lie hundreds of powers of ten apart, are
measured by v = log u, in which their density e^v exp(−t d(mode, e^v)) is log-concave; others by v = u.
"""

from __future__ import annotations

import math

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.calculus import slope
from clusterbandits.families.law import BERNOULLI, EXPONENTIAL, POISSON, Law, variance
from clusterbandits.families.posterior import Density, log_density

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_FIRST_PANEL, _GROWTH = 2.5, 1.5
_MOST_PANELS = 400
#: How much closer to an end one panel may reach, the power from which on that does not matter, and how far
#: from whole a power may be by rounding.
_GRADE, _SMOOTH, _WHOLE = 3.0, 40.0, 1e-9
#: What is left out of a mass, relative to it, and of a draw's envelope, as a logarithm.
_NEGLIGIBLE, _FAR = 1e-11, -40.0
#: The finest step, relative to where it starts, for floats, and to the whole, for the number of panels.
_FINEST, _SHORTEST = 1e-15, 1e-60
_SMALLEST = 1e-300
#: A draw that was refused so often has nowhere to go but the highest point, to all digits of a float.
_MOST_REFUSALS = 1000


@kernel
def scale_at(of: Density, u: float) -> float:
    """Return how far from u the density falls by a factor of about e."""
    steep = of.force * abs(slope(of.law, of.mode, u))
    spread = variance(of.law, u)
    bend = math.sqrt(of.force / spread) if spread > 0.0 else 0.0
    return 1.0 / max(steep + bend, 1e-300) if steep < math.inf else 0.0


@inner_kernel
def _from_mean(law: Law, u: float) -> float:
    return math.log(max(u, _SMALLEST)) if law.code == EXPONENTIAL else u


@inner_kernel
def _to_mean(law: Law, v: float) -> float:
    return math.exp(v) if law.code == EXPONENTIAL else v


@inner_kernel
def _log_height(of: Density, v: float) -> float:
    """Return the log of the density in v."""
    return log_density(of, math.exp(v)) + v if of.law.code == EXPONENTIAL else log_density(of, v)


@inner_kernel
def _highest(of: Density, low: float, high: float) -> float:
    """Return the v of the highest density between two others."""
    top = of.mode
    if of.law.code == EXPONENTIAL:
        force = of.force * of.law.weight
        top = _from_mean(of.law, of.mode) + (math.log(force / (force - 1.0)) if force > 1.0 else math.inf)
    return min(max(top, low), high)


@kernel
def _scale(of: Density, v: float, whole: float) -> float:
    """Return how far from v the density falls by a factor of about e, or the finest step there is."""
    if of.law.code == EXPONENTIAL:
        force = of.force * of.law.weight
        bend = force * math.exp(_from_mean(of.law, of.mode) - v)
        scale = 1.0 / (abs(bend - force + 1.0) + math.sqrt(bend) + _SMALLEST)
    else:
        scale = scale_at(of, v)
    return max(scale, _FINEST * abs(v), _SHORTEST * whole)


@kernel
def log_mass(of: Density, low: float, high: float) -> float:
    """Return the log of ∫ exp(−t d(mode, u)) du from low to high."""
    if not high > low:
        return -math.inf
    first, last = _from_mean(of.law, low), _from_mean(of.law, high)
    peak = _highest(of, first, last)
    top = _log_height(of, peak)
    if top == -math.inf:
        return -math.inf
    step = _FIRST_PANEL * _scale(of, peak, last - first)
    mass = _outwards(of, peak, last, step, top)
    mass += _outwards(of, peak, first, -step, top)
    return top + math.log(mass) if mass > 0.0 else -math.inf


@kernel
def _is_rough(of: Density) -> tuple[bool, bool]:
    """Tell whether the density is no polynomial near 0, and near 1: panels must then shrink towards them."""
    total = of.force * of.mode
    if of.law.code == BERNOULLI:
        rest = of.force - total
        return _is_fraction(total), _is_fraction(rest)
    return of.law.code == POISSON and _is_fraction(total), False


@inner_kernel
def _is_fraction(power: float) -> bool:
    return power < _SMOOTH and abs(power - math.floor(power + 0.5)) > _WHOLE


@kernel
def _outwards(of: Density, start: float, end: float, step: float, top: float) -> float:
    """Return ∫ exp(log density − top), never negative, from start towards end, step by growing step."""
    mass, u = 0.0, start
    rough_at_0, rough_at_1 = _is_rough(of)
    for _ in range(_MOST_PANELS):
        if u == end:
            break
        v = u + step
        if rough_at_0:
            v = min(max(v, u / _GRADE), u * _GRADE)
        if rough_at_1:
            v = 1.0 - min(max(1.0 - v, (1.0 - u) / _GRADE), (1.0 - u) * _GRADE)
        if (step > 0.0) == (v > end) or v == u:
            v = end
        centre, half, part = 0.5 * (u + v), 0.5 * abs(v - u), 0.0
        for i in range(_NODES.size):
            part += _WEIGHTS[i] * math.exp(_log_height(of, centre + half * _NODES[i]) - top)
        mass += half * part
        if half * part < _NEGLIGIBLE * mass:
            break
        u, step = v, _GROWTH * step
    return mass


@kernel
def draw_between(of: Density, rng: np.random.Generator, low: float, high: float) -> float:
    """Draw from the part of the posterior between low and high, by rejection under a staircase."""
    if not high > low:
        return low
    first, last = _from_mean(of.law, low), _from_mean(of.law, high)
    peak = _highest(of, first, last)
    top = _log_height(of, peak)
    scale = _scale(of, peak, last - first)
    above = _stairs(of, peak, last, scale, top, math.inf)[0]
    below = _stairs(of, peak, first, -scale, top, math.inf)[0]
    for _ in range(_MOST_REFUSALS):
        at = rng.random() * (above + below)
        if at < above:
            _, near, far = _stairs(of, peak, last, scale, top, at)
        else:
            _, near, far = _stairs(of, peak, first, -scale, top, at - above)
        v = near + rng.random() * (far - near)
        allowed = _log_height(of, v) - _log_height(of, near)
        if rng.random() < math.exp(min(allowed, 0.0)):
            return min(max(_to_mean(of.law, v), low), high)
    return min(max(_to_mean(of.law, peak), low), high)


@kernel
def _stairs(
    of: Density, start: float, end: float, scale: float, top: float, wanted: float
) -> tuple[float, float, float]:
    """Return the area under the staircase from start to end, and the step where it passes ``wanted``."""
    area, near, far, offset = 0.0, start, start, 0.5 * scale
    for _ in range(_MOST_PANELS):
        if far == end or area >= wanted:
            break
        near, far = far, start + offset
        if (scale > 0.0) == (far > end) or far == near:
            far = end
        height = _log_height(of, near) - top
        if height < _FAR and wanted == math.inf:
            break
        area += abs(far - near) * math.exp(height)
        offset = 1.5 * offset + 0.5 * scale
    return area, near, far
