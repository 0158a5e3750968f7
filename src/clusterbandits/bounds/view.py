"""Regret bounds as text and HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.clusters import exceeds
from clusterbandits.tables import Table, cell, paragraph

if TYPE_CHECKING:
    from clusterbandits.bounds.cluster import ClusterBound
    from clusterbandits.bounds.regret import RegretBound

_SHOWN_CLUSTERS = 30
_SHOWN_NOTES = 8
_LEGEND = (
    "A: regret if all arms of the cluster are used to show that none is best. B: regret if only its lowest "
    "arm is used. The lower bound is the smaller one. The regret of Clus-UCB is A. "
    "classical: the cluster contains a best arm, and its width does not help.",
)


def text(bound: RegretBound) -> str:
    """Return the summary and the table of clusters."""
    return f"{summary(bound)}\n\n{cluster_table(bound).text()}"


def html(bound: RegretBound) -> str:
    """Return the summary and the table as HTML, for notebooks."""
    columns = ("bound", "regret per log n", "for")
    rates = Table(columns, _rates(bound), title=_head(bound), notes=(_verdict(bound),))
    return f"{rates.html()}{cluster_table(bound).titled('Bounds per cluster').html()}"


def summary(bound: RegretBound) -> str:
    """Return the three rates with explanations."""
    lines = [f"  {name:<12}{cell(rate):>9}   {meaning}" for name, rate, meaning in _rates(bound)]
    return "\n".join([_head(bound), *lines, paragraph(_verdict(bound))])


def _head(bound: RegretBound) -> str:
    return f"Regret per log n, {bound.family.spec} rewards, best mean {cell(bound.best_mean)}"


def _rates(bound: RegretBound) -> tuple[tuple[str, float, str], ...]:
    return (
        ("lower bound", bound.lower, "any good policy that knows the clusters"),
        ("Clus-UCB", bound.clus_ucb, "Clus-UCB (Theorem 2)"),
        ("classical", bound.classical, "any good policy that does not know them (Lai-Robbins)"),
    )


def _verdict(bound: RegretBound) -> str:
    if bound.misled:
        names = ", ".join(map(str, bound.misled))
        return (
            f"Only the classical bound applies: the width declared for cluster {names} is too small, and a "
            "best arm is in it. A policy that uses it may never find that arm; regret is then linear in n."
        )
    return f"Knowing the clusters can save {100 * bound.saving:.1f} %."


def cluster_table(bound: RegretBound) -> Table:
    """Return one row per cluster, at most as many as fit: those with the largest lower bounds."""
    shown = bound.clusters
    dangerous_first = sorted(bound.clusters, key=lambda part: part.branch != "classical")
    false = [violation(part) for part in dangerous_first if part.violated]
    notes = [*_LEGEND, *false[:_SHOWN_NOTES]]
    if len(false) > _SHOWN_NOTES:
        notes.append(f"… and {len(false) - _SHOWN_NOTES} more clusters wider than declared.")
    if len(shown) > _SHOWN_CLUSTERS:
        shown = tuple(sorted(shown, key=lambda cluster: -cluster.lower)[:_SHOWN_CLUSTERS])
        many = len(bound.clusters)
        notes.insert(0, f"The {_SHOWN_CLUSTERS} clusters with the largest lower bounds, of {many}.")
    columns = ("cluster", "arms", "width", "span", "A", "B", "branch", "lower", "classical")
    return Table(columns, tuple(map(_cluster_row, shown)), notes=tuple(notes))


def _cluster_row(part: ClusterBound) -> tuple[object, ...]:
    rates = (part.A, part.B, part.branch, part.lower, part.classical)
    return (str(part.name), len(part.arms), part.width, part.span, *rates)


def evidence_table(bound: RegretBound) -> Table:
    """Return one row per arm: its mean and its evidence per pull."""
    rows = tuple(
        (str(part.name), str(arm), *map(float, numbers))
        for part in bound.clusters
        for arm, *numbers in zip(
            part.arms, part.means, part.gaps, part.divergences, part.b, part.alpha, strict=True
        )
    )
    note = "a = μ* - μ, D = d(μ, μ*), b = d⁺(μ, μ* - width), α = D - b."
    return Table(("cluster", "arm", "mean", "a", "D", "b", "α"), rows, notes=(note,))


def pull_table(bound: RegretBound, horizon: float | None = None) -> Table:
    """Return one row per arm: pulls per log n and, for a horizon, expected pulls by Clus-UCB."""
    columns = [bound.allocation.tolist(), bound.clus_ucb_allocation.tolist()]
    names = ["cluster", "arm", "optimal", "Clus-UCB"]
    notes = ["optimal, Clus-UCB: pulls per log n that attain the lower bound, and of Clus-UCB."]
    if horizon is not None:
        rounds = f"{horizon:g}" if float(f"{horizon:g}") == horizon else f"{horizon:,.0f}"
        columns.append([_rounded(pulls) for pulls in bound.expected_pulls(horizon).tolist()])
        names.append(f"in {rounds}")
        notes.append(f"in {rounds}: pulls by Clus-UCB in that many rounds, to first order.")
        if not bound.suffices(horizon):
            notes.append(f"{rounds} rounds are too few for a first-order count: the best arms get none.")
    labels = [str(bound.clusters[c].name) for c in bound.membership]
    rows = tuple(zip(labels, map(str, bound.arms), *columns, strict=True))
    return Table(tuple(names), rows, notes=tuple(notes))


def _rounded(pulls: float) -> float:
    return round(pulls) if pulls < math.inf else pulls


def violation(part: ClusterBound) -> str:
    """Return one sentence on a width below the span and its consequence."""
    risk = (
        "dangerous: a best arm is in it" if part.branch == "classical" else "harmless: no best arm is in it"
    )
    return f"{exceeds(part.name, part.span, part.excess, part.width)}: {risk}."
