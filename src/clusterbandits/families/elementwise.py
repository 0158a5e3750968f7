"""The kernels over whole arrays: one loop, one compilation, for every quantity and family."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.families.calculus import divergence_above, rise, slope
from clusterbandits.families.law import divergence, lower, upper

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from clusterbandits.families.law import Law

    Floats = NDArray[np.float64]

DIVERGENCE, DIVERGENCE_ABOVE, SLOPE, RISE, UPPER, LOWER = range(6)


def evaluate(quantity: int, law: Law, x: ArrayLike, y: ArrayLike, width: ArrayLike = 0.0) -> Floats:
    """Evaluate one quantity on broadcast arrays; ``y`` is the level for the two roots."""
    arrays = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (x, y, width)))
    flat = [np.array(part, dtype=np.float64).reshape(-1) for part in arrays]
    result = np.empty(flat[0].size)
    _evaluate(quantity, law, flat[0], flat[1], flat[2], result)
    return result.reshape(arrays[0].shape)


@kernel
def _evaluate(quantity: int, law: Law, x: Floats, y: Floats, width: Floats, result: Floats) -> None:
    for i in range(result.size):
        result[i] = _one(quantity, law, x[i], y[i], width[i])


@kernel
def _one(quantity: int, law: Law, x: float, y: float, width: float) -> float:
    if quantity == DIVERGENCE:
        return divergence(law, x, y, y - x)
    if quantity == DIVERGENCE_ABOVE:
        return divergence_above(law, x, y, width)
    if quantity == SLOPE:
        return slope(law, x, y)
    if quantity == RISE:
        return rise(law, x, y, width)
    if quantity == UPPER:
        return upper(law, x, y)
    if quantity == LOWER:
        return lower(law, x, y)
    return math.nan
