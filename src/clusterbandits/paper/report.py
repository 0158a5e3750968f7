"""The report as a page: the main result, the verdicts, one section per figure and one card per claim."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from clusterbandits.paper.audit.claim import Entry, Verdict
from clusterbandits.paper.figures import SPANS, SPANS_FIGURE, Figure
from clusterbandits.paper.headline import headline
from clusterbandits.paper.pictures import rate_picture
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
from clusterbandits.report.page import Card, Page, Section, Tally
from clusterbandits.report.pulls_panel import pulls_panel
from clusterbandits.report.regret_panel import regret_panel
from clusterbandits.report.regret_table import regret_table
from clusterbandits.report.spans_panel import spans_panel
from clusterbandits.simulation.statistics import count_text, round_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clusterbandits.paper.figures import Setting
    from clusterbandits.paper.results import PaperResults
    from clusterbandits.simulation.results import Result

#: The axis of regret ends at this multiple of KL-UCB's final regret.
_HIGHEST = 3.0
_LEGEND = (
    "Bands in the figures are 95 % bootstrap intervals of the mean; ± is one standard error. Lines of bounds "
    "start on the curve of their policy and have the slope of the bound: a bound states how fast regret "
    "grows with log n, not how large it is."
)
_MEANINGS = {
    Verdict.HOLDS: "in all cases that were tested",
    Verdict.CONDITION: "only in some cases, or in a weaker form",
    Verdict.FAILS: "the results contradict the claim",
    Verdict.INCONCLUSIVE: "the statistical error is too large",
}
#: The key of each verdict in the page.
_KEYS = {
    Verdict.HOLDS: "holds",
    Verdict.CONDITION: "condition",
    Verdict.FAILS: "fails",
    Verdict.INCONCLUSIVE: "inconclusive",
}


def report_page(paper: PaperResults, entries: Sequence[Entry], figures: Sequence[Section]) -> Page:
    """Return the contents of the page; ``figures`` are the sections of the figures."""
    spans = [spans_section()] if SPANS_FIGURE in paper.figures else []
    overviews = [overview_section(paper)] if paper.simulated else []
    return Page(
        title="Clus-UCB, reproduced and audited",
        lead="The figures of “Clus-UCB: A Near-Optimal Algorithm for Clustered Bandits” (Gore and "
        f"Chaporkar), simulated with {_indices(paper)}, and a test of each claim that can be checked.",
        command=paper.settings.command(),
        sections=(*overviews, *spans, *figures),
        cards_heading="The audit",
        cards_lead=tally(entries) if entries else "",
        cards=tuple(map(_card, entries)),
        headline=headline(paper),
        tallies=_tallies(entries),
    )


def _indices(paper: PaperResults) -> str:
    refresh = paper.settings.refresh
    return "exact indices in every round" if refresh == 1 else f"indices refreshed every {refresh} rounds"


def tally(entries: Iterable[Entry]) -> str:
    """Return how many claims hold and how many do not, in a sentence."""
    counts = _counts(entries)
    parts = [f"{count} {_plural(verdict, count)}" for verdict, count in counts.items()]
    return (
        f"Of {count_text(sum(counts.values()), 'checkable claim')}, {', '.join(parts[:-1])}, and {parts[-1]}."
    )


def _tallies(entries: Sequence[Entry]) -> tuple[Tally, ...]:
    return tuple(
        Tally(_KEYS[verdict], count, _plural(verdict, count), _MEANINGS[verdict])
        for verdict, count in _counts(entries).items()
        if entries
    )


def _counts(entries: Iterable[Entry]) -> dict[Verdict, int]:
    counts = Counter(entry.finding.verdict for entry in entries)
    return {verdict: counts[verdict] for verdict in Verdict}


def _plural(verdict: Verdict, count: int) -> str:
    words = {
        Verdict.HOLDS: ("holds", "hold"),
        Verdict.CONDITION: ("holds with a condition", "hold with a condition"),
        Verdict.FAILS: ("does not hold", "do not hold"),
        Verdict.INCONCLUSIVE: ("is inconclusive", "are inconclusive"),
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
    """Return the tables of regrets and bounds of all settings."""
    results = [paper.figure(one) for one in paper.simulated]
    tables = (overview(paper.simulated, results), branch_table(paper.simulated))
    return Section("overview", "Overview", text=(_LEGEND,), tables=tables)


def spans_section() -> Section:
    """Return Figure 1."""
    names, means = list(SPANS), list(SPANS.values())
    drawing = spans_panel(means, names, name="figure-1", title="Two clusters whose ranges overlap")
    return Section(
        "figure-1",
        "Figure 1: clusters and their spans",
        lead="The mean of an arm may lie in the range of another cluster.",
        text=("The paper gives no numbers for this figure; these means are an example.",),
        pictures=(drawing,),
    )


def figure_section(paper: PaperResults, figure: Figure) -> Section:
    """Return the section of a figure, with one part per width vector."""
    settings = [one for one in paper.simulated if one.figure == figure]
    heading = f"Figure {figure.number}: {figure.shows}"
    if len(settings) == 1:
        return _setting_section(paper, settings[0], heading)
    together = _all_widths(paper, settings)
    drawing = regret_panel(
        together,
        name=f"figure-{figure.number}",
        scale="log",
        title="Regret for all width vectors",
        top=_top(together),
    )
    parts = tuple(_setting_section(paper, one, f"Widths {list(one.widths)}") for one in settings)
    return Section(f"figure-{figure.number}", heading, pictures=(drawing,), parts=parts)


def _all_widths(paper: PaperResults, settings: Sequence[Setting]) -> Result:
    """Return KL-UCB, and Clus-UCB with each width vector of a figure."""
    experiments = {BASE: paper.programme.figure(settings[0].figure, settings[0].widths)[BASE]}
    for one in settings:
        experiments[f"{OURS} {one.vector}"] = paper.programme.figure(one.figure, one.widths)[OURS]
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
    """Return the end of the axis of regret at which the lower curves stay legible; None to show all."""
    finals = [float(result.mean(label)[-1]) for label in result.labels]
    cap = _HIGHEST * float(result.mean(BASE)[-1])
    return cap if max(finals) > cap else None


def beyond_section(paper: PaperResults) -> Section:
    """Return the long simulations of all settings, with all policies that can skip ahead."""
    settings, results = paper.simulated, [far_results(paper, one) for one in paper.simulated]
    parts = tuple(_beyond_part(one, *pair) for one, pair in zip(settings, results, strict=True))
    certified = [one for one, _ in results]
    return Section(
        "beyond",
        f"Beyond: {round_text(paper.settings.far_horizon)} rounds",
        lead="Growth of regret at a long horizon for all policies that can skip ahead, with default settings",
        text=(
            "Policies without certificates skip fewer rounds per step and have a third of the runs. OSSB "
            "cannot skip rounds if a width is 0 and is omitted there.",
        ),
        pictures=(rate_picture(settings, certified),),
        tables=(rate_overview(settings, certified),),
        parts=parts,
    )


def _beyond_part(setting: Setting, certified: Result, others: Result) -> Section:
    key = setting.key.replace("figure", "beyond")
    top = _HIGHEST * float(certified.mean(BASE)[-1])
    drawn: dict[str, Any] = {"scale": "log", "anchor": certified.horizon / 100}
    pictures = (
        regret_panel(
            certified,
            setting.bound,
            name=key,
            title=f"{setting.name}, policies with certificates",
            top=top,
            **drawn,
        ),
        regret_panel(others, name=f"{key}-others", title=f"{setting.name}, other policies", top=top, **drawn),
    )
    return Section(
        key,
        setting.name,
        lead=meets_sentence(certified, setting.bound),
        pictures=pictures,
        tables=(rate_table(certified, setting.bound), rate_table(others, setting.bound)),
    )
