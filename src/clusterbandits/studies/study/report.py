"""What a study found, for people: as text, in a notebook, and as tables for other tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterbandits.simulation.statistics import count_text
from clusterbandits.studies.study.summary import (
    CaseSummary,
    case_sentence,
    curve_frame,
    drawn_families,
    family_sentence,
    family_table,
    overview_table,
    summary_frame,
)
from clusterbandits.tables import Table, html_paragraph, paragraph, plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd

    from clusterbandits.studies.study.study import Study


@dataclass(frozen=True, eq=False, repr=False)
class StudyReport:
    """What a study found, and how many of the runs behind it had been played before; prints as tables.

    Made by ``run_study``.
    """

    study: Study
    folder: Path
    summaries: tuple[CaseSummary, ...]
    runs: int
    stored: int

    @property
    def page(self) -> Path:
        """The report to open in a browser."""
        return self.folder / "index.html"

    def frame(self) -> pd.DataFrame:
        """Return a row for every policy on every problem, as in data/summary.csv."""
        return summary_frame(self.summaries)

    def curves(self) -> pd.DataFrame:
        """Return mean regret and its standard error at every checkpoint, as in data/curves.csv."""
        return curve_frame(self.summaries)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: every row of the summary."""
        return {
            "title": self.study.title,
            "report": str(self.page),
            "runs": {"all": self.runs, "stored": self.stored},
            "rows": [row for one in self.summaries for row in one.rows],
        }

    def __repr__(self) -> str:
        many = count_text(len(self.summaries), "instance")
        return f"<StudyReport: {plain(self.study.title)}, {many}, {count_text(self.runs, 'run')}>"

    def __str__(self) -> str:
        pages = [part.text() if isinstance(part, Table) else paragraph(part) for part in self._parts()]
        kept = f"{count_text(self.stored, 'run')} were stored already" if self.stored else "none was stored"
        played = f"Played {count_text(self.runs - self.stored, 'run')}; {kept}."
        return "\n\n".join([*pages, f"{played}\nThe report: {plain(str(self.page))}"])

    def _repr_html_(self) -> str:
        parts = [part.html() if isinstance(part, Table) else html_paragraph(part) for part in self._parts()]
        return "".join(parts)

    def _parts(self) -> Iterator[Table | str]:
        """Return tables and the sentences to take away from them."""
        alone = [one for one in self.summaries if not one.drawn]
        if alone:
            yield overview_table(self.study, self.summaries)
        if len(alone) == 1:
            yield case_sentence(alone[0])
        for name, family in drawn_families(self.summaries).items():
            yield family_table(name, family)
            yield family_sentence(family)
