"""Compiled policies from outside the package: they work everywhere, are not cached, and can be wrong."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.kernel_cache import cache
from tests.own.test_python_policy import MODULES, imported

INSTANCE = cb.Instance([[0.3, 0.5], [0.7]])
CLUSTERS = INSTANCE.clusters(0.3)
MINE = """
import math
import clusterbandits as cb

@cb.kernel
def score(state, arm, pulls, total, n):
    mean = total / pulls
    return mean + math.sqrt({factor} * mean * (1.0 - mean) * math.log(n) / pulls) + 3.0 * math.log(n) / pulls

class UCBV(cb.ScorePolicy):
    name = "ucb-v-of-mine"
    score = score
"""
RUN = """
import clusterbandits as cb
from ucbv import UCBV
instance = cb.Instance([[0.3, 0.5], [0.7]])
print(cb.simulate(instance, UCBV(instance.clusters()), 2000, 4).pulls[0, :, -1].tolist())
"""


@cb.kernel
def variance_score(_state: Any, _arm: int, pulls: int, total: float, n: int) -> float:
    """UCB-V for rewards 0 or 1, whose variance follows from their mean."""
    mean = total / pulls
    bonus = math.sqrt(2.0 * max(mean * (1.0 - mean), 0.0) * math.log(n) / pulls)
    return mean + bonus + 3.0 * math.log(n) / pulls


class UCBV(cb.ScorePolicy):
    name = "ucb-v-round-by-round"
    score = variance_score


class HeldUCBV(cb.ScorePolicy):
    """The same, with a declaration that is wrong: a reward of 0 can raise the variance."""

    name = "ucb-v-held-wrongly"
    score = variance_score
    relies_on = cb.MONOTONE


class PairState(NamedTuple):
    """The least that a state can be."""

    pulls: np.ndarray[Any, np.dtype[np.int64]]
    totals: np.ndarray[Any, np.dtype[np.float64]]


@cb.kernel
def take_turns(state: Any, n: int) -> int:
    return int((n - 1) % state.pulls.size)


@cb.kernel
def add(state: Any, arm: int, pulls: int, total: float) -> None:
    state.pulls[arm] += pulls
    state.totals[arm] += total


@cb.kernel
def hold_ten(_state: Any, _arm: int, _n: int, limit: int) -> int:
    return min(10, limit)


class Turns(cb.Policy):
    name = "turns"
    kernels = cb.Kernels(take_turns, add)

    def new_state(self, rng: Any) -> PairState:
        del rng
        return PairState(np.zeros(len(self.clusters.arms), dtype=np.int64), np.zeros(len(self.clusters.arms)))


class HeldState(PairState):
    """Another class: kernels are chosen by it."""


class HeldTurns(Turns):
    name = "held-turns"
    kernels = cb.Kernels(take_turns, add, hold=hold_ten)
    relies_on = (cb.Assumption.REWARDS_NOT_NEGATIVE,)

    def new_state(self, rng: Any) -> HeldState:
        return HeldState(*super().new_state(rng))


class UndeclaredState(PairState):
    """A third one."""


class UndeclaredTurns(Turns):
    name = "undeclared-turns"
    kernels = cb.Kernels(take_turns, add, hold=hold_ten)

    def new_state(self, rng: Any) -> UndeclaredState:
        return UndeclaredState(*super().new_state(rng))


def test_what_declares_nothing_is_played_round_by_round() -> None:
    cb.testing.check_policy(UCBV(CLUSTERS), examples=30, families=["bernoulli"])
    cb.testing.check_policy(Turns(CLUSTERS), examples=10)


def test_a_wrong_declaration_is_refuted() -> None:
    with pytest.raises(AssertionError, match=r"skip-ahead simulation chooses arm|relies on"):
        cb.testing.check_policy(HeldUCBV(CLUSTERS), families=["bernoulli"])


def test_the_declaration_itself_is_refuted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterbandits.testing._try_trials", lambda *_: None)
    with pytest.raises(AssertionError, match="relies on: an arm's score does not"):
        cb.testing.check_policy(HeldUCBV(CLUSTERS), families=["bernoulli"])


def test_a_wrong_hold_is_refuted() -> None:
    with pytest.raises(AssertionError, match="skip-ahead simulation chooses arm"):
        cb.testing.check_policy(HeldTurns(CLUSTERS), families=["bernoulli"])


def test_holding_must_be_declared() -> None:
    with pytest.raises(cb.InvalidInputError, match="UndeclaredTurns: relies_on"):
        UndeclaredTurns(CLUSTERS).fresh_state()


def test_it_works_in_simulations_online_and_as_text() -> None:
    policy = UCBV(CLUSTERS)
    held = cb.simulate(INSTANCE, policy, 3000, runs=6, seed=2)
    stepwise = cb.simulate(INSTANCE, policy, 3000, runs=6, seed=2, stepwise=True, workers=1)
    assert np.array_equal(held.pulls, stepwise.pulls)
    policy.tell(policy.ask(), 1)
    again: Any = cb.Policy.from_json(policy.to_json())
    assert again.pulls == policy.pulls
    assert again.ask() == policy.ask()


def test_the_compiled_policy_of_the_page(tmp_path: Path) -> None:
    with imported("compiled_policy", MODULES["compiled_policy"], tmp_path) as found:
        cb.testing.check_policy(found.WiderUCB(CLUSTERS), examples=15, families=["bernoulli", "poisson"])


def test_nothing_of_it_is_kept_on_disk(tmp_path: Path) -> None:
    """Another folder's commands start, and an edit changes results, without any cache being cleared."""
    mine, elsewhere = tmp_path / "mine", tmp_path / "elsewhere"
    mine.mkdir()
    elsewhere.mkdir()
    folder, copy = cache().own, tmp_path / "cache"
    assert folder is not None
    shutil.copytree(folder, copy / folder.name)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(copy)}

    def ran(folder: Path, *command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    results = []
    for factor in ("2.0", "8.0"):
        (mine / "ucbv.py").write_text(MINE.format(factor=factor))
        results.append(ran(mine, "-c", RUN))
    assert results[0] != results[1]
    command = ("-m", "clusterbandits", "simulate", "0.3,0.5;0.7", "--horizon", "100", "--runs", "2")
    assert "ucb1" in ran(elsewhere, *command, "--policy", "ucb1")


def test_a_compiled_policy_chooses_among_some_arms() -> None:
    """Its state is the least that a state can be, and its score has a compilation of its own."""
    turns = Turns(CLUSTERS)
    assert turns.ask(available=[0, 2]) == 0
    turns.tell(0, 1)
    assert [turns.ask(available=[0, 2]) for _ in range(4)] == [2, 0, 2, 0]
    turns.retire_arm(1)
    assert turns.ask(2) == [2, 0]
    score = UCBV(CLUSTERS)
    for arm in score.ask(3):
        score.tell(arm, arm % 2)
    for available in ([0, 1], [1, 2], [2]):
        twin = cb.Policy.from_json(score.to_json())
        for arm in {0, 1, 2} - set(available):
            twin.remove_arm(arm)
        assert score.ask(5, available=available) == twin.ask(5)
    score.cancel(2)
    twin = cb.Policy.from_json(score.to_json())
    assert score.ask() == twin.ask()
