"""The standings of policies on one problem: ranks, ratios to the best, and significance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from league.cells import Cell

LEVEL = 0.05

Mark = Literal["best", "close", "worse"]


@dataclass(frozen=True)
class Standing:
    """The standing of one policy on one problem, relative to the best one."""

    cell: Cell
    #: 1 for the smallest mean regret; ties share the better rank.
    rank: int
    #: The ratio of the mean regret to the smallest one.
    ratio: float
    #: The ratio of the 95th percentile to the smallest one.
    tail_ratio: float
    #: ``"close"`` if it is not significantly worse than the best.
    mark: Mark


def standings(cells: Sequence[Cell]) -> tuple[Standing, ...]:
    """Return the standings of policies on one problem, the best first.

    Parameters
    ----------
    cells
        Cells of that problem.
    """
    ordered = sorted(cells, key=lambda cell: cell.mean)
    best, rivals = ordered[0], ordered[1:]
    worse = holm([worse_than(rival, best) for rival in rivals])
    marks: list[Mark] = ["best", *("worse" if rejected else "close" for rejected in worse)]
    least_tail = min(cell.high for cell in cells)
    means = [cell.mean for cell in ordered]
    return tuple(
        Standing(
            cell=cell,
            rank=1 + means.index(cell.mean),
            ratio=_over(cell.mean, best.mean),
            tail_ratio=_over(cell.high, least_tail),
            mark=mark,
        )
        for cell, mark in zip(ordered, marks, strict=True)
    )


def worse_than(rival: Cell, best: Cell) -> float:
    """Return the p-value of "the rival has no more regret than the best" by Welch's one-sided test.

    It is 1 if one of them has a single run, since its variance is unknown. If all runs are equal, the means
    decide.
    """
    if rival.standard_error is None or best.standard_error is None:
        return 1.0
    if rival.standard_error == best.standard_error == 0:
        return 0.0 if rival.mean > best.mean else 1.0
    found = stats.ttest_ind_from_stats(
        *_moments(rival), *_moments(best), equal_var=False, alternative="greater"
    )
    return float(found.pvalue)


def _moments(cell: Cell) -> tuple[float, float, int]:
    return cell.mean, (cell.standard_error or 0.0) * math.sqrt(cell.runs), cell.runs


def holm(values: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Return which hypotheses Holm's procedure rejects at a family-wise error rate of ``level``.

    Examples
    --------
    >>> holm([0.011, 0.04, 0.03, 0.005])
    [True, False, False, True]
    """
    rejected = [False] * len(values)
    for done, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        if values[place] > level / (len(values) - done):
            break
        rejected[place] = True
    return rejected


def _over(value: float, least: float) -> float:
    if least > 0:
        return value / least
    return 1.0 if value == least else math.inf
