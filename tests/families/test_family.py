"""Families as people use them: broadcasting, validation, names."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from clusterbandits import (
    Bernoulli,
    Exponential,
    Family,
    Gaussian,
    InvalidInputError,
    Poisson,
    as_family,
)
from clusterbandits.families import law
from tests.families import exact

EACH = pytest.mark.parametrize("family", exact.FAMILIES, ids=lambda family: family.spec)


@EACH
def test_numbers_give_numbers_and_arrays_arrays(family: Family) -> None:
    assert type(family.divergence(0.2, 0.4)) is float
    assert np.shape(family.divergence([[0.2], [0.3]], [0.4, 0.5, 0.6])) == (2, 3)
    assert np.shape(family.upper(np.array([]), 1.0)) == (0,)


@EACH
def test_arguments_are_left_alone(family: Family) -> None:
    means = np.array([0.2, 0.3, 0.4])
    means.setflags(write=False)
    strided = np.linspace(0.1, 0.9, 9)[::3]
    integers = np.array([1, 1, 1])
    assert np.shape(family.divergence(means, strided)) == (3,)
    assert np.shape(family.divergence(means, integers)) == (3,)
    assert means.tolist() == [0.2, 0.3, 0.4]


@EACH
def test_spec_makes_the_same_family(family: Family) -> None:
    assert as_family(family.spec) == family
    assert as_family(family) is family
    assert pickle.loads(pickle.dumps(family)) == family
    assert hash(as_family(family.spec)) == hash(family)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            "beta",
            "The 'family' parameter of as_family must be one of bernoulli, gaussian, poisson, exponential",
        ),
        (3, "must be one of bernoulli"),
        (None, "must be one of bernoulli"),
        ("gaussian:mu=1", "must be 'gaussian' followed by sigma once"),
        ("gaussian:sigma=1,sigma=2", "must be 'gaussian' followed by sigma once"),
        ("gaussian:", "must be 'gaussian' followed by sigma once"),
        ("poisson:rate=1", "must be 'poisson' without parameters"),
        ("gaussian:sigma=wide", "The 'sigma' parameter of Gaussian must be a number. Got 'wide' instead."),
        (
            "gaussian:sigma=0",
            "The 'sigma' parameter of Gaussian must be a number from 1e-50 to 1e+50. Got 0.0",
        ),
        (
            "exponential:shape=nan",
            "The 'shape' parameter of Exponential must be a number from 1e-50 to 1e+50",
        ),
        ("gaussian:sigma=inf", "must be a number from 1e-50 to 1e+50"),
        (
            "bounded:low=2,high=1",
            "The 'high' parameter of Bounded must be a number above low, by more than a millionth of either",
        ),
        (
            "bounded:high=inf",
            "The 'high' parameter of Bounded must be a number from -1e+50 to 1e+50. Got inf",
        ),
        ("bounded:top=5", "must be 'bounded' followed by low and high once"),
    ],
)
def test_unknown_families_are_named(spec: Any, sentence: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        as_family(spec)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("family", "bad"),
    [
        (Bernoulli(), [-0.1, 1.1, math.nan, math.inf]),
        (Gaussian(), [math.nan, math.inf, -math.inf]),
        (Poisson(), [-1e-9, math.nan, math.inf]),
        (Exponential(), [0.0, -1.0, math.nan, math.inf]),
    ],
)
def test_means_outside_the_domain_are_refused(family: Family, bad: list[float]) -> None:
    for value in bad:
        assert not family.contains(value)
        for call in (family.divergence, family.slope):
            with pytest.raises(InvalidInputError, match=rf"'x' parameter of {type(family).__name__} must be"):
                call(value, 0.5)
            with pytest.raises(InvalidInputError, match="'y' parameter"):
                call([0.5, 0.5], [0.5, value])
        with pytest.raises(InvalidInputError, match="'x' parameter"):
            family.upper(value, 1.0)


@EACH
@pytest.mark.parametrize("bad", [-1.0, math.nan])
def test_levels_and_widths_are_not_negative(family: Family, bad: float) -> None:
    for call in (family.upper, family.lower):
        with pytest.raises(InvalidInputError, match=r"'level' parameter of .* must be at least 0"):
            call(0.5, [1.0, bad])
    with pytest.raises(InvalidInputError, match=r"'width' parameter of .* must be at least 0"):
        family.rise(0.2, 0.5, bad)


def test_an_unknown_law_has_no_numbers() -> None:
    unknown = Poisson().law._replace(code=99)
    assert math.isnan(law.divergence(unknown, 0.2, 0.3, 0.1))
    assert math.isnan(law.total(unknown, np.random.default_rng(0), 0.2, 5))


@EACH
def test_divergence_above_is_zero_at_and_below_x(family: Family) -> None:
    assert family.divergence_above(0.5, 0.5, [0.0, 0.2, 0.7, np.inf]).tolist() == [0, 0, 0, 0]
    assert family.divergence_above(0.5, [0.5, 0.3]).tolist() == [0, 0]
    assert family.divergence_above(0.3, 0.5) == family.divergence(0.3, 0.5)
    with pytest.raises(InvalidInputError, match="'y' parameter"):
        family.divergence_above(0.3, np.nan)
