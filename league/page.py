"""The league as a page of Markdown: advice, overviews, and a table for every problem."""

from __future__ import annotations

import math
import re
import textwrap
from typing import TYPE_CHECKING

from clusterbandits.simulation.statistics import count_text, plus_minus, round_text
from clusterbandits.tables import cell as shown
from league.advice import RUIN, advice
from league.numerals import times
from league.play import FEWEST_RUNS, QUICK, SLOW, SLOWEST_RUNS
from league.standings import LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from league.overview import Board, Overall
    from league.problems import Fit, Problem
    from league.results import Results
    from league.standings import Standing

_LINE = 118
_FITS: dict[Fit, str] = {
    "true": "none is too small",
    "harmless": "too small for a group without a best arm",
    "misleading": "too small for the best group",
}


def page(results: Results, board: Board, uses_widths: Mapping[str, bool], picture: str) -> str:
    """Return the page.

    Parameters
    ----------
    results
        How the cells were played.
    board
        The standings of all problems.
    uses_widths
        Whether each policy uses the widths it is told.
    picture
        The name of the picture beside the page.
    """
    policies = [row.policy for row in board.overview()]
    title = (
        f"{count_text(len(policies), 'policy', 'policies')} on {count_text(len(board.problems), 'problem')}"
    )
    advised = "\n".join(_wrapped(sentence, "- ", "  ") for sentence in advice(board, uses_widths))
    blocks = [
        "# The league",
        _wrapped(f"{title}. {_how(results, board)}"),
        f"![Mean regret over the best policy's: policies as rows, problems as columns]({picture})",
        "## Which policy when",
        f"These sentences are written by the numbers below.\n\n{advised}",
        "## Over all problems",
        _wrapped(_OVERVIEW_NOTE),
        _overview(board),
        *_part(board, "true", "## Where no width is too small"),
        *_part(board, "misleading", "## Where the best group's width is too small"),
        "## The problems",
        _wrapped(_PROBLEM_NOTE),
        _contents(board),
        *(block for problem in board.problems for block in _problem(problem, board.standings[problem.name])),
    ]
    return "\n\n".join(blocks) + "\n"


_OVERVIEW_NOTE = (
    "*Regret / best*: mean regret over the best policy's, as a geometric mean over problems. *Rank*: the "
    "mean of the ranks. *Worst*: the largest such ratio, and where it is. *Worst tail*: the same of 95th "
    f"percentiles, each over the least of its problem; over {RUIN:g} is ruin. Bold: the best of a column."
)
_PROBLEM_NOTE = (
    "Bold is the best policy; ≈ marks those that are not significantly worse (Welch's one-sided test against "
    f"the best at {100 * LEVEL:g} %, with Holm's correction over its rivals). *95 %*: the 95th percentile "
    "over runs. *s a run*: seconds one run takes on one core. *alarms*: runs in which rewards contradicted a "
    "declared width, where there were any."
)


def _how(results: Results, board: Board) -> str:
    settings, versions = results.settings, results.versions
    many, rounds = count_text(settings.runs, "run"), count_text(settings.horizon, "round")
    played = [one.cell.runs for rows in board.standings.values() for one in rows]
    slow = sum(runs < settings.runs for runs in played)
    fewer = (
        f" Where one takes over {QUICK:g} second there are fewer, {FEWEST_RUNS} at least, {SLOWEST_RUNS} "
        f"where it takes over {SLOW:g} seconds, as "
        f"the column *runs* says ({slow} of {len(played)} cells)."
        if slow
        else ""
    )
    return (
        f"Each cell is {many} of {rounds}, seed {settings.seed}.{fewer} A policy that uses no widths plays "
        f"an instance once, whatever the widths. Made by `{results.command}` with clusterbandits "
        f"{versions['clusterbandits']} (sources {versions['sources']}), NumPy {versions['numpy']} and Numba "
        f"{versions['numba']}."
    )


def _part(board: Board, fit: Fit, heading: str) -> list[str]:
    part = board.with_fit(fit)
    if not part.problems:
        return []
    names = ", ".join(f"[{problem.name}](#{slug(problem.name)})" for problem in part.problems)
    listing = f"{count_text(len(part.problems), 'problem')}: {names}."
    return [heading, _wrapped(listing), _overview(part)]


