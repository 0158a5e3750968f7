"""Pulls of suboptimal arms, beside the predicted numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.report.picture import Picture, picture
from clusterbandits.report.regret_panel import PolicyCurve
from clusterbandits.report.sheet import Entry, fitted, panel, text_width
from clusterbandits.report.style import LETTERS, Look, called, dress, log_axis, looks, regret_text, settings
from clusterbandits.simulation.results import BAND_LEVEL
from clusterbandits.simulation.statistics import bootstrap_means, count_text
from clusterbandits.tables import cell
from clusterbandits.validate import choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clusterbandits.bounds import RegretBound
    from clusterbandits.simulation.results import Result

    Floats = NDArray[np.float64]

_RESAMPLES = 2000
#: Heights of rows in millimetres: with a name per arm, and for too many arms to name.
_ROW, _THIN_ROW, _DOT = 4.6, 1.6, 1.7
_MOST_NAMED = 60
_LEAST_NAMES, _WIDEST_NAMES, _BESIDE_NAMES = 8.0, 40.0, 4.0
_PREDICTIONS: dict[str, dict[str, Any]] = {
    "Clus-UCB, log T / (α L)": {"color": "#000000", "markersize": LETTERS, "markeredgewidth": 1.6},
    "classical, log T / D": {"color": "#808080", "markersize": 1.5 * LETTERS, "markeredgewidth": 1.0},
}


@dataclass(frozen=True, eq=False)
class PullsView:
    """The contents of a panel of pulls: one row per suboptimal arm, by cluster."""

    horizon: int
    runs: int
    #: The cluster and the name of each row.
    clusters: tuple[str, ...]
    arms: tuple[str, ...]
    policies: tuple[PolicyCurve, ...]
    #: Predictions for the rows, by name.
    predictions: dict[str, Floats]

    @property
    def named(self) -> bool:
        """Whether there is space for the names of arms."""
        return len(self.arms) <= _MOST_NAMED

    @property
    def firsts(self) -> list[bool]:
        """For each row, whether it is the first of its cluster and follows a line with the cluster's name."""
        return [not k or self.clusters[k] != self.clusters[k - 1] for k in range(len(self.clusters))]

    @property
    def room(self) -> float:
        """The width of the names in millimetres."""
        widths = [text_width(name, "bold") for name in self.clusters]
        widths += [text_width(name) for name in self.arms if self.named]
        return min(_WIDEST_NAMES, max([_LEAST_NAMES, *widths]))


def pulls_view(result: Result, bound: RegretBound, labels: Sequence[str] = ()) -> PullsView:
    """Return the numbers of a panel of pulls; the parameters are those of ``pulls_panel``.

    Examples
    --------
    >>> from clusterbandits import Instance, regret_bound
    >>> from clusterbandits.simulation.results import Result
    >>> instance = Instance([[0.5], [0.75]])
    >>> result = Result(instance, ["kl-ucb"], [10, 100], [[[[2, 8], [4, 96]], [[2, 8], [6, 94]]]])
    >>> view = pulls_view(result, regret_bound(instance))
    >>> view.arms, view.policies[0].mean.tolist()
    (('arm 0: 0.5',), [5.0])
    >>> {name: round(pulls.item()) for name, pulls in view.predictions.items()}
    {'Clus-UCB, log T / (α L)': 32, 'classical, log T / D': 32}
    """
    order = np.argsort(bound.membership, kind="stable")
    rows = order[result.instance.gaps[order] > 0]
    names = [called("arm", bound.arms[row]) for row in rows]
    means = [cell(mean) for mean in result.instance.means[rows].tolist()]
    rates = [*zip(_PREDICTIONS, (bound.clus_ucb_allocation, bound.classical_allocation), strict=True)]
    if bound.misled:
        # Neither theorem applies to Clus-UCB then.
        rates = rates[1:]
    return PullsView(
        horizon=result.horizon,
        runs=len(result.runs),
        clusters=tuple(called("cluster", bound.clusters[bound.membership[row]].name) for row in rows),
        arms=tuple(f"{name}: {mean}" for name, mean in zip(names, means, strict=True)),
        policies=tuple(_mean_pulls(result, label, rows) for label in labels or result.labels),
        predictions={name: rate[rows] * math.log(result.horizon) for name, rate in rates},
    )


def _mean_pulls(result: Result, label: str, arms: NDArray[np.intp]) -> PolicyCurve:
    place = result.labels.index(choice("labels", "pulls_panel", label, result.labels))
    pulls = result.pulls[place, :, -1][:, arms].astype(float)
    if len(pulls) == 1 or not arms.size:
        nothing = np.full(arms.size, np.nan)
        return PolicyCurve(label, pulls.mean(axis=0), nothing, nothing)
    outside = (1 - BAND_LEVEL) / 2
    means = bootstrap_means(pulls, _RESAMPLES, np.random.default_rng(0))
    return PolicyCurve(label, pulls.mean(axis=0), *np.quantile(means, [outside, 1 - outside], axis=0))


