"""``python -m gallery``: run the studies of the gallery, get advice on their tables, write docs/gallery."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.files import whole_file
from clusterbandits.report.regret_panel import regret_panel
from clusterbandits.simulation.results import joined
from clusterbandits.simulation.simulate import load_result
from clusterbandits.studies.advice_files import arms_picture
from clusterbandits.studies.advise import advise
from clusterbandits.studies.history import table_file, table_history
from clusterbandits.studies.run_study import run_study
from clusterbandits.studies.study_file import read_study
from clusterbandits.studies.study_runs import contenders
from gallery.page import Findings, overview_text, page_text

if TYPE_CHECKING:
    from clusterbandits.report.picture import Picture
    from clusterbandits.studies.study_report import StudyReport

ROOT = Path(__file__).parents[1]
NAMES = ("flights-by-origin", "flights-by-destination", "admissions")
#: The folder for runs, so that a second call only writes pages.
KEPT = ROOT / ".gallery"


def main(docs: Path = ROOT / "docs" / "gallery", kept: Path = KEPT) -> int:
    """Write all pages and their index."""
    found = []
    for name in NAMES:
        print(f"{name} …", file=sys.stderr, flush=True)
        study = read_study(docs / f"{name}.toml")
        report = run_study(study, kept / name)
        advice = advise(table_history(name), horizon=study.horizon, seed=study.seed)
        pictures = arms_picture(advice, f"{name}-arms"), _curves(report, f"{name}-regret")
        words = [picture.alt for picture in pictures]
        found.append(Findings(name, table_file(name), report, advice, *words))
        for picture in pictures:
            _write(docs / f"{picture.name}.svg", picture.svg)
        _write(docs / f"{name}.md", page_text(found[-1]))
    _write(docs / "index.md", overview_text(found))
    print(f"Written: {docs.relative_to(ROOT) if docs.is_relative_to(ROOT) else docs}")
    return 0


def _curves(report: StudyReport, name: str) -> Picture:
    """Return the regret curves of the policies that were given the true spans."""
    found = contenders(report.study, report.study.cases[0])
    result = joined({one.label: load_result(report.folder / "runs" / one.folder) for one in found})
    return regret_panel(result, name=name, title=f"{report.study.title}: regret")


def _write(path: Path, text: str) -> None:
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
