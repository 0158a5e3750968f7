"""``python -m gallery``: play the gallery's studies, ask for advice on their tables, write docs/gallery."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.files import whole_file
from clusterbandits.report.regret_panel import regret_panel
from clusterbandits.simulation.joined import joined
from clusterbandits.simulation.trial import load_result
from clusterbandits.studies.advice.advice import advise
from clusterbandits.studies.advice.picture import arms_picture
from clusterbandits.studies.study.games import case_games
from clusterbandits.studies.study.run import StudyReport, run_study
from clusterbandits.studies.study.study import read_study
from clusterbandits.studies.tables import table_file, table_history
from gallery.page import Findings, overview_text, page_text

if TYPE_CHECKING:
    from clusterbandits.report.picture import Picture

ROOT = Path(__file__).parents[1]
NAMES = ("flights-by-origin", "flights-by-destination", "admissions")
#: Runs are kept here, so that a second call only writes.
KEPT = ROOT / ".gallery"


def main(docs: Path = ROOT / "docs" / "gallery", kept: Path = KEPT) -> int:
    """Make every page and the one that lists them."""
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
    _write(docs / "README.md", overview_text(found))
    print(f"Written: {docs.relative_to(ROOT) if docs.is_relative_to(ROOT) else docs}")
    return 0


def _curves(report: StudyReport, name: str) -> Picture:
    """Return regret over rounds of the policies that were told the true spans."""
    games = case_games(report.study, report.study.cases[0])
    result = joined({game.label: load_result(report.folder / "runs" / game.folder) for game in games})
    return regret_panel(result, name=name, title=f"{report.study.title}: regret")


def _write(path: Path, text: str) -> None:
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
