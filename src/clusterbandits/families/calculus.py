"""What follows from a law for every family alike."""

import math

from clusterbandits.compiled import kernel
from clusterbandits.families.law import Law, divergence, natural_gap, variance


@kernel
def slope(law: Law, x: float, y: float) -> float:
    """Return ∂d(x, y)/∂y = (y − x) / V(y); at an end of the domain, the derivative from inside."""
    spread = variance(law, y)
    if spread > 0.0:
        return (y - x) / spread
    if x == y:
        return 1.0 if y == 0.0 else -1.0
    return math.inf if y > x else -math.inf


@kernel
def divergence_above(law: Law, x: float, y: float) -> float:
    """Return d⁺(x, y): d(x, y) where y is above x, else 0. Any y, also outside the family's domain."""
    return divergence(law, x, y) if x < y else 0.0


@kernel
def rise(law: Law, x: float, y: float, width: float) -> float:
    """Return d⁺(x, y) − d⁺(x, y − width) without cancellation, down to the smallest widths.

    With z = y − width above x, it is d(z, y) + (z − x)(θ(y) − θ(z)): two terms that are never negative.
    """
    z = y - width
    if x >= z:
        return divergence_above(law, x, y)
    if width == 0.0:
        return 0.0
    return divergence(law, z, y) + ((y - x) - width) * natural_gap(law, y, width)
