"""Policies over many problems: mean ratios, worst cases, failures and time."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from league.standings import Standing, holm, standings, worse_than

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from league.cells import Cell, Pair
    from league.problems import Kind, Problem

#: A policy fails on a problem if its 95th percentile exceeds the smallest one by this factor.
FAILURE = 10.0


@dataclass(frozen=True)
class Overall:
    """The results of one policy on all problems with a cell."""

    policy: str
    #: The number of these problems.
    problems: int
    #: The geometric mean of its ratios to the best policy.
    ratio: float
    #: The problems with its largest ratio to the best, and with the largest ratio of its 95th percentile.
    worst: Standing
    worst_tail: Standing
    #: The number of problems on which it fails.
    failures: int
    #: The seconds per run: the median and the maximum over problems.
    seconds: float
    most_seconds: float


@dataclass(frozen=True)
class Board:
    """The standings of all problems with cells."""

    problems: tuple[Problem, ...]
    standings: Mapping[str, tuple[Standing, ...]]

    @classmethod
    def of_cells(cls, problems: Sequence[Problem], cells: Mapping[Pair, Cell]) -> Board:
        """Return the board of the cells of these problems."""
        of: dict[str, list[Cell]] = {}
        for (name, _), cell in cells.items():
            of.setdefault(name, []).append(cell)
        kept = tuple(problem for problem in problems if problem.name in of)
        return cls(kept, {problem.name: standings(of[problem.name]) for problem in kept})

    def of_kind(self, kind: Kind) -> Board:
        """Return the board restricted to problems of one kind."""
        kept = tuple(problem for problem in self.problems if problem.kind == kind)
        return Board(kept, {problem.name: self.standings[problem.name] for problem in kept})

    def of_policy(self, policy: str) -> dict[str, Standing]:
        """Return the standings of one policy by problem."""
        return {
            name: one for name, rows in self.standings.items() for one in rows if one.cell.policy == policy
        }

    def overview(self) -> tuple[Overall, ...]:
        """Return the results of all policies, sorted by the geometric mean of ratios.

        Policies without a cell on some problems come last, since their means are not comparable.
        """
        names = dict.fromkeys(one.cell.policy for rows in self.standings.values() for one in rows)
        rows = [_overall(name, list(self.of_policy(name).values())) for name in names]
        return tuple(sorted(rows, key=lambda row: (-row.problems, row.ratio, row.policy)))


@dataclass(frozen=True)
class Duel:
    """A comparison of two policies on the problems where both have a cell."""

    #: The problems with significantly less regret, and those with significantly more.
    less: tuple[str, ...]
    more: tuple[str, ...]
    problems: int
    #: The largest ratio of its mean regret to the other's, and its problem.
    worst: float
    worst_on: str


def duel(board: Board, policy: str, other: str) -> Duel | None:
    """Compare two policies by Welch's one-sided tests with Holm's correction over problems."""
    own, others = board.of_policy(policy), board.of_policy(other)
    names = [name for name in own if name in others]
    if not names:
        return None
    pairs = [(own[name].cell, others[name].cell) for name in names]
    less = holm([worse_than(rival, mine) for mine, rival in pairs])
    more = holm([worse_than(mine, rival) for mine, rival in pairs])
    ratios = [own[name].ratio / others[name].ratio for name in names]
    worst = max(ratios)
    return Duel(
        less=tuple(name for name, found in zip(names, less, strict=True) if found),
        more=tuple(name for name, found in zip(names, more, strict=True) if found),
        problems=len(names),
        worst=worst,
        worst_on=names[ratios.index(worst)],
    )


def comparable(rows: Sequence[Overall]) -> list[Overall]:
    """Return the policies of an overview that have a cell on as many problems as the first."""
    return [row for row in rows if row.problems == rows[0].problems]


def _overall(policy: str, found: Sequence[Standing]) -> Overall:
    seconds = [one.cell.seconds for one in found]
    return Overall(
        policy=policy,
        problems=len(found),
        ratio=geometric_mean(one.ratio for one in found),
        worst=max(found, key=lambda one: one.ratio),
        worst_tail=max(found, key=lambda one: one.tail_ratio),
        failures=sum(one.tail_ratio > FAILURE for one in found),
        seconds=statistics.median(seconds),
        most_seconds=max(seconds),
    )


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers, which may be infinite.

    Examples
    --------
    >>> round(geometric_mean([1, 2, 4]), 12)
    2.0
    """
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))
