"""``plot`` methods call functions of ``report.plots`` by name.

Only ``report`` imports Matplotlib, and it imports the classes that it draws, so these cannot import it.
``Clusters.plot`` calls ``drawn("clusters", self, ax)``, which imports ``report.plots`` and calls
``report.plots.clusters(self, ax)``. Programs that never plot do not need Matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeAlias

from clusterbandits.extras import extras_explained

if TYPE_CHECKING:
    import matplotlib.axes

#: For annotations only.
Axes: TypeAlias = "matplotlib.axes.Axes"
_PLOTS = "clusterbandits.report.plots"


def drawn(what: str, *given: Any, **options: Any) -> Axes:
    """Call a function of ``report.plots`` by name, and return the axes with the drawing."""
    with extras_explained():
        plots = importlib.import_module(_PLOTS)
    axes: Axes = getattr(plots, what)(*given, **options)
    return axes
