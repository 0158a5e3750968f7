"""Clusters on a number line: arms, spans and declared widths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from clusterbandits.clusters import Clusters
from clusterbandits.report.picture import Picture, picture
from clusterbandits.report.sheet import (
    WIDTH,
    Entry,
    axes_size,
    fitted,
    letters_scale,
    panel,
    text_width,
)
from clusterbandits.report.style import LETTERS, called, first_texts, number_line, numbered_look, settings
from clusterbandits.simulation.statistics import count_text
from clusterbandits.tables import cell
from clusterbandits.validate import Described, invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clusterbandits.partition import Label
    from clusterbandits.report.sheet import Place

    Floats = NDArray[np.float64]

_WIDE_ENOUGH: dict[str, Any] = {"color": "#000000", "linewidth": 1.2}
_TOO_SMALL: dict[str, Any] = {"color": "#B00000", "linewidth": 2.2}
_LEFT = 4.0
#: Text on a screen is up to this factor wider than its outlines.
_HINTED = 1.03
_MOST_SHADED = 4
_MOST_DESCRIBED = 6
#: Brackets extend the axis on either side by at most this share of the range of the means; longer ones end in
#: arrows.
_REACH = 0.6


@dataclass(frozen=True)
class _Row:
    """Positions of the parts of a row, in millimetres from its upper edge."""

    height: float
    #: Whether there is space for the labels of arms.
    labelled: bool
    top: float
    dots: float
    bottom: float
    bracket: float
    words: float = 2.2


_TALL = _Row(height=17.0, labelled=True, top=7.9, dots=9.8, bottom=11.7, bracket=13.6)
_LOW = _Row(height=11.0, labelled=False, top=4.6, dots=6.2, bottom=7.8, bracket=9.2)
_MOST_TALL = 8


@dataclass(frozen=True, eq=False)
class SpanRow:
    """One cluster: its arms in order of their means, and its declared width."""

    name: str
    means: Floats
    labels: tuple[str, ...]
    #: The declared width, or None.
    width: float | None
    #: Whether the span exceeds the declared width.
    violated: bool
    #: For each arm, the other clusters whose span contains it.
    visits: tuple[tuple[str, ...], ...]

    @property
    def low(self) -> float:
        """The lowest mean."""
        return float(self.means[0])

    @property
    def high(self) -> float:
        """The highest mean."""
        return float(self.means[-1])

    @property
    def bracket(self) -> tuple[float, float]:
        """The interval of the declared width, around the middle of the span."""
        half = math.nan if self.width is None else self.width / 2
        middle = (self.low + self.high) / 2
        return middle - half, middle + half

    def heading(self, room: float = math.inf) -> str:
        """Return the cluster, its span and its width in ``room`` millimetres; a long name is shortened."""
        span = f": span {cell(round(self.high - self.low, 12))}"
        wrong = " is too small" if self.violated else ""
        width = "" if self.width is None else f", width {cell(self.width)}{wrong}"
        return fitted(self.name, room, "bold", span + width)


def span_rows(
    means: Sequence[Sequence[float]],
    names: Sequence[Label],
    widths: Sequence[float] | None = None,
    labels: Sequence[Sequence[Label]] | None = None,
) -> tuple[SpanRow, ...]:
    """Return the numbers of a panel of spans; the parameters are those of ``spans_panel``.

    Examples
    --------
    >>> rows = span_rows([[0.3, 0.7], [0.1, 0.2, 0.8]], ["red", "blue"], widths=[0.1, 0.7])
    >>> [row.heading() for row in rows]
    ['red: span 0.4, width 0.1 is too small', 'blue: span 0.7, width 0.7']
    >>> rows[0].visits
    (('blue',), ('blue',))
    """
    if len(means) != len(names):
        given = Described(f"{len(means)} groups and {len(names)} names")
        raise invalid("means", "spans_panel", "one group for every name", given)
    sizes = dict(zip(names, map(len, means), strict=True))
    clusters = Clusters(sizes, [math.inf] * len(names) if widths is None else widths)
    fit = clusters.fits([mean for part in means for mean in part])
    titles = [called("cluster", name) for name in clusters.names]
    ends = [(name, min(part), max(part)) for name, part in zip(titles, means, strict=True)]
    rows = []
    for c, part in enumerate(means):
        values = np.array(part, dtype=float)
        order = np.argsort(values, kind="stable")
        own = list(range(1, len(part) + 1)) if labels is None else labels[c]
        row = SpanRow(
            name=titles[c],
            means=values[order],
            labels=tuple(str(own[k]) for k in order),
            width=None if widths is None else clusters.widths[c],
            violated=fit.excess[c] > 0,
            visits=tuple(_visits(titles[c], values[k], ends) for k in order),
        )
        rows.append(row)
    return tuple(rows)


def _visits(name: str, mean: float, ends: list[tuple[str, float, float]]) -> tuple[str, ...]:
    return tuple(other for other, low, high in ends if other != name and low <= mean <= high)


def spans_panel(
    means: Sequence[Sequence[float]],
    names: Sequence[Label],
    widths: Sequence[float] | None = None,
    *,
    name: str,
    title: str = "",
    labels: Sequence[Sequence[Label]] | None = None,
) -> Picture:
    """Return clusters on a number line as a picture: one row each, with the span as a band and arms as dots.

    The dot of an arm inside the span of another cluster is hollow. If the declared width is smaller than the
    span, its bracket is red and the heading of the row says so.

    Parameters
    ----------
    means
        Means of the arms of each cluster.
    names
        Name of each cluster.
    widths
        Declared width of each cluster, drawn as a bracket around the middle of the span.
    name
        Name of the picture in files and pages.
    title
        Title above the picture.
    labels
        Labels of the arms of each cluster; by default 1, 2, … in the order of ``means``.
    """
    rows = span_rows(means, names, widths, labels)
    return picture(spans_axes(rows, title).figure.figure, name, _alt(rows), title)


def spans_axes(
    rows: tuple[SpanRow, ...],
    title: str = "",
    *,
    on: Place = Figure,
    width: float = WIDTH,
    notes: Sequence[str] = (),
) -> Axes:
    """Return axes with the clusters; ``notes`` follow the legend."""
    form = _TALL if len(rows) <= _MOST_TALL else _LOW
    legend = [*_legend(rows), *([Entry(note)] for note in notes)]
    with settings(on):
        height = form.height * len(rows)
        _, axes = panel(height, legend, title, left=_LEFT, width=width, on=on)
        low, high = _limits(rows)
        axes.set_xlim(low, high)
        axes.set_ylim(form.height * len(rows), 0)
        for k, row in enumerate(rows):
            # Green first and red second, like the clusters of the paper's Figure 1.
            look = numbered_look({0: 2, 2: 0}.get(k, k))
            if len(rows) <= _MOST_SHADED:
                axes.axvspan(row.low, row.high, color=look.colour, alpha=0.1, linewidth=0)
            style = {"color": look.colour, "marker": look.marker, "markersize": 0.6 * LETTERS}
            _draw(row, axes, k * form.height, form, style)
        number_line(axes, "mean")
        axes.grid(visible=False)
    return axes


def _legend(rows: tuple[SpanRow, ...]) -> list[list[Entry]]:
    pale = {"color": "#404040", "alpha": 0.3, "linewidth": 6}
    notes = [Entry("span of the means", pale)]
    hollow = {"marker": "o", "markersize": 0.6 * LETTERS, "markerfacecolor": "white", "linestyle": "none"}
    if any(any(row.visits) for row in rows):
        notes.append(Entry("also inside the span of another cluster", {"color": "#404040", **hollow}))
    if any(row.width is not None and not row.violated for row in rows):
        notes.append(Entry("declared width", _WIDE_ENOUGH))
    if any(row.violated for row in rows):
        notes.append(Entry("declared width, smaller than the span", _TOO_SMALL))
    return [notes]


def _limits(rows: tuple[SpanRow, ...]) -> tuple[float, float]:
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    widest = max((row.width for row in rows if row.width is not None and row.width < math.inf), default=0.0)
    reach = _REACH * (high - low) or widest
    left = min([low, *(max(row.bracket[0], low - reach) for row in rows if row.width is not None)])
    right = max([high, *(min(row.bracket[1], high + reach) for row in rows if row.width is not None)])
    margin = 0.04 * (right - left) or 0.05 * max(1.0, abs(low))
    return left - margin, right + margin


def _draw(row: SpanRow, axes: Axes, top: float, form: _Row, look: dict[str, Any]) -> None:
    colour = look["color"]
    corner, size = (row.low, top + form.top), (row.high - row.low, form.bottom - form.top)
    axes.add_patch(Rectangle(corner, *size, facecolor=colour, alpha=0.3, edgecolor=colour))
    axes.vlines([row.low, row.high], top + form.top, top + form.bottom, color=colour, linewidth=1.0)
    inside = np.array([bool(others) for others in row.visits])
    for part, face in ((row.means[~inside], colour), (row.means[inside], "white")):
        axes.plot(part, np.full(part.size, top + form.dots), linestyle="none", markerfacecolor=face, **look)
    axes.plot([0.01], [top + form.words], transform=axes.get_yaxis_transform(), clip_on=False, **look)
    words: dict[str, Any] = {
        "transform": axes.get_yaxis_transform(),
        "va": "center_baseline",
        "weight": "bold",
    }
    words |= {"color": "#B00000" if row.violated else "#000000", "parse_math": False}
    axes.text(0.03, top + form.words, row.heading(0.97 * axes_size(axes)[0] / letters_scale()), **words)
    if form.labelled:
        _label(row, axes, top + form.top - 1.6)
    if row.width is not None:
        _bracket(row, axes, top + form.bracket)


def _label(row: SpanRow, axes: Axes, y: float) -> None:
    """Write the label of each arm above its dot; join equal means and omit labels that would overlap."""
    low, high = axes.get_xlim()
    # In millimetres at the font size of our own pictures.
    inner = axes_size(axes)[0] / letters_scale()
    scale = inner / (high - low)
    reached = -math.inf
    for mean in np.unique(row.means):
        labels = ", ".join(row.labels[k] for k in np.flatnonzero(row.means == mean))
        text = fitted(labels, 0.95 * inner)
        half = _HINTED * text_width(text) / 2
        # Above the arm, but inside the picture.
        ends = half + 0.5 - _LEFT, inner + _LEFT - half - 0.5
        place = max(ends[0], min((mean - low) * scale, ends[1]))
        if place - half > reached:
            axes.text(low + place / scale, y, text, ha="center", va="center_baseline", parse_math=False)
            reached = place + half + 0.8


def _bracket(row: SpanRow, axes: Axes, y: float) -> None:
    low, high = axes.get_xlim()
    left, right = row.bracket
    style = _TOO_SMALL if row.violated else _WIDE_ENOUGH
    axes.plot([max(left, low), min(right, high)], [y, y], **style)
    for end, edge, arrow in ((left, low, "<"), (right, high, ">")):
        beyond = end < low or end > high
        mark: dict[str, Any] = {"marker": arrow if beyond else "|", "markersize": 5, "clip_on": False}
        axes.plot([edge if beyond else end], [y], color=style["color"], **mark)


def _alt(rows: tuple[SpanRow, ...]) -> str:
    sizes = [count_text(row.means.size, "arm") for row in rows]
    ends = [f"from {cell(row.low)} to {cell(row.high)}" for row in rows]
    described = first_texts(
        [f"{row.name}, {size} {end}" for row, size, end in zip(rows, sizes, ends, strict=True)]
    )
    text = f"{count_text(len(rows), 'cluster')} on a number line: {described}."
    guests = [
        f"arm {label} of {row.name}"
        for row in rows
        for label, others in zip(row.labels, row.visits, strict=True)
        if others
    ]
    if guests:
        which = ", ".join(guests) if len(guests) <= _MOST_DESCRIBED else count_text(len(guests), "arm")
        text += f" Also inside the span of another cluster: {which}."
    wrong = [row.name for row in rows if row.violated]
    if wrong:
        text += f" Width smaller than the span: {', '.join(wrong[:_MOST_DESCRIBED])}."
    return text
