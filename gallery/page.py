"""A page of the gallery: what a study and the advice on its table found, in words for practitioners."""

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
Each page goes the way from a table to a decision: are the groups worth using, which widths are safe, which
policy, what does it save. Numbers and pictures are made from the study files beside the pages by
`make gallery`."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What a page is written of."""

    name: str
    #: The file of the bundled table.
    file: str
    report: StudyReport
    advice: Advice
    picture_words: str
    curve_words: str

    @property
    def exact(self) -> CaseSummary:
        """Policies that were told the true spans."""
        return self.report.summaries[0]

    @property
    def told(self) -> CaseSummary:
        """Policies that were told other widths."""
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
    other = {row["policy"]: row for row in found.told.rows}

    def told_row(policy: str, widths: str) -> dict[str, Any]:
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
        "paid": markdown_table(_paid_table(found.exact)),
        "told": markdown_table(_told_table(found.told)),
        "groups": markdown_table(advice.table()),
        "at_risk": f"At risk if declared too narrow: {', '.join(risky)}. The best option may be there.",
        "recommended": advice.recommended,
        "reason": advice.reason,
        "usual": f"{float(np.median(ratios)):.1f}",
        "loosest": f"{max(ratios):.1f}",
        "picture_words": markdown_text(found.picture_words),
        "curve_words": markdown_text(found.curve_words),
        "regret": lambda policy: rows[policy]["regret"],
        "paid_by": lambda policy: plus_minus(rows[policy]["regret"], rows[policy]["standard_error"]),
        "saved": lambda policy: _saving(rows[policy]),
        "share": lambda policy: _share(rows[policy], base),
        "told_regret": lambda *which: told_row(*which)["regret"],
        "told_saving": lambda *which: _saving(told_row(*which)),
        "told_share": lambda *which: _share(told_row(*which), base),
    }


def _saving(row: dict[str, Any]) -> str:
    return plus_minus(-row["difference"], row["difference_error"])


def _share(row: dict[str, Any], base: dict[str, Any]) -> str:
    return f"{-row['difference'] / base['regret']:.0%}"


def _paid_table(summary: CaseSummary) -> Table:
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


def _told_table(summary: CaseSummary) -> Table:
    """Return a row for every way to declare widths, a column for every policy that uses them."""
    told: dict[str, dict[str, str]] = {}
    for row in summary.rows[1:]:
        policy = row["policy"].removesuffix(f" {row['widths']}")
        told.setdefault(row["widths"], {})[policy] = plus_minus(row["regret"], row["standard_error"])
    policies = list(next(iter(told.values())))
    rows = [(_NOTHING.get(widths, widths), *map(paid.get, policies)) for widths, paid in told.items()]
    base = plus_minus(summary.base["regret"], summary.base["standard_error"])
    rows.append((f"none: {summary.base['policy']}", base, *[""] * (len(policies) - 1)))
    return Table(("declared widths", *policies), tuple(rows))


def overview_text(found: list[Findings]) -> str:
    """Return the page that lists all: what groups saved, table by table."""
    study = found[0].report.study
    policies = (row["policy"] for row in found[0].exact.rows)
    columns = ("table", "options", "groups", *policies, f"{DEFAULT} saves")
    parts = [
        "# The gallery: real tables as worked studies",
        _INTRODUCTION,
        f"Mean regret after {round_text(study.horizon)} rounds ± standard error, policies told the true "
        "spans:",
        markdown_table(Table(columns, tuple(map(_overview_row, found)))),
    ]
    return "\n\n".join(parts) + "\n"


def _overview_row(one: Findings) -> tuple[object, ...]:
    rows = {row["policy"]: row for row in one.exact.rows}
    paid = [plus_minus(row["regret"], row["standard_error"]) for row in rows.values()]
    link = Markdown(f"[{markdown_text(one.report.study.title)}]({one.name}.md)")
    sizes = (len(one.advice.history.arms), len(one.advice.groups))
    return (link, *sizes, *paid, _share(rows[DEFAULT], one.exact.base))
