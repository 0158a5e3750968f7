"""A study from beginning to end: simulate, summarise, draw, write."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.files import claimed_folder
from clusterbandits.report.page import Page, Section, write_folder
from clusterbandits.serial import to_json
from clusterbandits.simulation.precompile import precompiled
from clusterbandits.simulation.statistics import count_text
from clusterbandits.studies.study_file import Study, read_study
from clusterbandits.studies.study_report import StudyReport, case_section, family_section
from clusterbandits.studies.study_runs import StudyCampaign, contenders
from clusterbandits.studies.study_summary import CaseSummary, drawn_families, overview_table, summarise
from clusterbandits.validate import invalid, shown

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from clusterbandits.simulation.campaign import Listener

#: The verbatim copy of the study in the folder of its report.
COPY = "study.toml"
#: Marks the folder of a study: the files of any other folder must not be overwritten or removed.
MARK = "_study.json"
_MARKED = '{"format":"clusterbandits study 1"}\n'
#: The largest number of problems with their own pictures.
_MOST_SECTIONS = 24
_BANDS = "Bands and ± show the statistical error of the mean over all runs."
_BOUNDS = (
    "Lines of bounds start on the curve of their policy and have the slope of the bound: a bound states how "
    "fast regret grows with log n, not how large it is."
)


def run_study(
    study: Study | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    listener: Listener | None = None,
) -> StudyReport:
    """Run a study and write its report.

    Parameters
    ----------
    study
        Study, or the path of its file.
    out
        Folder of the report, by default named after the study. Finished runs in it are reused, even if the
        study was edited since.
    workers
        Number of threads, by default one per core. The result does not depend on it.
    executor
        ``concurrent.futures.Executor`` to use instead of threads; by default none.
    listener
        Called several times per second with a ``Progress``.
    """
    chosen = study if isinstance(study, Study) else read_study(study)
    folder = Path(chosen.name if out is None else out)
    campaign = StudyCampaign(chosen, folder, workers, executor, listener)
    _claim(folder)
    order = {case.name: place for place, case in enumerate(chosen.cases)}
    pictured = [case.name for case in chosen.cases if not case.drawn][:_MOST_SECTIONS]
    summaries: dict[str, CaseSummary] = {}
    sections: dict[str, Section] = {}
    first = contenders(chosen, chosen.cases[0]) if executor is None else []
    learners = [one.plan.policies[0] for one in first]
    # Closed, so that no simulation continues after an error or Ctrl-C.
    with precompiled(learners, chosen.horizon), contextlib.closing(campaign.finished()) as comparisons:
        for comparison in comparisons:
            name = comparison.case.name
            summaries[name] = summarise(comparison)
            if name in pictured:
                sections[name] = case_section(order[name], comparison, summaries[name])
    ordered = tuple(summaries[case.name] for case in chosen.cases)
    report = StudyReport(chosen, folder, ordered, campaign.runs, campaign.reused)
    _write(report, [sections[name] for name in pictured])
    return report


def _claim(folder: Path) -> None:
    """Reserve a folder for a report: it must be new, empty, or the folder of a study."""
    names = claimed_folder(folder, MARK, _MARKED)
    if names and not _is_marked(folder / MARK):
        allowed = "a new or empty folder, or the folder of a study"
        raise invalid("out", "run", allowed, str(folder), f"It has other files, such as {shown(names[0])}.")


def _is_marked(path: Path) -> bool:
    try:
        return path.read_text(encoding="utf-8") == _MARKED
    except (OSError, ValueError):
        return False


def _conditions(report: StudyReport) -> str:
    """Return the conditions of all simulations, in a sentence."""
    study = report.study
    many = [
        count_text(len(study.cases), "instance"),
        count_text(len(study.policies), "policy", "policies"),
        f"{count_text(study.runs, 'run')} of {count_text(study.horizon, 'round')} each",
    ]
    return f"{', '.join(many)}; seed {study.seed}."


def _write(report: StudyReport, sections: Sequence[Section]) -> None:
    study, summaries = report.study, report.summaries
    families = drawn_families(summaries)
    drawn = [family_section(place, name, family) for place, (name, family) in enumerate(families.items())]
    alone = [one for one in summaries if not one.drawn]
    tables = (overview_table(study, summaries),) if alone else ()
    text = [_conditions(report)]
    if sections:
        one_way = any(len(case.rules) == 1 for case in study.cases if not case.drawn)
        text.append(f"{_BANDS} {_BOUNDS}" if one_way else _BANDS)
    overview = Section("overview", "Overview", text=tuple(text), tables=tables)
    page = Page(
        title=study.title,
        lead=study.note,
        command=f"clusterbandits run {shlex.quote(f'{study.name}.toml')}",
        sections=(overview, *drawn, *sections),
    )
    frames = {"summary": report.frame(), "curves": report.curves()}
    # Without paths and counts of reused runs, so that an interrupted study ends with the same bytes.
    found = {key: value for key, value in report.to_dict().items() if key in {"title", "rows"}}
    texts = {COPY: study.text, "summary.json": to_json(found, indent=2) + "\n"}
    write_folder(page, frames, texts, report.folder)
