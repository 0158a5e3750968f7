"""The parts of the report: what each figure shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterbandits.paper.beyond import far_results, meets_sentence, rate_overview, rate_table
from clusterbandits.paper.branches import branch_table
from clusterbandits.paper.figures import SPANS, Figure
from clusterbandits.paper.summary import BASE, OURS, conditions, figure_sentence, overview
from clusterbandits.report.page import Section
from clusterbandits.report.pulls_panel import pulls_panel
from clusterbandits.report.regret_panel import regret_panel
from clusterbandits.report.regret_table import regret_table
from clusterbandits.report.spans_panel import spans_panel
from clusterbandits.simulation.statistics import round_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.paper.branches import Setting
    from clusterbandits.paper.evidence import Evidence
    from clusterbandits.simulation.results import Result

#: Curves that end this many times higher than KL-UCB's leave the picture.
_HIGHEST = 3.0
_LEGEND = (
    "Bands and ± hold what chance leaves open in the mean of all runs. Lines of bounds have the right slope "
    "per log n and begin on the curve they belong to: bounds say how fast regret grows, not how large it is."
)


def overview_section(evidence: Evidence) -> Section:
    """Return what every policy paid in every figure."""
    results = [evidence.figure(one) for one in evidence.played]
    tables = (overview(evidence.played, results), branch_table(evidence.played))
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


def figure_section(evidence: Evidence, figure: Figure) -> Section:
    """Return a figure with every width vector it has."""
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


def beyond_section(evidence: Evidence) -> Section:
    """Return every figure at ten thousand times the horizon, with all policies that hold."""
    results = [far_results(evidence, one) for one in evidence.played]
    parts = tuple(_beyond_part(one, *pair) for one, pair in zip(evidence.played, results, strict=True))
    return Section(
        "beyond",
        f"Beyond: {round_text(evidence.settings.far_horizon)} rounds",
        lead="How fast regret grows where log n is large, for all policies of the registry that can prove "
        "their choices for many rounds at once; default settings.",
        text=(
            "Policies without certificates need many more holds and play a third of the runs. OSSB can prove "
            "nothing where a width is 0 and is left out there.",
        ),
        tables=(rate_overview(evidence.played, [certified for certified, _ in results]),),
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