def _overview(board: Board) -> str:
    rows = board.overview()
    short = {problem.name: problem.short for problem in board.problems}
    columns: tuple[tuple[str, Callable[[Overall], float], Callable[[Overall], str]], ...] = (
        ("regret / best", lambda row: row.ratio, lambda row: times(row.ratio)),
        ("rank", lambda row: row.mean_rank, lambda row: f"{row.mean_rank:.1f}"),
        ("worst", lambda row: row.worst.ratio, lambda row: times(row.worst.ratio)),
        ("worst tail", lambda row: row.worst_tail.tail_ratio, lambda row: times(row.worst_tail.tail_ratio)),
    )
    least = [min(map(value, rows)) for _, value, _ in columns]
    grid = []
    for row in rows:
        numbers = [
            f"**{text(row)}**" if value(row) == best else text(row)
            for (_, value, text), best in zip(columns, least, strict=True)
        ]
        where = [short[one.cell.problem] for one in (row.worst, row.worst_tail)]
        grid.append([row.policy, *numbers[:3], where[0], numbers[3], where[1]])
    heads = [name for name, _, _ in columns]
    return table(["policy", *heads[:3], "on", heads[3], "on "], grid, "lrrrlrl")


def _contents(board: Board) -> str:
    grid = []
    for problem in board.problems:
        best = board.standings[problem.name][0].cell
        groups = len(problem.clusters.names)
        link = f"[{problem.name}](#{slug(problem.name)})"
        grid.append([link, str(len(problem.instance.arms)), str(groups), _FITS[problem.fit], best.policy])
    return table(["problem", "arms", "groups", "widths", "best"], grid, "lrrll")


def _problem(problem: Problem, rows: Sequence[Standing]) -> list[str]:
    widths = ", ".join(f"{width:.3g}" for width in problem.clusters.widths)
    told = f"{problem.shows[0].upper()}{problem.shows[1:]}. Widths {widths}: {_FITS[problem.fit]}."
    heads = ["rank", "policy", "regret ± s.e.", "/ best", "95 %", "runs", "s a run"]
    grid, sides = [_row(one) for one in rows], "rlrrrrr"
    if any(one.cell.alarms for one in rows):
        heads, sides = [*heads, "alarms"], sides + "r"
        grid = [[*row, str(one.cell.alarms or "")] for row, one in zip(grid, rows, strict=True)]
    return [f"### {problem.name}", _wrapped(told), table(heads, grid, sides)]


def _row(one: Standing) -> list[str]:
    cell = one.cell
    error = math.nan if cell.standard_error is None else cell.standard_error
    regret = plus_minus(cell.mean, error)
    names = {"best": f"**{cell.policy}**", "close": f"{cell.policy} ≈", "worse": cell.policy}
    return [
        str(one.rank),
        names[one.mark],
        f"**{regret}**" if one.mark == "best" else regret,
        times(one.ratio),
        shown(cell.high),
        round_text(cell.runs),
        f"{cell.seconds:.2g}",
    ]


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    wrapper = textwrap.TextWrapper(
        _LINE, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return wrapper.fill(text)


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading.

    Examples
    --------
    >>> slug("figure 8 (0.4 and 0.2)")
    'figure-8-04-and-02'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """Return a table of Markdown whose columns are as wide in the source as in the page.

    Examples
    --------
    >>> print(table(["policy", "regret"], [["kl-ucb", "12.5"], ["ucb1", "103.4"]], "lr"))
    | policy | regret |
    |:-------|-------:|
    | kl-ucb |   12.5 |
    | ucb1   |  103.4 |
    """
    grid = [heads, *rows]
    sizes = [max(map(len, column)) for column in zip(*grid, strict=True)]
    rules = [
        f":{'-' * (size + 1)}" if side == "l" else f"{'-' * (size + 1)}:"
        for size, side in zip(sizes, sides, strict=True)
    ]
    lines = [
        "| "
        + " | ".join(
            text.ljust(size) if side == "l" else text.rjust(size)
            for text, size, side in zip(row, sizes, sides, strict=True)
        )
        + " |"
        for row in grid
    ]
    return "\n".join([lines[0], f"|{'|'.join(rules)}|", *lines[1:]])
