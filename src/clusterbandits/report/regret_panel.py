"""Regret against rounds in a panel for pages: bounds are drawn as slopes from a point of the curves on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from clusterbandits.report.picture import Picture, picture
from clusterbandits.report.regret_plot import PolicyCurve, bound_slopes, policy_curves
from clusterbandits.report.sheet import Entry, panel
from clusterbandits.report.style import (
    BOUND_STYLES,
    LETTERS,
    dress,
    looks,
    number_text,
    policy_name,
    regret_text,
    round_ticks,
    settings,
)
from clusterbandits.simulation.statistics import count_text, round_text
from clusterbandits.validate import between, choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clusterbandits.bounds import RegretBound
    from clusterbandits.simulation.results import Result

    Floats = NDArray[np.float64]

_HEIGHT = 54.0
_POINTS = 64
_STEPS = (1, 2, 2.5, 5, 10)
_SAID_POLICIES = 6
#: Bands take longer than the drawing, and a result is often drawn on more than one scale.
_CURVES: WeakKeyDictionary[Result, tuple[PolicyCurve, ...]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class AnchoredLine:
    """A bound, or several that are equal, as slope · (log n − log n0) + R0 from round n0 on."""

    names: tuple[str, ...]
    slope: float
    rounds: Floats
    regret: Floats

    @property
    def label(self) -> str:
        """The line as the legend calls it."""
        return f"{' = '.join(self.names)}: {self.slope:.3g}"


@dataclass(frozen=True, eq=False)
class RegretView:
    """Everything a regret panel shows. Made by ``regret_view``."""

    rounds: NDArray[np.int64]
    runs: int
    policies: tuple[PolicyCurve, ...]
    #: The round from which on bounds are drawn.
    start: int
    lines: tuple[AnchoredLine, ...] = ()
    #: Where the axis of regret ends; None where it shows everything.
    top: float | None = None

    @property
    def words(self) -> str:
        """What the axis of regret shows."""
        many = f"mean regret of {count_text(self.runs, 'run')}, 95 % bootstrap bands"
        return many if self.runs > 1 else "regret of 1 run"

    def text(self, curve: PolicyCurve) -> str:
        """Return a curve as the legend calls it."""
        beyond = self.top is not None and curve.mean.max() > self.top
        return f"{curve.label} … ends at {regret_text(curve.mean[-1])}" if beyond else curve.label


def regret_view(
    result: Result, bound: RegretBound | None = None, anchor: float | None = None, top: float | None = None
) -> RegretView:
    """Return the numbers of a regret panel; the parameters are those of ``regret_panel``.

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
        _CURVES[result] = policy_curves(result)
    wanted = result.horizon / 10 if anchor is None else between("anchor", "regret_panel", anchor, 1, math.inf)
    place = _nearest(result.checkpoints, wanted)
    cap = None if top is None else between("top", "regret_panel", top, 1e-9, math.inf)
    return RegretView(
        rounds=result.checkpoints,
        runs=len(result.runs),
        policies=_CURVES[result],
        start=int(result.checkpoints[place]),
        lines=() if bound is None or result.checkpoints.size == 1 else _lines(result, bound, place),
        top=cap,
    )


def _nearest(checkpoints: NDArray[np.int64], wanted: float) -> int:
    """Return the place of the checkpoint nearest to a round; the last has nothing after it to draw."""
    near = int(np.abs(np.log(checkpoints) - math.log(wanted)).argmin())
    if near < checkpoints.size - 1 or not near:
        return near
    return int(np.abs(np.log(checkpoints[:-1]) - math.log(checkpoints[-1] / 10)).argmin())


def _lines(result: Result, bound: RegretBound, place: int) -> tuple[AnchoredLine, ...]:
    start = int(result.checkpoints[place])
    rounds = np.geomspace(start, result.horizon, _POINTS)
    lines = []
    for names, slope in bound_slopes(bound).items():
        height = result.mean(_owner(result.labels, names[0]))[place]
        lines.append(AnchoredLine(names, slope, rounds, slope * np.log(rounds / start) + height))
    return tuple(lines)


