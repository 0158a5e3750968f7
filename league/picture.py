"""The league as a heat map: policies as rows, problems as columns, colours for ratios of regret."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib.style
from matplotlib import colormaps
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from clusterbandits.files import whole_file
from clusterbandits.policies.policy import DEFAULT
from clusterbandits.simulation.statistics import round_text
from league.numerals import short_times
from league.overview import comparable
from league.problems import KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from league.overview import Board
    from league.standings import Mark

#: Inches.
_WIDTH, _ROW, _WIDEST_CELL = 10.4, 0.21, 0.42
_LEFT, _RIGHT, _TOP, _BOTTOM = 1.2, 0.7, 1.45, 0.8
#: The space between groups of columns, in cells.
_GAP = 0.35
#: From light yellow to dark brown with monotone lightness, so that it is readable without colour.
_COLOURS, _LARGEST = "YlOrBr", 30.0
_FRAMES: dict[Mark, dict[str, Any]] = {
    "best": {"edgecolor": "black", "linewidth": 1.4, "zorder": 3},
    "close": {"edgecolor": "black", "linewidth": 0.7, "linestyle": (0, (2, 1.2)), "zorder": 2},
    "worse": {"edgecolor": "white", "linewidth": 0.5, "zorder": 1},
}


@dataclass(frozen=True)
class Square:
    """One square of the heat map."""

    ratio: float
    mark: Mark


@dataclass(frozen=True)
class Column:
    """One column: squares from top to bottom, None for missing cells, and the group of columns."""

    name: str
    squares: tuple[Square | None, ...]
    group: str


@dataclass(frozen=True)
class Heat:
    """The data of the heat map, computed by ``heat`` and drawn by ``save_picture``."""

    title: str
    policies: tuple[str, ...]
    columns: tuple[Column, ...]


def heat(board: Board, horizon: int) -> Heat:
    """Return the data of the heat map: problems by kind, then a summary."""
    rows = board.overview()
    policies = tuple(row.policy for row in rows)
    columns = []
    for kind in KINDS:
        for problem in board.of_kind(kind).problems:
            of = {one.cell.policy: Square(one.ratio, one.mark) for one in board.standings[problem.name]}
            columns.append(Column(problem.short, tuple(map(of.get, policies)), kind.replace(" ", "\n")))
    summaries = {"geometric mean": [row.ratio for row in rows], "worst": [row.worst.ratio for row in rows]}
    for name, ratios in summaries.items():
        least = min(ratios[: len(comparable(rows))])
        marks: list[Mark] = ["best" if ratio == least else "worse" for ratio in ratios]
        columns.append(Column(name, tuple(map(Square, ratios, marks)), "all"))
    title = f"Mean regret after {round_text(horizon)} rounds, best policy = 1"
    return Heat(title, policies, tuple(columns))


def save_picture(shown: Heat, path: Path) -> None:
    """Write the heat map atomically, in the format of the suffix."""
    settings: dict[str, Any] = {
        "font.size": 8,
        "font.sans-serif": ["DejaVu Sans"],  # a single name, since it is repeated for about 500 texts
        "svg.fonttype": "none",
        "svg.hashsalt": "league",
    }
    buffer = io.BytesIO()
    form = path.suffix[1:]
    # No date, so that equal data give equal files.
    metadata = {"Date": None} if form == "svg" else {}
    with matplotlib.style.context(["default", settings]):
        _draw(shown).savefig(buffer, format=form, dpi=200, metadata=metadata)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(buffer.getvalue())


def _draw(shown: Heat) -> Figure:
    lefts = _lefts(shown)
    across, rows = lefts[-1] + 1, len(shown.policies)
    cell = min(_WIDEST_CELL, (_WIDTH - _LEFT - _RIGHT) / across)
    width, height = max(4.4, _LEFT + cell * across + _RIGHT), _TOP + _ROW * rows + _BOTTOM
    figure = Figure(figsize=(width, height))
    place = _LEFT / width, _BOTTOM / height, cell * across / width, _ROW * rows / height
    axes = figure.add_axes(place)
    axes.set(xlim=(0, across), ylim=(rows, 0))
    axes.spines[:].set_visible(False)
    for left, column in zip(lefts, shown.columns, strict=True):
        _draw_column(axes, left, column)
    axes.set_yticks([row + 0.5 for row in range(rows)], shown.policies)
    for name in axes.get_yticklabels():
        name.set_fontweight("bold" if name.get_text() == DEFAULT else "normal")
    axes.xaxis.tick_top()
    slanted: dict[str, Any] = {"rotation": 50, "ha": "left", "rotation_mode": "anchor"}
    axes.set_xticks([left + 0.5 for left in lefts], [column.name for column in shown.columns], **slanted)
    axes.tick_params(length=0, pad=3)
    _draw_groups(axes, shown, lefts)
    figure.text(0.08 / width, 1 - 0.08 / height, shown.title, va="top", fontsize=10, fontweight="bold")
    _draw_key(figure, width, height, any(None in column.squares for column in shown.columns))
    return figure


def _lefts(shown: Heat) -> list[float]:
    lefts, at = [], 0.0
    for place, column in enumerate(shown.columns):
        at += 0 if place == 0 else 1
        at += _GAP if place and column.group != shown.columns[place - 1].group else 0
        lefts.append(at)
    return lefts


def _draw_column(axes: Axes, left: float, column: Column) -> None:
    norm, colours = LogNorm(1, _LARGEST, clip=True), colormaps[_COLOURS]
    for row, square in enumerate(column.squares):
        if square is None:
            axes.text(left + 0.5, row + 0.52, "–", ha="center", va="center", fontsize=7, color="#888888")
            continue
        colour = colours(float(norm(square.ratio)))
        frame = _FRAMES[square.mark]
        inset = 0.03 if square.mark != "worse" else 0.0
        corner, size = (left + inset, row + inset), 1 - 2 * inset
        axes.add_patch(Rectangle(corner, size, size, facecolor=colour, **frame))
        axes.text(
            left + 0.5,
            row + 0.52,
            short_times(square.ratio),
            ha="center",
            va="center",
            fontsize=7,
            color="white" if _lightness(colour) < 0.2 else "black",
            fontweight="bold" if square.mark == "best" else "normal",
            zorder=4,
        )


def _lightness(colour: tuple[float, float, float, float]) -> float:
    """Return the relative luminance of a colour, 0 for black and 1 for white, as the WCAG define it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _draw_groups(axes: Axes, shown: Heat, lefts: list[float]) -> None:
    """Draw the names of the groups of columns below them."""
    foot = len(shown.policies) + 0.35
    ends: dict[str, list[float]] = {}
    for left, column in zip(lefts, shown.columns, strict=True):
        ends.setdefault(column.group, []).extend([left, left + 1])
    for name, edges in ends.items():
        axes.plot(
            [edges[0] + 0.05, edges[-1] - 0.05], [foot, foot], color="#444444", linewidth=1, clip_on=False
        )
        middle = (edges[0] + edges[-1]) / 2
        axes.text(middle, foot + 0.25, name, ha="center", va="top", fontsize=7, linespacing=1.1)


def _draw_key(figure: Figure, width: float, height: float, gaps: bool) -> None:
    """Draw the legend of frames and dashes; colours need none, since the squares have numbers."""
    axes = figure.add_axes((0.08 / width, 0.06 / height, 1 - 0.16 / width, 0.2 / height))
    axes.set(xlim=(0, width - 0.16), ylim=(0, 0.2))
    axes.axis("off")
    at = 0.02
    words: dict[Mark, str] = {"best": "best", "close": "not significantly worse than the best"}
    for mark, meaning in words.items():
        axes.add_patch(Rectangle((at, 0.03), 0.2, 0.14, facecolor="white", **_FRAMES[mark]))
        axes.text(at + 0.26, 0.1, meaning, va="center", fontsize=7.5)
        at += 0.65
    if gaps:
        axes.text(at + 2.0, 0.1, "–  not run", va="center", fontsize=7.5)
