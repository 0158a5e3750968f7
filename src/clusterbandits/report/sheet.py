"""Axes of a fixed size, with text above and a legend below them."""

from __future__ import annotations

import bisect
import functools
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D

from clusterbandits.report.style import LETTERS, any_letters
from clusterbandits.tables import plain
from clusterbandits.wording import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Where a panel draws: on axes of a user, or on a new figure that a function creates.
Place: TypeAlias = "Axes | Callable[..., Figure]"

#: Sizes in millimetres.
WIDTH = 100.0
_EDGE = 2.0
_LEFT = 13.0
_ROW = 3.8
_HANDLE = 8.0
_GAP = 4.0
_ROUNDING = 1e-6
#: From the axes to the legend: ticks, their numbers, and the label of the axis.
_BETWEEN = 10.5
_MILLIMETRES_A_POINT = 25.4 / 72
#: Longer texts are shortened before they are measured.
_MOST_LETTERS = 300
#: Characters per line in a legend on axes of a user.
_LEGEND_LETTERS = 44
#: The smallest width of a character in millimetres, except combining marks.
_NARROWEST = 0.7


@dataclass(frozen=True)
class Entry:
    """A line of a legend: text and the keywords of its handle; without keywords it is a note."""

    text: str
    handle: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Placed:
    """An entry with its wrapped text and its position: rows from the top, millimetres from the left."""

    entry: Entry
    lines: tuple[str, ...]
    row: float
    left: float


def panel(
    height: float,
    blocks: Sequence[Sequence[Entry]],
    title: str = "",
    words: str = "",
    left: float = _LEFT,
    width: float = WIDTH,
    *,
    right: float = 0.0,
    on: Place = Figure,
    legend_at: str = "above",
) -> tuple[Figure, Axes]:
    """Return a figure with empty axes, text above and a legend below them.

    Margins are fixed, because measuring all text takes longer than drawing. Axes of a user keep their
    position and get a legend.

    Parameters
    ----------
    height
        Height of the axes in millimetres.
    blocks
        Entries of the legend; each block has as many columns as fit.
    title, words
        Text above the axes, the title in bold; long text is wrapped.
    left
        Space left of the axes in millimetres.
    width
        Width of the figure in millimetres.
    right
        Space right of the axes in millimetres.
    on
        Axes to draw on, or a function that creates a figure.
    legend_at
        Position of the legend on axes of a user: ``"above"`` them, or a location inside.
    """
    if isinstance(on, Axes):
        _give_legend(on, [entry for block in blocks for entry in block], words, legend_at)
        return on.figure.figure, on
    room = width - 2 * _EDGE
    head = [(line, "bold") for line in folded(title, room, weight="bold")]
    head += [(line, "normal") for line in folded(words, room)]
    placed, rows = _placed(blocks, room)
    legend = _EDGE + rows * _ROW
    inner = room - left - right
    below, above = legend + _BETWEEN, 2 * _EDGE + len(head) * _ROW
    tall = below + height + above
    figure = on(figsize=(width / 25.4, tall / 25.4))
    axes = figure.add_axes((left / width, below / tall, inner / width, height / tall))
    for k, (line, weight) in enumerate(head):
        write(figure, _EDGE, tall - _EDGE - (k + 0.5) * _ROW, line, weight=weight)
    for one in placed:
        _place(figure, one, legend)
    return figure, axes


def _give_legend(axes: Axes, entries: Sequence[Entry], words: str, legend_at: str) -> None:
    """Add a legend to axes of a user; entries without a handle are notes."""
    if not entries and not words:
        return
    handles = [Line2D([], [], **(entry.handle or {"linestyle": "none"})) for entry in entries]
    above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "frameon": False, "borderaxespad": 0.2}
    where = above if legend_at == "above" else {"loc": legend_at}
    # Matplotlib omits labels that begin with an underscore and parses formulas, so names are set afterwards.
    made = axes.legend(handles, ["."] * len(handles), title=plain(words) or None, alignment="left", **where)
    for text, entry in zip(made.get_texts(), entries, strict=True):
        text.set_parse_math(False)
        text.set_text("\n".join(textwrap.wrap(shortened(plain(entry.text), _MOST_LETTERS), _LEGEND_LETTERS)))
    made.get_title().set_parse_math(False)


