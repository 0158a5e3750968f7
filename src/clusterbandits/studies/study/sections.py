"""The parts of a study's report: every problem with its pictures, drawn ones together."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.bounds import regret_bound
from clusterbandits.report.page import Section
from clusterbandits.report.pulls_panel import pulls_panel
from clusterbandits.report.ratio_panel import ratio_panel, ratio_rows
from clusterbandits.report.regret_panel import regret_panel
from clusterbandits.report.regret_table import regret_table
from clusterbandits.report.spans_panel import spans_panel
from clusterbandits.report.sweep_panel import Sweep, sweep_panel
from clusterbandits.studies.study.summary import (
    CaseSummary,
    bound_of,
    case_sentence,
    conditions,
    family_regrets,
    family_sentence,
    family_table,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.report.picture import Picture
    from clusterbandits.simulation.results import Result
    from clusterbandits.studies.study.play import Finished

#: Curves that end this many times higher than the first policy's leave the picture.
_HIGHEST = 3.0
_MOST_GROUPS = 24
_MOST_ARMS = 200
_MOST_CURVES = 8
#: Letters of a name in the names of files.
_SHORT = 40


def case_section(place: int, finished: Finished, summary: CaseSummary) -> Section:
    """Return one problem: its arms, what was paid, and where the pulls went."""
    key = f"instance-{place + 1}"
    return Section(
        key,
        finished.case.name,
        lead=case_sentence(summary),
        text=(conditions(finished),),
        pictures=tuple(_pictures(key, finished)),
        tables=(regret_table(finished.result, finished.result.labels[0]),),
    )


def _pictures(key: str, finished: Finished) -> list[Picture]:
    case, result, bound = finished.case, finished.result, bound_of(finished)
    drawn: dict[str, Any] = {"anchor": max(1.0, result.horizon / 100), "top": _top(result)}
    several = len({game.rule.name for game in finished.games.values()}) > 1
    drawn["bound"] = None if several else bound
    pictures = []
    parts = case.instance.partition
    if len(parts.clusters) <= _MOST_GROUPS:
        means = [case.instance.means[list(part)].tolist() for part in parts.members]
        told = None if several else bound_widths(finished)
        labels = None if parts.anonymous else [[parts.arms[arm] for arm in part] for part in parts.members]
        pictures.append(
            spans_panel(means, parts.clusters, told, name=f"{key}-arms", title="The arms", labels=labels)
        )
    if several:
        pictures.append(_sweep(key, finished))
    if len(result.labels) <= _MOST_CURVES:
        pictures.append(regret_panel(result, name=f"{key}-regret", title="Regret", **drawn))
        pictures.append(
            regret_panel(result, name=f"{key}-log", scale="log", title="Regret against log n", **drawn)
        )
    if len(result.arms) <= _MOST_ARMS:
        least = min(result.labels, key=lambda label: float(result.mean(label)[-1]))
        told_least = regret_bound(case.instance, finished.games[least].clusters) if several else bound
        shown = tuple(dict.fromkeys((result.labels[0], least)))
        pictures.append(
            pulls_panel(result, told_least, name=f"{key}-pulls", labels=shown, title="Pulls of each arm")
        )
    return pictures


def bound_widths(finished: Finished) -> tuple[float, ...]:
    """Return the widths that policies were told, where there is one way to tell them."""
    return next(iter(finished.games.values())).clusters.widths


def _top(result: Result) -> float | None:
    """Return where the axis of regret must end for the curves that matter to be seen."""
    finals = [float(result.mean(label)[-1]) for label in result.labels]
    cap = _HIGHEST * finals[0]
    return cap if finals[0] > 0 and max(finals) > cap else None


def _sweep(key: str, finished: Finished) -> Picture:
    rules = finished.case.rules
    result = finished.result
    by_policy: dict[str, list[str]] = {}
    for label, game in finished.games.items():
        by_policy.setdefault(game.plan.labels[0], []).append(label)
    sweeps = [
        Sweep(
            policy,
            np.array([result.mean(label)[-1] for label in labels]),
            np.array([result.standard_error(label)[-1] for label in labels]),
        )
        for policy, labels in by_policy.items()
    ]
    multiples = all(rule.factor is not None or rule.given == math.inf for rule in rules)
    return sweep_panel(
        [rule.tick if multiples else rule.name for rule in rules],
        sweeps,
        name=f"{key}-widths",
        title="Told more or less than the truth",
        axis="declared widths, times the true spans" if multiples else "declared widths",
    )


def family_section(place: int, name: str, family: Sequence[CaseSummary]) -> Section:
    """Return all drawn problems of one kind."""
    regrets = family_regrets(family)
    base = family[0].base["policy"]
    key = f"drawn-{place + 1}-{re.sub(r'[^A-Za-z0-9]+', '-', name)[:_SHORT]}"
    pictures = []
    if ratio_rows(regrets, base):
        pictures.append(ratio_panel(regrets, base, name=key, title=f"{name}: all instances"))
    arms = [one.base["arms"] for one in family]
    text = f"Drawn: {min(arms)} to {max(arms)} arms; every instance is a row of data/summary.csv."
    return Section(
        key,
        name,
        lead=family_sentence(family),
        text=(text,),
        pictures=tuple(pictures),
        tables=(family_table("Regret", family),),
    )
