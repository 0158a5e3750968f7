"""The drawings of ``plot``: one function per class with this method.

``plotting.drawn`` calls them by name. Each draws on the given axes, or on a new figure for papers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.report.arms_panel import arms_axes
from clusterbandits.report.bars_panel import Bars, BarsRow, BarsView, bars_axes, cut_note, largest, named
from clusterbandits.report.estimates_panel import estimates_axes
from clusterbandits.report.paper_figure import drawing
from clusterbandits.report.ratio_panel import ratio_axes
from clusterbandits.report.regret_panel import regret_axes, regret_view
from clusterbandits.report.spans_panel import span_rows, spans_axes
from clusterbandits.report.style import BLUE, SKY, called
from clusterbandits.report.views import Estimates, EstimatesView
from clusterbandits.simulation.statistics import count_text
from clusterbandits.tables import cell
from clusterbandits.validate import choice
from clusterbandits.wording import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from clusterbandits.bounds import RegretBound
    from clusterbandits.clusters import Clusters, WidthFit
    from clusterbandits.instance import Instance
    from clusterbandits.policies import Policy
    from clusterbandits.policies.explanation import ArmView, Explanation
    from clusterbandits.report.regret_panel import RegretView
    from clusterbandits.report.views import ArmsGroup
    from clusterbandits.simulation.results import Result

    Floats = NDArray[np.float64]

#: The largest number of rows that stays legible.
_MOST_CLUSTERS = 40
_WIDTH = 140.0
_GREY = "#B8B8B8"
#: The largest number of characters for the name of an arm beside a row.
_ARM_LETTERS = 14
_ESTIMATE = "mean reward with confidence interval (own rewards only)"


def clusters(given: Clusters, ax: object) -> Axes:
    """Draw the declared width of each cluster, with the names of its arms."""
    widths = np.array(given.widths)
    shown = largest(widths, _MOST_CLUSTERS)
    rows = []
    for c in shown:
        arms = given.partition.groups[given.names[c]]
        heading = called("cluster", given.names[c])
        rows.append(BarsRow(heading, f": {count_text(len(arms), 'arm')}", named(list(map(str, arms)))))
    bars = (Bars("declared width", widths[shown], BLUE),)
    notes = cut_note(len(shown), len(given.names), "widths")
    return drawing(ax, "Clusters.plot", bars_axes, BarsView(tuple(rows), bars, "width", notes))


def width_fit(fit: WidthFit, ax: object) -> Axes:
    """Draw the span of each cluster beside its declared width."""
    excess, spans, widths = map(np.array, (fit.excess, fit.spans, fit.widths))
    shown = largest(excess if excess.any() else spans, _MOST_CLUSTERS)
    rows = []
    for c in shown:
        wrong = f": width too small by {cell(float(excess[c]))}" if excess[c] else ""
        rows.append(BarsRow(called("cluster", fit.names[c]), wrong, wrong=bool(excess[c])))
    bars = Bars("span of the means", spans[shown], BLUE), Bars("declared width", widths[shown], _GREY)
    notes = cut_note(len(shown), len(fit.names), "excess" if excess.any() else "spans")
    view = BarsView(tuple(rows), bars, "difference of means", notes)
    return drawing(ax, "WidthFit.plot", bars_axes, view)


def instance(given: Instance, ax: object) -> Axes:
    """Draw the means on a number line, one row per cluster."""
    parts = given.partition
    shown = largest(np.array(given.spans), _MOST_CLUSTERS)
    members = [parts.members[c].tolist() for c in shown]
    means = [[float(given.means[k]) for k in part] for part in members]
    labels = [[parts.arms[k] for k in part] for part in members]
    rows = span_rows(means, [parts.clusters[c] for c in shown], labels=labels)
    notes = cut_note(len(shown), len(parts.clusters), "spans")
    return drawing(ax, "Instance.plot", spans_axes, rows, width=_WIDTH, notes=notes)


def regret_bound(bound: RegretBound, ax: object) -> Axes:
    """Draw the three bounds of each cluster; equal bounds share a bar."""
    parts = bound.clusters
    rates = {
        "lower bound": (bound.lower, [part.lower for part in parts], BLUE),
        "Clus-UCB (Theorem 2)": (bound.clus_ucb, [part.clus_ucb for part in parts], SKY),
        "classical": (bound.classical, [part.classical for part in parts], _GREY),
    }
    if bound.misled:
        rates = {"classical": rates["classical"]}
    shared: dict[tuple[float, ...], list[str]] = {}
    for name, (_, values, _) in rates.items():
        shared.setdefault(tuple(float(f"{value:.9g}") for value in values), []).append(name)
    shown = largest(np.array([part.classical for part in parts]), _MOST_CLUSTERS)
    bars = []
    for names in shared.values():
        total, values, colour = rates[names[0]]
        bars.append(Bars(f"{' = '.join(names)}: {cell(total)}", np.array(values)[shown], colour))
    rows = tuple(
        BarsRow(called("cluster", parts[c].name), f": {count_text(len(parts[c].arms), 'arm')}") for c in shown
    )
    notes = cut_note(len(shown), len(parts), "classical bounds")
    if bound.misled:
        notes += ("A declared width is too small: only the classical bound applies.",)
    view = BarsView(rows, tuple(bars), "regret per log n", notes)
    return drawing(ax, "RegretBound.plot", bars_axes, view)


def result(given: Result, ax: object, bound: RegretBound | None, scale: str) -> Axes:
    """Draw regret against rounds."""
    logarithmic = choice("scale", "Result.plot", scale, ("linear", "log")) == "log"
    return regret(regret_view(given, bound), ax, "Result.plot", logarithmic=logarithmic)


def regret(view: RegretView, ax: object, owner: str, *, logarithmic: bool = True) -> Axes:
    """Draw regret curves."""
    return drawing(ax, owner, regret_axes, view, logarithmic=logarithmic, width=_WIDTH)


def policy(given: Policy, views: Sequence[ArmView], ax: object) -> Axes:
    """Draw the estimates of a policy, and the share of pulls of each arm."""
    widths = dict(zip(given.clusters.names, given.clusters.widths, strict=True))
    used = given.heeds_widths
    headings = {name: f": width {cell(width)}" if used else "" for name, width in widths.items()}
    total = sum(view.pulls for view in views)
    groups = []
    for name, part in _by_cluster(views).items():
        shares = np.array([view.pulls / max(1, total) for view in part])
        texts = tuple(_percent(share) for share in shares.tolist())
        groups.append(_estimates(name, headings[name], part, shares=shares, remarks=texts))
    view = EstimatesView(tuple(groups), "mean reward", _ESTIMATE, column=f"share of {total:,} pulls")
    return drawing(ax, "Policy.plot", estimates_axes, view)


def explanation(given: Explanation, ax: object) -> Axes:
    """Draw the estimates and indices of arms, and the other arms that limit each index."""
    drawn = _on_the_scale_of_means(given.arms)
    groups = []
    for name, part in _by_cluster(given.arms).items():
        marks = np.array([_number(view.index) for view in part])
        remarks = tuple(_limits(view) if drawn else _index(view) for view in part)
        groups.append(_estimates(name, "", part, marks=marks if drawn else None, remarks=remarks))
    held = any(view.held_down_by for view in given.arms)
    column = "right: arms that limit the index, share of the threshold" if held else ""
    view = EstimatesView(
        tuple(groups),
        f"mean reward, round {given.round:,}",
        _ESTIMATE,
        mark="index",
        column=column if drawn else "right: index",
    )
    return drawing(ax, "Explanation.plot", estimates_axes, view)


def arms(groups: Sequence[ArmsGroup], ax: object, owner: str, quantity: str) -> Axes:
    """Draw the estimates of a history, with safe widths."""
    return drawing(ax, owner, arms_axes, groups, quantity=quantity, width=_WIDTH)


def estimates(view: EstimatesView, ax: object, owner: str) -> Axes:
    """Draw estimates with intervals."""
    return drawing(ax, owner, estimates_axes, view)


def ratios(regrets: Mapping[str, Floats], base: str, ax: object, owner: str) -> Axes:
    """Draw the regret of policies on many problems, divided by that of one of them."""
    return drawing(ax, owner, ratio_axes, regrets, base, width=_WIDTH)


def _by_cluster(views: Sequence[ArmView]) -> dict[Any, list[ArmView]]:
    """Return the arms of each cluster, in decreasing order of their means."""
    parts: dict[Any, list[ArmView]] = {}
    for view in views:
        parts.setdefault(view.cluster, []).append(view)
    return {
        name: sorted(part, key=lambda view: np.inf if view.mean is None else -view.mean)
        for name, part in parts.items()
    }


def _estimates(name: Any, ending: str, part: Sequence[ArmView], **beside: Any) -> Estimates:
    return Estimates(
        heading=(called("cluster", name), ending),
        names=tuple(called("arm", view.arm) for view in part),
        means=np.array([_number(view.mean) for view in part]),
        lows=np.array([_number(view.low) for view in part]),
        highs=np.array([_number(view.high) for view in part]),
        **beside,
    )


def _number(value: float | None) -> float:
    return np.nan if value is None or not np.isfinite(value) else value


def _on_the_scale_of_means(views: Sequence[ArmView]) -> bool:
    """Return whether indices can be drawn on the axis of means, unlike those of IMED."""
    highs = [view.high for view in views if view.high is not None]
    lows = [view.low for view in views if view.low is not None]
    indices = [view.index for view in views if view.index is not None and np.isfinite(view.index)]
    if not indices or not highs:
        return True
    reach = 2 * (max(highs) - min(lows))
    return min(lows) - reach <= min(indices) <= max(indices) <= max(highs) + reach


def _limits(view: ArmView) -> str:
    if not view.pulls:
        return "never pulled"
    return ", ".join(
        f"{shortened(str(arm), _ARM_LETTERS)} {_percent(share)}" for arm, share in view.held_down_by.items()
    )


def _index(view: ArmView) -> str:
    return "" if view.index is None else cell(view.index)


def _percent(share: float) -> str:
    return f"{100 * share:.{1 if 0 < share < 0.0995 else 0}f} %"
