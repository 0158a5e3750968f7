"""A study from beginning to end: play, sum up, draw, write."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.files import claimed_folder
from clusterbandits.report.page import Page, Section, write_folder
from clusterbandits.serial import to_json
from clusterbandits.simulation.statistics import count_text
from clusterbandits.simulation.warm import compiled_aside, kinds_of
from clusterbandits.studies.study.games import case_games
from clusterbandits.studies.study.play import StudyPlay
from clusterbandits.studies.study.report import StudyReport
from clusterbandits.studies.study.sections import case_section, family_section
from clusterbandits.studies.study.study import Study, read_study
from clusterbandits.studies.study.summary import CaseSummary, drawn_families, overview_table, summarise
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from clusterbandits.studies.study.play import StudyListener

__all__ = ["COPY", "MARK", "StudyReport", "run_study"]

#: The study itself, word by word, in the folder of its report.
COPY = "study.toml"
#: Tells the folder of a study from others, of which nothing may be written over or removed.
MARK = "_study.json"
_MARKED = '{"format":"clusterbandits study 1"}\n'
#: Problems that get pictures of their own.
_MOST_SECTIONS = 24
_BANDS = "Bands and ± hold what chance leaves open in the mean of all runs."
_BOUNDS = (
    "Lines of bounds have the right slope per log n and begin on the curve they belong to: bounds say how "
    "fast regret grows, not how large it is."
)


def run_study(
    study: Study | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    listener: StudyListener | None = None,
) -> StudyReport:
    """Play a study and write its report.

    Parameters
    ----------
    study
        A study, or the path of its file.
    out
        The folder of the report, by default one with the study's name. Runs that it has from an earlier call
        are not played again, those of another version of the study included.
    workers
        Threads; by default one for every core. No bit depends on it.
    executor
        Any ``concurrent.futures.Executor`` to play in instead.
    listener
        Called now and then with a ``StudyProgress``.
    """
    chosen = study if isinstance(study, Study) else read_study(study)
    folder = Path(chosen.name if out is None else out)
    play = StudyPlay(chosen, folder, workers, executor)
    _claim(folder)
    order = {case.name: place for place, case in enumerate(chosen.cases)}
    pictured = [case.name for case in chosen.cases if not case.drawn][:_MOST_SECTIONS]
    summaries: dict[str, CaseSummary] = {}
    sections: dict[str, Section] = {}
    kinds = _kinds(chosen) if executor is None else []
    # Closed, so that nobody plays on for a report that an error or Ctrl-C has ended.
    with compiled_aside(kinds), contextlib.closing(play.finished(listener)) as problems:
        for finished in problems:
            name = finished.case.name
            summaries[name] = summarise(finished)
            if name in pictured:
                sections[name] = case_section(order[name], finished, summaries[name])
    ordered = tuple(summaries[case.name] for case in chosen.cases)
    report = StudyReport(chosen, folder, ordered, play.runs, play.stored)
    _write(report, [sections[name] for name in pictured])
    return report


def _kinds(study: Study) -> list[str]:
    """Return one policy of every kind that is compiled by itself."""
    games = case_games(study, study.cases[0])
    return kinds_of([game.plan.policies[0] for game in games], study.horizon)


def _claim(folder: Path) -> None:
    """Take a folder for a report: a new or empty one, or one of a study."""
    names = claimed_folder(folder, MARK, _MARKED)
    if names and not _is_marked(folder / MARK):
        allowed = f"an empty or new folder, or one of a study, not one with '{names[0]}'"
        raise invalid("out", "run", allowed, str(folder))


def _is_marked(path: Path) -> bool:
    try:
        return path.read_text(encoding="utf-8") == _MARKED
    except (OSError, ValueError):
        return False


def _conditions(report: StudyReport) -> str:
    """Return what was played, in a sentence."""
    study = report.study
    many = [
        count_text(len(study.cases), "instance"),
        "1 policy" if len(study.entrants) == 1 else f"{len(study.entrants)} policies",
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
    # Not where it is, nor what was stored before: a study that was interrupted ends with the same bytes.
    found = {key: value for key, value in report.to_dict().items() if key in {"title", "rows"}}
    texts = {COPY: study.text, "summary.json": to_json(found, indent=2) + "\n"}
    write_folder(page, frames, texts, report.folder)
