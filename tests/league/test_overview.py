"""What many problems say together: means, worst cases, advice."""

from __future__ import annotations

import pytest

from league.advice import advice
from tests.league.made import board, cell, cells

#: figure 2: widths true; figure 7: harmless; figure 3: misleading.
MEANS = {
    "figure 2": {"sharp": 10.0, "plain": 20.0, "pooled": 12.0},
    "figure 7": {"sharp": 10.0, "plain": 20.0, "pooled": 30.0},
    "figure 3": {"sharp": 900.0, "plain": 30.0, "pooled": 60.0},
}
USES = {"sharp": True, "plain": False, "pooled": False}


def test_overview_of_all() -> None:
    rows = {row.policy: row for row in board(*cells(MEANS)).overview()}
    assert list(rows) == ["plain", "pooled", "sharp"]
    assert rows["plain"].ratio == pytest.approx(4 ** (1 / 3))
    assert rows["sharp"].ratio == pytest.approx(30 ** (1 / 3))
    assert [row.mean_rank for row in rows.values()] == pytest.approx([2, 7 / 3, 5 / 3])
    assert (rows["sharp"].worst.ratio, rows["sharp"].worst.cell.problem) == (30, "figure 3")
    assert (rows["pooled"].worst.ratio, rows["pooled"].worst.cell.problem) == (3, "figure 7")
    assert rows["plain"].worst_tail.tail_ratio == 2


def test_parts_of_the_board() -> None:
    whole = board(*cells(MEANS))
    for fit, name in (("true", "figure 2"), ("harmless", "figure 7"), ("misleading", "figure 3")):
        part = whole.with_fit(fit)  # type: ignore[arg-type]
        assert [problem.name for problem in part.problems] == [name]
        assert list(part.standings) == [name]
    assert [one.rank for one in whole.of_policy("sharp")] == [1, 3, 1]
    nothing = board(*cells({"figure 2": MEANS["figure 2"]})).with_fit("misleading")
    assert nothing.overview() == ()


def test_advice() -> None:
    assert advice(board(*cells(MEANS)), USES) == [
        "**The safest default is `plain`.** Of the policies with any guarantee it has the mildest worst "
        "case: its mean regret is nowhere more than 2.00 times the best, on "
        "figure 2; its 95th percentile nowhere more than 2.00 times the least, on figure 2. Next: `pooled` "
        "(3.00) and `sharp` (30.0).",
        "**Widths you can trust.** Where none is too small, `sharp` has the best mean rank (1.0), the least "
        "regret (1.00 times the best, as a geometric mean) and the mildest worst case (1.00).",
        "**Widths that may be too small.** Where the best group's is, `plain` has the best mean rank (1.0), "
        "the least regret (1.00 times the best, as a geometric mean) and the mildest worst case (1.00).",
        "**With and without widths.** Of the policies that use none, `plain` pays the least, 1.59 times the "
        "best as a geometric mean over all problems; of those that use them, `sharp` has the mildest worst "
        "case, 30.0 times the best, on figure 3.",
        "**Ruined only where the best group's width is too small**, by a 95th percentile over 10 times the "
        "least: `sharp` 30.0 on figure 3.",
        "**Ruined nowhere**: `plain` and `pooled`.",
    ]


def test_advice_shares_the_honours() -> None:
    row = {"a": 10.0, "b": 11.0, "c": 12.0}
    means = {**dict.fromkeys(("figure 2", "figure 4", "figure 6"), row), "figure 5": row | {"a": 130.0}}
    found = advice(board(*cells(means)), dict.fromkeys(row, True))
    assert found[1:] == [
        "**Widths you can trust.** Where none is too small, `a` has the best mean rank (1.5); `b` has the "
        "least regret (1.07 times the best, as a geometric mean) and the mildest worst case (1.10).",
        "**Ruined although the best group's width is sound**, by a 95th percentile over 10 times the least: "
        "`a` 11.8 on figure 5.",
        "**Ruined nowhere**: `b` and `c`.",
    ]


def test_advice_of_one_policy() -> None:
    found = advice(board(cell("a", 10.0)), {"a": False})
    assert found[0].startswith("**The safest default is `a`.**")
    assert found[-1] == "**Ruin.** No policy has a 95th percentile over 10 times the least on any problem."
