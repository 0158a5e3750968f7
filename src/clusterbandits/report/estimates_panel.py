"""Estimates with intervals, one row each, in groups: arms of a policy, policies in a replay, or figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from clusterbandits.report.picture import Picture, picture
from clusterbandits.report.rows import Rows
from clusterbandits.report.sheet import WIDTH, Entry, letters_scale, millimetres, panel, text_width
from clusterbandits.report.style import BLUE, LETTERS, SKY, Look, log_axis, looks, number_line, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clusterbandits.report.sheet import Place
    from clusterbandits.report.views import Estimates, EstimatesView

    Floats = NDArray[np.float64]

WIDE = 140.0
#: Millimetres on the right for a percentage and for its bar, and at most for other text.
_WORDS, _BARS, _MOST_WORDS = 11.0, 16.0, 34.0
_MARK: dict[str, Any] = {"color": "#000000", "marker": "|", "linestyle": "none", "markeredgewidth": 1.3}
_PLAIN = Look(BLUE, "o")
_REFERENCE: dict[str, Any] = {"color": "#808080", "linewidth": 0.9, "linestyle": (0, (3, 1.5))}


def estimates_panel(view: EstimatesView, *, name: str, alt: str, title: str = "") -> Picture:
    """Return estimates with intervals as a picture.

    Parameters
    ----------
    view
        The rows, the axis and the legend.
    name
        Name of the picture in files and pages.
    alt
        Description of the picture for readers who cannot see it.
    title
        Title above the picture.
    """
    return picture(estimates_axes(view, title, width=WIDTH).figure.figure, name, alt, title)


def estimates_axes(view: EstimatesView, title: str = "", *, on: Place = Figure, width: float = WIDE) -> Axes:
    """Return axes with the estimates; ``width`` is that of a new figure in millimetres."""
    groups = view.groups
    rows = Rows(tuple(group.heading for group in groups), tuple(group.names for group in groups))
    room = _column(view)
    known = looks(policy for group in groups for policy in group.policies)
    with settings(on):
        height = max(rows.height, 8.0)
        _, axes = panel(height, _legend(view), title, left=rows.left, right=room, width=width, on=on)
        _limit(view, axes)
        for k, group in enumerate(groups):
            _draw(group, axes, rows.places(k), rows.row, known)
            _refer(view, axes, rows.places(k), rows.row)
        number_line(axes, view.axis)
        if view.logarithmic:
            log_axis(axes, *axes.get_xlim())
        remarks = [group.remarks or ("",) * len(group.names) for group in groups]
        rows.write(axes, remarks, room)
        if any(group.shares is not None for group in groups):
            _share(view, axes, rows)
    return axes


def _column(view: EstimatesView) -> float:
    if any(group.shares is not None for group in view.groups):
        return _WORDS + _BARS
    words = [text_width(remark) for group in view.groups for remark in group.remarks]
    return min(_MOST_WORDS, max(words)) + 3.0 if any(words) else 0.0


def _draw(group: Estimates, axes: Axes, places: Floats, row: float, known: dict[str, Look]) -> None:
    own = [known.get(policy, _PLAIN) for policy in group.policies or group.names]
    thick, size = min(1.2, 0.5 * row), min(0.45 * LETTERS, 1.6 * row)
    for y, mean, low, high, look in zip(places, group.means, group.lows, group.highs, own, strict=True):
        axes.plot([low, high], [y, y], color=look.colour, linewidth=thick, solid_capstyle="butt")
        axes.plot([mean], [y], color=look.colour, marker=look.marker, markersize=size, markeredgewidth=0)
        _arrows(axes, y, (low, high), look)
    if group.marks is not None:
        axes.plot(group.marks, places, markersize=min(LETTERS, 3.0 * row), **_MARK)


def _refer(view: EstimatesView, axes: Axes, places: Floats, row: float) -> None:
    """Draw the reference line behind the rows of a group."""
    if view.reference is not None:
        ends = [places[0] - row / 2, places[-1] + row / 2]
        axes.plot([view.reference[0]] * 2, ends, zorder=1.5, **_REFERENCE)


def _arrows(axes: Axes, y: float, interval: tuple[float, float], look: Look) -> None:
    """Mark the ends of an interval that lie outside the axis."""
    left, right = axes.get_xlim()
    for edge, arrow, outside in ((left, "<", interval[0] < left), (right, ">", interval[1] > right)):
        if outside:
            axes.plot([edge], [y], color=look.colour, marker=arrow, markersize=4, clip_on=False)


def _limit(view: EstimatesView, axes: Axes) -> None:
    """Set the limits of the horizontal axis."""
    parts = [values for one in view.groups for values in (one.means, one.lows, one.highs, one.marks)]
    ends = [values[np.isfinite(values)] for values in parts if values is not None]
    ends += [] if view.reference is None else [np.array([view.reference[0]])]
    known = np.concatenate(ends)
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if view.reach is not None:
        low, high = _cut(view, low, high)
    if view.logarithmic:
        axes.set_xlim(low / 1.1, high * 1.1)
    else:
        margin = 0.03 * (high - low) or 0.05 * max(1.0, abs(low))
        axes.set_xlim(low - margin, high + margin)


def _cut(view: EstimatesView, low: float, high: float) -> tuple[float, float]:
    """Return limits that contain all estimates, and intervals only as far as ``view.reach`` allows."""
    parts = [values for one in view.groups for values in (one.means, one.marks) if values is not None]
    inner = np.concatenate([*parts, [] if view.reference is None else [view.reference[0]]])
    least, most = float(np.nanmin(inner)), float(np.nanmax(inner))
    reach = (view.reach or 0.0) * (most - least)
    return max(low, least - reach), min(high, most + reach)


def _share(view: EstimatesView, axes: Axes, rows: Rows) -> None:
    """Draw shares as bars in separate axes, behind the text beside the rows."""
    # Millimetres from the right end of the axes, whatever the layout of the figure.
    end: Any = axes.transAxes
    across = millimetres(axes.figure.figure) + ScaledTranslation(1.0, 0.0, end)
    bounds = _WORDS * letters_scale(), 0.0, _BARS, 1.0
    beside = axes.inset_axes(bounds, transform=blended_transform_factory(across, axes.transAxes))
    beside.set_ylim(axes.get_ylim())
    beside.set_axis_off()
    beside.set_xlim(0.0, 1.0)
    longest = max(float(group.shares.max()) for group in view.groups if group.shares is not None) or 1.0
    for k, group in enumerate(view.groups):
        if group.shares is not None:
            lengths = group.shares / longest
            beside.barh(rows.places(k), lengths, height=0.7 * rows.row, color=SKY, linewidth=0)


def _legend(view: EstimatesView) -> list[list[Entry]]:
    known = looks(policy for group in view.groups for policy in group.policies)
    look = next(iter(known.values())) if len(known) == 1 else _PLAIN
    dot: dict[str, Any] = {"marker": look.marker, "markersize": 0.45 * LETTERS, "markeredgewidth": 0}
    line = {"color": look.colour, "linewidth": 1.2, **dot}
    entries = [Entry(view.mean + (f", {view.interval}" if view.interval else ""), line)]
    if view.mark and any(np.isfinite(g.marks).any() for g in view.groups if g.marks is not None):
        entries.append(Entry(view.mark, {"markersize": LETTERS, **_MARK}))
    if view.reference is not None:
        entries.append(Entry(view.reference[1], _REFERENCE))
    if view.column:
        bars = any(group.shares is not None for group in view.groups)
        entries.append(Entry(view.column, {"color": SKY, "linewidth": 5} if bars else {}))
    return [entries, *([Entry(note)] for note in view.notes)]
