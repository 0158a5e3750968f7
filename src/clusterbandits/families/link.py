"""The link function: an unbounded scale for means, on which differences between arms are comparable.

It is the logit of means that have a lower and an upper limit, the log of means that have a lower limit only,
and the mean divided by the standard deviation of a reward if there is no limit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.compiled import kernel
from clusterbandits.families.law import variance

if TYPE_CHECKING:
    from clusterbandits.families.law import Law

#: The largest logit and log whose mean, and the square of it, floats can represent.
_LARGEST_LOGIT, _LARGEST_LOG = 33.0, 230.0
#: The relative distance that means keep from the ends of their domain, so that rounding does not reach the
#: ends.
_MARGIN = 16 * 2.0**-52


@kernel
def link(law: Law, mean: float) -> float:
    """Return the position of a mean on the scale; the mean must not be an end of the domain."""
    if law.highest < math.inf:
        return math.log((mean - law.lowest) / (law.highest - mean))
    if law.lowest > -math.inf:
        return math.log(mean - law.lowest)
    return mean * math.sqrt(law.weight)


@kernel
def mean_at(law: Law, place: float) -> float:
    """Return the mean at a position on the scale."""
    if law.highest < math.inf:
        odds, wide = math.exp(min(max(place, -_LARGEST_LOGIT), _LARGEST_LOGIT)), law.highest - law.lowest
        margin = _MARGIN * max(abs(law.lowest), abs(law.highest))
        return min(max(law.lowest + wide * odds / (1.0 + odds), law.lowest + margin), law.highest - margin)
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
    """Return the number of pulls equivalent to a given precision (1/variance) of the mean on the scale."""
    steep = link_slope(law, mean)
    return variance(law, mean) * steep * steep * precision
