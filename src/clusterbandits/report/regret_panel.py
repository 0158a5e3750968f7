"""Regret against rounds: the numbers of the picture and the drawing, for pages and files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from matplotlib.figure import Figure

from clusterbandits.report.picture import Picture, check_picture_file, picture, save_figure
from clusterbandits.report.sheet import WIDTH, Entry, panel
from clusterbandits.report.style import (
    BOUND_STYLES,
    LETTERS,
    dress,
    log_axis,
    looks,
    number_axis,
    policy_name,
    regret_text,
    settings,
)
from clusterbandits.simulation.statistics import count_text, round_text
from clusterbandits.validate import between, choice

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clusterbandits.bounds import RegretBound
    from clusterbandits.report.sheet import Place
    from clusterbandits.simulation.results import Result

    Floats = NDArray[np.float64]

#: The height of the axes, as a share of the picture's width.
_HEIGHT = 0.54
_POINTS = 64
_MOST_DESCRIBED = 6
#: The axis of regret ends at this multiple of the curves if lines of bounds are higher.
_HIGHEST_BOUND = 1.5
#: Computing bands takes longer than drawing, and a result is often drawn on two scales.
_CURVES: WeakKeyDictionary[Result, tuple[PolicyCurve, ...]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class PolicyCurve:
    """Means of a policy by round or by arm, with 95 % bootstrap bands, which are NaN for a single run."""

    label: str
    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class BoundLine:
    """A bound, or several equal bounds, as slope · (log n − log n0) + R0 from round n0 on."""

    names: tuple[str, ...]
    slope: float
    rounds: Floats
    regret: Floats

    @property
    def label(self) -> str:
        """The name in the legend."""
        return f"{' = '.join(self.names)}: {self.slope:.3g}"

    @property
    def style(self) -> dict[str, Any]:
        """The keyword arguments of the line for Matplotlib."""
        grey, dashes = BOUND_STYLES[self.names[0]]
        return {"color": grey, "linestyle": dashes, "linewidth": 0.15 * LETTERS, "zorder": 2.5}


@dataclass(frozen=True, eq=False)
class RegretView:
    """The contents of a regret picture; ``regret_view`` computes them."""

    rounds: NDArray[np.int64]
    runs: int
    policies: tuple[PolicyCurve, ...]
    #: The round at which the lines of bounds start.
    start: int
    lines: tuple[BoundLine, ...] = ()
    #: The end of the axis of regret; None to show all curves completely.
    top: float | None = None
    bands: str = "95 % bootstrap bands"

    @property
    def words(self) -> str:
        """The label of the axis of regret."""
        many = f"mean regret of {count_text(self.runs, 'run')}, {self.bands}"
        return many if self.runs > 1 else "regret of 1 run"

    def text(self, curve: PolicyCurve) -> str:
        """Return the name of a curve in the legend."""
        beyond = self.top is not None and curve.mean.max() > self.top
        return f"{curve.label} … ends at {regret_text(curve.mean[-1])}" if beyond else curve.label


def regret_view(
    result: Result, bound: RegretBound | None = None, anchor: float | None = None, top: float | None = None
) -> RegretView:
    """Return the numbers of a regret picture; the parameters are those of ``regret_panel``.

    Examples
    --------
    >>> from clusterbandits import Instance, regret_bound
    >>> from clusterbandits.simulation.results import Result
    >>> instance = Instance([[0.5], [0.75]])
    >>> result = Result(instance, ["kl-ucb"], [10, 100], [[[[2, 8], [4, 96]]]])
    >>> view = regret_view(result, regret_bound(instance), anchor=10)
    >>> view.start, view.lines[0].regret[0].item(), view.lines[0].label
    (10, 0.5, 'lower bound = Clus-UCB (Theorem 2) = classical: 1.74')
    """
    if result not in _CURVES:
        _CURVES[result] = tuple(
            PolicyCurve(label, result.mean(label), *result.band(label)) for label in result.labels
        )
    wanted = result.horizon / 10 if anchor is None else between("anchor", "regret_panel", anchor, 1, math.inf)
    place = _nearest(result.checkpoints, wanted)
    return RegretView(
        rounds=result.checkpoints,
        runs=len(result.runs),
        policies=_CURVES[result],
        start=int(result.checkpoints[place]),
        lines=() if bound is None or result.checkpoints.size == 1 else _lines(result, bound, place),
        top=None if top is None else between("top", "regret_panel", top, 1e-9, math.inf),
    )


def _nearest(checkpoints: NDArray[np.int64], wanted: float) -> int:
    """Return the position of the checkpoint nearest to a round, never the last: lines need two points."""
    near = int(np.abs(np.log(checkpoints) - math.log(wanted)).argmin())
    if near < checkpoints.size - 1 or not near:
        return near
    return int(np.abs(np.log(checkpoints[:-1]) - math.log(checkpoints[-1] / 10)).argmin())


def _lines(result: Result, bound: RegretBound, place: int) -> tuple[BoundLine, ...]:
    """Return one line per finite slope; only the classical one if a best cluster's width is too small."""
    slopes = dict(zip(BOUND_STYLES, (bound.lower, bound.clus_ucb, bound.classical), strict=True))
    shared: dict[str, list[str]] = {}
    for name, slope in slopes.items():
        if math.isfinite(slope) and (name == "classical" or not bound.misled):
            shared.setdefault(f"{slope:.9g}", []).append(name)
    start = int(result.checkpoints[place])
    rounds = np.geomspace(start, result.horizon, _POINTS)
    lines = []
    for names in shared.values():
        slope, height = slopes[names[0]], result.mean(_owner(result.labels, names[0]))[place]
        lines.append(BoundLine(tuple(names), slope, rounds, slope * np.log(rounds / start) + height))
    return tuple(lines)


