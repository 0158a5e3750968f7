"""How far data are from all means that a width allows: Λ = min_x Σ_k t_k d(m_k, clip(m_k, x, x + β))."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterbandits.compiled import kernel
from clusterbandits.families.law import Law, divergence

if TYPE_CHECKING:
    from clusterbandits.policies.layout import Floats, Ints

_MOST_STEPS = 60
_SCAN = 32
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class Group(NamedTuple):
    """The arms of one cluster, order[first : beyond], and its width."""

    order: Ints
    first: int
    beyond: int
    width: float


@kernel
def misfit(law: Law, pulls: Any, totals: Floats, group: Group, x: float) -> float:
    """Return how far the data are from means between x and x + β."""
    far, top = 0.0, x + group.width
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        mean = totals[arm] / pulls[arm]
        if mean < x:
            far += pulls[arm] * divergence(law, mean, x, x - mean)
        elif mean > top:
            far += pulls[arm] * divergence(law, mean, top, top - mean)
    return far


@kernel
def span(pulls: Any, totals: Floats, group: Group) -> tuple[float, float]:
    """Return the least and the largest mean of a group."""
    least, most = math.inf, -math.inf
    for place in range(group.first, group.beyond):
        mean = totals[group.order[place]] / pulls[group.order[place]]
        least, most = min(least, mean), max(most, mean)
    return least, most


@kernel
def least_misfit(law: Law, pulls: Any, totals: Floats, group: Group, enough: float) -> tuple[float, float]:
    """Return the least misfit and its x by golden section, or the first found that is below ``enough``."""
    low, high = span(pulls, totals, group)
    high -= group.width
    if high <= low:
        return 0.0, high
    if not law.convex:
        # There can be several local minima: find the cell of the global one first.
        step, best, at = (high - low) / _SCAN, math.inf, low
        for i in range(_SCAN + 1):
            value = misfit(law, pulls, totals, group, low + i * step)
            if value < best:
                best, at = value, low + i * step
        low, high = max(low, at - step), min(high, at + step)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left = misfit(law, pulls, totals, group, left)
    at_right = misfit(law, pulls, totals, group, right)
    for _ in range(_MOST_STEPS):
        if min(at_left, at_right) < enough:
            break
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = misfit(law, pulls, totals, group, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = misfit(law, pulls, totals, group, right)
    return (at_left, left) if at_left <= at_right else (at_right, right)
