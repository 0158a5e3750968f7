"""What every policy of the registry keeps to: online = compiled = plain Python; holding = stepwise; JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.policies.protocol import KERNELS
from clusterbandits.simulation.loop import advance
from tests.exactness.problems import PAPER, Problem
from tests.processes import without_jit

ROUNDS = 1500
INSTANCES = {
    family: cb.Instance([[0.41, 0.42, 0.43], [0.43, 0.44, 0.45]], family=family)
    for family in (
        "bernoulli",
        "gaussian:sigma=0.5",
        "poisson",
        "exponential",
        "negative-binomial:shape=0.5",
        "bounded:high=7",
    )
}
PROBLEMS = [
    *(Problem(family, one, one.clusters([0.03, 0.04])) for family, one in INSTANCES.items()),
    PAPER[-1],
]
CASES = [(name, problem) for name in cb.POLICIES for problem in PROBLEMS]


def made(name: str, problem: Problem) -> cb.Policy:
    """Return a policy for a problem, with the horizon if it needs one."""
    horizon = {"horizon": ROUNDS} if cb.POLICIES[name].needs_horizon else {}
    return problem.policy(name, **horizon)


_WITHOUT_JIT = """
import json, sys
import numpy as np
import clusterbandits as cb
from tests.exactness.test_conformance import CASES, made
paths = [cb.play(made(name, problem), problem.tape(4, 60), 60).tolist() for name, problem in CASES]
json.dump(paths, sys.stdout)
"""


@pytest.mark.parametrize(("name", "problem"), CASES, ids=lambda part: getattr(part, "name", part))
def test_holding_equals_stepwise(name: str, problem: Problem) -> None:
    tape = problem.tape(4, ROUNDS)
    policy = made(name, problem)
    assert np.array_equal(cb.play(policy, tape), cb.play(policy, tape, stepwise=True))


@pytest.mark.parametrize(("name", "problem"), CASES, ids=lambda part: getattr(part, "name", part))
def test_online_equals_compiled(name: str, problem: Problem) -> None:
    tape = problem.tape(4, ROUNDS)
    policy = made(name, problem)
    asked = []
    for _ in range(ROUNDS):
        arm = policy.ask()
        policy.tell(arm, float(tape[arm, policy.pulls[arm]]))
        asked.append(arm)
    assert cb.play(policy, tape).tolist() == asked


@pytest.mark.parametrize("name", ["tlp-mean:refresh=7", "tlp-max:refresh=7", "ucbc:refresh=7"])
def test_choices_kept_for_several_rounds_survive_saving(name: str) -> None:
    instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
    tape = (np.random.default_rng(5).random((5, 120)) < instance.means[:, None]).astype(float)
    policy = cb.policy(name, instance.clusters())
    path = cb.play(policy, tape).tolist()
    assert path == cb.play(policy, tape, stepwise=True).tolist()
    assert {len(set(path[start : start + 7])) for start in range(5, 117, 7)} == {1}
    for arm in path:
        policy = cb.Policy.from_json(policy.to_json())
        assert policy.ask() == arm
        policy = cb.Policy.from_json(policy.to_json())
        policy.tell(arm, float(tape[arm, policy.pulls[arm]]))


@pytest.mark.parametrize(("name", "problem"), CASES, ids=lambda part: getattr(part, "name", part))
def test_saved_policies_go_on_where_they_were(name: str, problem: Problem) -> None:
    tape = problem.tape(4, ROUNDS)
    policy = made(name, problem)
    path = cb.play(policy, tape, 400).tolist()
    for n in range(400):
        arm = policy.ask()
        assert arm == path[n]
        policy.tell(arm, float(tape[arm, policy.pulls[arm]]))
        if n % 40 == 7:
            text = policy.to_json()
            policy = cb.Policy.from_json(text)
            assert policy.to_json() == text
            assert json.loads(text)["format"]


def test_plain_python_chooses_the_same(tmp_path: Path) -> None:
    compiled = [cb.play(made(name, problem), problem.tape(4, 60), 60).tolist() for name, problem in CASES]
    assert json.loads(without_jit(_WITHOUT_JIT, tmp_path)) == compiled


def _compilations(kernel: Any) -> int:
    return len(kernel.signatures)


def test_one_compilation_a_policy() -> None:
    numbers: list[Any] = [np.int64(50), 50.0, np.int64(3)]
    one_number, another, third = numbers
    for name, problem in CASES:
        policy = made(name, problem)
        cb.play(policy, problem.tape(1, 20), 20)
        cb.play(policy, problem.tape(1, 20).astype(np.float32), 20, stepwise=True)
        cb.simulate(problem.instance, policy, one_number, runs=2, paired=True)
        cb.simulate(problem.instance, policy, another, runs=2, seed=third)
        policy.tell(policy.ask(), np.float64(1))
    states = {type(made(name, problem).fresh_state()) for name, problem in CASES}
    assert _compilations(advance) == len(states)
    for state in states:
        for kernel in filter(callable, KERNELS[state]):
            assert _compilations(kernel) <= len(states)


@pytest.mark.parametrize("name", cb.POLICIES)
def test_policies_tell_what_they_are(name: str) -> None:
    kind = cb.POLICIES[name]
    made = cb.policy(name, cb.Clusters([2, 1], widths=0.1))
    assert made.name == made.label == made.spec == name
    assert kind.__doc__ is not None
    assert "References\n" in kind.__doc__
    assert kind.reference
    assert isinstance(made.uses_widths, bool)
    assert cb.Policy.of_description(made.description()).description() == made.description()
    assert str(made.explain())
