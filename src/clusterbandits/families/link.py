"""A scale without ends for means, on which differences between arms are alike wherever the arms stand.

It is the logit of a mean between two ends, the log of one above an end, and the mean in standard deviations
of a reward where there is no end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.compiled import kernel
from clusterbandits.families.law import variance

if TYPE_CHECKING:
    from clusterbandits.families.law import Law

#: Logits and logs beyond these have no mean of their own among floats, or none that squares.
_LARGEST_LOGIT, _LARGEST_LOG = 33.0, 230.0
#: Means keep so far from the ends of their domain, relative to the ends, that rounding does not reach them.
_ROOM = 16 * 2.0**-52


@kernel
def link(law: Law, mean: float) -> float:
    """Return where a mean, not an end of the domain, stands on the scale."""
    if law.highest < math.inf:
        return math.log((mean - law.lowest) / (law.highest - mean))
    if law.lowest > -math.inf:
        return math.log(mean - law.lowest)
    return mean * math.sqrt(law.weight)


@kernel
def mean_at(law: Law, place: float) -> float:
    """Return the mean that stands there on the scale."""
    if law.highest < math.inf:
        odds, wide = math.exp(min(max(place, -_LARGEST_LOGIT), _LARGEST_LOGIT)), law.highest - law.lowest
        room = _ROOM * max(abs(law.lowest), abs(law.highest))
        return min(max(law.lowest + wide * odds / (1.0 + odds), law.lowest + room), law.highest - room)
    if law.lowest > -math.inf:
        return law.lowest + math.exp(min(max(place, -_LARGEST_LOG), _LARGEST_LOG))
    return place / math.sqrt(law.weight)


@kernel
def link_slope(law: Law, mean: float) -> float:
    """Return the derivative of ``link``."""
    if law.highest < math.inf:
        return (law.highest - law.lowest) / (mean - law.lowest) / (law.highest - mean)
    if law.lowest > -math.inf:
        return 1.0 / (mean - law.lowest)
    return math.sqrt(law.weight)


@kernel
def pulls_worth(law: Law, mean: float, precision: float) -> float:
    """Return how many pulls are worth knowing a mean with this precision, 1/variance, on the scale."""
    steep = link_slope(law, mean)
    return variance(law, mean) * steep * steep * precision
