"""Cells from numbers, for boards without simulations."""

from __future__ import annotations

from collections.abc import Mapping

from league.cells import Cell
from league.overview import Board
from league.problems import problems


def cell(
    policy: str, mean: float, error: float | None = 1.0, problem: str = "figure 2", **others: float
) -> Cell:
    numbers = {
        "runs": 100,
        "median": mean,
        "high": 2 * mean,
        "max": 3 * mean,
        "seconds": 0.01,
        "alarms": 0,
    } | others
    return Cell(
        problem,
        policy,
        key="",
        runs=int(numbers["runs"]),
        mean=mean,
        standard_error=error,
        median=numbers["median"],
        high=numbers["high"],
        max=numbers["max"],
        seconds=numbers["seconds"],
        alarms=int(numbers["alarms"]),
    )


def cells(means: Mapping[str, Mapping[str, float]]) -> list[Cell]:
    """Make cells from mean regrets by problem and policy."""
    return [cell(one, mean, problem=name) for name, row in means.items() for one, mean in row.items()]


def board(*played: Cell) -> Board:
    names = {one.problem for one in played}
    return Board.of_cells(
        [problem for problem in problems() if problem.name in names], {one.pair: one for one in played}
    )
