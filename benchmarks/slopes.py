"""The growth of the regret of Kindred from 10⁶ to 10⁸ rounds, compared with the classical bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from benchmarks.measure import Measurement
from clusterbandits import regret_bound, simulate
from clusterbandits.paper.figures import FIGURES
from clusterbandits.simulation.statistics import difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterbandits import Clusters, Instance

_FROM, _TO, _RUNS = 10**6, 10**8, 4
#: The limit of the slope relative to the classical bound.
_LIMIT = 1.3


def problems() -> Iterator[tuple[str, Instance, Clusters]]:
    """Yield each instance of the paper once, with its first and its last widths.

    The last widths of Figure 8 are misleading.
    """
    seen: list[object] = []
    for figure in FIGURES:
        if figure.instance in seen:
            continue
        seen.append(figure.instance)
        for widths in dict.fromkeys((tuple(figure.widths[0]), tuple(figure.widths[-1]))):
            name = f"figure {figure.number} ({' and '.join(f'{width:g}' for width in widths)})"
            yield name, figure.instance, figure.instance.clusters(widths)


def measure() -> list[Measurement]:
    """Measure regret per log n; it takes a quarter of an hour on two cores."""
    found = []
    for name, instance, clusters in problems():
        result = simulate(
            instance, "kindred", _TO, _RUNS, seed=15, clusters=clusters, checkpoints=[_FROM, _TO]
        )
        regret = result.regret(0)
        slopes = (regret[:, 1] - regret[:, 0]) / math.log(_TO / _FROM)
        slope, classical = difference(slopes), regret_bound(instance, clusters).classical
        found += [
            Measurement(f"{name}: regret per log n", slope.value, f"± {slope.error:.2g}"),
            Measurement(f"{name}: classical bound", classical, ""),
            Measurement(f"{name}: over it", slope.value / classical, "×", limit=_LIMIT),
            Measurement(f"{name}: the steepest run over it", float(slopes.max()) / classical, "×"),
        ]
    return found
