"""The report of a study: as text, in a notebook, as tables for other tools, and as sections of a page."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.bounds import regret_bound
from clusterbandits.plotting import drawn
from clusterbandits.report.page import Section
from clusterbandits.report.pulls_panel import pulls_panel
from clusterbandits.report.ratio_panel import ratio_panel, ratio_rows
from clusterbandits.report.regret_panel import PolicyCurve, RegretView, regret_panel
from clusterbandits.report.regret_table import regret_table
from clusterbandits.report.spans_panel import spans_panel
from clusterbandits.report.style import regret_text
from clusterbandits.report.sweep_panel import Sweep, sweep_panel
from clusterbandits.report.views import Estimates, EstimatesView
from clusterbandits.simulation.statistics import count_text
from clusterbandits.studies.study_summary import (
    CaseSummary,
    bound_of,
    case_sentence,
    conditions,
    curve_frame,
    drawn_families,
    family_regrets,
    family_sentence,
    family_table,
    overview_table,
    summary_frame,
)
from clusterbandits.tables import Table, html_paragraph, paragraph, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from clusterbandits.plotting import Axes
    from clusterbandits.report.picture import Picture
    from clusterbandits.simulation.results import Result
    from clusterbandits.studies.study_file import Study
    from clusterbandits.studies.study_runs import Comparison

#: The axis of regret ends at this multiple of the first policy's regret.
_HIGHEST = 3.0
_MOST_GROUPS = 24
_MOST_ARMS = 200
_MOST_CURVES = 8
#: The largest number of instances in an overview, and the half-width of a 95 % interval in standard errors.
_MOST_SHOWN, _TWO_SIDED = 40, 1.96
#: Characters of a name in the names of files.
_SHORT = 40


@dataclass(frozen=True, eq=False, repr=False)
class StudyReport:
    """The results of a study; ``stored`` of its ``runs`` were read from an earlier call's folder.

    Made by ``run_study``; prints as tables.
    """

    study: Study
    folder: Path
    summaries: tuple[CaseSummary, ...]
    runs: int
    stored: int

    @property
    def page(self) -> Path:
        """The report to open in a browser."""
        return self.folder / "index.html"

    def frame(self) -> pd.DataFrame:
        """Return one row per policy and problem, as in data/summary.csv."""
        return summary_frame(self.summaries)

    def curves(self) -> pd.DataFrame:
        """Return mean regret and its standard error at every checkpoint, as in data/curves.csv."""
        return curve_frame(self.summaries)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the main result of the study; return the Matplotlib axes.

        A single instance: mean regret against rounds, ± 1.96 standard errors. Several: mean regret after the
        last round, divided by that of the first policy. Drawn instances alone: quantiles of this ratio.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.
        """
        alone = [one for one in self.summaries if not one.drawn]
        owner = "StudyReport.plot"
        if len(alone) == 1:
            return drawn("regret", summary_view(alone[0]), ax, owner)
        if alone:
            return drawn("estimates", overview_view(alone), ax, owner)
        family = next(iter(drawn_families(self.summaries).values()))
        return drawn("ratios", family_regrets(family), family[0].base["policy"], ax, owner)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: every row of the summary."""
        return {
            "title": self.study.title,
            "report": str(self.page),
            "runs": {"all": self.runs, "stored": self.stored},
            "rows": [row for one in self.summaries for row in one.rows],
        }

    def __repr__(self) -> str:
        many = count_text(len(self.summaries), "instance")
        return f"<StudyReport: {plain(self.study.title)}, {many}, {count_text(self.runs, 'run')}>"

    def __str__(self) -> str:
        pages = [part.text() if isinstance(part, Table) else paragraph(part) for part in self._parts()]
        kept = f"{self.stored} reused from a previous run"
        played = f"Simulated {count_text(self.runs - self.stored, 'run')}; {kept}."
        return "\n\n".join([*pages, f"{played}\nThe report: {plain(str(self.page))}"])

    def _repr_html_(self) -> str:
        parts = [part.html() if isinstance(part, Table) else html_paragraph(part) for part in self._parts()]
        return "".join(parts)

    def _parts(self) -> Iterator[Table | str]:
        """Return tables, each with its main result in a sentence."""
        alone = [one for one in self.summaries if not one.drawn]
        if alone:
            yield overview_table(self.study, self.summaries)
        if len(alone) == 1:
            yield case_sentence(alone[0])
        for name, family in drawn_families(self.summaries).items():
            yield family_table(name, family)
            yield family_sentence(family)


def summary_view(summary: CaseSummary) -> RegretView:
    """Return the curves of one instance."""
    curves = [
        PolicyCurve(row["policy"], mean, mean - _TWO_SIDED * error, mean + _TWO_SIDED * error)
        for row, mean, error in zip(summary.rows, summary.means, summary.errors, strict=True)
    ]
    return RegretView(
        summary.rounds,
        summary.base["runs"],
        tuple(curves),
        start=int(summary.rounds[0]),
        bands="± 1.96 standard errors",
    )


def overview_view(summaries: Sequence[CaseSummary]) -> EstimatesView:
    """Return the ratios of regret on several instances, run by run, with a group of rows per instance."""
    base = summaries[0].base["policy"]
    groups = []
    for one in summaries[:_MOST_SHOWN]:
        scale = max(one.base["regret"], 1e-300)
        others = [row for row in one.rows if row["policy"] != base]
        means = np.array([row["regret"] / scale for row in others])
        reach = np.array([_TWO_SIDED * (row["difference_error"] or 0.0) / scale for row in others])
        labels = tuple(str(row["policy"]) for row in others)
        heading = one.name, f": {base} {regret_text(one.base['regret'])}"
        groups.append(Estimates(heading, labels, means, means - reach, means + reach, policies=labels))
    cut = len(summaries) - _MOST_SHOWN
    return EstimatesView(
        tuple(groups),
        f"mean regret divided by that of {base}",
        mean="mean",
        interval="± 1.96 standard errors of the difference",
        reference=(1.0, base),
        notes=(f"{count_text(cut, 'more instance')} in data/summary.csv",) if cut > 0 else (),
    )


def case_section(place: int, comparison: Comparison, summary: CaseSummary) -> Section:
    """Return the section of one problem: its arms, the regret and the pulls."""
    key = f"instance-{place + 1}"
    return Section(
        key,
        comparison.case.name,
        lead=case_sentence(summary),
        text=(conditions(comparison),),
        pictures=tuple(_pictures(key, comparison)),
        tables=(regret_table(comparison.result, comparison.result.labels[0]),),
    )


def _pictures(key: str, comparison: Comparison) -> list[Picture]:
    case, result, bound = comparison.case, comparison.result, bound_of(comparison)
    drawn: dict[str, Any] = {"anchor": max(1.0, result.horizon / 100), "top": _top(result)}
    several = len({one.rule.name for one in comparison.contenders.values()}) > 1
    # The slopes of bounds are for runs without a history.
    drawn["bound"] = None if several or result.start_trials else bound
    pictures = []
    parts = case.instance.partition
    if len(parts.clusters) <= _MOST_GROUPS:
        means = [case.instance.means[list(part)].tolist() for part in parts.members]
        widths = None if several else next(iter(comparison.contenders.values())).clusters.widths
        labels = None if parts.anonymous else [[parts.arms[arm] for arm in part] for part in parts.members]
        pictures.append(
            spans_panel(means, parts.clusters, widths, name=f"{key}-arms", title="The arms", labels=labels)
        )
    if several:
        pictures.append(_sweep(key, comparison))
    if len(result.labels) <= _MOST_CURVES:
        pictures.append(regret_panel(result, name=f"{key}-regret", title="Regret", **drawn))
        pictures.append(
            regret_panel(result, name=f"{key}-log", scale="log", title="Regret against log n", **drawn)
        )
    if len(result.arms) <= _MOST_ARMS and not result.start_trials:
        least = min(result.labels, key=lambda label: float(result.mean(label)[-1]))
        least_bound = regret_bound(case.instance, comparison.contenders[least].clusters) if several else bound
        shown = tuple(dict.fromkeys((result.labels[0], least)))
        pictures.append(
            pulls_panel(result, least_bound, name=f"{key}-pulls", labels=shown, title="Pulls of each arm")
        )
    return pictures


def _top(result: Result) -> float | None:
    """Return the end of the axis of regret at which the lower curves stay legible; None to show all."""
    finals = [float(result.mean(label)[-1]) for label in result.labels]
    cap = _HIGHEST * finals[0]
    return cap if finals[0] > 0 and max(finals) > cap else None


def _sweep(key: str, comparison: Comparison) -> Picture:
    rules = comparison.case.rules
    result = comparison.result
    by_policy: dict[str, list[str]] = {}
    for label, one in comparison.contenders.items():
        by_policy.setdefault(one.plan.labels[0], []).append(label)
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
        title="Regret with other declared widths",
        axis="declared widths, times the true spans" if multiples else "declared widths",
    )


def family_section(place: int, name: str, family: Sequence[CaseSummary]) -> Section:
    """Return the section of a family of drawn problems."""
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
