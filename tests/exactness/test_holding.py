"""Holding is exact: against fixed rewards, the arm of every round is that of round-by-round play."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import clusterbandits as cb
from tests.exactness.problems import KINDS, PAPER, Problem, random_problem

SETTINGS = list(product((0.0, 5.0), (1, 50)))
OTHERS = ["poisson", "exponential", "exponential:shape=2.5", "negative-binomial"]


@pytest.mark.parametrize("problem", PAPER, ids=lambda problem: problem.name)
@pytest.mark.parametrize("kind", KINDS)
def test_paper_equals_plain_python(problem: Problem, kind: str) -> None:
    for (a, refresh), seed in product(SETTINGS, (1,)):
        tape = problem.tape(seed, 1200)
        policy = problem.policy(kind, a=a, refresh=refresh)
        expected = problem.reference(kind, a, refresh).play(tape.tolist(), 1200)
        assert cb.play(policy, tape).tolist() == expected
        assert cb.play(policy, tape, stepwise=True).tolist() == expected


@pytest.mark.parametrize("problem", PAPER, ids=lambda problem: problem.name)
@pytest.mark.parametrize("kind", KINDS)
def test_paper_holding_equals_stepwise(problem: Problem, kind: str) -> None:
    for (a, refresh), seed in product(SETTINGS, range(3)):
        tape = problem.tape(seed, 30_000)
        policy = problem.policy(kind, a=a, refresh=refresh)
        held, stepwise = cb.play(policy, tape), cb.play(policy, tape, stepwise=True)
        assert np.array_equal(held, stepwise), f"first differs in round {1 + (held != stepwise).argmax()}"


@pytest.mark.parametrize("family", ["bernoulli", *OTHERS])
@pytest.mark.parametrize("kind", KINDS)
def test_random_problems_equal_plain_python(family: str, kind: str) -> None:
    for seed in range(4):
        problem = random_problem(seed, family)
        a, refresh = SETTINGS[seed % 4]
        tape = problem.tape(seed, 250)
        policy = problem.policy(kind, a=a, refresh=refresh)
        expected = problem.reference(kind, a, refresh).play(tape.tolist(), 250)
        assert cb.play(policy, tape).tolist() == expected, problem.name


@pytest.mark.parametrize("family", ["bernoulli", *OTHERS])
@pytest.mark.parametrize("kind", KINDS)
def test_random_problems_holding_equals_stepwise(family: str, kind: str) -> None:
    for seed in range(25):
        problem = random_problem(100 + seed, family)
        a, refresh = SETTINGS[seed % 4]
        tape = problem.tape(seed, 6000)
        policy = problem.policy(kind, a=a, refresh=refresh)
        held, stepwise = cb.play(policy, tape), cb.play(policy, tape, stepwise=True)
        assert np.array_equal(held, stepwise), f"{problem.name}: round {1 + (held != stepwise).argmax()}"


@pytest.mark.parametrize("kind", KINDS)
def test_gaussian_equals_plain_python(kind: str) -> None:
    instance = cb.Instance([[1.0, 1.3], [1.2, 1.5, 1.4]], family="gaussian:sigma=0.5")
    problem = Problem("gaussian", instance, instance.clusters([0.3, 0.3]))
    for seed in range(3):
        tape = problem.tape(seed, 600)
        expected = problem.reference(kind).play(tape.tolist(), 600)
        assert cb.play(problem.policy(kind), tape).tolist() == expected


@pytest.mark.parametrize("means", [[0.0, 0.0], [1.0, 1.0], [1.0, 0.5], [1e-9, 2e-9], [0.5] * 4, [0.0, 1.0]])
@pytest.mark.parametrize("width", [0.0, 0.25, np.inf])
def test_extreme_means_and_widths(means: list[float], width: float) -> None:
    instance = cb.Instance([means, [0.5]])
    problem = Problem("extreme", instance, instance.clusters(width))
    for kind, (a, refresh) in product(KINDS, SETTINGS):
        tape = problem.tape(1, 400)
        policy = problem.policy(kind, a=a, refresh=refresh)
        expected = problem.reference(kind, a, refresh).play(tape.tolist(), 400)
        assert cb.play(policy, tape).tolist() == expected
        assert cb.play(policy, tape, stepwise=True).tolist() == expected


def test_rewards_between_0_and_1() -> None:
    problem = PAPER[2]
    tape = np.random.default_rng(5).beta(2, 3, (6, 800))
    for kind in KINDS:
        expected = problem.reference(kind).play(tape.tolist(), 800)
        assert cb.play(problem.policy(kind), tape).tolist() == expected


def test_infinite_widths_are_kl_ucb() -> None:
    problem = PAPER[2]
    tape = problem.tape(3, 20_000)
    wide = cb.ClusUCB(cb.Clusters([3, 3], widths=np.inf))
    assert np.array_equal(cb.play(wide, tape), cb.play(problem.policy("kl-ucb"), tape))


@pytest.mark.parametrize("means", [[[0.002, 0.001], [0.003]], [[0.02, 0.01], [0.03]], [[0.1, 0.2], [0.15]]])
def test_a_leader_by_ties_is_not_held(means: list[list[float]]) -> None:
    """While all means are 0 the leader is the least pulled arm: each pull may change who leads."""
    instance = cb.Instance(means)
    policy = cb.ClusUCB(instance.clusters(0.01), leader="plain", alarm="ignore")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        tape = np.array([instance.family.draw(mean, 1000, rng) for mean in instance.means])
        assert np.array_equal(cb.play(policy, tape), cb.play(policy, tape, stepwise=True))
