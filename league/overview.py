"""How policies stand over many problems: mean ranks, mean ratios and worst cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from league.standings import Standing, standings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from league.cells import Cell, Pair
    from league.problems import Fit, Problem


@dataclass(frozen=True)
class Overall:
    """One policy over some problems."""

    policy: str
    mean_rank: float
    #: The geometric mean of its ratios to the best.
    ratio: float
    #: Where its ratio to the best is the largest, and where that of its 95th percentile is.
    worst: Standing
    worst_tail: Standing


@dataclass(frozen=True)
class Board:
    """The standings of every problem."""

    problems: tuple[Problem, ...]
    standings: Mapping[str, tuple[Standing, ...]]

    @classmethod
    def of_cells(cls, problems: Sequence[Problem], cells: Mapping[Pair, Cell]) -> Board:
        """Return the board of the cells that belong to these problems."""
        of = {
            problem.name: [cell for (name, _), cell in cells.items() if name == problem.name]
            for problem in problems
        }
        return cls(tuple(problems), {name: standings(played) for name, played in of.items()})

    def with_fit(self, *fits: Fit) -> Board:
        """Return the part of the board whose widths fit in one of these ways."""
        kept = tuple(problem for problem in self.problems if problem.fit in fits)
        return Board(kept, {problem.name: self.standings[problem.name] for problem in kept})

    def of_policy(self, policy: str) -> list[Standing]:
        """Return how one policy stands on every problem."""
        return [
            one
            for problem in self.problems
            for one in self.standings[problem.name]
            if one.cell.policy == policy
        ]

    def overview(self) -> tuple[Overall, ...]:
        """Return every policy over all problems of the board, the least geometric mean of ratios first."""
        names = [one.cell.policy for one in next(iter(self.standings.values()), ())]
        rows = [_overall(name, self.of_policy(name)) for name in names]
        return tuple(sorted(rows, key=lambda row: (row.ratio, row.mean_rank, row.policy)))


def _overall(policy: str, played: Sequence[Standing]) -> Overall:
    return Overall(
        policy=policy,
        mean_rank=sum(one.rank for one in played) / len(played),
        ratio=geometric_mean(one.ratio for one in played),
        worst=max(played, key=lambda one: one.ratio),
        worst_tail=max(played, key=lambda one: one.tail_ratio),
    )


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers, infinity among them.

    Examples
    --------
    >>> round(geometric_mean([1, 2, 4]), 12)
    2.0
    """
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))
