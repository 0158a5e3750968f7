"""Regret of policies on many problems, divided by the regret of a reference policy on the same problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from clusterbandits.report.picture import Picture, picture
from clusterbandits.report.sheet import WIDTH, Entry, fitted, panel, text_width
from clusterbandits.report.style import LETTERS, dress, log_axis, looks, settings
from clusterbandits.simulation.statistics import count_text
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clusterbandits.report.sheet import Place

    Floats = NDArray[np.float64]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_ROW = 6.0
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 100)
_MOST_TICKS = 8
#: The largest width of a label beside the axes, in millimetres.
_ROOM = 41.0


@dataclass(frozen=True, eq=False)
class RatioRow:
    """The regret of one policy relative to the base, over all problems."""

    label: str
    #: Quantiles of the ratio at ``LEVELS``.
    quantiles: Floats
    #: The share of problems in which the policy has less regret than the base.
    better: float
    instances: int


def ratio_rows(regrets: Mapping[str, Floats], base: str) -> tuple[RatioRow, ...]:
    """Return one row per policy except the base; problems in which the base has no regret are omitted.

    Parameters
    ----------
    regrets
        Mean regret of each policy in each problem.
    base
        Label of the policy that all others are compared with.

    Examples
    --------
    >>> regrets = {"kl-ucb": np.array([10.0, 20.0, 40.0]), "clus-ucb": np.array([5.0, 15.0, 44.0])}
    >>> row = ratio_rows(regrets, "kl-ucb")[0]
    >>> row.quantiles[2].item(), round(row.better, 2)
    (0.75, 0.67)
    """
    if base not in regrets:
        raise invalid("base", "ratio_rows", f"one of {', '.join(regrets)}", base)
    reference = np.asarray(regrets[base], dtype=float)
    positive = reference > 0
    rows = []
    for label, values in regrets.items():
        if label == base or not positive.any():
            continue
        ratios = np.asarray(values, dtype=float)[positive] / reference[positive]
        rows.append(
            RatioRow(label, np.quantile(ratios, LEVELS), float((ratios < 1).mean()), int(positive.sum()))
        )
    return tuple(rows)


def ratio_panel(regrets: Mapping[str, Floats], base: str, *, name: str, title: str = "") -> Picture:
    """Return quantiles over problems as a picture: one bar per policy, relative to the base at 1.

    Parameters
    ----------
    regrets, base
        As for ``ratio_rows``.
    name
        Name of the picture in files and pages.
    title
        Title above the picture.
    """
    axes = ratio_axes(regrets, base, title)
    rows = ratio_rows(regrets, base)
    quantiles = "; ".join(
        f"{row.label} {row.quantiles[2]:.2g}, less regret in {row.better:.0%}" for row in rows
    )
    many = count_text(rows[0].instances, "instance")
    return picture(
        axes.figure.figure,
        name,
        f"Median of the regret divided by that of {base} in {many}: {quantiles}.",
        title,
    )


def ratio_axes(
    regrets: Mapping[str, Floats], base: str, title: str = "", *, on: Place = Figure, width: float = WIDTH
) -> Axes:
    """Return the axes with the drawing; the other parameters are those of ``ratio_panel``."""
    rows = ratio_rows(regrets, base)
    if not rows:
        raise invalid(
            "regrets",
            "ratio_panel",
            "those of at least two policies, with positive regret of the base",
            [*regrets],
        )
    look = looks(regrets)
    many = count_text(rows[0].instances, "instance")
    legend = [[Entry("tick: median; thick line: half of the instances; thin line: 90 %")]]
    labels = [fitted(row.label, _ROOM) for row in rows]
    left = max(map(text_width, labels)) + 4
    words, height = f"Regret divided by that of {base}, in {many}", _ROW * (len(rows) + 0.5)
    with settings(on):
        _, axes = panel(height, legend, title, words, left, width, on=on)
        dress(axes, grid="x")
        for place, row in enumerate(rows):
            _bar(axes, -place, row.quantiles, look[row.label].colour)
        axes.set_yticks([-place for place in range(len(rows))], labels, parse_math=False)
        axes.set_ylim(-len(rows) + 0.4, 0.6)
        axes.tick_params(axis="y", length=0)
        _scale(axes, rows)
    return axes


def _bar(axes: Axes, y: float, quantiles: Floats, colour: str) -> None:
    low, lower, median, upper, high = np.maximum(quantiles, 1e-3).tolist()
    axes.plot([low, high], [y, y], color=colour, linewidth=0.15 * LETTERS, solid_capstyle="butt")
    axes.plot([lower, upper], [y, y], color=colour, linewidth=0.75 * LETTERS, solid_capstyle="butt")
    axes.plot([median] * 2, [y - 0.28, y + 0.28], color="#000000", linewidth=0.2 * LETTERS)


def _scale(axes: Axes, rows: tuple[RatioRow, ...]) -> None:
    lowest = min(float(row.quantiles[0]) for row in rows)
    highest = max(float(row.quantiles[-1]) for row in rows)
    low, high = min(max(lowest, 1e-3), 0.9) / 1.1, max(highest, 1.05) * 1.1
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    step = -(-len(ticks) // _MOST_TICKS)
    log_axis(axes, low, high, sorted({*ticks[::step], 1}))
    axes.axvline(1, color="#808080", linewidth=0.8, zorder=1)
    axes.set_xlabel("ratio of regrets, log scale")
