"""Bars for each cluster: declared widths beside spans, or bounds on regret."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from clusterbandits.report.sheet import Entry, axes_size, fitted, letters_scale, panel
from clusterbandits.report.style import LETTERS, number_line, settings
from clusterbandits.tables import cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clusterbandits.report.sheet import Place

    Floats = NDArray[np.float64]

WIDE = 140.0
_LEFT = 4.0
_HEAD, _DETAIL, _BAR, _FOOT = 4.6, 3.6, 3.2, 1.8
#: The end of the axis as a multiple of the longest bar, with space for its number.
_ROOM = 1.16
_SMALLEST = 4.0
_WRONG = "#B00000"


@dataclass(frozen=True, eq=False)
class Bars:
    """One bar per cluster."""

    label: str
    values: Floats
    colour: str


@dataclass(frozen=True)
class BarsRow:
    """A cluster: its name, the text after the name, and whether a declared width is too small."""

    name: str
    ending: str = ""
    detail: str = ""
    wrong: bool = False


@dataclass(frozen=True, eq=False)
class BarsView:
    """The contents of a panel of bars."""

    rows: tuple[BarsRow, ...]
    bars: tuple[Bars, ...]
    axis: str
    notes: tuple[str, ...] = ()

    @property
    def detailed(self) -> bool:
        """Whether names are followed by a line of details."""
        return any(row.detail for row in self.rows)

    @property
    def first(self) -> float:
        """The position of the first bar of a row, in millimetres below the upper edge of the row."""
        return _HEAD + _DETAIL * self.detailed

    @property
    def row(self) -> float:
        """The height of a row, in millimetres."""
        return self.first + _BAR * len(self.bars) + _FOOT

    @property
    def end(self) -> float:
        """The end of the axis; infinite bars reach it."""
        values = np.concatenate([bars.values for bars in self.bars])
        finite = values[np.isfinite(values)]
        return _ROOM * (float(finite.max()) if finite.size and finite.max() > 0 else 1.0)


def largest(values: Floats, most: int) -> list[int]:
    """Return the positions of the ``most`` largest values, in increasing order."""
    return sorted(np.argsort(-values, kind="stable")[:most].tolist())


def bars_axes(view: BarsView, *, on: Place = Figure, width: float = WIDE) -> Axes:
    """Return the axes with the drawing."""
    height = view.row * len(view.rows)
    with settings(on):
        _, axes = panel(height, _legend(view), left=_LEFT, width=width, on=on)
        axes.set_xlim(0.0, view.end)
        axes.set_ylim(height, 0.0)
        number_line(axes, view.axis)
        inner, tall = axes_size(axes)
        letters = min(LETTERS * letters_scale(), 0.95 * _BAR * tall / height * 72 / 25.4)
        words: dict[str, Any] = {"va": "center_baseline", "parse_math": False, "fontsize": letters}
        for k, row in enumerate(view.rows):
            _write(row, axes, k * view.row, inner * LETTERS / letters, words)
            _draw(view, axes, k, k * view.row + view.first, words)
    return axes


def _write(row: BarsRow, axes: Axes, top: float, room: float, words: dict[str, Any]) -> None:
    if words["fontsize"] < _SMALLEST:
        return
    words = words | {"transform": axes.get_yaxis_transform()}
    colour = _WRONG if row.wrong else "black"
    heading = fitted(row.name, room, "bold", row.ending)
    axes.text(0.0, top + _HEAD / 2 + 0.3, heading, weight="bold", color=colour, **words)
    if row.detail:
        axes.text(0.0, top + _HEAD + _DETAIL / 2 - 0.3, fitted(row.detail, room), color="#606060", **words)


def _draw(view: BarsView, axes: Axes, place: int, first: float, words: dict[str, Any]) -> None:
    behind = axes.transData + ScaledTranslation(1.0 / 25.4, 0.0, axes.figure.dpi_scale_trans)
    for k, bars in enumerate(view.bars):
        value, y = float(bars.values[place]), first + _BAR * (k + 0.5)
        length = view.end / _ROOM if math.isinf(value) else value
        look: dict[str, Any] = {"color": bars.colour, "alpha": 0.35 if math.isinf(value) else 1.0}
        axes.barh([y], [length], height=0.8 * _BAR, linewidth=0, **look)
        if words["fontsize"] >= _SMALLEST:
            axes.text(length, y, cell(round(value, 12)), transform=behind, **words)


def _legend(view: BarsView) -> list[list[Entry]]:
    entries = [Entry(bars.label, {"color": bars.colour, "linewidth": 5}) for bars in view.bars]
    return [entries, *([Entry(note)] for note in view.notes)]


def cut_note(shown: int, count: int, by: str) -> tuple[str, ...]:
    """Return a note if only the clusters with the largest values are shown."""
    return () if shown == count else (f"The {shown} of {count} clusters with the largest {by}.",)


def named(names: Sequence[str], most: int = 60) -> str:
    """Return names separated by commas, at most the first ``most``."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
