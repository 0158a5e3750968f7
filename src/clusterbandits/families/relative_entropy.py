"""The relative entropy of Poisson distributions and its roots, accurate to a few units in the last place.

The divergences of most families are built from it. Their textbook formulas lose all digits near x = y.
"""

import math

from clusterbandits.compiled import kernel

#: Upper limit of Newton steps; about five are needed.
MOST_STEPS = 100


@kernel
def relative_entropy(x: float, y: float, gap: float) -> float:
    """Return y − x + x log(x/y) for x, y ≥ 0: 0 if x = y, y if x = 0, ∞ if only y is 0.

    ``gap`` is y − x, which callers may know more precisely than x and y. Near x = y the result is
    x (u − log(1+u)) with u = gap/x, summed as a series without cancellation.
    """
    if gap == 0.0:
        return 0.0
    if x == 0.0:
        return y
    if y == 0.0:
        return math.inf
    if abs(gap) < 0.25 * x:
        return x * _excess_over_log(gap / x)
    ratio = y / x
    if 0.0 < ratio < math.inf:
        return gap - x * math.log(ratio)
    return gap - x * (math.log(y) - math.log(x))


@kernel
def _excess_over_log(u: float) -> float:
    """Return u − log(1+u) for |u| ≤ 1/4, from log(1+u) = 2 artanh(s) with s = u/(2+u)."""
    s = u / (2.0 + u)
    z = s * s
    tail = 0.0
    for odd in range(21, 1, -2):
        tail = tail * z + 1.0 / odd
    return s * (u - 2.0 * z * tail)


@kernel
def root_above(x: float, level: float) -> float:
    """Return the y ≥ x whose relative entropy from x is ``level``.

    The entropy is convex in y, so Newton steps that start above the root never overshoot it.
    """
    if x == 0.0 or level == math.inf:
        return level
    y = above(x, level)
    for _ in range(MOST_STEPS):
        if y <= x or y == math.inf:
            return y if y > x else x
        closer = y - (relative_entropy(x, y, y - x) - level) * (y / (y - x))
        if closer >= y:
            return y
        y = closer
    return y


@kernel
def root_below(x: float, level: float) -> float:
    """Return the y ≤ x whose relative entropy from x is ``level``, or 0 if it is below all floats."""
    if x == 0.0 or level == math.inf:
        return 0.0
    y = below(x, level)
    for _ in range(MOST_STEPS):
        if y >= x:
            return x
        if y == 0.0:
            return 0.0
        closer = y + (relative_entropy(x, y, y - x) - level) * (y / (x - y))
        if closer <= y:
            return y
        y = closer
    return y


@kernel
def above(x: float, level: float) -> float:
    """Return a point at or above ``root_above``, from u − log(1+u) ≥ u²/(2+2u)."""
    return x + level + math.sqrt(level) * math.sqrt(level + 2.0 * x)


@kernel
def below(x: float, level: float) -> float:
    """Return a point at or below ``root_below``, from first- and second-order bounds on the entropy."""
    if x == 0.0:
        return 0.0
    return max(x - math.sqrt(2.0 * x) * math.sqrt(level), x * math.exp(-1.0 - level / x))