def _placed(blocks: Sequence[Sequence[Entry]], room: float) -> tuple[list[_Placed], float]:
    placed: list[_Placed] = []
    row = 0.0
    for block in blocks:
        widths = [text_width(entry.text) + _handle(entry) for entry in block]
        columns = _columns(widths, room)
        row += 0 if block[0].handle else 0.3
        for start in range(0, len(block), len(columns)):
            left, most = _EDGE, 1
            for entry, width in zip(block[start:], columns, strict=False):
                lines = tuple(folded(entry.text, width - _handle(entry)))
                placed.append(_Placed(entry, lines, row, left))
                left, most = left + width + _GAP, max(most, len(lines))
            row += most
    return placed, row


def _columns(widths: list[float], room: float) -> list[float]:
    """Return the widths of as many columns as fit; entries fill the rows in order."""
    for many in range(len(widths), 1, -1):
        columns = [max(widths[k::many]) + _ROUNDING for k in range(many)]
        if sum(columns) + _GAP * (many - 1) <= room:
            return columns
    return [room]


def _handle(entry: Entry) -> float:
    return _HANDLE if entry.handle else 0.0


def _place(figure: Figure, one: _Placed, top: float) -> None:
    middle = top - (one.row + 0.5) * _ROW
    if one.entry.handle:
        x = np.array([one.left, one.left + _HANDLE / 2 - 0.5, one.left + _HANDLE - 1])
        keywords = {
            "markevery": [1],
            "solid_capstyle": "butt",
            "transform": millimetres(figure),
        } | one.entry.handle
        figure.add_artist(Line2D(x, [middle] * 3, **keywords))
    for k, line in enumerate(one.lines):
        write(figure, one.left + _handle(one.entry), middle - k * _ROW, line)


def write(figure: Figure, x: float, y: float, text: str, **keywords: Any) -> None:
    """Write literal text into a figure, ``x`` and ``y`` millimetres from its left and lower edges."""
    place = {"transform": millimetres(figure), "va": "center_baseline", "parse_math": False}
    figure.text(x, y, plain(text), **(place | keywords))


def millimetres(figure: Figure) -> Any:
    """Return the transform from millimetres to the display."""
    return Affine2D().scale(1 / 25.4) + figure.dpi_scale_trans


def axes_size(axes: Axes) -> tuple[float, float]:
    """Return the width and height of axes in millimetres."""
    box = axes.get_window_extent()
    return box.width / axes.figure.dpi * 25.4, box.height / axes.figure.dpi * 25.4


def letters_scale() -> float:
    """Return the font size of the current settings, relative to that of our own pictures."""
    return float(FontProperties(size=rcParams["font.size"]).get_size_in_points()) / LETTERS


def text_width(text: str, weight: str = "normal") -> float:
    """Return the width of a line of text in millimetres."""
    return _width(plain(text), weight) * _MILLIMETRES_A_POINT


@functools.lru_cache(maxsize=4096)
def _width(text: str, weight: str) -> float:
    font = FontProperties(family="DejaVu Sans", size=LETTERS, weight=weight)
    with any_letters():
        return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def folded(text: str, room: float, weight: str = "normal") -> list[str]:
    """Return plain text as lines of at most ``room`` millimetres.

    Examples
    --------
    >>> folded("regret against rounds", 20)
    ['regret against', 'rounds']
    """
    given = shortened(plain(text), _MOST_LETTERS)
    most = min(len(given), int(room / _NARROWEST))
    for letters in range(max(1, most), 1, -1):
        lines = textwrap.wrap(given, letters)
        if all(text_width(line, weight) <= room for line in lines):
            return lines
    return textwrap.wrap(given, 1)


def fitted(text: str, room: float, weight: str = "normal", ending: str = "") -> str:
    """Return plain text with an ending, in at most ``room`` millimetres; the text is shortened if necessary.

    Examples
    --------
    >>> fitted("red", 20), fitted("Spring campaign in the north", 20)
    ('red', 'Spring cam…')
    """
    given = shortened(plain(text), _MOST_LETTERS)
    left = room - text_width(ending, weight) + _ROUNDING
    if text_width(given, weight) <= left:
        return given + ending
    cuts = [given[:k].rstrip() + "…" for k in range(len(given))]
    fitting = bisect.bisect_right(cuts, left, key=lambda one: text_width(one, weight))
    return cuts[max(0, fitting - 1)] + ending
