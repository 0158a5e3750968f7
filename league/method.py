"""The method of a league, as blocks of Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.simulation.statistics import count_text
from league.markdown import items, wrapped
from league.play import FEWEST_RUNS, QUICK, SLOW, SLOWEST_RUNS
from league.problems import TRIALS

if TYPE_CHECKING:
    from league.overview import Board
    from league.problems import Problem
    from league.results import Results


def method(results: Results, board: Board, data: str) -> list[str]:
    """Return how cells were simulated, what the problems are, and how to repeat the league."""
    return [
        wrapped(f"{_cells(results, board)} {_versions(results)}"),
        f"```console\n{results.command}\n```",
        wrapped(_AGAIN),
        wrapped(f"The problems; [{data}]({data}) has all results on each:"),
        items(_sources(board)),
    ]


_AGAIN = (
    "Finished results are kept, so after an interruption the same command continues. `python -m league --out "
    "DIR` with `--policies`, `--problems`, `--runs` or `--horizon` runs a part of the league and writes its "
    "page into a folder."
)


def _cells(results: Results, board: Board) -> str:
    settings = results.settings
    runs = [one.cell.runs for rows in board.standings.values() for one in rows]
    fewer = sum(count < settings.runs for count in runs)
    slow = (
        f" There are fewer runs in {fewer} of {len(runs)} results, where one run takes over {QUICK:g} "
        f"second and the policy is not the default: at least {FEWEST_RUNS}, and {SLOWEST_RUNS} where it "
        f"takes over {SLOW:g} seconds. Their 95th percentiles are rough."
        if fewer
        else ""
    )
    many, rounds = count_text(settings.runs, "run"), f"{settings.horizon:,} rounds"
    return (
        f"Every policy was simulated on every problem in {many} of {rounds}, with seed {settings.seed} and "
        f"the default settings of the policy.{slow}"
    )


def _versions(results: Results) -> str:
    found = results.versions
    return (
        f"Made with clusterbandits {found['clusterbandits']}, NumPy {found['numpy']} and Numba "
        f"{found['numba']} by:"
    )


def _sources(board: Board) -> list[str]:
    """Return descriptions of the problems, one sentence per source."""
    cold = [problem for problem in board.problems if problem.start is None]
    figures = [problem for problem in cold if _source(problem).startswith("figure")]
    others = {_source(problem): problem.shows for problem in cold if problem not in figures}
    found = [f"*{name}*: {shows}." for name, shows in others.items()]
    if figures:
        found.insert(0, "*figure 2* and so on: the problem of that figure of the paper, with its widths.")
    if others:
        found.append(
            "*spans*: declared widths are the true ones; *1.5 × spans*: they are wider; *half the best "
            "span*: that of the group with the best arm is too small."
        )
    if len(cold) < len(board.problems):
        found.append(_warm())
    return found


def _source(problem: Problem) -> str:
    return problem.name.partition(" (")[0]


def _warm() -> str:
    counts = ", ".join(f"{trials} per arm of *{name}*" for name, trials in TRIALS.items())
    return (
        f"*after … trials*: all runs begin with the same history, drawn once from the true means: {counts}. "
        "Policies are given the widths that are safe for this history, as `advise` gives them. Only the "
        "regret of the new rounds counts."
    )
