"""The report as a page: an overview, a section for every figure, and a card for every claim."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from clusterbandits.paper.audit.claim import Entry, Verdict
from clusterbandits.paper.figures import SPANS, SPANS_FIGURE, Figure
from clusterbandits.paper.summary import (
    BASE,
    OURS,
    branch_table,
    conditions,
    far_results,
    figure_sentence,
    meets_sentence,
    overview,
    rate_overview,
    rate_table,
)
from clusterbandits.report.page import Card, Page, Section
from clusterbandits.report.pulls_panel import pulls_panel
from clusterbandits.report.regret_panel import regret_panel
from clusterbandits.report.regret_table import regret_table
from clusterbandits.report.spans_panel import spans_panel
from clusterbandits.simulation.statistics import round_text
from clusterbandits.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clusterbandits.paper.figures import Setting
    from clusterbandits.paper.results import PaperResults
    from clusterbandits.simulation.results import Result

#: Curves that end this many times higher than KL-UCB's leave the picture.
_HIGHEST = 3.0
_LEGEND = (
    "Bands and ± hold what chance leaves open in the mean of all runs. Lines of bounds have the right slope "
    "per log n and begin on the curve they belong to: bounds say how fast regret grows, not how large it is."
)
_KEYS = {
    Verdict.HOLDS: "holds",
    Verdict.CONDITION: "condition",
    Verdict.FAILS: "fails",
    Verdict.UNDECIDED: "undecided",
}


def report_page(paper: PaperResults, entries: Sequence[Entry], figures: Sequence[Section]) -> Page:
    """Return everything the page shows; the sections of figures come drawn."""
    spans = [spans_section()] if SPANS_FIGURE in paper.figures else []
    brief = [_brief(entries)] if entries else []
    figures_overview = [overview_section(paper)] if paper.played else []
    return Page(
        title="Clus-UCB, reproduced and audited",
        lead="The figures of “Clus-UCB: A Near-Optimal Algorithm for Clustered Bandits” (Gore and "
        f"Chaporkar), played again with {_indices(paper)}, and what computation says about its claims.",
        command=paper.settings.command(),
        sections=(*brief, *figures_overview, *spans, *figures),
        cards_heading="The audit",
        cards_lead=tally(entries),
        cards=tuple(map(_card, entries)),
    )


def _indices(paper: PaperResults) -> str:
    refresh = paper.settings.refresh
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


def overview_section(paper: PaperResults) -> Section:
    """Return what every policy paid in every figure."""
    results = [paper.figure(one) for one in paper.played]
    tables = (overview(paper.played, results), branch_table(paper.played))
    return Section("overview", "Overview", text=(_LEGEND,), tables=tables)


def spans_section() -> Section:
    """Return Figure 1."""
    names, means = list(SPANS), list(SPANS.values())
    drawing = spans_panel(means, names, name="figure-1", title="Two clusters whose ranges overlap")
    return Section(
        "figure-1",
        "Figure 1: clusters and their spans",
        lead="An arm may lie inside the range of another cluster; it belongs to its own all the same.",
        text=("The paper gives no numbers for this figure: these are an example.",),
        pictures=(drawing,),
    )


def figure_section(paper: PaperResults, figure: Figure) -> Section:
    """Return a figure with every width vector it has."""
    settings = [one for one in paper.played if one.figure == figure]
    heading = f"Figure {figure.number}: {figure.shows}"
    if len(settings) == 1:
        return _setting_section(paper, settings[0], heading)
    together = _all_widths(paper, settings)
    drawing = regret_panel(
        together,
        name=f"figure-{figure.number}",
        scale="log",
        title="All width vectors",
        top=_top(together),
    )
    parts = tuple(_setting_section(paper, one, f"Widths {list(one.widths)}") for one in settings)
    return Section(f"figure-{figure.number}", heading, pictures=(drawing,), parts=parts)


def _all_widths(paper: PaperResults, settings: Sequence[Setting]) -> Result:
    """Return KL-UCB and Clus-UCB with every width vector of a figure."""
    experiments = {BASE: paper.programme.figure(settings[0].figure, settings[0].widths)[BASE]}
    for one in settings:
        told = ", ".join(f"{width:g}" for width in one.widths)
        experiments[f"{OURS} {told}"] = paper.programme.figure(one.figure, one.widths)[OURS]
    return paper.together(experiments)


def _setting_section(paper: PaperResults, setting: Setting, heading: str) -> Section:
    result, bound, key = paper.figure(setting), setting.bound, setting.key
    names = [f"cluster {part.name}" for part in bound.clusters]
    anchor = result.horizon / 100
    drawn: dict[str, Any] = {"bound": bound, "anchor": anchor, "top": _top(result)}
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
        tables=(regret_table(result, BASE),),
    )


def _top(result: Result) -> float | None:
    """Return where the axis of regret must end for the curves that matter to be seen."""
    finals = [float(result.mean(label)[-1]) for label in result.labels]
    cap = _HIGHEST * float(result.mean(BASE)[-1])
    return cap if max(finals) > cap else None


def beyond_section(paper: PaperResults) -> Section:
    """Return every figure at ten thousand times the horizon, with all policies that hold."""
    results = [far_results(paper, one) for one in paper.played]
    parts = tuple(_beyond_part(one, *pair) for one, pair in zip(paper.played, results, strict=True))
    return Section(
        "beyond",
        f"Beyond: {round_text(paper.settings.far_horizon)} rounds",
        lead="How fast regret grows where log n is large, for all policies of the registry that can prove "
        "their choices for many rounds at once; default settings.",
        text=(
            "Policies without certificates need many more holds and play a third of the runs. OSSB can prove "
            "nothing where a width is 0 and is left out there.",
        ),
        tables=(rate_overview(paper.played, [certified for certified, _ in results]),),
        parts=parts,
    )


def _beyond_part(setting: Setting, certified: Result, others: Result) -> Section:
    key = setting.key.replace("figure", "beyond")
    top = _HIGHEST * float(certified.mean(BASE)[-1])
    drawn: dict[str, Any] = {"scale": "log", "anchor": certified.horizon / 100}
    pictures = (
        regret_panel(
            certified, setting.bound, name=key, title=f"{setting.name}, by certificates", top=top, **drawn
        ),
        regret_panel(others, name=f"{key}-others", title=f"{setting.name}, by trial", top=top, **drawn),
    )
    return Section(
        key,
        setting.name,
        lead=meets_sentence(certified, setting.bound),
        pictures=pictures,
        tables=(rate_table(certified, setting.bound), rate_table(others, setting.bound)),
    )
