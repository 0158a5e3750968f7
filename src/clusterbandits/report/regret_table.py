"""Tables of final regret: each policy, and its difference from a reference policy per run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.simulation.statistics import count_text, difference, plus_minus
from clusterbandits.tables import Table

if TYPE_CHECKING:
    from clusterbandits.simulation.results import Result


def regret_records(result: Result, base: str) -> list[dict[str, Any]]:
    """Return one row of plain data per policy: final regret, and the paired difference from ``base``.

    Examples
    --------
    >>> from clusterbandits import Instance, simulate
    >>> result = simulate(Instance([[0.2, 0.7], [0.4]]), ["kl-ucb", "clus-ucb"], 100, runs=8)
    >>> [sorted(row)[:2] for row in regret_records(result, "kl-ucb")][0]
    ['alarms', 'best_arm_share']
    """
    reference = result.regret(base)[:, -1]
    best = result.pulls[:, :, -1, result.instance.gaps == 0].sum(axis=2) / result.horizon
    rows = []
    for place, label in enumerate(result.labels):
        final = result.regret(label)[:, -1]
        mean, apart = difference(final), difference(final - reference)
        rows.append(
            {
                "policy": label,
                "regret": mean.value,
                "standard_error": mean.error,
                "difference": apart.value,
                "difference_error": apart.error,
                "median": float(np.median(final)),
                "worst_run": float(final.max()),
                "best_arm_share": float(best[place].mean()),
                "alarms": float((result.alarm_rounds[place] > 0).any(axis=1).mean()),
                "runs": len(final),
            }
        )
    return rows


def regret_table(result: Result, base: str) -> Table:
    """Return a table of final regrets."""
    rows = tuple(
        (
            row["policy"],
            plus_minus(row["regret"], row["standard_error"]),
            "" if row["policy"] == base else plus_minus(row["difference"], row["difference_error"]),
            row["worst_run"],
            100 * row["best_arm_share"],
        )
        for row in regret_records(result, base)
    )
    how = "difference per run on the same rewards" if result.paired else "difference per run"
    return Table(
        ("policy", "regret", f"minus {base}", "worst run", "best arm %"),
        rows,
        title=f"Regret after {count_text(result.horizon, 'round')}, {count_text(len(result.runs), 'run')}",
        notes=(f"±: standard error. minus {base}: {how}. best arm %: share of pulls of the best arm.",),
    )
