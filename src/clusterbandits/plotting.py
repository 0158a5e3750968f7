"""How an object draws itself: its ``plot`` calls a function of ``report.plots`` by name.

``report`` alone imports Matplotlib, and stands above the classes that it draws. ``Clusters.plot`` therefore
cannot import it. It calls ``drawn("clusters", self, ax)``, which imports ``report.plots`` by name and calls
``report.plots.clusters(self, ax)``. Whoever never plots neither waits for Matplotlib nor needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeAlias

from clusterbandits.extras import extras_explained

if TYPE_CHECKING:
    import matplotlib.axes

#: For annotations alone.
Axes: TypeAlias = "matplotlib.axes.Axes"
_PLOTS = "clusterbandits.report.plots"


def drawn(what: str, *given: Any, **options: Any) -> Axes:
    """Return the axes with a drawing, which a function of ``report.plots`` makes of its arguments."""
    with extras_explained():
        plots = importlib.import_module(_PLOTS)
    axes: Axes = getattr(plots, what)(*given, **options)
    return axes
