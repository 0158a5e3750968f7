"""Ranks, ratios, and who is not significantly worse, against plain computations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from league.cells import summarise
from league.standings import holm, standings, worse_than
from tests.league.made import cell


def test_ranks_and_ratios() -> None:
    found = standings(
        [cell("c", 30.0, high=40.0), cell("a", 10.0, high=50.0), cell("b", 30.0), cell("d", 40.0)]
    )
    assert [one.cell.policy for one in found] == ["a", "c", "b", "d"]
    assert [one.rank for one in found] == [1, 2, 2, 4]
    assert [one.ratio for one in found] == [1, 3, 3, 4]
    assert [one.tail_ratio for one in found] == [1.25, 1, 1.5, 2]
    assert [one.mark for one in found] == ["best", "worse", "worse", "worse"]


def test_a_regret_of_nothing_has_ratios() -> None:
    found = standings([cell("a", 0.0, 0.0), cell("b", 0.0, 0.0), cell("c", 1.0)])
    assert [one.ratio for one in found] == [1, 1, math.inf]
    assert [one.mark for one in found] == ["best", "close", "close"]


def test_a_single_policy_is_the_best() -> None:
    (only,) = standings([cell("a", 3.0)])
    assert (only.rank, only.ratio, only.tail_ratio, only.mark) == (1, 1, 1, "best")


def test_the_test_is_welchs() -> None:
    rng = np.random.default_rng(1)
    low, high = rng.gamma(4, 25, size=60), rng.gamma(2, 60, size=15)
    a, b = (summarise(("figure 2", name), "", values, 0) for name, values in (("a", low), ("b", high)))
    for rival, best, samples in ((b, a, (high, low)), (a, b, (low, high))):
        expected = stats.ttest_ind(*samples, equal_var=False, alternative="greater").pvalue
        assert worse_than(rival, best) == pytest.approx(expected, rel=1e-4)


def test_what_has_no_spread() -> None:
    assert worse_than(cell("b", 3.0, None, runs=1), cell("a", 1.0)) == 1
    assert worse_than(cell("b", 3.0), cell("a", 1.0, None, runs=1)) == 1
    assert worse_than(cell("b", 3.0, 0.0), cell("a", 1.0, 0.0)) == 0
    assert worse_than(cell("b", 1.0, 0.0), cell("a", 1.0, 0.0)) == 1
    assert worse_than(cell("b", 3.0, 0.1), cell("a", 1.0, 0.0)) < 1e-20


@pytest.mark.parametrize(
    ("values", "rejected"),
    [
        ([], []),
        ([0.05], [True]),
        ([0.051], [False]),
        ([0.04, 0.02], [True, True]),
        ([0.04, 0.03], [False, False]),  # 0.03 > 0.05 / 2, and what follows falls with it
        ([0.001, 0.3, 0.024, 0.02], [True, False, False, False]),
        ([0.001, 0.3, 0.024, 0.016], [True, False, True, True]),
    ],
)
def test_holm(values: list[float], rejected: list[bool]) -> None:
    assert holm(values) == rejected


def test_holm_marks_more_than_tests_one_by_one() -> None:
    # One rival 1.8 standard errors of the difference worse: significant alone (p = 0.037), not among ten.
    away = 1.8 * math.sqrt(2)
    alone = standings([cell("a", 100.0), cell("b", 100.0 + away)])
    assert [one.mark for one in alone] == ["best", "worse"]
    among = standings([cell("a", 100.0), *(cell(f"b{k}", 100.0 + away) for k in range(10))])
    assert [one.mark for one in among] == ["best", *["close"] * 10]


def test_false_marks_are_as_rare_as_promised() -> None:
    rng = np.random.default_rng(2)
    repeats, wrong = 400, 0
    for _ in range(repeats):
        played = [summarise(("figure 2", str(k)), "", rng.normal(100, 10, 30), 0) for k in range(4)]
        pairs = [worse_than(one, played[0]) for one in played[1:]]
        wrong += any(holm(pairs))
    assert wrong / repeats < 0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats)
