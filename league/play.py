"""Simulate missing and outdated cells one by one, each on all cores."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterbandits import simulate
from clusterbandits.policies.policy import DEFAULT
from clusterbandits.wording import duration
from league.cells import Cell, Settings, cell_key, has_cell, summarise
from league.results import Results, save

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterbandits import Result
    from league.problems import Problem

#: All runs are simulated if one takes at most QUICK seconds, and always for the default policy, which the
#: league evaluates. Other cells have as many runs as fit into BUDGET seconds on one core, and at least
#: FEWEST_RUNS.
QUICK, BUDGET, FEWEST_RUNS = 1.0, 40.0, 10
#: The number of runs if one takes SLOW seconds or more.
SLOW, SLOWEST_RUNS = 30.0, 2
#: A run is first timed over 1/_SHARE of its rounds, and over all rounds if that takes at most _SHORT seconds.
_SHARE, _SHORT = 20, 1.0


def affordable_runs(wanted: int, seconds: float) -> int:
    """Return the number of runs to simulate, given the seconds per run: fewer than ``wanted`` if slow.

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
    """Time one run of a policy on a problem, then simulate the affordable number of runs."""
    _play(problem, policy, replace(settings, horizon=min(100, settings.horizon)), runs=1)  # compiles
    short = replace(settings, horizon=settings.horizon // _SHARE or 1)
    seconds = _SHARE * _seconds(problem, policy, short)
    if seconds > _SHARE * _SHORT:  # timed again, in case something else delayed it
        seconds = min(seconds, _SHARE * _seconds(problem, policy, short))
    if seconds <= _SHARE * _SHORT:
        seconds = _seconds(problem, policy, settings)
    runs = settings.runs if policy == DEFAULT else affordable_runs(settings.runs, seconds)
    result = _play(problem, policy, settings, runs)
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
        start=problem.start,
    )


def play_league(
    results: Results,
    problems: Sequence[Problem],
    policies: Sequence[str],
    path: Path,
    say: Callable[[str], None],
) -> Results:
    """Return results with exactly the cells of these problems and policies; they are saved after each cell.

    Parameters
    ----------
    results
        Settings and versions, and cells of earlier leagues.
    problems, policies
        Problems and policies to simulate.
    path
        File of results; an interruption loses at most one cell.
    say
        Function that receives a message after each cell.
    """
    keys = {
        (problem.name, policy): cell_key(problem, policy, results.settings, dict(results.versions))
        for problem in problems
        for policy in policies
        if has_cell(problem, policy)
    }
    known = {cell.key: cell for cell in results.cells.values()}
    missing = len(set(keys.values()) - known.keys())
    say(f"{len(keys)} cells, {missing} to simulate")
    cells, count, start = dict(results.cells), 0, time.monotonic()
    named = {problem.name: problem for problem in problems}
    for pair, key in keys.items():
        problem, policy = named[pair[0]], pair[1]
        if key not in known:
            known[key] = cell = play_cell(problem, policy, key, results.settings)
            cells[pair], count = cell, count + 1
            save(replace(results, cells=cells), path)
            found = f"regret {cell.mean:.4g}, {cell.runs} runs of {cell.seconds:g} s"
            left = (time.monotonic() - start) / count * (missing - count)
            ending = f"; about {duration(left)} left" if left else ""
            say(f"[{count}/{missing}] {problem.name}, {policy}: {found}{ending}")
        cells[pair] = replace(known[key], problem=problem.name)
    played = replace(results, cells={pair: cells[pair] for pair in keys})
    save(played, path)
    return played
