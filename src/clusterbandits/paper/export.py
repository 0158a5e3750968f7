"""Files of the report: the page, all curves as one table, and the audit as Markdown and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from clusterbandits.paper.summary import overview
from clusterbandits.report.page import write_folder
from clusterbandits.report.regret_panel import regret_view
from clusterbandits.serial import to_json
from clusterbandits.tables import Markdown, Table, markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from clusterbandits.paper.audit.claim import Entry
    from clusterbandits.paper.figures import Setting
    from clusterbandits.paper.results import PaperResults
    from clusterbandits.report.page import Page
    from clusterbandits.simulation.results import Result


def write_report(page: Page, paper: PaperResults, entries: Sequence[Entry], folder: Path) -> None:
    """Write index.html, pictures, tables and the audit into a folder."""
    figures = [(one, paper.figure(one)) for one in paper.simulated]
    frames = {"curves": curve_frame(figures), "pulls": pull_frame(figures)} if figures else {}
    audit = [entry.to_dict() for entry in entries]
    texts = {
        "audit.json": to_json({"command": paper.settings.command(), "audit": audit}, indent=2) + "\n",
        "audit.md": audit_markdown(entries, paper),
    }
    write_folder(page, frames, texts, folder)


def audit_markdown(entries: Sequence[Entry], paper: PaperResults) -> str:
    """Return the table of regrets, a table of all verdicts, and a section for each claim."""
    chosen = paper.simulated
    regrets = [overview(chosen, [paper.figure(one) for one in chosen])] if chosen else []
    summary = Table(
        ("claim", "where", "verdict"),
        tuple((Markdown(f"[{e.claim.says}](#{e.claim.key})"), e.claim.where, _strong(e)) for e in entries),
    )
    parts = [
        "# The audit: all checkable claims of the paper",
        f"Made by `{paper.settings.command()}`, which writes it to `report/audit.md`. Every verdict is "
        "computed from the results of that run. A claim is *inconclusive* where the statistical error is too "
        "large for a verdict. Claims about several cases are tested with 95 % confidence for all cases "
        "together.",
        *(f"{table.title}:\n\n{markdown_table(table)}\n\n{' '.join(table.notes)}" for table in regrets),
        markdown_table(summary),
        *map(_entry, entries),
    ]
    return "\n\n".join(parts) + "\n"


def _entry(entry: Entry) -> str:
    claim, finding = entry.claim, entry.finding
    parts = [
        f'<a id="{claim.key}"></a>',
        f"### {claim.says}",
        f"{claim.where}. Verdict: {_strong(entry)}.",
        f"*Measured.* {finding.measured}",
        *([markdown_table(finding.details)] if finding.details is not None else []),
        f"*Test.* {claim.test}",
    ]
    return "\n\n".join(parts)


def _strong(entry: Entry) -> Markdown:
    return Markdown(f"**{entry.finding.verdict}**")


def curve_frame(figures: Iterable[tuple[Setting, Result]]) -> pd.DataFrame:
    """Return the regret of each policy at each checkpoint: mean, standard error, and ends of the band."""
    return pd.concat(
        [
            _named(
                setting,
                curve.label,
                {
                    "round": result.checkpoints,
                    "regret": curve.mean,
                    "standard_error": result.standard_error(curve.label),
                    "low": curve.low,
                    "high": curve.high,
                },
            )
            for setting, result in figures
            for curve in regret_view(result).policies
        ],
        ignore_index=True,
    )


def pull_frame(figures: Iterable[tuple[Setting, Result]]) -> pd.DataFrame:
    """Return the mean pulls of each arm at the horizon, beside the predicted numbers of pulls."""
    return pd.concat(
        [
            _named(
                setting,
                label,
                {
                    "cluster": np.array(result.instance.partition.membership),
                    "mean": result.instance.means,
                    "pulls": result.pulls[place, :, -1].mean(axis=0),
                    "predicted_clus_ucb": _clus_ucb(setting) * np.log(result.horizon),
                    "predicted_classical": _classical(setting) * np.log(result.horizon),
                },
            )
            for setting, result in figures
            for place, label in enumerate(result.labels)
        ],
        ignore_index=True,
    )


def _named(setting: Setting, policy: str, columns: dict[str, Any]) -> pd.DataFrame:
    widths = " ".join(f"{width:g}" for width in setting.widths)
    return pd.DataFrame({"figure": setting.figure.number, "widths": widths, "policy": policy, **columns})


def _clus_ucb(setting: Setting) -> NDArray[np.float64]:
    """Return Clus-UCB's pulls per log n; NaN if the best cluster's width is too small: no theorem applies."""
    rates = setting.bound.clus_ucb_allocation
    return np.full_like(rates, np.nan) if setting.bound.misled else rates


def _classical(setting: Setting) -> NDArray[np.float64]:
    return np.concatenate([part.classical_allocation for part in setting.bound.clusters])
