"""A posterior between two means: how much of it lies there, and a draw from that part.

Densities are exp(−t d(mode, u)), unimodal, and need no normalisation. Mass is summed outwards from the
highest point in panels that the density's own scale sets, so that the far tails, where a width contradicts
the data, are as accurate as the middle. Means of a scale family can lie hundreds of powers of ten apart: they
are measured by v = log(u/base), in which the density u exp(−t d(mode, u)) is log-concave. All others, and
means of a scale family that are close together, are measured by v = u; their base is 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel, separate_kernel
from clusterbandits.families.calculus import slope
from clusterbandits.families.law import unit, variance
from clusterbandits.families.posterior import Density, log_density
from clusterbandits.families.stream import Stream, uniform

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
#: Means of a scale family less than this factor apart are close together; steps between others are no wider
#: in v.
_CLOSE, _WIDEST = 2.0, 0.5
#: A draw that was refused so often has nowhere to go but the highest point, to all digits of a float.
_MOST_REFUSALS = 1000


@kernel
def scale_at(of: Density, u: float) -> float:
    """Return how far from u the density falls by a factor of about e."""
    steep = of.force * abs(slope(of.law, of.mode, u))
    spread = variance(of.law, u)
    bend = math.sqrt(of.force / spread) if spread > 0.0 else 0.0
    return 1.0 / max(steep + bend, 1e-300) if steep < math.inf else 0.0


class Part(NamedTuple):
    """The part of a posterior between two values of v, and the base they are measured from."""

    of: Density
    base: float
    first: float
    last: float


@inner_kernel
def _part(of: Density, low: float, high: float) -> Part:
    if of.law.scale_family and high > _CLOSE * low:
        base = max(low, _SMALLEST)
        return Part(of, base, 0.0, math.log(high / base))
    return Part(of, 0.0, low, high)


@inner_kernel
def _mean_at(part: Part, v: float) -> float:
    return part.base * math.exp(v) if part.base > 0.0 else v


@inner_kernel
def _log_height(part: Part, v: float) -> float:
    """Return the log of the density in v."""
    if part.base > 0.0:
        return log_density(part.of, part.base * math.exp(v)) + v + math.log(part.base)
    return log_density(part.of, v)


@inner_kernel
def _highest(part: Part) -> float:
    """Return the v of the highest density."""
    top = part.of.mode
    if part.base > 0.0:
        force = part.of.force * part.of.law.weight
        top = math.log(top / part.base) + (math.log(force / (force - 1.0)) if force > 1.0 else math.inf)
    return min(max(top, part.first), part.last)


@kernel
def _scale(part: Part, v: float) -> float:
    """Return how far from v the density falls by a factor of about e, or the finest step there is."""
    if part.base > 0.0:
        force = part.of.force * part.of.law.weight
        bend = force * part.of.mode / part.base * math.exp(-v)
        # Below its highest point the density falls as exp(−e^−v): never on a scale of more than 1.
        scale = min(1.0 / (abs(bend - force + 1.0) + math.sqrt(bend) + _SMALLEST), _WIDEST)
    else:
        scale = scale_at(part.of, v)
    return max(scale, _FINEST * abs(v), _SHORTEST * (part.last - part.first))


@separate_kernel
def log_mass(of: Density, low: float, high: float) -> float:
    """Return the log of ∫ exp(−t d(mode, u)) du from low to high."""
    if not high > low:
        return -math.inf
    part = _part(of, low, high)
    peak = _highest(part)
    top = _log_height(part, peak)
    if top == -math.inf:
        return -math.inf
    step = _FIRST_PANEL * _scale(part, peak)
    mass = _outwards(part, peak, part.last, step, top)
    mass += _outwards(part, peak, part.first, -step, top)
    return top + math.log(mass) if mass > 0.0 else -math.inf


@kernel
def _is_rough(of: Density) -> tuple[bool, bool]:
    """Tell whether the density is no polynomial near the ends: panels must then shrink towards them.

    Where the variance vanishes at an end of the domain, the density is a power of the distance from it. Where
    it is not log-concave besides, it has a pole beyond that end.
    """
    total = of.force * ((of.mode - of.law.lowest) / unit(of.law))
    at_low = variance(of.law, of.law.lowest) == 0.0
    at_high = variance(of.law, of.law.highest) == 0.0
    has_pole = not of.law.convex and total > 0.0
    return at_low and (has_pole or _is_fraction(total)), at_high and _is_fraction(of.force - total)


@inner_kernel
def _is_fraction(power: float) -> bool:
    return power < _SMOOTH and abs(power - math.floor(power + 0.5)) > _WHOLE


@kernel
def _outwards(part: Part, start: float, end: float, step: float, top: float) -> float:
    """Return ∫ exp(log density − top), never negative, from start towards end, step by growing step."""
    mass, u = 0.0, start
    low, high = part.of.law.lowest, part.of.law.highest
    rough_at_low, rough_at_high = _is_rough(part.of)
    for _ in range(_MOST_PANELS):
        if u == end:
            break
        v = u + step
        if rough_at_low:
            v = low + min(max(v - low, (u - low) / _GRADE), (u - low) * _GRADE)
        if rough_at_high:
            v = high - min(max(high - v, (high - u) / _GRADE), (high - u) * _GRADE)
        if (step > 0.0) == (v > end) or v == u:
            v = end
        centre, half, panel = 0.5 * (u + v), 0.5 * abs(v - u), 0.0
        for i in range(_NODES.size):
            panel += _WEIGHTS[i] * math.exp(_log_height(part, centre + half * _NODES[i]) - top)
        mass += half * panel
        if half * panel < _NEGLIGIBLE * mass:
            break
        u, step = v, _GROWTH * step
    return mass


@separate_kernel
def draw_between(of: Density, stream: Stream, low: float, high: float) -> float:
    """Draw from the part of the posterior between low and high, by rejection under a staircase."""
    if not high > low:
        return low
    part = _part(of, low, high)
    peak = _highest(part)
    top = _log_height(part, peak)
    scale = _scale(part, peak)
    above = _stairs(part, peak, part.last, scale, top, math.inf)[0]
    below = _stairs(part, peak, part.first, -scale, top, math.inf)[0]
    for _ in range(_MOST_REFUSALS):
        at = uniform(stream) * (above + below)
        if at < above:
            _, near, far = _stairs(part, peak, part.last, scale, top, at)
        else:
            _, near, far = _stairs(part, peak, part.first, -scale, top, at - above)
        v = near + uniform(stream) * (far - near)
        allowed = _log_height(part, v) - _log_height(part, near)
        if uniform(stream) < math.exp(min(allowed, 0.0)):
            return min(max(_mean_at(part, v), low), high)
    return min(max(_mean_at(part, peak), low), high)


@kernel
def _stairs(
    part: Part, start: float, end: float, scale: float, top: float, wanted: float
) -> tuple[float, float, float]:
    """Return the area under the staircase from start to end, and the step where it passes ``wanted``."""
    area, near, far, offset = 0.0, start, start, 0.5 * scale
    for _ in range(_MOST_PANELS):
        if far == end or area >= wanted:
            break
        near, far = far, start + offset
        if (scale > 0.0) == (far > end) or far == near:
            far = end
        height = _log_height(part, near) - top
        if height < _FAR and wanted == math.inf:
            break
        area += abs(far - near) * math.exp(height)
        offset = 1.5 * offset + 0.5 * scale
    return area, near, far
