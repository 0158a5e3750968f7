"""A page of the gallery: the results of a study and of the advice on its table, for practitioners."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np

from clusterbandits.policies.policy import DEFAULT
from clusterbandits.report.style import regret_text
from clusterbandits.simulation.statistics import plus_minus, round_text
from clusterbandits.tables import Markdown, Table, markdown_table, markdown_text

if TYPE_CHECKING:
    from clusterbandits.studies.advise import Advice
    from clusterbandits.studies.study_report import StudyReport
    from clusterbandits.studies.study_summary import CaseSummary

PAGES = Path(__file__).with_name("pages")
_NOTHING = {"inf × spans": "no width"}
_UNITS = {
    "admissions": "admissions",
    "flights-by-origin": "punctual arrivals",
    "flights-by-destination": "punctual arrivals",
}
_INTRODUCTION = """\
Each page leads from a table to a decision: whether the groups are worth using, which widths are safe,
which policy to use, and what it saves. `make gallery` computes all numbers and pictures from the
study files next to the pages."""


@dataclass(frozen=True, eq=False)
class Findings:
    """The data of a page."""

    name: str
    #: The file of the bundled table.
    file: str
    report: StudyReport
    advice: Advice
    picture_words: str
    curve_words: str

    @property
    def exact(self) -> CaseSummary:
        """The results of policies that were given the true spans."""
        return self.report.summaries[0]

    @property
    def other_widths(self) -> CaseSummary:
        """The results of policies that were given other widths."""
        return self.report.summaries[1]


def page_text(found: Findings) -> str:
    """Return the page as Markdown."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        autoescape=False,
    )
    text = environment.get_template(f"{found.name}.md").render(_context(found))
    return text.strip() + "\n"


def _context(found: Findings) -> dict[str, Any]:
    study, advice = found.report.study, found.advice
    rows = {row["policy"]: row for row in found.exact.rows}
    base = found.exact.base
    other = {row["policy"]: row for row in found.other_widths.rows}

    def row_with(policy: str, widths: str) -> dict[str, Any]:
        return other[f"{policy} {widths}"]

    ratios = [group.width / group.span for group in advice.groups if group.span]
    risky = [markdown_text(str(group.name)) for group in advice.groups if group.at_risk]
    return {
        "name": found.name,
        "file": found.file,
        "title": markdown_text(study.title),
        "unit": _UNITS[found.name],
        "arms": len(advice.history.arms),
        "trials": f"{int(advice.history.trials.sum()):,}",
        "runs": study.runs,
        "horizon": f"{study.horizon:,}",
        "regrets": markdown_table(_regret_table(found.exact)),
        "other_widths": markdown_table(_widths_table(found.other_widths)),
        "groups": markdown_table(advice.table()),
        "at_risk": f"At risk if declared too narrow: {', '.join(risky)}. The best option may be there.",
        "recommended": advice.recommended,
        "reason": advice.reason,
        "usual": f"{float(np.median(ratios)):.1f}",
        "loosest": f"{max(ratios):.1f}",
        "picture_words": markdown_text(found.picture_words),
        "curve_words": markdown_text(found.curve_words),
        "regret": lambda policy: rows[policy]["regret"],
        "mean_regret": lambda policy: plus_minus(rows[policy]["regret"], rows[policy]["standard_error"]),
        "saved": lambda policy: _saving(rows[policy]),
        "share": lambda policy: _share(rows[policy], base),
        "regret_with": lambda *which: row_with(*which)["regret"],
        "saving_with": lambda *which: _saving(row_with(*which)),
        "share_with": lambda *which: _share(row_with(*which), base),
    }


def _saving(row: dict[str, Any]) -> str:
    return plus_minus(-row["difference"], row["difference_error"])


def _share(row: dict[str, Any], base: dict[str, Any]) -> str:
    return f"{-row['difference'] / base['regret']:.0%}"


def _regret_table(summary: CaseSummary) -> Table:
    rows = [
        (
            row["policy"],
            plus_minus(row["regret"], row["standard_error"]),
            "" if row is summary.base else f"{_saving(row)} ({_share(row, summary.base)})",
            regret_text(row["worst_run"]),
            100 * row["best_arm_share"],
        )
        for row in summary.rows
    ]
    return Table(("policy", "regret", "saved", "worst run", "best option, % of rounds"), tuple(rows))


def _widths_table(summary: CaseSummary) -> Table:
    """Return one row per choice of widths, and one column per policy that uses widths."""
    found: dict[str, dict[str, str]] = {}
    for row in summary.rows[1:]:
        policy = row["policy"].removesuffix(f" {row['widths']}")
        found.setdefault(row["widths"], {})[policy] = plus_minus(row["regret"], row["standard_error"])
    policies = list(next(iter(found.values())))
    rows = [(_NOTHING.get(widths, widths), *map(regrets.get, policies)) for widths, regrets in found.items()]
    base = plus_minus(summary.base["regret"], summary.base["standard_error"])
    rows.append((f"none: {summary.base['policy']}", base, *[""] * (len(policies) - 1)))
    return Table(("declared widths", *policies), tuple(rows))


def overview_text(found: list[Findings]) -> str:
    """Return the index page: the savings by groups for each table."""
    study = found[0].report.study
    policies = (row["policy"] for row in found[0].exact.rows)
    columns = ("table", "options", "groups", *policies, f"{DEFAULT} saves")
    parts = [
        "# The gallery: real tables as worked studies",
        _INTRODUCTION,
        f"Mean regret after {round_text(study.horizon)} rounds ± standard error, policies given the "
        "true spans:",
        markdown_table(Table(columns, tuple(map(_overview_row, found)))),
    ]
    return "\n\n".join(parts) + "\n"


def _overview_row(one: Findings) -> tuple[object, ...]:
    rows = {row["policy"]: row for row in one.exact.rows}
    regrets = [plus_minus(row["regret"], row["standard_error"]) for row in rows.values()]
    link = Markdown(f"[{markdown_text(one.report.study.title)}]({one.name}.md)")
    sizes = (len(one.advice.history.arms), len(one.advice.groups))
    return (link, *sizes, *regrets, _share(rows[DEFAULT], one.exact.base))
