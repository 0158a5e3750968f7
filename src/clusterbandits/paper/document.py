"""The report: a page, pictures and tables of every figure, and the audit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterbandits.files import made_folder, whole_file
from clusterbandits.paper.audit.claim import Entry, Verdict
from clusterbandits.paper.audit.markdown import audit_markdown
from clusterbandits.paper.curves import curve_frame, pull_frame, save_frame
from clusterbandits.paper.figures import SPANS_FIGURE
from clusterbandits.paper.sections import overview_section, spans_section
from clusterbandits.report.page import Card, Page, Section, render_page
from clusterbandits.report.picture import Picture, save_picture
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
    pictures, data = folder / "pictures", folder / "data"
    for place in (pictures, data):
        made_folder(place)
    drawn = list(_pictures(page.sections))
    for drawing in drawn:
        save_picture(drawing, pictures)
    _remove_others(pictures, {drawing.name for drawing in drawn})
    played = [(one, evidence.figure(one)) for one in evidence.played]
    if played:
        save_frame(curve_frame(played), data, "curves")
        save_frame(pull_frame(played), data, "pulls")
    _remove_others(data, {"curves", "pulls"} if played else set())
    audit = [entry.to_dict() for entry in entries]
    texts = {
        "audit.json": to_json({"command": evidence.settings.command(), "audit": audit}, indent=2) + "\n",
        "audit.md": audit_markdown(entries, evidence),
        "index.html": render_page(page),
    }
    for name, text in texts.items():
        with whole_file(folder / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


def _remove_others(folder: Path, names: set[str]) -> None:
    """Remove what an earlier report with other figures left behind."""
    for path in folder.iterdir():
        if path.suffix in {".svg", ".png", ".csv", ".parquet"} and path.stem not in names:
            path.unlink(missing_ok=True)


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


def _pictures(sections: Iterable[Section]) -> Iterable[Picture]:
    for section in sections:
        yield from section.pictures
        yield from _pictures(section.parts)
