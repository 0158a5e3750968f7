"""The rounds at which pulls are written down, and that writing them down changes nothing."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb

ONE_ARM = cb.Instance([0.5])
CLUSTERED = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
BOTH = ["kl-ucb", "clus-ucb"]
loosely: Any = cb.simulate


def rounds(horizon: int, checkpoints: object = None) -> list[int]:
    result = cb.simulate(ONE_ARM, "kl-ucb", horizon, runs=1, checkpoints=checkpoints)
    return [int(n) for n in result.checkpoints]


@pytest.mark.parametrize("horizon", [1, 2, 9, 10, 11, 99, 100, 101, 1000, 12_345, 10**6, 10**14 + 1, 10**15])
def test_by_default_ten_a_decade(horizon: int) -> None:
    found = rounds(horizon)
    assert found == sorted(set(found))
    assert found[0] == 1
    assert found[-1] == horizon
    powers = [10**k for k in range(16) if 10**k <= horizon]
    assert set(powers) <= set(found)
    for power in powers:
        if power >= 10 and 10 * power <= horizon:
            inside = [n for n in found if power <= n < 10 * power]
            assert len(inside) == 10
            steps = [math.log10(b / a) for a, b in itertools.pairwise(inside)]
            assert steps == pytest.approx([0.1] * 9, abs=0.03)


@pytest.mark.parametrize("count", [2, 3, 7, 30])
@pytest.mark.parametrize("horizon", [10**4, 10**9, 10**15])
def test_so_many_log_spaced(count: int, horizon: int) -> None:
    found = rounds(horizon, count)
    assert found[0] == 1
    assert found[-1] == horizon
    exact = np.geomspace(1, horizon, count)
    assert len(found) <= count
    assert all(np.abs(exact / n - 1).min() < 0.5 / n + 1e-9 for n in found)
    if count <= 7:
        assert len(found) == count


def test_one_checkpoint_is_the_horizon() -> None:
    assert rounds(1000, 1) == [1000]
    assert rounds(1, 1) == [1]


def test_more_checkpoints_than_rounds_are_all_rounds() -> None:
    assert rounds(30, 1000) == list(range(1, 31))
    assert rounds(1, 50) == [1]
    assert rounds(2, 2) == [1, 2]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([100], [100]),
        ([5, 10], [5, 10, 100]),
        ([10, 5, 5, 10], [5, 10, 100]),
        ((1, 100), [1, 100]),
        ({7, 3}, [3, 7, 100]),
        (range(1, 101), list(range(1, 101))),
        (np.array([2, 4]), [2, 4, 100]),
        (np.array([2.0, 1e1]), [2, 10, 100]),
        ((n for n in (3, 9)), [3, 9, 100]),
    ],
)
def test_lists_are_sorted_and_end_with_the_horizon(given: object, kept: list[int]) -> None:
    assert rounds(100, given) == kept


@pytest.mark.parametrize(
    "wrong",
    [
        *(0, -1, 1.5, True, "10", "all", math.nan, math.inf, 10**6 + 1, b"12", {1: 2}),
        *([], [0], [-1], [101], [5, 101], [1.5], [math.nan], ["5"], [None], [True], [[1]], [10**30]),
    ],
)
def test_what_is_no_list_of_rounds_is_refused(wrong: object) -> None:
    with pytest.raises(cb.InvalidInputError, match=r"simulate: checkpoints must be"):
        rounds(100, wrong)


@pytest.mark.parametrize("family", cb.families.FAMILIES)
def test_dense_checkpoints_tell_the_same_story_as_sparse_ones(family: str) -> None:
    """Every round up to 2000 is written down, most of them in the middle of a hold."""
    instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]], family=family)
    sparse = [1, 2, 5, 6, 17, 333, 1000, 1001, 1999, 2000]
    few = cb.simulate(instance, BOTH, 2000, runs=5, seed=4, checkpoints=sparse)
    many = cb.simulate(instance, BOTH, 2000, runs=5, seed=4, checkpoints=range(1, 2001))
    assert np.array_equal(few.pulls, many.pulls[:, :, np.array(sparse) - 1])
    steps = np.diff(many.pulls, axis=2, prepend=0)
    assert (steps.sum(axis=3) == 1).all()
    assert (steps >= 0).all()


@pytest.mark.parametrize("paired", [False, True])
def test_pulls_add_up_and_never_fall(paired: bool) -> None:
    instance = cb.Instance([[0.2], [0.8]])
    result = cb.simulate(instance, BOTH, 10**5, runs=6, seed=1, paired=paired, checkpoints=300)
    assert (result.pulls.sum(axis=3) == result.checkpoints).all()
    assert (np.diff(result.pulls, axis=2) >= 0).all()


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("family", ["bernoulli", "poisson", "exponential", "negative-binomial"])
def test_a_longer_horizon_begins_like_a_shorter_one(family: str, paired: bool) -> None:
    """A hold cut short by the horizon has the same pulls; only what follows would be drawn otherwise."""
    instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]], family=family)
    short = cb.simulate(instance, BOTH, 777, runs=6, seed=9, paired=paired, checkpoints=[10, 100, 500])
    long = cb.simulate(instance, BOTH, 9999, runs=6, seed=9, paired=paired, checkpoints=[10, 100, 500, 777])
    assert np.array_equal(short.pulls, long.pulls[:, :, :4])


def test_checkpoints_of_policies_that_keep_an_arm() -> None:
    clusters = CLUSTERED.clusters()
    kept = [
        cb.ClusUCB(clusters, refresh=50, label="refreshed"),
        cb.ClusUCB(clusters, leader="plain", label="plain"),
    ]
    few = cb.simulate(CLUSTERED, kept, 2000, runs=4, checkpoints=[7, 55, 56, 1203])
    many = cb.simulate(CLUSTERED, kept, 2000, runs=4, checkpoints=range(1, 2001))
    assert np.array_equal(few.pulls, many.pulls[:, :, few.checkpoints - 1])


def test_the_horizon_is_the_last_checkpoint_however_it_is_written() -> None:
    for horizon in (1e3, np.int64(1000), np.float64(1000)):
        result = loosely(CLUSTERED, "kl-ucb", horizon, runs=2)
        assert result.horizon == 1000
        assert type(result.horizon) is int
