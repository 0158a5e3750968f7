"""The league that is published: the default is as good as claimed."""

from __future__ import annotations

import pytest

from clusterbandits.policies import POLICIES
from clusterbandits.policies.policy import DEFAULT
from clusterbandits.studies.history import TABLES
from league.overview import Board, duel
from league.problems import problems
from league.results import load
from league.run import Places
from league.standings import worse_than

RESULTS = load(Places().results)
assert RESULTS is not None
BOARD = Board.of_cells(problems(), RESULTS.cells)
USUAL = ("thompson", "kl-ucb", "clus-ucb")


def test_every_policy_and_every_problem_is_there() -> None:
    assert {row.policy for row in BOARD.overview()} == set(POLICIES)
    assert [problem.name for problem in BOARD.problems] == [problem.name for problem in problems()]


def test_the_default_is_close_to_the_best_everywhere() -> None:
    row = next(row for row in BOARD.overview() if row.policy == DEFAULT)
    assert row.problems == len(problems())
    assert row.ratio <= 1.25
    assert row.worst.ratio <= 2.5
    assert row.worst_tail.tail_ratio <= 4
    assert row.failures == 0
    assert {one.cell.runs for one in BOARD.of_policy(DEFAULT).values()} == {100}


@pytest.mark.parametrize("rival", USUAL)
@pytest.mark.parametrize("table", TABLES)
def test_the_default_has_less_regret_on_tables_with_true_widths(table: str, rival: str) -> None:
    name = f"{table} (spans)"
    own, other = (BOARD.of_policy(policy)[name].cell for policy in (DEFAULT, rival))
    assert worse_than(other, own) < 0.05


def test_the_default_is_nowhere_far_behind_thompson_sampling() -> None:
    found = duel(BOARD, DEFAULT, "thompson")
    assert found is not None
    assert found.worst <= 1.2
