"""All cells of the league as a tidy CSV file, one row per problem and policy."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from league.overview import Board
    from league.standings import Standing

COLUMNS = (
    "problem",
    "kind",
    "policy",
    "runs",
    "mean",
    "standard_error",
    "median",
    "percentile_95",
    "max",
    "rank",
    "ratio",
    "tail_ratio",
    "mark",
    "alarms",
    "seconds",
)


def csv_of(board: Board) -> str:
    """Return the text of the file: problems in order, policies by rank.

    The standard error of a single run is empty.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for problem in board.problems:
        for one in board.standings[problem.name]:
            writer.writerow([problem.name, problem.kind, *_values(one)])
    return text.getvalue()


def _values(one: Standing) -> list[object]:
    cell = one.cell
    error = "" if cell.standard_error is None else cell.standard_error
    regret = [cell.mean, error, cell.median, cell.high, cell.max]
    ratios = [f"{one.ratio:.6g}", f"{one.tail_ratio:.6g}"]
    return [cell.policy, cell.runs, *regret, one.rank, *ratios, one.mark, cell.alarms, cell.seconds]
