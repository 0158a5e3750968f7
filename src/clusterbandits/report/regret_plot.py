"""Regret over rounds as a picture: first the numbers, then the drawing."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from clusterbandits.files import whole_file
from clusterbandits.report.picture import check_picture_file
from clusterbandits.report.sheet import clipped
from clusterbandits.report.style import BOUND_STYLES, dress, looks, render, settings
from clusterbandits.simulation.statistics import count_text
from clusterbandits.validate import between

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clusterbandits.bounds import RegretBound
    from clusterbandits.simulation.results import Result

    Floats = NDArray[np.float64]

_LETTERS_A_LINE = 46
_BOUNDS_HEADING = "Bounds, as slopes from 0 at n = 1:"


@dataclass(frozen=True, eq=False)
class PolicyCurve:
    """The mean regret of a policy and its band; NaN bounds a band that one run cannot have."""

    label: str
    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class BoundLine:
    """The regret of one bound, or of several that are equal: a slope times log n, 0 at n = 1."""

    names: tuple[str, ...]
    slope: float
    regret: Floats

    @property
    def label(self) -> str:
        """The line as the legend calls it."""
        return f"{' = '.join(self.names)}: {self.slope:.3g} log n"


@dataclass(frozen=True, eq=False)
class RegretCurves:
    """Everything a regret plot shows. Made by ``regret_curves``, drawn by ``draw_regret``."""

    title: str
    rounds: NDArray[np.int64]
    policies: tuple[PolicyCurve, ...]
    bounds: tuple[BoundLine, ...] = ()


def regret_curves(result: Result, bound: RegretBound | None = None) -> RegretCurves:
    """Return the numbers of a regret plot: means, 95 % bootstrap bands, and lines for bounds.

    Bounds that are equal share a line; one that is infinite has none. Where a width misleads, only the
    classical bound applies and is drawn.

    Examples
    --------
    >>> from clusterbandits import Instance, regret_bound
    >>> from clusterbandits.simulation.results import Result
    >>> instance = Instance([[0.5], [0.75]])
    >>> result = Result(instance, ["kl-ucb"], [10, 100], [[[[2, 8], [4, 96]]]])
    >>> curves = regret_curves(result, regret_bound(instance))
    >>> curves.title, curves.policies[0].mean.tolist()
    ('Regret of 1 run', [0.5, 1.0])
    >>> [line.label for line in curves.bounds]
    ['lower bound = Clus-UCB (Theorem 2) = classical: 1.74 log n']
    """
    runs = count_text(len(result.runs), "run")
    many = f"Mean regret of {runs}, 95 % bootstrap bands"
    return RegretCurves(
        title=many if len(result.runs) > 1 else f"Regret of {runs}",
        rounds=result.checkpoints,
        policies=policy_curves(result),
        bounds=() if bound is None else _bound_lines(bound, np.log(result.checkpoints)),
    )


def policy_curves(result: Result) -> tuple[PolicyCurve, ...]:
    """Return the mean regret and the 95 % bootstrap band of every policy."""
    return tuple(PolicyCurve(label, result.mean(label), *result.band(label)) for label in result.labels)


def _bound_lines(bound: RegretBound, logs: Floats) -> tuple[BoundLine, ...]:
    return tuple(BoundLine(names, slope, slope * logs) for names, slope in bound_slopes(bound).items())


def bound_slopes(bound: RegretBound) -> dict[tuple[str, ...], float]:
    """Return the slopes to draw, by the names of the bounds that share them.

    Examples
    --------
    >>> from clusterbandits import Instance, regret_bound
    >>> list(bound_slopes(regret_bound(Instance([[0.5, 0.75]]))))
    [('lower bound', 'Clus-UCB (Theorem 2)', 'classical')]
    """
    slopes = dict(zip(BOUND_STYLES, (bound.lower, bound.clus_ucb, bound.classical), strict=True))
    shared: dict[str, list[str]] = {}
    for name, slope in slopes.items():
        if math.isfinite(slope) and (name == "classical" or not bound.misled):
            shared.setdefault(f"{slope:.9g}", []).append(name)
    return {tuple(names): slopes[names[0]] for names in shared.values()}


def draw_regret(curves: RegretCurves, axes: Axes) -> None:
    """Draw curves, bands, bounds and a legend below them into axes."""
    letters = float(axes.xaxis.label.get_fontsize())
    single = curves.rounds.size == 1
    every = {"markevery": 1 if single else 0.1}
    look = looks(curve.label for curve in curves.policies)
    handles = []
    for curve in curves.policies:
        line = look[curve.label].line(letters) | every
        axes.fill_between(curves.rounds, curve.low, curve.high, color=line["color"], alpha=0.25, linewidth=0)
        handles += axes.plot(curves.rounds, curve.mean, label=_folded(curve.label), **line)
    if curves.bounds:
        handles.append(Line2D([], [], linestyle="none", label=_BOUNDS_HEADING))
    for bound in curves.bounds:
        grey, dashes = BOUND_STYLES[bound.names[0]]
        style: dict[str, Any] = {
            "color": grey,
            "linestyle": dashes,
            "linewidth": 0.15 * letters,
            "zorder": 1.9,
        }
        style |= {"markersize": 0.4 * letters, "marker": "_" if single else ""} | every
        handles += axes.plot(curves.rounds, bound.regret, label=_folded(bound.label), **style)
    _dress(axes, curves)
    _legend(axes, handles, letters)


def _dress(axes: Axes, curves: RegretCurves) -> None:
    axes.set_xscale("log")
    if curves.rounds.size > 1:
        axes.set_xlim(curves.rounds[0], curves.rounds[-1])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("round n")
    axes.set_ylabel("regret")
    axes.set_title(curves.title, loc="left")
    dress(axes)


def _legend(axes: Axes, handles: list[Line2D], letters: float) -> None:
    """Put the legend below the axes and their labels, where it hides no curve."""
    inches = axes.figure.dpi_scale_trans
    below = axes.transAxes + ScaledTranslation(-3 * letters / 72, -(12 + 2.7 * letters) / 72, inches)
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below}
    legend = axes.legend(handles=handles, borderaxespad=0, frameon=False, **place)
    for text in legend.get_texts():
        text.set_parse_math(False)
        if text.get_text() == _BOUNDS_HEADING:
            text.set_fontstyle("italic")


def _folded(label: str) -> str:
    return textwrap.fill(clipped(label), _LETTERS_A_LINE)


def save_regret_plot(
    result: Result, file: str | os.PathLike[str], bound: RegretBound | None = None, *, width: float = 160
) -> None:
    """Write the regret plot of a result as PNG, SVG or PDF; the file is whole or not there.

    Parameters
    ----------
    result
        What to draw.
    file
        Where to; the suffix says the format.
    bound
        Bounds to draw beside the curves, see ``regret_curves``.
    width
        The picture's width in millimetres, from 80 to 400; letters are made for being seen at that size.
    """
    path = check_picture_file(file, "file", "save_regret_plot")
    across = between("width", "save_regret_plot", width, 80, 400)
    picture = _render(regret_curves(result, bound), path.suffix[1:].lower(), across)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(picture)


def _render(curves: RegretCurves, form: str, width: float) -> bytes:
    letters = min(10.0, 7 + 3 * max(0.0, width - 80) / 80)
    labels = [*(curve.label for curve in curves.policies), *(line.label for line in curves.bounds)]
    rows = bool(curves.bounds) + sum(len(_folded(label).splitlines()) for label in labels)
    size = width / 25.4, 0.6 * width / 25.4 + 1.25 * rows * letters / 72
    with settings(letters):
        figure = Figure(figsize=size, layout="constrained")
        draw_regret(curves, figure.subplots())
        return render(figure, form, dpi=300)
