"""What many problems say together: means, worst cases, failures, advice."""

from __future__ import annotations

import pytest

from league.advice import advice
from league.overview import duel
from league.problems import Kind
from tests.league.made import board, cell, cells

#: figure 2: widths true; figure 7: harmless; figure 3: misleading.
MEANS = {
    "figure 2": {"kindred": 10.0, "kl-ucb": 20.0, "clus-ucb": 12.0},
    "figure 7": {"kindred": 10.0, "kl-ucb": 20.0, "clus-ucb": 30.0},
    "figure 3": {"kindred": 900.0, "kl-ucb": 30.0, "clus-ucb": 60.0},
}


def test_overview_of_all() -> None:
    rows = {row.policy: row for row in board(*cells(MEANS)).overview()}
    assert list(rows) == ["kl-ucb", "clus-ucb", "kindred"]
    assert rows["kl-ucb"].ratio == pytest.approx(4 ** (1 / 3))
    assert rows["kindred"].ratio == pytest.approx(30 ** (1 / 3))
    assert (rows["kindred"].worst.ratio, rows["kindred"].worst.cell.problem) == (30, "figure 3")
    assert (rows["clus-ucb"].worst.ratio, rows["clus-ucb"].worst.cell.problem) == (3, "figure 7")
    assert rows["kl-ucb"].worst_tail.tail_ratio == 2
    assert [row.failures for row in rows.values()] == [0, 0, 1]
    assert {row.problems for row in rows.values()} == {3}


def test_a_failure_is_about_tails() -> None:
    found = board(cell("a", 10.0, high=10.0), cell("b", 10.0, high=100.0), cell("c", 90.0, high=100.1))
    assert {row.policy: row.failures for row in found.overview()} == {"a": 0, "b": 0, "c": 1}


def test_seconds_are_the_median_and_the_most() -> None:
    found = [
        cell("a", 10.0, problem=name, seconds=seconds)
        for name, seconds in (("figure 2", 0.1), ("figure 3", 9.0), ("figure 4", 0.3))
    ]
    (row,) = board(*found).overview()
    assert (row.seconds, row.most_seconds) == (0.3, 9.0)


def test_policies_without_some_cells_come_last() -> None:
    found = board(
        *cells({"figure 2": {"a": 10.0, "b": 20.0}, "figure 3": {"b": 20.0}, "figure 4": {"c": 1.0}})
    )
    rows = {row.policy: row for row in found.overview()}
    assert list(rows) == ["b", "a", "c"]
    assert [row.problems for row in rows.values()] == [2, 1, 1]
    assert rows["b"].ratio == pytest.approx(2**0.5)
    assert list(found.of_policy("a")) == ["figure 2"]


def test_parts_of_the_board() -> None:
    whole = board(*cells(MEANS))
    kinds: tuple[tuple[Kind, str], ...] = (
        ("true widths", "figure 2"),
        ("harmless widths", "figure 7"),
        ("misleading widths", "figure 3"),
    )
    for kind, name in kinds:
        part = whole.of_kind(kind)
        assert [problem.name for problem in part.problems] == [name]
        assert list(part.standings) == [name]
    assert [one.rank for one in whole.of_policy("kindred").values()] == [1, 3, 1]
    assert whole.of_kind("warm start").overview() == ()


def test_advice_states_the_place_of_the_default() -> None:
    assert advice(board(*cells(MEANS))) == [
        '**The default is `kindred`**, which `"auto"` names. By geometric mean it is number 3 of 3: its '
        "regret is 3.11 times that of the best policy of each problem. Its worst ratio is 30.0, on *figure "
        "3*. It fails on 1 problem. No bound on its regret is proven.",
        "**With a guarantee.** Of the policies with one, `kl-ucb` has the smallest geometric mean (1.59) and "
        "the smallest worst ratio (2.00, on *figure 2*).",
        "**Without widths.** Of the policies that use none, `kl-ucb` has the smallest geometric mean (1.59) "
        "and the smallest worst ratio (2.00, on *figure 2*).",
    ]


def test_advice_names_two_policies_where_they_differ() -> None:
    row = {"kl-ucb": 10.0, "imed": 11.0, "kindred": 9.0}
    means = {**dict.fromkeys(("figure 2", "figure 4", "figure 6"), row), "figure 5": row | {"kl-ucb": 13.0}}
    found = advice(board(*cells(means)))
    assert found[0].startswith(
        '**The default is `kindred`**, which `"auto"` names. By geometric mean it is number 1'
    )
    assert "It fails on no problem." in found[0]
    assert found[1] == (
        "**With a guarantee.** Of the policies with one, `kl-ucb` has the smallest geometric mean (1.19); "
        "`imed` has the smallest worst ratio (1.22, on *figure 2*)."
    )


def test_advice_without_the_default() -> None:
    found = advice(board(cell("clus-ts", 10.0)))
    assert found == ['**The default is `kindred`**, which `"auto"` names. It is not part of this league.']


def test_two_policies_are_compared_problem_by_problem() -> None:
    found = duel(board(*cells(MEANS)), "kindred", "clus-ucb")
    assert found is not None
    # 10 and 12 are 1.4 standard errors apart.
    assert (found.less, found.more, found.problems) == (("figure 7",), ("figure 3",), 3)
    assert (found.worst, found.worst_on) == (15, "figure 3")
    assert duel(board(*cells(MEANS)), "kindred", "ossb") is None
