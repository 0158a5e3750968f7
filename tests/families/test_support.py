"""What a family pays: which rewards and sums there are, how they are read, and drawing them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from clusterbandits import Bernoulli, Exponential, Family, Gaussian, InvalidInputError, Poisson
from clusterbandits.families import FAMILIES
from tests.families import exact

EACH = pytest.mark.parametrize("family", exact.FAMILIES, ids=lambda family: family.spec)
ONE_OF_EACH: list[Family] = [exact.one_of(kind) for kind in FAMILIES.values()]


@pytest.mark.parametrize(
    ("family", "total", "pulls", "possible"),
    [
        (Bernoulli(), 0.0, 1, True),
        (Bernoulli(), 1.0, 1, True),
        (Bernoulli(), 0.25, 1, True),
        (Bernoulli(), 1.5, 1, False),
        (Bernoulli(), 1.5, 2, True),
        (Bernoulli(), -0.1, 1, False),
        (Bernoulli(), 7.0, 7, True),
        (Bernoulli(), math.nextafter(7.0, 8.0), 7, False),
        (Gaussian(), -3.5, 1, True),
        (Gaussian(), 1e100, 1, True),
        (Gaussian(), 2e100, 1, False),
        (Gaussian(), 2e100, 3, True),
        (Poisson(), 0.0, 1, True),
        (Poisson(), 3.0, 1, True),
        (Poisson(), 2.5, 1, False),
        (Poisson(), 2.5, 5, False),
        (Poisson(), -1.0, 1, False),
        (Poisson(), 1e101, 1, False),
        (Exponential(), 0.0, 1, False),
        (Exponential(), -1.0, 1, False),
        (Exponential(), 1e-9, 1, True),
        (Exponential(), 1e-9, 1000, True),
        (Exponential(shape=3), 2.5, 1, True),
        (Exponential(), 1e101, 1, False),
    ],
)
def test_supports(family: Family, total: float, pulls: int, possible: bool) -> None:
    assert family.supports(total, pulls) is possible


@EACH
def test_nothing_infinite_is_a_reward(family: Family) -> None:
    for total in (math.inf, -math.inf, math.nan):
        assert not family.supports(total, 1)
        assert not family.supports(total, 10**15)


@EACH
def test_whole_numbers_need_not_be_floats(family: Family) -> None:
    one: Any
    for one in (1, np.int64(1), np.float64(1), np.uint8(1)):
        assert family.supports(one, 1)
    assert not family.supports(10**101, 1)


@EACH
@pytest.mark.parametrize("mean", [1e-3, 0.4, 1.0])
def test_draws_are_supported_one_by_one_and_in_sum(family: Family, mean: float) -> None:
    rewards = family.draw(mean, 500, np.random.default_rng(1))
    total = 0.0
    for count, reward in enumerate(rewards.tolist(), start=1):
        total += reward
        assert family.supports(reward, 1)
        assert family.supports(total, count)
        assert family.read_total(reward, 1, "test") == reward


@EACH
def test_draws_are_floats_of_the_mean_and_variance(family: Family) -> None:
    mean, count = 0.4, 40_000
    rewards = family.draw(mean, count, np.random.default_rng(3))
    assert rewards.shape == (count,)
    assert rewards.dtype == np.float64
    variance = 1 / (family.slope(mean, mean + 1e-7) / 1e-7)
    assert abs(rewards.mean() - mean) < 5 * math.sqrt(variance / count)
    assert rewards.var() == pytest.approx(variance, rel=0.2)
    assert family.draw(mean, 0, np.random.default_rng(3)).shape == (0,)


@EACH
def test_draws_follow_the_generator(family: Family) -> None:
    first, again = (family.draw(0.4, 50, np.random.default_rng(5)) for _ in range(2))
    assert first.tolist() == again.tolist()
    one, rest = np.random.default_rng(5), np.random.default_rng(6)
    parts = [*family.draw(0.4, 20, one), *family.draw(0.4, 30, one)]
    assert parts == first.tolist()
    assert family.draw(0.4, 50, rest).tolist() != first.tolist()


def test_draws_of_counts_and_coins() -> None:
    rng = np.random.default_rng(1)
    assert set(Bernoulli().draw(0.4, 1000, rng).tolist()) == {0.0, 1.0}
    assert set(Bernoulli().draw(0.0, 1000, rng).tolist()) == {0.0}
    assert set(Bernoulli().draw(1.0, 1000, rng).tolist()) == {1.0}
    assert set(Poisson().draw(0.0, 10, rng).tolist()) == {0.0}
    counts = Poisson().draw(3.0, 20_000, rng)
    assert (counts == np.floor(counts)).all()
    assert np.mean(counts == 0) == pytest.approx(math.exp(-3), rel=0.1)
    assert np.mean(Exponential().draw(2.0, 20_000, rng) > 2.0) == pytest.approx(math.exp(-1), rel=0.05)
    assert Exponential(shape=4).draw(2.0, 20_000, rng).var() == pytest.approx(1.0, rel=0.1)
    assert Gaussian(sigma=3).draw(-1.0, 20_000, rng).std() == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize("family", ONE_OF_EACH, ids=lambda family: family.name)
@pytest.mark.parametrize("other", ONE_OF_EACH, ids=lambda family: family.name)
def test_includes_is_what_draws_show(family: Family, other: Family) -> None:
    """A family includes another if and only if it supports everything that one pays."""
    rewards = other.draw(0.9, 2000, np.random.default_rng(1)).tolist()
    assert family.includes(other) == all(family.supports(reward, 1) for reward in rewards)


def test_parameters_do_not_change_what_is_included() -> None:
    assert Gaussian(sigma=2).includes(Gaussian(sigma=3))
    assert Exponential(shape=2).includes(Exponential())


@pytest.mark.parametrize(
    "reward", [1, 1.0, True, np.True_, np.int8(1), np.float32(1), np.float64(1), np.uint64(1), Fraction(1)]
)
@EACH
def test_numbers_of_any_kind_are_read(family: Family, reward: Any) -> None:
    number = family.read_total(reward, 1, "test")
    assert (number, type(number)) == (1.0, float)


@pytest.mark.parametrize("family", [Bernoulli(), Gaussian(), Poisson()], ids=lambda family: family.name)
@pytest.mark.parametrize("reward", [False, np.False_, 0, -0.0, np.float16(0)])
def test_nothing_is_read(family: Family, reward: Any) -> None:
    assert family.read_total(reward, 1, "test") == 0.0


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_sums_are_read_exactly(total: int, pulls: int) -> None:
    assert Poisson().read_total(total, pulls, "test") == total
    assert Gaussian().read_total(-total / 7, pulls, "test") == -total / 7
    if total <= pulls:
        assert Bernoulli().read_total(total, pulls, "test") == total


@pytest.mark.parametrize(
    ("family", "reward", "pulls", "sentence"),
    [
        (Bernoulli(), 1.5, 1, "must be a number from 0 to 1, for bernoulli rewards, but got 1.5."),
        (
            Bernoulli(),
            4,
            3,
            "must be a sum of 3 rewards, each a number from 0 to 1, for bernoulli rewards, but got 4",
        ),
        (
            Gaussian(),
            math.inf,
            1,
            "must be a number of at most 1e+100 in size, for gaussian rewards, but got inf.",
        ),
        (Poisson(), 2.5, 1, "must be a whole number of at least 0, for poisson rewards, but got 2.5."),
        (
            Poisson(),
            -1,
            2,
            "must be a sum of 2 rewards, each a whole number of at least 0, for poisson rewards,",
        ),
        (
            Exponential(),
            0,
            1,
            "must be a number from 1e-100 to 1e+100, for exponential rewards, but got 0.",
        ),
        (
            Exponential(),
            False,
            1,
            "must be a number from 1e-100 to 1e+100, for exponential rewards, but got False.",
        ),
    ],
)
def test_other_rewards_get_one_sentence(family: Family, reward: Any, pulls: int, sentence: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        family.read_total(reward, pulls, "Somebody.tell")
    assert str(caught.value).startswith("Somebody.tell: reward must be ")
    assert sentence in str(caught.value)


@EACH
@pytest.mark.parametrize(
    "reward",
    [
        math.nan,
        math.inf,
        -math.inf,
        "1",
        "",
        None,
        [1],
        {},
        1j,
        b"1",
        np.array(1.0),
        np.array([1.0]),
        10**400,
    ],
    ids=lambda reward: repr(reward)[:12],
)
def test_what_is_no_number_is_refused(family: Family, reward: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        family.read_total(reward, 1, "test")
    assert f"for {family.name} rewards, but got " in str(caught.value)
    assert "\n" not in str(caught.value)