def _owner(labels: tuple[str, ...], bound: str) -> str:
    """Return the policy on whose curve a bound starts: the policy of the bound, or else the first."""
    name = "kl-ucb" if bound == "classical" else "clus-ucb"
    return next((label for label in labels if policy_name(label) == name), labels[0])


def regret_panel(
    result: Result,
    bound: RegretBound | None = None,
    *,
    name: str,
    scale: Literal["linear", "log"] = "linear",
    anchor: float | None = None,
    title: str = "",
    top: float | None = None,
) -> Picture:
    """Return regret against rounds as a picture: means, 95 % bootstrap bands, and slopes of bounds.

    Parameters
    ----------
    result
        Simulation to draw.
    bound
        Bounds to draw as slopes beside the curves. Equal slopes share a line. If the width of a best cluster
        is too small, only the classical bound applies and is drawn.
    name
        Name of the picture in files and pages.
    scale
        Scale of the rounds.
    anchor
        Round at which lines of bounds start, moved to the nearest checkpoint. By default, and if no
        checkpoint follows, a tenth of the horizon. The lower bound and Theorem 2 start on the curve of
        Clus-UCB, the classical bound on that of KL-UCB, each on the first curve if there is no such policy.
    title
        Title above the picture.
    top
        End of the axis of regret; the legend gives the final regret of curves beyond it.
    """
    view = regret_view(result, bound, anchor, top)
    logarithmic = choice("scale", "regret_panel", scale, ("linear", "log")) == "log"
    figure = regret_figure(view, title, logarithmic=logarithmic)
    return picture(figure, name, _alt(view), title)


