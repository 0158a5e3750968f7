"""Functions that are the same for all reward families, given their divergence and variance."""

import math

from clusterbandits.compiled import kernel
from clusterbandits.families.law import Law, divergence, natural_gap, unit, variance


@kernel
def slope(law: Law, x: float, y: float) -> float:
    """Return ∂d(x, y)/∂y = (y − x) / V(y); at an end of the domain, the limit from inside.

    Near an end, V is the distance from the end times the unit.
    """
    spread = variance(law, y)
    if spread > 0.0:
        return (y - x) / spread
    if x == y:
        return (1.0 if y == law.lowest else -1.0) / unit(law)
    return math.inf if y > x else -math.inf


@kernel
def divergence_above(law: Law, x: float, y: float, width: float) -> float:
    """Return d⁺(x, y − width): d(x, y − width) if y − width is above x, else 0, even below the domain."""
    gap = remainder(y, x, width)
    return divergence(law, x, y - width, gap) if gap > 0.0 else 0.0


@kernel
def rise(law: Law, x: float, y: float, width: float) -> float:
    """Return d⁺(x, y) − d⁺(x, y − width), without cancellation even for the smallest widths.

    With z = y − width above x, it is d(z, y) + (z − x)(θ(y) − θ(z)): two terms that are never negative.
    """
    gap = remainder(y, x, width)
    if gap <= 0.0:
        return divergence_above(law, x, y, 0.0)
    if width == 0.0:
        return 0.0
    return divergence(law, y - width, y, width) + gap * natural_gap(law, y - width, y, width)


@kernel
def remainder(y: float, x: float, width: float) -> float:
    """Return y − x − width with a single rounding error, even if terms nearly cancel (Knuth's two-sum)."""
    if width == math.inf:
        return -math.inf
    part = y - x
    back = part - y
    lost = (y - (part - back)) - (x + back)
    rest = part - width
    back = rest - part
    return rest + (lost + (part - (rest - back)) - (width + back))
