"""Plausible worlds: problems with means drawn given a history, and rewards with these means.

The rewards of an arm are drawn from those of its group, tilted so that they have the arm's mean; if these are
unknown, each reward is low or high.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from clusterbandits.distributions import Distribution
from clusterbandits.instance import Instance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.studies.history import History

    Floats = NDArray[np.float64]

#: The largest number of values that represent the rewards of a group, and the steepest tilt.
_VALUES, _STEEPEST = 2000, 1e15


def world_instance(history: History, means: Floats) -> Instance:
    """Return the problem of a world with these means."""
    if history.rewards is None:
        return Instance(means, labels=history.partition, family=history.family)
    rewards = np.empty(means.size, dtype=object)
    for part in history.partition.members:
        values, shares = _shown(np.concatenate([history.rewards[arm] for arm in part]))
        for arm in part:
            rewards[arm] = tilted(values, shares, float(means[arm]))
    return Instance(list(rewards), labels=history.partition, family=history.family)


class Weighted(Distribution):
    """Rewards drawn from some values with given probabilities.

    Examples
    --------
    >>> Weighted([0.0, 5.0], [0.75, 0.25]).mean
    1.25
    """

    kind = "weighted"

    def __init__(self, values: Any, chances: Any) -> None:
        self.values: Floats = np.array(values, dtype=np.float64)
        self.chances: Floats = np.array(chances, dtype=np.float64)
        self.mean = math.fsum(self.values * self.chances)
        self._sums = np.cumsum(self.chances)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw ``count`` rewards."""
        places = np.searchsorted(self._sums, rng.random(count) * self._sums[-1], side="right")
        return np.asarray(self.values[np.minimum(places, self.values.size - 1)])

    def parameters(self) -> dict[str, Any]:
        """Return the values and their probabilities."""
        return {"values": self.values.tolist(), "chances": self.chances.tolist()}

    def __repr__(self) -> str:
        return f"<Weighted: {self.values.size} values, mean {self.mean:g}>"


def _shown(rewards: Floats) -> tuple[Floats, Floats]:
    """Return the values of rewards and their shares; neighbours are averaged if there are too many."""
    values, counts = np.unique(rewards, return_counts=True)
    if values.size > _VALUES:
        parts = np.array_split(np.sort(rewards), _VALUES)
        values, counts = np.array([part.mean() for part in parts]), np.array([part.size for part in parts])
    return values, counts / max(counts.sum(), 1)


def tilted(values: Floats, shares: Floats, mean: float) -> Weighted:
    """Return the values with probabilities proportional to share × exp(λ value), so that they have a mean.

    A mean outside the values becomes the only value. If λ would be too large for floats, only the two
    neighbours of the mean remain.

    Examples
    --------
    >>> tilted(np.array([0.0, 1.0, 4.0]), np.array([0.5, 0.25, 0.25]), 2.0).chances.round(3).tolist()
    [0.338, 0.216, 0.446]
    """
    if not values.size or not values[0] < mean < values[-1]:
        return Weighted([mean], [1.0])
    scaled = (values - mean) / (values[-1] - values[0])

    def weights(tilt: float) -> Floats:
        raised = shares * np.exp(tilt * scaled - np.max(tilt * scaled))
        return np.asarray(raised / raised.sum())

    def excess(tilt: float) -> float:
        return float(weights(tilt) @ scaled)

    end = math.copysign(1.0, -excess(0.0))
    while excess(end) * end < 0.0 and abs(end) < _STEEPEST:
        end *= 4.0
    if excess(end) * end < 0.0:
        place = int(np.searchsorted(values, mean))
        share = (mean - values[place - 1]) / (values[place] - values[place - 1])
        return Weighted(values[place - 1 : place + 1], [1.0 - share, share])
    low, high = sorted((0.0, end))
    tilt = brentq(excess, low, high, xtol=1e-14 * abs(end), rtol=1e-14)
    return Weighted(values, weights(float(tilt)))
