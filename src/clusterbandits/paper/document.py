"""The report: a page, pictures and tables of every figure, and the audit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterbandits.files import whole_file
from clusterbandits.paper.audit.claim import Entry, Verdict
from clusterbandits.paper.audit.markdown import audit_markdown
from clusterbandits.paper.curves import curve_frame, pull_frame, save_frame
from clusterbandits.paper.figures import SPANS, SPANS_FIGURE, Figure
from clusterbandits.paper.summary import (
    BASE,
    OURS,
    conditions,
    figure_sentence,
    overview,
    regret_table,
)
from clusterbandits.report.page import Card, Page, Section, render_page
from clusterbandits.report.picture import Picture, save_picture
from clusterbandits.report.pulls_panel import pulls_panel
from clusterbandits.report.regret_panel import regret_panel
from clusterbandits.report.spans_panel import spans_panel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from clusterbandits.paper.branches import Setting
    from clusterbandits.paper.evidence import Evidence
    from clusterbandits.simulation.results import Result

#: Curves that end this many times higher than KL-UCB's leave the picture.
_HIGHEST = 3.0
_KEYS = {
    Verdict.HOLDS: "holds",
    Verdict.CONDITION: "condition",
    Verdict.FAILS: "fails",
    Verdict.UNDECIDED: "undecided",
}
_LEGEND = (
    "Bands and ± hold what chance leaves open in the mean of all runs. Lines of bounds have the right slope per "
    "log n and begin on the curve they belong to: bounds say how fast regret must grow, not how large it is."
)


def write_report(evidence: Evidence, entries: Sequence[Entry], folder: Path) -> Page:
    """Write index.html, pictures, tables and the audit into a folder; return what the page shows."""
    page = report_page(evidence, entries)
    pictures, data = folder / "pictures", folder / "data"
    for place in (pictures, data):
        place.mkdir(exist_ok=True)
    for drawing in _pictures(page.sections):
        save_picture(drawing, pictures)
    played = [(one, evidence.figure(one)) for one in evidence.played]
    if played:
        save_frame(curve_frame(played), data, "curves")
        save_frame(pull_frame(played), data, "pulls")
    texts = {
        "audit.md": audit_markdown(entries, evidence.settings),
        "index.html": render_page(page),
    }
    for name, text in texts.items():
        with whole_file(folder / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    return page


def report_page(evidence: Evidence, entries: Sequence[Entry]) -> Page:
    """Return everything the page shows."""
    settings = evidence.settings
    sections = [_spans_section()] if SPANS_FIGURE in settings.figures else []
    sections += [_figure_section(evidence, figure) for figure in evidence.programme.figures]
    results = [evidence.figure(one) for one in evidence.played]
    if results:
        sections.insert(0, _overview_section(evidence, results))
    return Page(
        title="Clus-UCB, reproduced and audited",
        lead="The paper's figures, played again with exact indices in every round, and what computation says "
        "about each of its claims.",
        command=settings.command(),
        sections=tuple(sections),
        cards_heading="The audit",
        cards_lead=tally(entries),
        cards=tuple(map(_card, entries)),
    )


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


def _overview_section(evidence: Evidence, results: Sequence[Result]) -> Section:
    return Section("overview", "Overview", text=(_LEGEND,), tables=(overview(evidence.played, results),))


def _spans_section() -> Section:
    names, means = list(SPANS), list(SPANS.values())
    drawing = spans_panel(means, names, name="figure-1", title="Two clusters whose ranges overlap")
    return Section(
        "figure-1",
        "Figure 1: clusters and their spans",
        lead="An arm may lie inside the range of another cluster; it belongs to its own all the same.",
        text=("The paper gives no numbers for this figure: these are an example.",),
        pictures=(drawing,),
    )


def _figure_section(evidence: Evidence, figure: Figure) -> Section:
    settings = [one for one in evidence.played if one.figure == figure]
    heading = f"Figure {figure.number}: {figure.shows}"
    if len(settings) == 1:
        return _setting_section(evidence, settings[0], heading)
    together = _all_widths(evidence, settings)
    drawing = regret_panel(
        together,
        name=f"figure-{figure.number}",
        scale="log",
        title="All width vectors",
        top=_top(together),
    )
    parts = tuple(_setting_section(evidence, one, f"Widths {list(one.widths)}") for one in settings)
    return Section(f"figure-{figure.number}", heading, pictures=(drawing,), parts=parts)


def _all_widths(evidence: Evidence, settings: Sequence[Setting]) -> Result:
    """Return KL-UCB and Clus-UCB with every width vector of a figure."""
    games = {BASE: evidence.programme.figure(settings[0].figure, settings[0].widths)[BASE]}
    for one in settings:
        told = ", ".join(f"{width:g}" for width in one.widths)
        games[f"{OURS} {told}"] = evidence.programme.figure(one.figure, one.widths)[OURS]
    return evidence.together(games)


def _setting_section(evidence: Evidence, setting: Setting, heading: str) -> Section:
    result, bound, key = evidence.figure(setting), setting.bound, setting.key
    names = [f"cluster {part.name}" for part in bound.clusters]
    anchor = result.horizon / 100
    drawn = {"bound": bound, "anchor": anchor, "top": _top(result)}
    pictures = (
        spans_panel(setting.figure.means, names, setting.widths, name=f"{key}-arms", title="The arms"),
        regret_panel(result, name=f"{key}-regret", title="Regret", **drawn),
        regret_panel(result, name=f"{key}-log", scale="log", title="Regret against log n", **drawn),
        pulls_panel(result, bound, name=f"{key}-pulls", labels=(BASE, OURS), title="Pulls of each arm"),
    )
    return Section(
        key,
        heading,
        lead=figure_sentence(result),
        text=(conditions(setting, result.horizon, len(result.runs)),),
        pictures=pictures,
        tables=(regret_table(result),),
    )


def _top(result: Result) -> float | None:
    """Return where the axis of regret must end for the curves that matter to be seen."""
    finals = [float(result.mean(label)[-1]) for label in result.labels]
    cap = _HIGHEST * float(result.mean(BASE)[-1])
    return cap if max(finals) > cap else None


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
    )


def _pictures(sections: Iterable[Section]) -> Iterable[Picture]:
    for section in sections:
        yield from section.pictures
        yield from _pictures(section.parts)