def save_regret_plot(
    result: Result, file: str | os.PathLike[str], bound: RegretBound | None = None, *, width: float = 160
) -> None:
    """Write the regret of a simulation against log n as PNG, SVG or PDF.

    Parameters
    ----------
    result
        Simulation to draw.
    file
        File to write, completely or not at all; its suffix selects the format.
    bound
        Bounds to draw beside the curves, as slopes from a tenth of the horizon on.
    width
        Width of the picture in millimetres, from 80 to 400; the font size is 8 points at all widths.
    """
    path = check_picture_file(file, "file", "save_regret_plot")
    across = between("width", "save_regret_plot", width, 80, 400)
    save_figure(regret_figure(regret_view(result, bound), logarithmic=True, width=across), path)


def regret_figure(view: RegretView, title: str = "", *, logarithmic: bool, width: float = WIDTH) -> Figure:
    """Return a figure of curves, bands and bounds, with a legend below."""
    return regret_axes(view, title, logarithmic=logarithmic, width=width).figure.figure


def regret_axes(
    view: RegretView, title: str = "", *, logarithmic: bool, width: float = WIDTH, on: Place = Figure
) -> Axes:
    """Return axes with curves, bands and bounds."""
    look = {label: one.line() for label, one in looks(curve.label for curve in view.policies).items()}
    legend = [[Entry(view.text(curve), look[curve.label]) for curve in view.policies]]
    if view.lines:
        legend.append([Entry(f"Bounds: slopes per log n, drawn from n = {round_text(view.start)}")])
        legend.append([Entry(line.label, line.style) for line in view.lines])
    inside: Any = {"on": on, "legend_at": "best"}
    with settings(on):
        _, axes = panel(_HEIGHT * width, legend, title, view.words, width=width, **inside)
        dress(axes)
        for k, curve in enumerate(view.policies):
            style = look[curve.label]
            if view.runs > 1:
                band: dict[str, Any] = {"color": style["color"], "alpha": 0.25, "linewidth": 0}
                axes.fill_between(view.rounds, curve.low, curve.high, **band)
            # Markers of different curves are at different positions, so that none hides another.
            every = 1 if view.rounds.size == 1 else (0.16 * (k + 0.5) / len(view.policies), 0.16)
            axes.plot(view.rounds, curve.mean, markevery=every, **style)
        for line in view.lines:
            axes.plot(line.rounds, line.regret, **line.style)
        _scale(view, axes, logarithmic=logarithmic)
    return axes


def _scale(view: RegretView, axes: Axes, *, logarithmic: bool) -> None:
    first, last = int(view.rounds[0]), int(view.rounds[-1])
    if logarithmic:
        log_axis(axes, *((first, last) if first < last else (last / 2, last * 2)))
    else:
        axes.set_xlim(0, last if first < last else 2 * last)
        number_axis(axes.xaxis, 5, integer=True)
    axes.set_xlabel("round n, log scale" if logarithmic else "round n")
    curves = max(float(np.nanmax([curve.mean, curve.high])) for curve in view.policies)
    bounds = max((float(line.regret.max()) for line in view.lines), default=0.0)
    axes.set_ylim(0, view.top or 1.05 * max(curves, min(bounds, _HIGHEST_BOUND * curves)) or 1.0)
    number_axis(axes.yaxis)


def _alt(view: RegretView) -> str:
    ends = {curve.label: float(curve.mean[-1]) for curve in view.policies}
    shown = list(ends)
    if len(ends) > _MOST_DESCRIBED:
        shown = [min(ends, key=ends.__getitem__), max(ends, key=ends.__getitem__)]
    finals = ", ".join(f"{label} {regret_text(ends[label])}" for label in shown)
    which = f"of {len(ends)} policies, lowest and highest: " if len(shown) < len(ends) else ""
    rounds, runs = count_text(int(view.rounds[-1]), "round"), count_text(view.runs, "run")
    text = f"{'Mean regret' if view.runs > 1 else 'Regret'} after {rounds} in {runs}: {which}{finals}."
    if not view.lines:
        return text
    slopes = ", ".join(line.label.replace(":", "") for line in view.lines)
    return f"{text} Bounds as slopes per log n from round {round_text(view.start)}: {slopes}."
