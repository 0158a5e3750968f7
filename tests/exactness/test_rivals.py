"""Every other policy is exact: against fixed rewards, the arm of every round is that of plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.families import FAMILIES
from tests.exactness.problems import PAPER, Floats, Problem, random_problem
from tests.exactness.rivals import RIVALS, Rival, Seen
from tests.exactness.steering import STEERED
from tests.exactness.twolevel import TWO_LEVEL

ALL = RIVALS | TWO_LEVEL | STEERED
NAMES = [name for name in ALL if name != "clus-ucb"]
#: Bounded rewards are compared with Bernoulli ones in ``tests/policies/test_bounded.py``.
PLAIN = tuple(name for name in FAMILIES if name != "bounded")
#: The references know negative binomial rewards of shape 1.
WEIGHTED = ("bernoulli", "gaussian:sigma=0.5", "poisson", "exponential:shape=2.5", "negative-binomial")
INDEX = {"clus-ucb", "clus-ucb-hedged", "ckl-ucb", "clus-opt"}

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("moss", {"alpha": 0.0}),
    ("moss", {"alpha": 3.0}),
    ("kl-ucb++", {"horizon": 100_000}),
    ("kl-ucb++", {"horizon": 150}),
    *((name, {"hedge": hedge}) for name in ("imed-clus", "imed-opt") for hedge in (0.25, 0.5, 1.0)),
    *((name, {"hedge": hedge}) for name in sorted(INDEX) for hedge in (0.25, 0.5, 1.0)),
    *((name, {"a": 5.0, "refresh": refresh}) for name in sorted(INDEX) for refresh in (1, 50)),
    *((name, {"refresh": 50}) for name in sorted(INDEX)),
    *((name, {"hedge": 0.5, "a": 5.0, "refresh": 3}) for name in sorted(INDEX)),
    ("clus-ucb", {"hedge": 0.5, "leader": "plain"}),
    ("clus-ucb", {"hedge": 0.25, "leader": "plain", "a": 5.0}),
    ("clus-ucb-hedged", {"leader": "plain"}),
    ("clus-ucb-hedged", {"hedge": 0.0}),
    *((name, {"clock": "round"}) for name in ("tlp-mean", "tlp-max", "ucbc")),
    *((name, {"clock": "cluster", "a": 5.0}) for name in ("tlp-mean", "tlp-max")),
    *((name, {"clock": "round", "a": 5.0}) for name in ("tlp-mean", "tlp-max")),
    *((name, {"refresh": 50}) for name in ("tlp-mean", "tlp-max", "ucbc")),
    *((name, {"refresh": 3, "clock": "round", "a": 5.0}) for name in ("tlp-mean", "tlp-max")),
    ("ossb", {"epsilon": 0.0}),
    ("ossb", {"epsilon": 0.3}),
    ("ossb", {"gamma": 1.0}),
    ("ossb", {"epsilon": 0.1, "gamma": 0.25}),
]  # fmt: skip

#: Bernoulli arms too far apart for their clusters, in whatever way the policies look at them.
NARROW = [
    ([[0.2, 0.9], [0.4, 0.5]], [0.0, 0.1]),
    ([[0.2, 0.9], [0.3, 0.8], [0.5]], [0.0, 0.0, 0.0]),
    ([[0.1, 0.5, 0.9], [0.4, 0.45]], [0.05, 0.0]),
    ([[0.1, 0.9, 0.5, 0.3], [0.3, 0.85, 0.6]], [0.05, np.inf]),
    ([[0.1, 0.6, 0.4], [0.65]], [0.05, 0.0]),
    ([[0.05, 0.6]], [0.0]),
]


def rival(problem: Problem, name: str, rounds: int, **settings: Any) -> Rival:
    filled = {"horizon": rounds} if name == "kl-ucb++" else {}
    return ALL[name](
        family=problem.instance.family.name,
        clusters=[part.tolist() for part in problem.clusters.partition.members],
        widths=problem.clusters.widths,
        weight=problem.instance.family.law.weight,
        **filled | settings,
    )


def difference(reference: Rival, tape: Sequence[Sequence[float]], played: Sequence[int]) -> str:
    """The first round in which another arm was played, and what the reference makes of it."""
    for n, (policy, pulls, totals, arm) in enumerate(reference.rounds(tape, len(played)), 1):
        if played[n - 1] != arm:
            scores = policy.scores(Seen(pulls, totals, n)) if all(pulls) else {}
            lines = [f"round {n}: arm {played[n - 1]} is played, the reference plays {arm}", repr(policy)]
            lines += [f"{what}: {values}" for what, values in {"pulls": pulls, "totals": totals}.items()]
            return "\n".join(lines + [f"{what}: {values}" for what, values in scores.items()])
    raise AssertionError("the paths are the same")


def check(problem: Problem, name: str, tape: Floats, **settings: Any) -> list[int]:
    """Play the policy and its reference; return the path, which has to be the same."""
    rounds, rewards = tape.shape[1], tape.tolist()
    policy = problem.policy(name, **settings)
    reference = rival(problem, name, rounds, **settings)
    expected = reference.play(rewards, rounds)
    for stepwise in (True, False):
        played = cb.play(policy, tape, rounds, stepwise=stepwise).tolist()
        if played != expected:
            where = f"{problem.name}, {name} {settings}, stepwise={stepwise}"
            pytest.fail(f"{where}\n{difference(reference, rewards, played)}", pytrace=False)
    return expected


def made(means: list[list[float]], widths: Any, family: str = "bernoulli") -> Problem:
    instance = cb.Instance(means, family=family)
    return Problem(f"{family} {means} within {widths}", instance, instance.clusters(widths))


def random_distances(seed: int, K: int, scale: float) -> list[list[float]]:
    """Any distances: some 0, some infinite, no triangle inequality."""
    rng = np.random.default_rng(seed)
    half = np.triu(scale * rng.choice([0.0, 0.05, 0.3, np.inf], (K, K), p=[0.1, 0.4, 0.3, 0.2]), 1)
    distances: list[list[float]] = (half + half.T).tolist()
    return distances


def test_policies_are_there() -> None:
    assert sorted(set(ALL) - set(cb.POLICIES)) == []


@pytest.mark.parametrize("problem", PAPER, ids=lambda problem: problem.name)
@pytest.mark.parametrize("name", NAMES)
def test_paper(problem: Problem, name: str) -> None:
    check(problem, name, problem.tape(1, 1000))


@pytest.mark.parametrize("family", PLAIN)
@pytest.mark.parametrize("name", NAMES)
def test_random_problems(name: str, family: str) -> None:
    rounds = 150 if name in INDEX else 300
    for seed in range(6):
        problem = random_problem(seed, family)
        check(problem, name, problem.tape(seed, rounds))


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_settings(name: str, settings: dict[str, Any]) -> None:
    for seed, family in enumerate(WEIGHTED, 30):
        problem = random_problem(seed, family)
        check(problem, name, problem.tape(seed, 150), **settings)
    for problem in (PAPER[2], PAPER[-1]):
        check(problem, name, problem.tape(2, 300), **settings)


@pytest.mark.parametrize("family", WEIGHTED)
@pytest.mark.parametrize("settings", [{}, {"hedge": 0.5, "a": 5.0}, {"refresh": 7}], ids=str)
def test_distances(family: str, settings: dict[str, Any]) -> None:
    for seed in (9, 11, 14, 23, 27):
        problem = random_problem(seed, family)
        scale = 1.0 if family == "bernoulli" else 4.0
        distances = random_distances(seed, problem.instance.means.size, scale)
        check(problem, "ckl-ucb", problem.tape(seed, 150), distances=distances, **settings)


@pytest.mark.parametrize(("seed", "tape_seed", "drawn"), [(14900, 14900, 400), (5503, 503, 100)])
def test_exponential_arms_far_apart(seed: int, tape_seed: int, drawn: int) -> None:
    """Paths on which Clus-UCB once pulled an arm of a clearly smaller index, in rounds 36 and 33."""
    problem = random_problem(seed, "exponential:shape=2.5")
    tape = problem.tape(tape_seed, drawn)[:, :60]
    for hedge in (0.0, 0.5):
        check(problem, "clus-ucb", tape, hedge=hedge)


@pytest.mark.parametrize("family", WEIGHTED)
@pytest.mark.parametrize("name", NAMES)
def test_few_arms_and_extreme_widths(name: str, family: str) -> None:
    groups = ([[0.5]], [[0.3, 0.5, 0.6]], [[0.3], [0.5], [0.5]], [[0.2, 0.25], [0.6, 0.4, 0.4]])
    for means, width in product(groups, (0.0, 1e-12, 0.05, np.inf)):
        problem = made(means, width, family)
        check(problem, name, problem.tape(1, 120))


@pytest.mark.parametrize("reward", [0.0, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_rewards_that_are_all_the_same(name: str, reward: float) -> None:
    for family, width in product(WEIGHTED, (0.0, 0.1, np.inf)):
        if reward or family != "exponential:shape=2.5":
            problem = made([[0.2, 0.25], [0.6, 0.4, 0.4], [0.1]], width, family)
            check(problem, name, np.full((6, 100), reward))


@pytest.mark.parametrize("width", [0.0, 0.1, 1.0, np.inf])
@pytest.mark.parametrize("name", NAMES)
def test_arms_that_always_or_never_pay(name: str, width: float) -> None:
    """Divergences are infinite from below to a mean of 1, and finite from a mean of 0."""
    for means in (
        [[1.0, 0.5], [0.9, 0.3]],
        [[1.0, 0.0], [1.0, 0.0]],
        [[0.5, 0.6], [1.0]],
        [[0.0, 0.0], [0.4]],
    ):
        problem = made(means, width)
        for hedge in ({}, {"hedge": 0.5}) if name in INDEX | {"imed-clus", "imed-opt"} else ({},):
            check(problem, name, problem.tape(1, 150), **hedge)


@pytest.mark.parametrize("name", NAMES)
def test_rewards_between_0_and_1(name: str) -> None:
    check(PAPER[2], name, np.random.default_rng(5).beta(2, 3, (6, 400)))


@pytest.mark.parametrize("name", ["clus-ucb", "imed-clus", "clus-opt", "ckl-ucb", "imed-opt", "ossb"])
def test_alarm_widens(name: str) -> None:
    changed = 0
    for (means, widths), level in product(NARROW, (0.05, 0.5)):
        problem = made(means, widths)
        tape = problem.tape(1, 500)
        path = check(problem, name, tape, alarm="widen", alarm_level=level)
        changed += path != rival(problem, name, 500).play(tape.tolist(), 500)
    assert changed >= (1 if name == "ossb" else 3)


@pytest.mark.parametrize("name", ["clus-ucb", "imed-clus", "clus-opt"])
def test_alarm_on_random_problems(name: str) -> None:
    for seed in range(20, 32):
        problem = random_problem(seed)
        check(problem, name, problem.tape(seed, 200), alarm="widen", alarm_level=0.5)


@pytest.mark.parametrize("settings", [{"refresh": 50}, {"hedge": 0.25}, {"a": 5.0, "refresh": 7}], ids=str)
@pytest.mark.parametrize("name", ["clus-ucb", "clus-opt"])
def test_alarm_widens_with_settings(name: str, settings: dict[str, Any]) -> None:
    for means, widths in NARROW:
        problem = made(means, widths)
        check(problem, name, problem.tape(2, 400), alarm="widen", **settings)


@pytest.mark.parametrize(
    "name", ["clus-ucb", "clus-ucb-hedged", "ckl-ucb", "clus-opt", "imed-clus", "imed-opt", "ossb"]
)
def test_alarm_changes_nothing_unless_it_widens(name: str) -> None:
    for means, widths in NARROW:
        problem = made(means, widths)
        tape = problem.tape(1, 3000)
        paths = [
            cb.play(problem.policy(name, **alarm), tape)
            for alarm in ({}, {"alarm": "warn"}, {"alarm": "ignore"})
        ]
        assert np.array_equal(paths[0], paths[1])
        assert np.array_equal(paths[0], paths[2])


SAME = [
    ("ckl-ucb", {}, "clus-ucb", {}, False),
    ("ckl-ucb", {"hedge": 0.5, "a": 5.0}, "clus-ucb-hedged", {"a": 5.0}, False),
    ("ckl-ucb", {"refresh": 50}, "clus-ucb", {"refresh": 50}, False),
    ("clus-ucb", {"hedge": 0.5}, "clus-ucb-hedged", {}, False),
    ("imed-clus", {}, "imed", {}, True),
    ("imed-clus", {"hedge": 1.0}, "imed", {}, True),
    ("imed-opt", {}, "imed", {}, True),
    ("clus-ucb", {"hedge": 0.5}, "kl-ucb", {}, True),
    ("clus-ucb", {"hedge": 1.0, "a": 5.0}, "kl-ucb", {"a": 5.0}, True),
    ("clus-ucb-hedged", {}, "kl-ucb", {}, True),
    ("clus-opt", {"refresh": 50}, "kl-ucb", {"refresh": 50}, True),
]


@pytest.mark.parametrize("family", WEIGHTED)
@pytest.mark.parametrize(("one", "settings", "other", "its", "wide"), SAME, ids=str)
def test_same_paths(
    one: str, settings: dict[str, Any], other: str, its: dict[str, Any], wide: bool, family: str
) -> None:
    for seed in range(12):
        problem = random_problem(seed, family)
        if wide:
            problem = Problem(problem.name, problem.instance, problem.instance.clusters(np.inf))
        tape = problem.tape(seed, 3000)
        first = cb.play(problem.policy(one, **settings), tape)
        second = cb.play(problem.policy(other, **its), tape)
        assert np.array_equal(first, second), f"{problem.name}: round {1 + (first != second).argmax()}"
