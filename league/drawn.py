"""Random parts of problems, drawn with fixed seeds: small success rates, and histories."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.studies.history import read_history

if TYPE_CHECKING:
    from clusterbandits import Instance
    from clusterbandits.studies.history import History

_SEED = 1
#: The standard deviation of arms around their group on the log scale, and the truncation in standard
#: deviations.
_SPREAD, _CUT = 0.3, 2.0


def draw_rates(groups: int, size: int, low: float, high: float) -> list[list[float]]:
    """Return success rates between two bounds, one list per group.

    The rates of groups are log-uniform. Those of their arms are normal around them on the log scale with a
    standard deviation of 0.3, truncated at twice that. Rates are rounded to four digits, so that they are the
    same on all machines.

    Parameters
    ----------
    groups, size
        Number of groups, and number of arms per group.
    low, high
        Bounds of all rates.

    Examples
    --------
    >>> draw_rates(2, 3, low=0.001, high=0.03)
    [[0.006207, 0.003803, 0.007376], [0.01688, 0.01257, 0.01758]]
    """
    rng = np.random.default_rng(_SEED)
    room = _CUT * _SPREAD
    centres = rng.uniform(math.log(low) + room, math.log(high) - room, size=(groups, 1))
    around = np.clip(rng.normal(0.0, _SPREAD, size=(groups, size)), -room, room)
    return [[float(f"{rate:.4g}") for rate in row] for row in np.exp(centres + around).tolist()]


def draw_history(instance: Instance, trials: int) -> History:
    """Return a history of an instance with the same number of trials for each arm.

    Examples
    --------
    >>> from clusterbandits import Instance
    >>> history = draw_history(Instance([[0.2, 0.3], [0.5]]), trials=50)
    >>> history, history.successes.tolist()
    (<History: 3 arms in 2 groups, 150 trials>, [10, 20, 21])
    """
    successes = np.random.default_rng(_SEED).binomial(trials, instance.means)
    columns = {
        "arm": list(instance.arms),
        "group": list(instance.partition.cluster_names),
        "trials": [trials] * len(successes),
        "successes": successes.tolist(),
    }
    return read_history(columns)
