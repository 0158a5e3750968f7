"""One list of families: Python, the command line and the documents all name the same ones."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits import families
from clusterbandits.cli.common import Family as FamilyOption
from clusterbandits.families import FAMILIES
from clusterbandits.families.family import Family
from clusterbandits.families.law import KINDS, TRAITS
from tests.families import exact

ROOT = Path(__file__).parents[2]
KERNELS = ("divergence", "variance", "natural_gap", "upper", "lower", "total")
EACH = pytest.mark.parametrize("kind", FAMILIES.values(), ids=FAMILIES)


@EACH
def test_a_family_is_one_file_with_six_kernels(kind: type[Family]) -> None:
    file: Any = sys.modules[kind.__module__]
    assert KINDS[kind.code] is kind
    assert all(callable(getattr(file, name)) for name in KERNELS)
    assert hasattr(file, "draw_mean") == hasattr(file, "log_evidence") == kind().has_posterior


@EACH
def test_a_family_is_public_and_documented(kind: type[Family]) -> None:
    assert getattr(cb, kind.__name__) is kind
    assert kind.__name__ in families.__all__
    fields = ",".join(f"{field.name}=[A-Z]" for field in dataclasses.fields(kind))
    option: Any = FamilyOption
    assert re.search(kind.name + (rf"\[:{fields}\]" if fields else ""), option.__metadata__[0].help)
    for document in ("docs/reference/families.md",):
        words = " ".join((ROOT / document).read_text().lower().split())
        assert kind.name.replace("-", " ") in words, document
    assert any(isinstance(family, kind) for family in exact.FAMILIES)


@EACH
def test_kernels_get_exact_types(kind: type[Family]) -> None:
    law = kind().law
    assert [type(value) for value in law] == [int, float, float, float]
    assert [type(getattr(law, name)) for name in TRAITS] == [bool, bool, bool, *[float] * 4]


@EACH
def test_kernels_read_the_same_traits(kind: type[Family]) -> None:
    def read(law: Any) -> Any:
        prior = law.prior_weight, law.flat_pulls, law.flat_total
        return (law.convex, law.scale_family, law.beta_likelihood, *prior, law.tie)

    law = kind().law
    assert numba.njit(read)(law) == read(law) == tuple(getattr(kind, name) for name in TRAITS)


@EACH
def test_convexity_is_what_second_differences_show(kind: type[Family]) -> None:
    family = kind()
    low, high = exact.mean_range(family)
    x, y = np.meshgrid(np.linspace(low, high, 42)[1:-1], np.linspace(low, high, 202)[1:-1])
    bend = np.diff(family.divergence(x, y), 2, axis=0)
    assert (bend >= -1e-12).all() == family.law.convex


@EACH
def test_traits_are_what_they_say(kind: type[Family]) -> None:
    family = exact.one_of(kind)
    rewards = family.draw(0.5, 1000, np.random.default_rng(1))
    assert ((rewards >= family.law.lowest) & (rewards <= family.law.highest)).all()
    assert (rewards == np.floor(rewards)).all() == family.counts
    scaled = [family.divergence(0.3 * by, 0.5 * by) for by in (0.25, 0.5, 1.0)]
    assert (np.ptp(scaled) < 1e-12) == family.law.scale_family
    assert family.law.beta_likelihood == (family.name in {"bernoulli", "bounded"})


@pytest.mark.parametrize("kind", [cb.Thompson, cb.TSC, cb.ClusTS, cb.HierTS])
def test_a_family_without_a_posterior_is_refused(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules[cb.Poisson.__module__], "draw_mean")
    clusters = cb.Clusters([2], widths=0.1)
    with pytest.raises(cb.InvalidInputError) as caught:
        kind(clusters, family="poisson")
    assert str(caught.value) == (
        f"{kind.__name__}: family must be a family with a posterior distribution of means, but got 'poisson'."
    )
    assert cb.KLUCB(clusters, family="poisson").ask() == 0
