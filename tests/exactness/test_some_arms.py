"""Choices among some arms: with what is known of the others, as plain references choose."""

from __future__ import annotations

import copy
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from tests.exactness.problems import Problem
from tests.exactness.reference import FAMILIES
from tests.exactness.test_conformance import PROBLEMS
from tests.exactness.test_rivals import ALL, rival

pytestmark = pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")
INF = float("inf")
#: The reference knows no parameters of families but a weight.
PLAIN = [one for one in PROBLEMS if one.instance.family.name in FAMILIES and "shape" not in one.name]
CASES: list[tuple[str, dict[str, Any]]] = [
    ("imed", {}),
    ("imed-clus", {}),
    ("imed-clus", {"hedge": 0.5}),
    ("imed-opt", {}),
    ("imed-opt", {"hedge": 0.5}),
    ("clus-ucb", {"leader": "plain"}),
    ("clus-ucb", {"a": 3.0, "leader": "clustered"}),
    ("clus-ucb-hedged", {}),
    ("clus-opt", {}),
    ("clus-opt", {"hedge": 0.5}),
    ("ckl-ucb", {}),
]


def plain_choice(policy: cb.Policy, problem: Problem, name: str, settings: Any, available: list[int]) -> int:
    """The choice of the reference, which knows of arms with rewards alone."""
    pulls, totals = policy.pulls, policy.totals
    for arm in sorted(available):
        if not pulls[arm]:
            return arm
    known = [int(arm) for arm in policy.clusters.arms if pulls[arm]]
    place = {arm: k for k, arm in enumerate(known)}
    parts = [[place[k] for k in part if k in place] for part in problem.clusters.partition.members]
    kept = [c for c, part in enumerate(parts) if part]
    rules = copy.copy(rival(problem, name, 500, **settings))
    rules.clusters, rules.widths = [parts[c] for c in kept], [problem.clusters.widths[c] for c in kept]
    among = [place[arm] for arm in sorted(available)]
    counts, sums = [pulls[arm] for arm in known], [totals[arm] for arm in known]
    return known[rules.choose(counts, sums, policy.rounds + 1, among)]


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
@pytest.mark.parametrize("problem", PLAIN, ids=lambda problem: problem.name)
def test_the_best_of_some_arms_is_chosen_given_all_rewards(
    name: str, settings: dict[str, Any], problem: Problem
) -> None:
    assert name in ALL
    policy, chance, tape = problem.policy(name, **settings), Random(3), problem.tape(5, 400)
    arms = list(policy.clusters.arms)
    sets = [chance.sample(arms, chance.randint(1, len(arms) - 1)) for _ in range(6)]
    for n in range(120):
        available: Any = sets[chance.randrange(2 if n < 25 else 6)]
        arm = policy.ask(available=available)
        assert arm == plain_choice(policy_before(policy, arm), problem, name, settings, available)
        policy.tell(arm, float(tape[arm, policy.pulls[arm]]))
        if chance.random() < 0.3:
            other: Any = chance.choice(arms)
            policy.tell(other, float(tape[other, policy.pulls[other]]))


def policy_before(policy: cb.Policy, arm: Any) -> cb.Policy:
    """A copy that was not asked."""
    before = copy.deepcopy(policy)
    before.cancel(arm)
    return before


def frequencies(policy: Any, available: Any, count: int = 600) -> Counter[Any]:
    """How often arms are chosen from the same state but for chance."""
    found: Counter[Any] = Counter()
    for _ in range(count):
        arm = policy.ask(available=available)
        found[arm] += 1
        policy.cancel(arm)
    return found


@pytest.mark.parametrize("name", ["kindred", "hier-ts", "clus-ts"])
def test_rewards_of_closed_arms_tell_about_their_cluster(name: str) -> None:
    """Arms p and q look alike; what is known of the others in their clusters is all that sets them apart."""
    widths = 0.1 if name == "clus-ts" else INF
    clusters = cb.Clusters({"poor": [*"abcd", "p"], "good": [*"efgh", "q"]}, widths=widths)
    policy = cb.policy(name, clusters)
    for arm in "abcd":
        policy.tell(arm, 100, pulls=500)
    for arm in "efgh":
        policy.tell(arm, 300, pulls=500)
    for arm in "pq":
        policy.tell(arm, 1, pulls=2)
    found = frequencies(policy, ["p", "q"])
    assert found["q"] > 4 * found["p"]
    for arm in "abcdefgh":
        policy.remove_arm(arm)
    found = frequencies(policy, ["p", "q"])
    assert abs(found["q"] - found["p"]) < 100


def test_kindred_draws_about_one_open_arm_of_a_cluster() -> None:
    """Two of 100 equal arms are open: without draws the first one would be chosen in 99 of 100 rounds."""
    policy = cb.Kindred(cb.Clusters({"red": range(100), "blue": ["x"]}))
    for arm in range(100):
        policy.tell(arm, 200, pulls=400)
    policy.tell("x", 100, pulls=1000)
    found = frequencies(policy, [0, 1, "x"], 1500)
    assert 0.3 < found[1] / 1500 < 0.5


def test_distances_of_some_arms() -> None:
    distances = [[0.0, 0.1, 0.3, 0.9], [0.1, 0.0, 0.2, 0.8], [0.3, 0.2, 0.0, 0.5], [0.9, 0.8, 0.5, 0.0]]
    policy = cb.CKLUCB(cb.Clusters([4], widths=1), distances=distances)
    twin = cb.CKLUCB(cb.Clusters([4], widths=1), distances=distances)
    # Arm 1 was never pulled: it is as if it did not exist.
    for arm, total in ((0, 20), (2, 30), (3, 12)):
        policy.tell(arm, total, pulls=50)
        twin.tell(arm, total, pulls=50)
    twin.remove_arm(1)
    for _ in range(20):
        arm = policy.ask(available=[0, 2, 3])
        assert arm == twin.ask()
        policy.tell(arm, 0)
        twin.tell(arm, 0)
    assert policy.ask() == 1


def test_a_width_that_was_wrong_is_ignored_among_some_arms_too() -> None:
    policy = cb.ClusUCB(cb.Clusters({"red": ["a", "b"], "blue": ["c", "d"]}, widths=0.05), alarm="widen")
    for arm, total in zip("abcd", (900, 100, 500, 510), strict=True):
        policy.tell(arm, total, pulls=1000)
    assert [alarm.cluster for alarm in policy.alarms()] == ["red"]
    assert policy.ask(available=["a", "c"]) == "a"
    view = next(reversed(policy._views.values()))
    assert np.isinf(view.state.widths[0])
