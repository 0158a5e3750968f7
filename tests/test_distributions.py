"""Reward distributions of an environment: exact means, repeatable draws, and misuse that is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.distributions import Distribution

Floats = np.ndarray[Any, np.dtype[np.float64]]


def cubes(rng: np.random.Generator, count: int) -> Floats:
    return rng.random(count) ** 3


ALL: list[Distribution] = [
    cb.Beta(2, 8),
    cb.TruncatedGaussian(0.2, 0.3),
    cb.TruncatedGaussian(3, 1, low=-np.inf, high=2),
    cb.Mixture([cb.Empirical([0]), cb.Beta(1, 1)], weights=[3, 1]),
    cb.Empirical([0, 0.25, 1]),
    cb.Sampled(0.25, cubes),
]
EACH = pytest.mark.parametrize("one", ALL, ids=repr)


@EACH
def test_draws_have_the_mean(one: Distribution) -> None:
    drawn = one.draw(200_000, np.random.default_rng(5))
    assert drawn.shape == (200_000,)
    assert abs(drawn.mean() - one.mean) < 5 * drawn.std() / np.sqrt(drawn.size)
    assert np.array_equal(drawn, one.draw(200_000, np.random.default_rng(5)))


@EACH
def test_they_can_be_written_down(one: Distribution) -> None:
    again = Distribution.from_dict(json.loads(json.dumps(one.to_dict())))
    assert again == one
    assert hash(again) == hash(one)
    assert again.draw(9, np.random.default_rng(1)).tolist() == one.draw(9, np.random.default_rng(1)).tolist()


def test_instances_are_made_of_them(tmp_path: Path) -> None:
    instance = cb.Instance({"red": [ALL[0], ALL[3]], "blue": [ALL[5]]})
    assert instance.means.tolist() == [0.2, 0.125, 0.25]
    assert cb.Instance.from_dict(instance.to_dict()) == instance
    assert instance != cb.Instance({"red": [0.2, 0.125], "blue": [0.25]})
    result = cb.simulate(instance, ["ucb1", "clus-ucb"], 4000, runs=8, seed=3, store=tmp_path)
    assert np.array_equal(cb.load_result(tmp_path).pulls, result.pulls)
    again = cb.simulate(instance, ["clus-ucb"], 4000, runs=8, seed=3, stepwise=True, workers=1)
    assert np.array_equal(again.pulls[0], result.pulls[1])
    assert (result.pulls[1, :, -1].argmax(axis=1) == 2).sum() >= 6


def test_rewards_have_less_chance_than_bernoulli_ones() -> None:
    """Regret depends on the actual rewards: arms with smaller variance are distinguished sooner."""
    steady = cb.Instance([[cb.Beta(400, 600), cb.Beta(500, 500)]])
    chancy = cb.Instance([[0.4, 0.5]])
    pulls = [cb.simulate(one, "kl-ucb", 3000, runs=60, seed=2).pulls[0, :, -1, 0] for one in (steady, chancy)]
    errors = np.sqrt(sum(one.var() / one.size for one in pulls))
    assert pulls[0].mean() < pulls[1].mean() + 4 * errors
    assert pulls[0].std() < 0.5 * pulls[1].std()


@pytest.mark.parametrize("paired", [False, True])
def test_pairing_and_chunks_change_nothing(paired: bool) -> None:
    instance = cb.Instance([[cb.Beta(2, 3), cb.Beta(3, 2)]])
    both = cb.simulate(instance, ["ucb1", "kl-ucb"], 9000, runs=3, seed=1, paired=paired)
    alone = cb.simulate(instance, ["kl-ucb"], 9000, runs=3, seed=1, paired=paired, checkpoints=[17, 9000])
    assert np.array_equal(both.pulls[1, :, -1], alone.pulls[0, :, -1])
    assert (both.pulls[0, :, -1].sum(axis=1) == 9000).all()


def test_rewards_that_a_family_never_has_are_refused() -> None:
    wild = cb.Instance([[cb.Empirical([-1, 2])], [cb.Empirical([0.5])]], family="bernoulli")
    with pytest.raises(cb.InvalidInputError, match=r"rewards for policies of this family \(bernoulli\)"):
        cb.simulate(wild, "ucb1", 10, runs=1)
    fine = cb.Instance([[cb.Empirical([-1, 2])], [cb.Empirical([0.5])]], family="gaussian")
    assert cb.simulate(fine, "ucb1", 10, runs=1).horizon == 10


def test_an_edited_sampler_is_noticed() -> None:
    data = cb.Sampled(0.25, cubes).to_dict()
    made = Distribution.from_dict(data | {"source": "0123456789abcdef"})
    with pytest.raises(cb.InvalidInputError, match="code that was edited"):
        made.check_source("simulate")
    Distribution.from_dict(data).check_source("simulate")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: cb.Beta(0, 1), "Beta: a"),
        (lambda: cb.TruncatedGaussian(0, 1, 2, 2), "TruncatedGaussian: high"),
        (lambda: cb.TruncatedGaussian(0, -1), "TruncatedGaussian: sigma"),
        (lambda: cb.Mixture([]), "Mixture: parts"),
        (lambda: cb.Mixture([cb.Beta(1, 1), 0.5]), "Mixture: parts"),
        (lambda: cb.Mixture([cb.Beta(1, 1)], [0]), "Mixture: weights"),
        (lambda: cb.Empirical([]), "Empirical: values"),
        (lambda: cb.Empirical([1, np.nan]), "Empirical: values"),
        (lambda: cb.Empirical(["a"]), "Empirical: values"),
        (lambda: cb.Sampled(0.4, cubes), "that of the sampler, about 0.25"),
        (lambda: cb.Sampled(0.4, lambda rng, _: rng.random(3)), "of the requested length"),
        (lambda: cb.Sampled(0.4, 3), "Sampled: sampler"),  # type: ignore[arg-type]
        (lambda: cb.Instance([[0.5, cb.Beta(1, 1)]]), "either all numbers or all distributions"),
        (lambda: Distribution.from_dict({"kind": "gamma"}), "kind must be one of"),
        (lambda: Distribution.from_dict({"kind": "beta", "a": 1, "c": 2}), "the parameters of Beta"),
    ],
)
def test_misuse_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises(cb.InvalidInputError, match=sentence):
        make()
