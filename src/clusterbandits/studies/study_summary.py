"""The results of a study in rows: each policy on each problem, and all drawn problems together."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from clusterbandits.bounds import RegretBound, regret_bound
from clusterbandits.report.ratio_panel import ratio_rows
from clusterbandits.report.regret_table import regret_records
from clusterbandits.simulation.statistics import Difference, after_history, count_text, difference, plus_minus
from clusterbandits.tables import WIDTH, Table
from clusterbandits.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from clusterbandits.simulation.results import Result
    from clusterbandits.studies.study_file import Study
    from clusterbandits.studies.study_runs import Comparison

    Floats = NDArray[np.float64]

_MOST_ROWS = 40


@dataclass(frozen=True, eq=False)
class CaseSummary:
    """The results on one problem: one row and one curve per policy."""

    name: str
    drawn: str
    rows: list[dict[str, Any]]
    rounds: NDArray[np.int64]
    #: ``[policy, checkpoint]``
    means: Floats = field(repr=False)
    errors: Floats = field(repr=False)
    #: ``[policy, run]``, after the last round
    finals: Floats = field(repr=False)

    @property
    def base(self) -> dict[str, Any]:
        """The row of the first policy, with which all others are compared."""
        return self.rows[0]

    @property
    def cheapest(self) -> dict[str, Any]:
        """The row with the smallest mean regret."""
        return min(self.rows, key=lambda row: float(row["regret"]))


def summarise(comparison: Comparison) -> CaseSummary:
    """Return the results on a simulated problem."""
    result, case = comparison.result, comparison.case
    about = {"instance": case.name, "arms": len(result.arms), "groups": len(case.instance.spans)}
    about["start_trials"] = result.start_trials
    rows = []
    for row in regret_records(result, result.labels[0]):
        one = comparison.contenders[row["policy"]]
        declared = one.rule.name if one.heeds_widths else ""
        bound = regret_bound(case.instance, one.clusters)
        misled = ", ".join(map(str, bound.misled))
        rates = {"lower": bound.lower, "clus_ucb": bound.clus_ucb, "classical": bound.classical}
        rows.append(
            about | {"widths": declared} | row | {"horizon": result.horizon} | rates | {"misled": misled}
        )
    return CaseSummary(
        case.name,
        case.drawn,
        rows,
        result.checkpoints,
        np.stack([result.mean(label) for label in result.labels]),
        np.stack([result.standard_error(label) for label in result.labels]),
        np.stack([result.regret(label)[:, -1] for label in result.labels]),
    )


def bound_of(comparison: Comparison) -> RegretBound:
    """Return the bounds with the widths of the first policy that uses widths."""
    found = list(comparison.contenders.values())
    heeding = next((one for one in found if one.heeds_widths), found[0])
    return regret_bound(comparison.case.instance, heeding.clusters)


def case_sentence(summary: CaseSummary) -> str:
    """Return the policy with the lowest regret, and the difference from the first policy, in a sentence."""
    base, least = summary.base, summary.cheapest
    lowest = plus_minus(least["regret"], least["standard_error"])
    if least is base:
        return f"{base['policy']} has the lowest mean regret: {lowest}."
    less = Difference(-least["difference"], least["difference_error"])
    sure = _is_clear(less, base["runs"], len(summary.rows) - 1)
    share = less.value / max(base["regret"], 1e-300)
    hedge = "" if sure else ", which is not statistically significant"
    return (
        f"{least['policy']} has the lowest mean regret: {lowest}, {less} ({share:.0%}) less than "
        f"{base['policy']}{hedge}."
    )


def _is_clear(less: Difference, runs: int, others: int) -> bool:
    """Return whether a difference from the best of several policies is significant at 95 % (Bonferroni)."""
    return bool(less.value > stdtrit(runs - 1, 1 - 0.025 / max(others, 1)) * less.error)


def overview_table(study: Study, summaries: Sequence[CaseSummary]) -> Table:
    """Return a table with one row per problem that was not drawn."""
    rows = [_overview_row(one) for one in summaries if not one.drawn]
    base = summaries[0].base["policy"]
    cut = len(rows) - _MOST_ROWS
    less = f"less: how much lower the regret is than that of {base}, compared run by run."
    notes = [f"Mean regret, ± standard error. {less}"]
    if cut > 0:
        notes.append(f"{count_text(cut, 'more instance')} in data/summary.csv.")
    notes += _start_notes(study)
    title = f"{count_text(study.runs, 'run')} of {count_text(study.horizon, 'round')}"
    columns = ("instance", "arms", "groups", base, "lowest", "regret", "less")
    return Table(columns, tuple(rows[:_MOST_ROWS]), title=title, notes=tuple(notes))


def _start_notes(study: Study) -> list[str]:
    """Return a sentence on the instances whose runs start from a history, if there are any."""
    known = {case.name: case.start.trials for case in study.cases if case.start.trials}
    if not known:
        return []
    if len(known) == len(study.cases) == 1:
        return [after_history(next(iter(known.values())))]
    named = [f"{name} ({count_text(trials, 'trial')})" for name, trials in known.items()]
    return [f"Instances whose runs start from a history: {listed(named)}."]


def _overview_row(summary: CaseSummary) -> tuple[object, ...]:
    base, least = summary.base, summary.cheapest
    less = "" if least is base else plus_minus(-least["difference"], least["difference_error"])
    lowest = plus_minus(least["regret"], least["standard_error"])
    regret = plus_minus(base["regret"], base["standard_error"])
    return (summary.name, base["arms"], base["groups"], regret, least["policy"], lowest, less)


def drawn_families(summaries: Iterable[CaseSummary]) -> dict[str, list[CaseSummary]]:
    """Return the drawn problems by the name of their family."""
    families: dict[str, list[CaseSummary]] = {}
    for one in summaries:
        if one.drawn:
            families.setdefault(one.drawn, []).append(one)
    return families


def family_regrets(family: Sequence[CaseSummary]) -> dict[str, Floats]:
    """Return the mean regret of every policy in every problem of a family."""
    labels = [row["policy"] for row in family[0].rows]
    return {label: np.array([one.rows[k]["regret"] for one in family]) for k, label in enumerate(labels)}


def family_estimates(family: Sequence[CaseSummary]) -> list[tuple[Difference, Difference]]:
    """Return each policy's mean regret over all problems of a family, and the difference from the first.

    Runs with the same number may share random numbers across problems, so standard errors are computed from
    the averages of runs.
    """
    runs = np.mean([one.finals for one in family], axis=0)
    return [(difference(own), difference(own - runs[0])) for own in runs]


def family_table(name: str, family: Sequence[CaseSummary]) -> Table:
    """Return one row per policy: its regret over all problems, and its ratios to the first policy."""
    regrets = family_regrets(family)
    base = family[0].base["policy"]
    ratios = {row.label: row for row in ratio_rows(regrets, base)}
    rows = []
    for (label, regret), (mean, _) in zip(regrets.items(), family_estimates(family), strict=True):
        row = ratios.get(label)
        better = 100 * float((regret < regrets[base]).mean())
        compared = [None] * 3 if row is None else [better, *row.quantiles[[2, 4]].tolist()]
        rows.append((label, str(mean), float(np.median(regret)), float(regret.max()), *compared))
    columns = ("policy", "mean", "median", "largest", "better in %", "median ratio", "95 % ratio")
    many = count_text(len(family), "instance")
    note = f"Regret over {many}, ± standard error; ratios to {base}, instance by instance."
    title = textwrap.shorten(name, WIDTH, placeholder="…")
    return Table(columns, tuple(rows), title=title, notes=(note,))


def family_sentence(family: Sequence[CaseSummary]) -> str:
    """Return the policy with the lowest regret over all problems of a family, in a sentence."""
    regrets = family_regrets(family)
    base = family[0].base["policy"]
    found = dict(zip(regrets, family_estimates(family), strict=True))
    least = min(found, key=lambda label: found[label][0].value)
    mean, apart = found[least]
    if least == base:
        return f"{base} has the lowest mean regret over all instances: {mean}."
    less = Difference(-apart.value, apart.error)
    share = less.value / max(found[base][0].value, 1e-300)
    sure = _is_clear(less, family[0].base["runs"], len(found) - 1)
    hedge = "" if sure else " (not statistically significant)"
    better = float((regrets[least] < regrets[base]).mean())
    return (
        f"{least} has the lowest mean regret over all instances: {mean}, {less} ({share:.0%}) less than "
        f"{base}{hedge}, and less in {better:.0%} of them."
    )


def summary_frame(summaries: Sequence[CaseSummary]) -> pd.DataFrame:
    """Return one row per policy and problem."""
    return pd.DataFrame([row for one in summaries for row in one.rows])


def curve_frame(summaries: Sequence[CaseSummary]) -> pd.DataFrame:
    """Return instance, policy, round, regret and standard_error: one row per checkpoint."""
    parts = []
    for one in summaries:
        steps = len(one.rounds)
        labels = [row["policy"] for row in one.rows]
        parts.append(
            pd.DataFrame(
                {
                    "instance": one.name,
                    "policy": np.repeat(labels, steps),
                    "round": np.tile(one.rounds, len(labels)),
                    "regret": one.means.ravel(),
                    "standard_error": one.errors.ravel(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def conditions(comparison: Comparison) -> str:
    """Return the conditions of the simulation in a sentence."""
    result: Result = comparison.result
    spans = comparison.case.instance.spans
    means = _range(float(result.instance.means.min()), result.instance.best_mean)
    past = f" {after_history(result.start_trials)}" if result.start_trials else ""
    return (
        f"{count_text(len(result.arms), 'arm')} in {count_text(len(spans), 'group')}, means {means}, "
        f"spans {_range(min(spans), max(spans))}; {count_text(len(result.runs), 'run')} of "
        f"{count_text(result.horizon, 'round')}.{past}"
    )


def _range(least: float, most: float) -> str:
    ends = f"{least:.4g}", f"{most:.4g}"
    return f"of {ends[0]}" if ends[0] == ends[1] else f"from {ends[0]} to {ends[1]}"
