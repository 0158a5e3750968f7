"""The report: a page, pictures and tables of every figure, and the audit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterbandits.paper.audit.claim import Entry, Verdict
from clusterbandits.paper.audit.markdown import audit_markdown
from clusterbandits.paper.curves import curve_frame, pull_frame
from clusterbandits.paper.figures import SPANS_FIGURE
from clusterbandits.paper.sections import overview_section, spans_section
from clusterbandits.report.page import Card, Page, Section, write_folder
from clusterbandits.serial import to_json
from clusterbandits.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from clusterbandits.paper.evidence import Evidence

_KEYS = {
    Verdict.HOLDS: "holds",
    Verdict.CONDITION: "condition",
    Verdict.FAILS: "fails",
    Verdict.UNDECIDED: "undecided",
}


def report_page(evidence: Evidence, entries: Sequence[Entry], figures: Sequence[Section]) -> Page:
    """Return everything the page shows; the sections of figures come drawn."""
    spans = [spans_section()] if SPANS_FIGURE in evidence.figures else []
    brief = [_brief(entries)] if entries else []
    overview = [overview_section(evidence)] if evidence.played else []
    return Page(
        title="Clus-UCB, reproduced and audited",
        lead="The figures of “Clus-UCB: A Near-Optimal Algorithm for Clustered Bandits” (Gore and "
        f"Chaporkar), played again with {_indices(evidence)}, and what computation says about its claims.",
        command=evidence.settings.command(),
        sections=(*brief, *overview, *spans, *figures),
        cards_heading="The audit",
        cards_lead=tally(entries),
        cards=tuple(map(_card, entries)),
    )


def _indices(evidence: Evidence) -> str:
    refresh = evidence.settings.refresh
    return "exact indices in every round" if refresh == 1 else f"indices refreshed every {refresh} rounds"


def _brief(entries: Sequence[Entry]) -> Section:
    """Return the claims that do not simply hold."""
    worst_first = (Verdict.FAILS, Verdict.CONDITION, Verdict.UNDECIDED)
    rows = tuple(
        (str(verdict), f"{entry.claim.where}: {entry.claim.says}", entry.finding.measured)
        for verdict in worst_first
        for entry in entries
        if entry.finding.verdict == verdict
    )
    tables = (Table(("verdict", "claim", "measured"), rows),) if rows else ()
    return Section("brief", "In brief", lead=tally(entries), tables=tables)


def write_report(page: Page, evidence: Evidence, entries: Sequence[Entry], folder: Path) -> None:
    """Write index.html, pictures, tables and the audit into a folder."""
    played = [(one, evidence.figure(one)) for one in evidence.played]
    frames = {"curves": curve_frame(played), "pulls": pull_frame(played)} if played else {}
    audit = [entry.to_dict() for entry in entries]
    texts = {
        "audit.json": to_json({"command": evidence.settings.command(), "audit": audit}, indent=2) + "\n",
        "audit.md": audit_markdown(entries, evidence),
    }
    write_folder(page, frames, texts, folder)


def tally(entries: Iterable[Entry]) -> str:
    """Return how many claims hold and how many do not, in a sentence."""
    counts = Counter(entry.finding.verdict for entry in entries)
    said = ", ".join(f"{counts[verdict]} {_plural(verdict, counts[verdict])}" for verdict in Verdict)
    return f"Of {counts.total()} checkable claims {said}."


def _plural(verdict: Verdict, count: int) -> str:
    words = {
        Verdict.HOLDS: ("holds", "hold"),
        Verdict.CONDITION: ("holds with a condition", "hold with a condition"),
        Verdict.FAILS: ("does not hold", "do not hold"),
        Verdict.UNDECIDED: ("is not decided", "are not decided"),
    }
    return words[verdict][count != 1]


def _card(entry: Entry) -> Card:
    claim, finding = entry.claim, entry.finding
    return Card(
        key=_KEYS[finding.verdict],
        verdict=str(finding.verdict),
        says=claim.says,
        where=claim.where,
        test=claim.test,
        measured=finding.measured,
        details=finding.details,
        anchor=claim.key,
    )
