"""How fast the regret of Kindred grows in the long run, beside the classical bound: 10⁶ to 10⁸ rounds."""

from __future__ import annotations

import math

from benchmarks.measure import Measurement
from clusterbandits import regret_bound, simulate
from clusterbandits.paper.figures import FIGURES
from clusterbandits.simulation.statistics import difference

_FROM, _TO, _RUNS = 10**6, 10**8, 4
#: The most that the slope may be, over the classical bound.
_LIMIT = 1.3


def measure() -> list[Measurement]:
    """Measure regret per log n on the paper's instances with their widths; it takes an hour on two cores."""
    found = []
    for figure in FIGURES:
        for widths in figure.widths:
            clusters = figure.instance.clusters(widths)
            bound = regret_bound(figure.instance, clusters)
            result = simulate(
                figure.instance, "kindred", _TO, _RUNS, seed=15, clusters=clusters, checkpoints=[_FROM, _TO]
            )
            regret = result.regret(0)
            slope = difference((regret[:, 1] - regret[:, 0]) / math.log(_TO / _FROM))
            told = f"figure {figure.number}"
            if len(figure.widths) > 1:
                told += f" ({' and '.join(f'{width:g}' for width in widths)})"
            found += [
                Measurement(f"{told}: regret per log n", slope.value, ""),
                Measurement(f"{told}: its standard error", slope.error, ""),
                Measurement(f"{told}: classical bound", bound.classical, ""),
                Measurement(f"{told}: over it", slope.value / bound.classical, "×", limit=_LIMIT),
            ]
    return found