def _owner(labels: tuple[str, ...], bound: str) -> str:
    """Return the policy whose curve a bound is drawn from: the one it is about, or else the first."""
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
        What to draw.
    bound
        Slopes to draw beside the curves. Equal ones share a line; where a width misleads, only the classical
        one applies and is drawn.
    name
        Of the picture, for files and pages.
    scale
        Of the rounds.
    anchor
        A round; lines of bounds begin at the checkpoint nearest to it, or to a tenth of the horizon where it
        is left out or none comes later. The lower bound and Theorem 2 begin on the curve of Clus-UCB and the
        classical bound on that of KL-UCB, or on the first where there is no such policy.
    title
        Stands above.
    top
        Where the axis of regret ends; curves that go on say in the legend where they end.
    """
    logarithmic = choice("scale", "regret_panel", scale, ("linear", "log")) == "log"
    view = regret_view(result, bound, anchor, top)
    with settings():
        figure, axes = panel(_HEIGHT, _legend(view), title, view.words)
        dress(axes)
        _draw(view, axes)
        _scale_rounds(view, axes, logarithmic=logarithmic)
        _scale_regret(view, axes)
        return picture(figure, name, _alt(view, title))


def _legend(view: RegretView) -> list[list[Entry]]:
    look = looks(curve.label for curve in view.policies)
    blocks = [[Entry(view.text(curve), look[curve.label].line()) for curve in view.policies]]
    if view.lines:
        blocks.append([Entry(f"Bounds: slopes per log n, drawn from n = {round_text(view.start)}")])
        blocks.append([Entry(line.label, _line_style(line)) for line in view.lines])
    return blocks


def _line_style(line: AnchoredLine) -> dict[str, Any]:
    grey, dashes = BOUND_STYLES[line.names[0]]
    return {"color": grey, "linestyle": dashes, "linewidth": 0.15 * LETTERS, "zorder": 2.5}


def _draw(view: RegretView, axes: Axes) -> None:
    look = looks(curve.label for curve in view.policies)
    single = view.rounds.size == 1
    many = len(view.policies)
    for k, curve in enumerate(view.policies):
        style = look[curve.label].line()
        if view.runs > 1:
            axes.fill_between(
                view.rounds, curve.low, curve.high, color=style["color"], alpha=0.25, linewidth=0
            )
        # Markers of different curves stand at different places, so that none hides another.
        every = 1 if single else (0.16 * (k + 0.5) / many, 0.16)
        axes.plot(view.rounds, curve.mean, markevery=every, **style)
    for line in view.lines:
        axes.plot(line.rounds, line.regret, **_line_style(line))


def _scale_rounds(view: RegretView, axes: Axes, *, logarithmic: bool) -> None:
    first, last = int(view.rounds[0]), int(view.rounds[-1])
    axes.set_xlabel("round n, log scale" if logarithmic else "round n")
    if logarithmic:
        axes.set_xscale("log")
        left, right = (first, last) if first < last else (last / 2, last * 2)
        axes.set_xlim(left, right)
        axes.set_xticks(round_ticks(left, right))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_xlim(0, last if first < last else 2 * last)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=_STEPS, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))


def _scale_regret(view: RegretView, axes: Axes) -> None:
    values = [*(curve.mean for curve in view.policies), *(line.regret for line in view.lines)]
    values += [curve.high for curve in view.policies if view.runs > 1]
    highest = max(float(value.max()) for value in values)
    axes.set_ylim(0, view.top or 1.05 * highest or 1.0)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))


def _alt(view: RegretView, title: str) -> str:
    ends = {curve.label: float(curve.mean[-1]) for curve in view.policies}
    shown = list(ends)
    if len(ends) > _SAID_POLICIES:
        shown = [min(ends, key=ends.__getitem__), max(ends, key=ends.__getitem__)]
    finals = ", ".join(f"{label} {regret_text(ends[label])}" for label in shown)
    which = f"of {len(ends)} policies, lowest and highest: " if len(shown) < len(ends) else ""
    rounds, runs = count_text(int(view.rounds[-1]), "round"), count_text(view.runs, "run")
    head = f"{title}. " if title else ""
    said = f"{head}{'Mean regret' if view.runs > 1 else 'Regret'} after {rounds} in {runs}: {which}{finals}."
    if not view.lines:
        return said
    slopes = ", ".join(line.label.replace(":", "") for line in view.lines)
    return f"{said} Bounds as slopes per log n from round {round_text(view.start)}: {slopes}."
