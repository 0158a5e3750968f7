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
            "Unknown family 'beta'. Available: bernoulli, gaussian, poisson, exponential",
        ),
        (3, "Unknown family 3. Available: bernoulli"),
        (None, "Unknown family None. Available: bernoulli"),
        ("gaussian:mu=1", "Unknown parameter 'mu' of family gaussian. Available: sigma."),
        ("gaussian:sigma=1,sigma=2", "must be 'gaussian' with sigma given once"),
        ("gaussian:", "Unknown parameter '' of family gaussian"),
        ("poisson:rate=1", "Unknown parameter 'rate' of family poisson. Available: none."),
        ("gaussian:sigma=wide", "Gaussian: sigma must be a number, but got 'wide'."),
        (
            "gaussian:sigma=0",
            "Gaussian: sigma must be a number from 1e-50 to 1e+50, but got 0.0",
        ),
        (
            "exponential:shape=nan",
            "Exponential: shape must be a number from 1e-50 to 1e+50",
        ),
        ("gaussian:sigma=inf", "must be a number from 1e-50 to 1e+50"),
        (
            "bounded:low=2,high=1",
            "Bounded: high must be larger than low, by more than a millionth of either",
        ),
        (
            "bounded:high=inf",
            "Bounded: high must be a number from -1e+50 to 1e+50, but got inf",
        ),
        ("bounded:top=5", "Unknown parameter 'top' of family bounded. Available: low, high."),
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
            with pytest.raises(InvalidInputError, match=rf"{type(family).__name__}: x must be"):
                call(value, 0.5)
            with pytest.raises(InvalidInputError, match="y must be"):
                call([0.5, 0.5], [0.5, value])
        with pytest.raises(InvalidInputError, match="x must be"):
            family.upper(value, 1.0)


@EACH
@pytest.mark.parametrize("bad", [-1.0, math.nan])
def test_levels_and_widths_are_not_negative(family: Family, bad: float) -> None:
    for call in (family.upper, family.lower):
        with pytest.raises(InvalidInputError, match=r".*: level must be at least 0"):
            call(0.5, [1.0, bad])
    with pytest.raises(InvalidInputError, match=r".*: width must be at least 0"):
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
    with pytest.raises(InvalidInputError, match="y must be"):
        family.divergence_above(0.3, np.nan)
