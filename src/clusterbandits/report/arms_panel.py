"""Estimates of all arms by group: means, confidence intervals, and safe widths as bands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from clusterbandits.report.picture import Picture, picture
from clusterbandits.report.rows import Rows
from clusterbandits.report.sheet import WIDTH, Entry, panel
from clusterbandits.report.style import BLUE, LETTERS, VERMILLION, first_texts, number_line, settings
from clusterbandits.simulation.statistics import count_text
from clusterbandits.tables import cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clusterbandits.report.sheet import Place
    from clusterbandits.report.views import ArmsGroup

    Floats = NDArray[np.float64]

_BAND = "#B8B8B8"


def arms_panel(
    groups: Sequence[ArmsGroup], *, name: str, title: str = "", quantity: str = "success rate"
) -> Picture:
    """Return arms with their intervals as a picture, one block of rows per group.

    Parameters
    ----------
    groups
        Groups from top to bottom; the arms of each group in the order of the rows.
    name
        Name of the picture in files and pages.
    title
        Title above the picture.
    quantity
        Name of the quantity that the means estimate.
    """
    described = first_texts([_described(group) for group in groups])
    alt = f"Arms with intervals in {count_text(len(groups), 'group')}: {described}."
    return picture(arms_figure(groups, title, quantity), name, alt, title)


def arms_figure(groups: Sequence[ArmsGroup], title: str = "", quantity: str = "success rate") -> Figure:
    """Return the drawing as a figure; the parameters are those of ``arms_panel``."""
    return arms_axes(groups, title, quantity).figure.figure


def arms_axes(
    groups: Sequence[ArmsGroup],
    title: str = "",
    quantity: str = "success rate",
    *,
    on: Place = Figure,
    width: float = WIDTH,
) -> Axes:
    """Return axes with the drawing: those given, or those of a new figure ``width`` millimetres wide."""
    rows = Rows(
        tuple((group.name, group.ending) for group in groups), tuple(group.labels for group in groups)
    )
    with settings(on):
        _, axes = panel(rows.height, _legend(groups), title, left=rows.left, width=width, on=on)
        axes.set_xlim(*_limits(groups))
        for k, group in enumerate(groups):
            _draw(group, axes, rows.places(k), rows.row)
        rows.write(axes)
        number_line(axes, f"{quantity}, with intervals of 95 %")
    return axes


def _draw(group: ArmsGroup, axes: Axes, rows: Floats, row: float) -> None:
    low, high = group.band
    if len(group.labels) > 1:
        corner, size = (low, rows[0] - row / 2 - 0.4), (high - low, row * len(group.labels) + 0.8)
        axes.add_patch(Rectangle(corner, *size, facecolor=_BAND, alpha=0.45, linewidth=0))
    thick = min(1.1, 0.9 * row)
    for hopeful, colour in ((False, BLUE), (True, VERMILLION)):
        part = group.hopeful == hopeful
        axes.hlines(rows[part], group.lows[part], group.highs[part], color=colour, linewidth=thick)
        look: dict[str, Any] = {"color": colour, "marker": "D" if hopeful else "o", "linestyle": "none"}
        look |= {"markersize": min(0.45 * LETTERS, 2.4 * row), "markeredgewidth": 0}
        axes.plot(group.means[part], rows[part], **look)


def _limits(groups: Sequence[ArmsGroup]) -> tuple[float, float]:
    ends = [(float(group.lows.min()), float(group.highs.max())) for group in groups]
    ends += [group.band for group in groups if len(group.labels) > 1]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    margin = 0.03 * (high - low) or 0.05
    return low - margin, high + margin


def _legend(groups: Sequence[ArmsGroup]) -> list[list[Entry]]:
    line = {"linewidth": 1.1, "markersize": 0.45 * LETTERS, "markeredgewidth": 0}
    several = any(group.hopeful.any() for group in groups), any(not group.hopeful.all() for group in groups)
    notes = []
    if several[0]:
        notes.append(Entry("may be the best arm", {"color": VERMILLION, "marker": "D", **line}))
    if several[1]:
        notes.append(Entry("is not the best", {"color": BLUE, "marker": "o", **line}))
    if any(len(group.labels) > 1 for group in groups):
        notes.append(Entry("safe width", {"color": _BAND, "alpha": 0.45, "linewidth": 6}))
    return [notes]


def _described(group: ArmsGroup) -> str:
    known = [mean for mean in group.means.tolist() if not math.isnan(mean)]
    where = f" from {cell(min(known))} to {cell(max(known))}" if known else " without trials"
    return f"{group.name}, {count_text(len(group.labels), 'arm')}{where}, width {cell(group.width)}"
