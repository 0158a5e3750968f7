"""A posterior restricted to an interval: its mass, and draws from it.

Densities are exp(−t d(mode, u)), unimodal and not normalised. The mass is integrated outwards from the mode
in panels whose size follows the scale of the density, so the far tails, which matter if the data contradict a
width, are as accurate as the centre. Means of a scale family can differ by hundreds of powers of ten: their
variable is v = log(u/base), in which the density u exp(−t d(mode, u)) is log-concave. For all other means,
and for means of a scale family that are close together, the variable is v = u, with base 0.
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
#: The largest ratio of a panel's distances from an end, the power from which on this limit is not needed, and
#: the rounding error of an integer power.
_GRADE, _SMOOTH, _WHOLE = 3.0, 40.0, 1e-9
#: The relative size of the neglected mass, and the log of the neglected part of a draw's envelope.
_NEGLIGIBLE, _FAR = 1e-11, -40.0
#: The smallest step, relative to its start (because of rounding) and to the interval (to limit the panels).
_FINEST, _SHORTEST = 1e-15, 1e-60
_SMALLEST = 1e-300
#: The factor below which means of a scale family are close together; the largest step in v of all others.
_CLOSE, _WIDEST = 2.0, 0.5
#: The number of rejections after which a draw is the mode: the density is then concentrated on one float.
_MOST_REFUSALS = 1000


@kernel
def scale_at(of: Density, u: float) -> float:
    """Return the distance from u over which the density falls by a factor of about e."""
    steep = of.force * abs(slope(of.law, of.mode, u))
    spread = variance(of.law, u)
    bend = math.sqrt(of.force / spread) if spread > 0.0 else 0.0
    return 1.0 / max(steep + bend, 1e-300) if steep < math.inf else 0.0


class Part(NamedTuple):
    """A posterior between two values of v, and the base of v."""

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
    """Return the log of the density of v."""
    if part.base > 0.0:
        return log_density(part.of, part.base * math.exp(v)) + v + math.log(part.base)
    return log_density(part.of, v)


@inner_kernel
def _highest(part: Part) -> float:
    """Return the v with the largest density."""
    top = part.of.mode
    if part.base > 0.0:
        force = part.of.force * part.of.law.weight
        top = math.log(top / part.base) + (math.log(force / (force - 1.0)) if force > 1.0 else math.inf)
    return min(max(top, part.first), part.last)


@kernel
def _scale(part: Part, v: float) -> float:
    """Return the distance from v over which the density falls by about e, or the smallest step."""
    if part.base > 0.0:
        force = part.of.force * part.of.law.weight
        bend = force * part.of.mode / part.base * math.exp(-v)
        # Below its mode the density falls like exp(−e^−v), so the scale is at most 1.
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
    """Return for both ends whether the density is not smooth there, so that panels must shrink towards them.

    If the variance vanishes at an end of the domain, the density is a power of the distance from it. If it is
    also not log-concave, it has a pole beyond that end.
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
    """Return ∫ exp(log density − top) from start towards end, in growing steps; it is not negative."""
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
    """Draw from the posterior between low and high by rejection under a step function."""
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
    """Return the area under the step function, and the step at which it exceeds ``wanted``."""
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
