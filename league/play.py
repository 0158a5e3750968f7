"""Playing the cells that are missing or out of date, one after the other, each on all cores."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterbandits import simulate
from league.cells import Cell, Settings, cell_key, summarise
from league.results import Results, save

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterbandits import Result
    from league.problems import Problem

#: The seconds a run may take for all runs to be played; for slower ones, those that a cell may take on one
#: core, as long as it has so many runs.
QUICK, BUDGET, FEWEST_RUNS = 1.0, 40.0, 10
#: The seconds from which on a run is so slow that only so many are played.
SLOW, SLOWEST_RUNS = 30.0, 2
#: A run is timed over this share of its rounds first, and over all of them where that is quick.
_SHARE, _SHORT = 20, 1.0


def affordable_runs(wanted: int, seconds: float) -> int:
    """Return how many runs to play where one takes so many seconds: fewer than wanted for slow ones.

    Examples
    --------
    >>> affordable_runs(100, 1.0), affordable_runs(100, 2.0), affordable_runs(100, 20.0)
    (100, 20, 10)
    """
    if seconds <= QUICK:
        return wanted
    fewest = FEWEST_RUNS if seconds < SLOW else SLOWEST_RUNS
    return min(wanted, max(fewest, math.floor(BUDGET / seconds)))


def play_cell(problem: Problem, policy: str, key: str, settings: Settings) -> Cell:
    """Time one run of a policy on a problem, then play all it can afford."""
    _play(problem, policy, replace(settings, horizon=min(100, settings.horizon)), runs=1)  # compiles
    seconds = _SHARE * _seconds(problem, policy, replace(settings, horizon=settings.horizon // _SHARE or 1))
    if seconds <= _SHARE * _SHORT:
        seconds = _seconds(problem, policy, settings)
    result = _play(problem, policy, settings, affordable_runs(settings.runs, seconds))
    alarms = int(result.alarms(0).any(axis=1).sum())
    return summarise((problem.name, policy), key, result.regret(0)[:, -1], seconds, alarms)


def _seconds(problem: Problem, policy: str, settings: Settings) -> float:
    start = time.perf_counter()
    _play(problem, policy, settings, runs=1)
    return time.perf_counter() - start


def _play(problem: Problem, policy: str, settings: Settings, runs: int) -> Result:
    horizon = settings.horizon
    return simulate(
        problem.instance,
        policy,
        horizon,
        runs,
        settings.seed,
        clusters=problem.clusters,
        checkpoints=[horizon],
    )


def play_league(
    results: Results,
    problems: Sequence[Problem],
    policies: Sequence[str],
    path: Path,
    say: Callable[[str], None],
) -> Results:
    """Return results with a cell for every problem and policy, and no others; kept in the file as they come.

    Parameters
    ----------
    results
        Settings and versions to play with, and cells of earlier leagues.
    problems, policies
        Who plays whom.
    path
        The file; an interruption loses no more than one cell.
    say
        Told about every cell that is played.
    """
    keys = {
        (problem.name, policy): cell_key(problem, policy, results.settings, dict(results.versions))
        for problem in problems
        for policy in policies
    }
    known = {cell.key: cell for cell in results.cells.values()}
    missing = len(set(keys.values()) - known.keys())
    say(f"{len(keys)} cells, {missing} to play")
    cells, count = dict(results.cells), 0
    for problem, policy in itertools.product(problems, policies):
        pair = problem.name, policy
        key = keys[pair]
        if key not in known:
            known[key] = cell = play_cell(problem, policy, key, results.settings)
            cells[pair], count = cell, count + 1
            save(replace(results, cells=cells), path)
            found = f"regret {cell.mean:.4g}, {cell.runs} runs of {cell.seconds:g} s"
            say(f"[{count}/{missing}] {problem.name}, {policy}: {found}")
        cells[pair] = replace(known[key], problem=problem.name)
    played = replace(results, cells={pair: cells[pair] for pair in keys})
    save(played, path)
    return played
