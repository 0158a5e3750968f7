from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from clusterbandits import Instance, InvalidInputError, random_instance
from clusterbandits.generators import Layout

make: Any = random_instance
LAYOUTS: list[Layout] = ["separated", "overlapping", "scattered"]
sizes_at_all = st.lists(st.integers(1, 8), min_size=1, max_size=8)
seeds = st.integers(0, 10**6)


def ranges(instance: Instance) -> list[tuple[float, float]]:
    parts = [instance.means[part] for part in instance.partition.members]
    return [(float(part.min()), float(part.max())) for part in parts]


@given(st.sampled_from(LAYOUTS), sizes_at_all, st.floats(0, 0.1), seeds)
def test_spans_are_as_given(layout: Layout, sizes: list[int], span: float, seed: int) -> None:
    instance = random_instance(layout, sizes, span, seed)
    wanted = [span if size > 1 else 0.0 for size in sizes]
    assert instance.partition.sizes == tuple(sizes)
    assert instance.spans == pytest.approx(wanted, abs=1e-12)
    assert instance.means.min() >= 0.05
    assert instance.means.max() <= 0.95


@given(sizes_at_all, st.floats(0, 0.1), seeds)
def test_separated_ranges_are_disjoint(sizes: list[int], span: float, seed: int) -> None:
    ordered = sorted(ranges(random_instance("separated", sizes, span, seed)))
    assert all(low[1] < high[0] for low, high in pairwise(ordered))


@given(st.lists(st.integers(2, 8), min_size=2, max_size=30), st.floats(0.01, 0.5), seeds)
def test_overlapping_ranges_share_means(sizes: list[int], span: float, seed: int) -> None:
    found = ranges(random_instance("overlapping", sizes, span, seed))
    assert all(low[1] > high[0] and high[1] > low[0] for low, high in pairwise(found))


def test_nothing_is_left_out_of_the_draw() -> None:
    drawn = [random_instance("separated", [5, 5, 5], 0.1, seed) for seed in range(60)]
    assert {int(np.argmin([low for low, _ in ranges(one)])) for one in drawn} == {0, 1, 2}
    assert all(np.unique(one.means).size == 15 for one in drawn)
    chained = [ranges(random_instance("overlapping", [5, 5], 0.2, seed)) for seed in range(60)]
    shared = [(low[1] - high[0]) / 0.2 for low, high in chained]
    assert min(shared) < 0.4
    assert max(shared) > 0.6
    assert np.ptp([low[0] for low, _ in chained]) > 0.2


@pytest.mark.parametrize("sizes", [[3, 1], [5, 5, 1], [1, 3, 1], [1, 1]])
def test_single_arms_do_not_tie_with_their_neighbours(sizes: list[int]) -> None:
    for seed in range(100):
        means = np.sort(random_instance("overlapping", sizes, 0.1, seed).means)
        assert np.diff(means).min() > 1e-6


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_seed_decides(layout: Layout) -> None:
    one, same, other = (random_instance(layout, [3, 4], 0.1, seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert random_instance(layout, [3, 4], 0.1, np.random.default_rng(1)) == one
    large = 2**128 - 1
    assert random_instance(layout, [3], 0.1, large) == random_instance(
        layout, [3], 0.1, np.random.default_rng(large)
    )


def test_many_arms_and_other_families() -> None:
    instance = random_instance("scattered", [20] * 50, 0.5, 1, within=(-3, 3), family="gaussian")
    assert len(instance.arms) == 1000
    assert instance.means.min() < -1
    assert random_instance("separated", [2, 3], [0.1, 0.3], 1).spans == pytest.approx((0.1, 0.3))
    assert random_instance("scattered", [2], 1.0, 3, within=(0, 1)).spans == (1.0,)
    assert random_instance("scattered", [3, 3], 0.9, 3).spans == pytest.approx((0.9, 0.9))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: make("round", [2], 0.1, 1),
            "random_instance: layout must be one of",
        ),
        (lambda: make("separated", 3, 0.1, 1), "random_instance: sizes must be a list"),
        (
            lambda: make("separated", [3], 0.1, 1, within=0.5),
            "two finite numbers, the smaller first, but got 0.5",
        ),
        (lambda: make("separated", [3], 0.1, 1, within=(0, 0.5, 1)), "two finite numbers, the smaller first"),
        (lambda: random_instance("separated", [], 0.1, 1), "random_instance: sizes must be"),
        (lambda: random_instance("separated", [0], 0.1, 1), "a whole number of at least 1, but got 0."),
        (
            lambda: random_instance("separated", [2], 0.1, -1),
            "random_instance: seed must be a whole",
        ),
        (
            lambda: random_instance("separated", [2, 2], -0.1, 1),
            "random_instance: span must be",
        ),
        (lambda: random_instance("scattered", [2, 2], [0.1], 1), "one number or one for each of 2 groups"),
        (lambda: random_instance("scattered", [2], 0.95, 1), "each from 0 to 0.9"),
        (
            lambda: random_instance("separated", [2, 2], 0.45, 1),
            "less than 0.9 in total for separated groups",
        ),
        (
            lambda: random_instance("scattered", [2], 0.1, 1, within=(1, 0)),
            "random_instance: within",
        ),
        (
            lambda: random_instance("scattered", [2], 0.1, 1, within=(1, 2)),
            "from 0 to 1 for bernoulli rewards",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert sentence in str(caught.value)


def test_too_many_arms_are_refused_before_they_are_drawn() -> None:
    with pytest.raises(InvalidInputError, match=r"random_instance: sizes must be at most 100,000 arms"):
        random_instance("scattered", [10**12], 0.1, seed=1)
