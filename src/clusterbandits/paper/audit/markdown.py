"""The audit as a Markdown page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.paper.summary import overview
from clusterbandits.tables import Markdown, Table, markdown_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.paper.audit.claim import Entry
    from clusterbandits.paper.evidence import Evidence


def audit_markdown(entries: Sequence[Entry], evidence: Evidence) -> str:
    """Return what was paid and every claim with its verdict, a summary first."""
    played = evidence.played
    paid = [overview(played, [evidence.figure(one) for one in played])] if played else []
    summary = Table(
        ("claim", "where", "verdict"),
        tuple((Markdown(f"[{e.claim.says}](#{e.claim.key})"), e.claim.where, _strong(e)) for e in entries),
    )
    parts = [
        "# The audit: every checkable claim of the paper",
        f"Made by `{evidence.settings.command()}`, which writes it to `report/audit.md`. Every verdict is "
        "computed from the data of that run; where the error of the data leaves a claim open, it says *not "
        "decided*. Claims about several cases must hold in all of them together with 95 % confidence.",
        *(f"{table.title}:\n\n{markdown_table(table)}\n\n{' '.join(table.notes)}" for table in paid),
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
