"""The league as a Markdown page: which policy to use, and where the default is not the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.policies.policy import DEFAULT
from clusterbandits.simulation.statistics import count_text
from clusterbandits.studies.candidates import TRIED
from league.advice import advice
from league.markdown import items, table, wrapped
from league.method import method
from league.numerals import listed, seconds_text, times
from league.overview import FAILURE, comparable, duel
from league.problems import KINDS, SMALL
from league.standings import LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from league.overview import Board, Overall
    from league.problems import Kind, Problem
    from league.results import Results
    from league.standings import Mark, Standing

#: The policies that the default is compared with one by one.
_USUAL = ("thompson", "kl-ucb", "clus-ucb")
_KINDS: dict[Kind, str] = {
    "true widths": "no declared width is too small",
    "harmless widths": "a width is too small, but not that of the best group",
    "misleading widths": "the width of the best group is too small",
    "small rates": f"all means are below {100 * SMALL:g} %",
    "warm start": "policies begin with a history and its safe widths",
}


def page(results: Results, board: Board, picture: str, data: str) -> str:
    """Return the page.

    Parameters
    ----------
    results
        Cells and settings.
    board
        Standings of all problems.
    picture, data
        Names of the files next to the page.
    """
    rows = board.overview()
    blocks = [
        "# The league",
        wrapped(_opening(results, board, rows, data)),
        "## Which policy to use",
        items([*advice(board), _ADVISE]),
        _policies(board, rows),
        wrapped(_POLICIES_NOTE),
        *(wrapped(text) for text in _missing(board, rows)),
        "## Kinds of problems",
        _kinds(board),
        wrapped(_KINDS_NOTE),
        *_default(board),
        f"![Mean regret over that of the best policy: policies as rows, problems as columns]({picture})",
        "## How it was measured",
        *method(results, board, data),
    ]
    return "\n\n".join(blocks) + "\n"


_ADVISE = (
    f"**With data of your own.** [`clusterbandits advise`](../how-to/advise.md) simulates {len(TRIED)} of "
    "these policies on problems that your data leave plausible, beginning with your data. It recommends "
    f"`{DEFAULT}` unless another policy is clearly better."
)
_POLICIES_NOTE = (
    "*Regret / best*: mean regret divided by that of the best policy of the problem, as a geometric mean "
    "over problems. *Worst*: the largest of these ratios. *Worst tail*: the same for the 95th percentile of "
    "regret, divided by the smallest of the problem. *Failures*: the number of problems where that is over "
    f"{FAILURE:g}. *Seconds*: time of one run on one core, the median over problems; *slowest*: on the "
    "slowest problem. Bold: the best of a column. [Policies](policies.md) explains each policy."
)
_KINDS_NOTE = (
    "A problem counts once: as a warm start, else as small rates, else by its widths. *Its place*: by regret "
    "/ best."
)


def _opening(results: Results, board: Board, rows: Sequence[Overall], data: str) -> str:
    many = f"{count_text(len(rows), 'policy', 'policies')} on {count_text(len(board.problems), 'problem')}"
    return (
        f"Use this page to choose a policy. It compares {many} by their regret after "
        f"{results.settings.horizon:,} rounds: the reward lost by not always pulling the best arm. All "
        f"numbers are in [{data}]({data}), with one row per problem and policy."
    )


def _policies(board: Board, rows: Sequence[Overall]) -> str:
    short = {problem.name: problem.short for problem in board.problems}
    columns: tuple[tuple[str, Callable[[Overall], float], Callable[[float], str]], ...] = (
        ("regret / best", lambda row: row.ratio, times),
        ("worst", lambda row: row.worst.ratio, times),
        ("worst tail", lambda row: row.worst_tail.tail_ratio, times),
        ("failures", lambda row: row.failures, str),
        ("seconds", lambda row: row.seconds, seconds_text),
        ("slowest", lambda row: row.most_seconds, seconds_text),
    )
    compared = comparable(rows)
    least = [min(map(value, compared)) for _, value, _ in columns]
    grid = []
    for row in rows:
        numbers = [
            _bold(text(value(row)), row in compared and value(row) == best)
            for (_, value, text), best in zip(columns, least, strict=True)
        ]
        numbers.insert(2, short[row.worst.cell.problem])
        name = f"{row.policy} (default)" if row.policy == DEFAULT else row.policy
        grid.append([name, *numbers])
    heads = [name for name, _, _ in columns]
    return table(["policy", *heads[:2], "on", *heads[2:]], grid, "lrrlrrrr")


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best else text


def _missing(board: Board, rows: Sequence[Overall]) -> list[str]:
    """Return notes on policies without a cell on some problems."""
    whole = len(board.problems)
    found = [f"`{row.policy}` ({whole - row.problems})" for row in rows if row.problems < whole]
    if not found:
        return []
    return [
        f"Some policies were not run on every problem: {listed(found)}, with the number of problems left "
        "out. Policies that need every reward on its own cannot begin with a history, which holds sums. The "
        "means of such a policy are over the other problems; it stands last and is not compared with the "
        "rest."
    ]


def _kinds(board: Board) -> str:
    grid = []
    for kind in KINDS:
        part = board.of_kind(kind)
        if not part.problems:
            continue
        rows = part.overview()
        own = [(times(row.ratio), str(place)) for place, row in enumerate(rows, 1) if row.policy == DEFAULT]
        best = f"{rows[0].policy} ({times(rows[0].ratio)})"
        grid.append([kind, _KINDS[kind], str(len(part.problems)), best, *(own or [("", "")])[0]])
    heads = ["kind", "meaning", "problems", "best policy (regret / best)", DEFAULT, "its place"]
    return table(heads, grid, "llrlrr")


def _default(board: Board) -> list[str]:
    """Return the section on the default policy: all problems, sorted by its ratio to the best."""
    found = board.of_policy(DEFAULT)
    if not found:
        return []
    ordered = sorted(found.items(), key=lambda item: -item[1].ratio)
    named = {problem.name: problem for problem in board.problems}
    grid = [_problem(named[name], board.standings[name][0], own) for name, own in ordered]
    heads = ["problem", "kind", "arms", "groups", "best policy", f"{DEFAULT} / best", "rank"]
    marks = [one.mark for one in found.values()]
    return [
        "## Where the default is not the best",
        wrapped(_counts(marks)),
        table(heads, grid, "llrrlrr"),
        *_duels(board),
    ]


def _duels(board: Board) -> list[str]:
    """Compare the default with single policies."""
    short = {problem.name: problem.short for problem in board.problems}
    found = {name: duel(board, DEFAULT, name) for name in _USUAL}
    grid = [
        [name, *map(str, counts), times(one.worst), short[one.worst_on]]
        for name, one in found.items()
        if one is not None
        for counts in [(len(one.less), one.problems - len(one.less) - len(one.more), len(one.more))]
    ]
    heads = [f"{DEFAULT} beside", "less regret", "no clear difference", "more regret", "largest ratio", "on"]
    note = (
        "The number of problems on which its regret is significantly less or more than that of one other "
        "policy, by the same test, and its largest ratio to that policy."
    )
    return [table(heads, grid, "lrrrrl"), wrapped(note)] if grid else []


def _counts(marks: Sequence[Mark]) -> str:
    return (
        f"Of {count_text(len(marks), 'problem')}, `{DEFAULT}` is the best policy on {marks.count('best')} "
        f"(bold below), not significantly worse than the best on {marks.count('close')} (≈), and "
        f"significantly worse on {marks.count('worse')}. The last columns are its mean regret divided by "
        f"that of the best policy, and its rank. The test is Welch's, one-sided, at {100 * LEVEL:g} %, with "
        "Holm's correction over all policies."
    )


def _problem(problem: Problem, best: Standing, own: Standing) -> list[str]:
    sizes = [str(len(problem.instance.arms)), str(len(problem.clusters.names))]
    ratio = times(own.ratio)
    marked = {"best": f"**{ratio}**", "close": f"≈ {ratio}", "worse": ratio}
    return [problem.name, problem.kind, *sizes, best.cell.policy, marked[own.mark], str(own.rank)]