def pulls_panel(
    result: Result, bound: RegretBound, *, name: str, labels: Sequence[str] = (), title: str = ""
) -> Picture:
    """Return the pulls of suboptimal arms as a picture: means with 95 % intervals, predictions as ticks.

    Parameters
    ----------
    result
        Simulation to draw, at its horizon T.
    bound
        Bounds, which predict log T / (α L) pulls for Clus-UCB and log T / D classically; their clusters group
        the rows. If the width of a best cluster is too small, only the classical prediction applies.
    name
        Name of the picture in files and pages.
    labels
        Labels of the policies to draw; all by default.
    title
        Title above the picture.
    """
    view = pulls_view(result, bound, labels)
    look = looks(result.labels)
    row = max(_ROW, _DOT * (len(view.policies) + 1)) if view.named else _THIN_ROW
    height = row * max(2, len(view.arms) + sum(view.firsts))
    words = f"mean pulls of suboptimal arms in {count_text(view.horizon, 'round')}"
    with settings():
        figure, axes = panel(height, _legend(view, look), title, words, view.room + _BESIDE_NAMES)
        places = _draw(view, look, axes, row)
        _scale(view, axes)
        _name_rows(view, axes, places)
        return picture(figure, name, _alt(view), title)


def _legend(view: PullsView, look: dict[str, Look]) -> list[list[Entry]]:
    if not view.arms:
        return []
    handle: dict[str, Any] = {"linestyle": "-", "linewidth": 1.0}
    blocks = [[Entry(one.label, look[one.label].line() | handle) for one in view.policies]]
    if view.runs > 1:
        blocks.append([Entry(f"Lines: 95 % bootstrap intervals of {count_text(view.runs, 'run')}")])
    if any((one.mean == 0).any() for one in view.policies):
        blocks.append([Entry("Arms that were never pulled have no dot.")])
    blocks.append([Entry("Predicted for the horizon T:")])
    blocks.append([Entry(name, _tick(name)) for name in view.predictions])
    return blocks


def _tick(name: str) -> dict[str, Any]:
    return {"marker": "|", "linestyle": "none", **_PREDICTIONS[name]}


def _draw(view: PullsView, look: dict[str, Look], axes: Axes, row: float) -> Floats:
    """Draw means, intervals and predictions; return the positions of the rows."""
    places: Floats = np.arange(len(view.arms)) + np.cumsum(view.firsts, dtype=float)
    small = 1.0 if view.named else 0.5
    # The shorter tick is drawn last, on top of the longer one.
    for name, values in reversed(view.predictions.items()):
        tick = _tick(name)
        tick["markersize"] *= small
        axes.plot(_positive(values), places, zorder=2.2, **tick)
    for k, one in enumerate(view.policies):
        style = look[one.label].line()
        style |= {"linestyle": "none", "markersize": small * style["markersize"]}
        aside = (k - (len(view.policies) - 1) / 2) * _DOT / row if view.named else 0.0
        interval = {"color": style["color"], "linewidth": 1.0, "zorder": 2.4}
        axes.hlines(places + aside, _positive(one.low), _positive(one.high), **interval)
        axes.plot(_positive(one.mean), places + aside, zorder=2.5, **style)
    return places


def _positive(values: Floats) -> Floats:
    """Return values that a logarithmic axis can show, and NaN for others."""
    return np.asarray(np.where((values > 0) & np.isfinite(values), values, np.nan))


def _scale(view: PullsView, axes: Axes) -> None:
    parts = [*view.predictions.values()]
    for one in view.policies:
        parts += [one.mean, one.low, one.high]
    values = _positive(np.concatenate(parts))
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if values.size else (1.0, 10.0)
    # At least one decade, so that the axis has several ticks.
    margin = max(1.15, (high / low) ** 0.06, math.sqrt(10 * low / high))
    log_axis(axes, low / margin, high * margin)
    axes.set_xlabel("pulls, log scale")
    axes.set_ylim(max(1, len(view.arms) + sum(view.firsts) - 1) + 0.7, -0.5)


def _name_rows(view: PullsView, axes: Axes, places: Floats) -> None:
    dress(axes, grid="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    heads = [place - 1 for place, first in zip(places.tolist(), view.firsts, strict=True) if first]
    clusters = [name for name, first in zip(view.clusters, view.firsts, strict=True) if first]
    names = [fitted(text, view.room, "bold") for text in clusters]
    if view.named:
        names += [fitted(text, view.room) for text in view.arms]
        axes.hlines(places, 0, 1, "#EEEEEE", linewidth=0.6, transform=axes.get_yaxis_transform(), zorder=1)
    axes.set_yticks([*heads, *places][: len(names)], names)
    for k, tick in enumerate(axes.get_yticklabels()):
        tick.set_parse_math(False)
        tick.set_fontweight("bold" if k < len(heads) else "normal")
    for head in heads[1:]:
        axes.axhline(head - 0.5, color="#B0B0B0", linewidth=0.6)
    if not view.arms:
        axes.text(0.5, 0.5, "all arms are best arms", ha="center", va="center", transform=axes.transAxes)


def _alt(view: PullsView) -> str:
    if not view.arms:
        return "No pulls to show: all arms are best arms."
    rounds = count_text(view.horizon, "round")
    arms = count_text(len(view.arms), "suboptimal arm")
    pulls = ", ".join(f"{one.label} {regret_text(one.mean.sum())}" for one in view.policies)
    predicted = " and ".join(f"{regret_text(n.sum())} ({name})" for name, n in view.predictions.items())
    return f"Mean pulls of {arms} in {rounds}, in total: {pulls}. Predicted: {predicted}."
