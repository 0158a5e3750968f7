"""A policy in ten lines of Python works wherever a built-in one does, and an edit of it is noticed."""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.policies import Policy
from clusterbandits.policies.protocol import KERNELS
from clusterbandits.simulation.rewards import reward_iterators, run_rewards
from clusterbandits.simulation.simulate import plan_of
from tests.processes import line, started

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "own-policies.md").read_text()
#: The modules and scripts of the page, by the names in their first lines.
MODULES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, flags=re.DOTALL))
SCRIPT = re.search(r"```python\n(import numpy.*?)```", PAGE, flags=re.DOTALL)
INSTANCE = cb.Instance([[0.41, 0.42, 0.43], [0.43, 0.44, 0.45]])
CLUSTERS = INSTANCE.clusters(0.05)
SLOW = """
import os, sys, time
import clusterbandits as cb

class Slow(cb.PythonPolicy):
    name = "slow"
    def select(self, n):
        if n == 1:
            os.write(1, b"run\\n")  # In one go: two processes do so at the same time.
        time.sleep(0.002)
        return n % len(self.pulls)

if __name__ == "__main__":
    instance = cb.Instance([[0.2, 0.8], [0.5]])
    policies = [Slow(instance.clusters()), "ucb1"]
    result = cb.simulate(instance, policies, 100, 24, 5, store=sys.argv[1], workers=2)
    print("done", result.pulls.tolist(), flush=True)
"""


class Variance(cb.PythonPolicy):
    name = "variance"
    needs_squares = True
    randomised = False

    def select(self, _n: int) -> int:
        known = np.maximum(self.pulls, 1)
        spread = self.squares / known - (self.totals / known) ** 2
        return int(np.argmin(self.pulls + spread))


@contextlib.contextmanager
def imported(name: str, text: str, folder: Path) -> Iterator[ModuleType]:
    """Import a module written into a folder; forget it at the end."""
    (folder / f"{name}.py").write_text(text)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    kinds = dict(Policy.kinds)
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(name, None)
        Policy.kinds.clear()
        Policy.kinds.update(kinds)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    with imported("my_module", MODULES["my_module"], tmp_path) as found:
        yield found


def test_the_page_has_ten_lines_that_are_a_policy() -> None:
    lines = [one for one in MODULES["my_module"].splitlines() if one.strip()]
    assert len(lines) <= 10
    assert SCRIPT is not None


def test_simulations_do_not_depend_on_the_number_of_processes(module: Any) -> None:
    policies = [module.Greedy(CLUSTERS), cb.UCB1(CLUSTERS)]
    alone = cb.simulate(INSTANCE, policies, 300, runs=20, seed=3, workers=1)
    together = cb.simulate(INSTANCE, policies, 300, runs=20, seed=3, workers=2)
    assert np.array_equal(alone.pulls, together.pulls)
    assert alone.labels == ("greedy", "ucb1")
    # All arms tie until the first success, and greedy stays with the arm that had it.
    assert (alone.pulls[0, :, -1] > 0).sum(axis=1).max() <= 6


def test_paired_policies_meet_the_same_rewards(module: Any) -> None:
    settings = {"horizon": 50, "runs": 2, "seed": 4, "checkpoints": None, "paired": True, "stepwise": False}
    plan = plan_of(INSTANCE, [module.Greedy(CLUSTERS), cb.UCB1(CLUSTERS)], settings)
    python, compiled = plan.policies
    drawn = [[next(arm) for _ in range(50)] for arm in reward_iterators(plan, 1, python)]
    assert np.array_equal(drawn, run_rewards(plan, 1, compiled).tape)


def test_asking_is_playing_is_restoring(module: Any) -> None:
    tape = (np.random.default_rng(1).random((6, 80)) < INSTANCE.means[:, None]).astype(float)
    policy: Any = module.Greedy(CLUSTERS)
    path = cb.play(policy, tape).tolist()
    for n, arm in enumerate(path):
        if n % 9 == 4:
            policy = cb.Policy.from_json(policy.to_json())
        elif n % 9 == 7:
            policy = pickle.loads(pickle.dumps(copy.deepcopy(policy)))
        assert policy.ask() == arm
        policy.tell(arm, tape[arm, policy.pulls[arm]])
    assert json.loads(policy.to_json())["policy"] == "my_module:Greedy"
    assert policy.ask(3) == [policy.ask()] * 3
    assert str(policy.explain())


def test_it_has_a_name_in_texts_studies_and_commands(module: Any, tmp_path: Path) -> None:
    assert isinstance(cb.policy("my_module:Greedy", CLUSTERS), module.Greedy)
    assert isinstance(cb.policy("my_module:Greedy:seed=3", CLUSTERS), module.Greedy)
    with pytest.raises(cb.InvalidInputError, match="written as 'my_module:Greedy'"):
        cb.policy("my_module.Greedy", CLUSTERS)
    (study,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "greedy.toml").write_text(study)
    command = [sys.executable, "-m", "clusterbandits", "run", "greedy.toml", "--out", "report"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "greedy" in ran.stdout
    assert "greedy" in (tmp_path / "report" / "index.html").read_text()
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Simulated 0 runs; 20 reused" in again.stdout


def test_it_replays_a_log(module: Any) -> None:
    rng = np.random.default_rng(2)
    arms = rng.integers(0, 3, 3000)
    rewards = (rng.random(3000) < np.array([0.2, 0.7, 0.4])[arms]).astype(int)
    log = {"time": list(range(3000)), "arm": [f"a{arm}" for arm in arms], "reward": rewards.tolist()}
    clusters = cb.Clusters({"x": ["a0", "a1"], "y": ["a2"]}, widths=0.5)
    result = cb.replay(log, [module.Greedy(clusters), cb.UCB1(clusters)])
    assert "greedy" in str(result)


def test_the_script_of_the_page_runs(tmp_path: Path) -> None:
    (tmp_path / "my_module.py").write_text(MODULES["my_module"])
    assert SCRIPT is not None
    (tmp_path / "script.py").write_text(SCRIPT[1])
    (tmp_path / "rewards.py").write_text(MODULES["rewards"])
    for name in ("script", "rewards"):
        ran = subprocess.run(
            [sys.executable, f"{name}.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert "Regret after" in ran.stdout


def test_it_is_killed_and_resumed_from_its_store(tmp_path: Path) -> None:
    script, store = tmp_path / "slow.py", tmp_path / "store"
    script.write_text(SLOW)
    whole = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "whole")], capture_output=True, text=True, check=True
    )
    with started([sys.executable, str(script), str(store)], stdout=subprocess.PIPE) as process:
        while not list(store.glob("policy-0-*.parquet")):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.wait()
    kept = len(list(store.glob("policy-0-*.parquet")))
    assert 0 < kept < 16
    resumed = subprocess.run(
        [sys.executable, str(script), str(store)], capture_output=True, text=True, check=True
    )
    (done,) = [one for one in resumed.stdout.splitlines() if one.startswith("done")]
    assert done in whole.stdout
    # An edit of the policy, even one that changes no choice, ends the store.
    script.write_text(SLOW.replace("0.002", "0.001"))
    edited = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "whole")], capture_output=True, text=True, check=False
    )
    assert edited.returncode != 0
    assert "Its runs have other policies" in edited.stderr


def test_ctrl_c_ends_its_processes(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    # Without UCB1, whose compilation cannot be interrupted.
    script.write_text(SLOW.replace("0.002", "0.05").replace(', "ucb1"]', "]"))
    with started([sys.executable, str(script), str(tmp_path / "store")], stdout=subprocess.PIPE) as process:
        assert line(process) == "run"
        process.send_signal(2)
        assert process.wait(30) != 0


def test_results_can_be_read_after_an_edit(module: Any, tmp_path: Path) -> None:
    store = tmp_path / "store"
    result = cb.simulate(INSTANCE, module.Greedy(CLUSTERS), 50, runs=3, store=store, workers=1)
    sys.modules.pop("my_module")
    with imported("my_module", MODULES["my_module"] + "\n# edited\n", tmp_path) as edited:
        assert np.array_equal(cb.load_result(store).pulls, result.pulls)
        with pytest.raises(cb.InvalidInputError, match="have other policies"):
            cb.simulate(INSTANCE, edited.Greedy(CLUSTERS), 50, runs=3, store=store, workers=1)


def test_an_edit_of_what_it_imports_is_an_edit(tmp_path: Path) -> None:
    text = "import clusterbandits as cb\nimport helper_of_mine\n\n\nclass Mine(cb.PythonPolicy):\n"
    text += "    name = 'mine'\n\n    def select(self, n):\n        return helper_of_mine.arm()\n"
    keys = []
    for arm in (0, 1):
        (tmp_path / "helper_of_mine.py").write_text(f"def arm():\n    return {arm}\n")
        sys.modules.pop("helper_of_mine", None)
        with imported("mine_of_mine", text, tmp_path) as found:
            keys.append(found.Mine._source)
    assert keys[0] != keys[1]


def test_memory_is_saved_and_nothing_else_can_be_remembered(tmp_path: Path) -> None:
    with imported("streak", MODULES["streak"], tmp_path) as found:
        policy: Any = found.StayOnWin(CLUSTERS, epsilon=0.2)
        cb.testing.check_policy(policy, examples=15, families=["bernoulli", "gaussian"])
        policy.tell(policy.ask(), 1)
        assert policy.won is True
        again: Any = cb.Policy.from_json(policy.to_json())
        assert (again.won, again.last) == (policy.won, policy.last)
        document = json.loads(policy.to_json())
        for inc in ("0", "2", str(2**128 - 1), str(int(document["choice"]["inc"]) + 2)):
            document["choice"]["inc"] = inc
            with pytest.raises(cb.InvalidInputError, match="the stream that belongs to its seed"):
                cb.Policy.from_json(json.dumps(document))
        with pytest.raises(cb.InvalidInputError, match=r"StayOnWin\.tell: pulls must be 1"):
            policy.tell(0, 2, pulls=3)
        with pytest.raises(cb.InvalidInputError, match="remembers must be empty"):
            policy.add_arm(99, 0)

    class Forgetful(cb.PythonPolicy):
        name = "forgetful"

        def select(self, n: int) -> int:
            self.seen = n
            return 0

    with pytest.raises(cb.InvalidInputError, match="a tuple that contains 'seen'"):
        Forgetful(CLUSTERS).ask()


@pytest.mark.parametrize("kind", ["Greedy", "Variance"])
def test_some_arms_are_as_if_the_others_had_been_removed(module: Any, kind: str) -> None:
    policy: Any = (Variance if kind == "Variance" else module.Greedy)(CLUSTERS)
    rng = np.random.default_rng(3)
    # The policy of the page relies on that every arm was pulled in the first rounds.
    for arm in range(6):
        policy.tell(arm, 0.0)
    for n in range(40):
        available = rng.choice(6, int(rng.integers(1, 7)), replace=False).tolist()
        twin: Any = cb.Policy.from_json(policy.to_json())
        for arm in set(range(6)) - set(available):
            twin.remove_arm(arm)
        arm = policy.ask(available=available)
        assert arm == twin.ask()
        if n % 3:
            policy.tell(arm, float(rng.integers(0, 2)))
    policy.retire_arm(4)
    assert 4 not in policy.ask(20)
    again: Any = pickle.loads(pickle.dumps(cb.Policy.from_json(policy.to_json())))
    assert again.retired == (4,)
    assert again.ask(10) == policy.ask(10)


def test_awaited_rewards_are_seen_as_pulls_and_totals_alone() -> None:
    class Watching(cb.PythonPolicy):
        name = "watching"
        remembers = ("updates",)
        randomised = False
        needs_squares = True

        def reset(self) -> None:
            self.updates = 0

        def update(self, _arm: int, _reward: float) -> None:
            self.updates += 1

        def select(self, n: int) -> int:
            assert self.pulls.sum() == n - 1
            assert self.updates <= 6
            known = np.maximum(self.pulls, 1)
            return int(np.argmin(self.pulls + self.squares / known))

    policy: Any = Watching(CLUSTERS)
    for arm in range(6):
        policy.tell(arm, arm / 10)
    asked = policy.ask(12)
    assert policy.updates == 6
    for arm in asked[:5]:
        policy.cancel(arm)
    policy.ask()
    assert policy.updates == 6
    with pytest.raises(cb.InvalidInputError, match="remembers must be empty"):
        policy.ask(available=[0, 1])
    with pytest.raises(cb.InvalidInputError, match="remembers must be empty"):
        policy.retire_arm(0)
    assert policy.ask(available=range(6)) in range(6)


def test_copies_in_python_are_merged(module: Any) -> None:
    policy, other, whole = (module.Greedy(CLUSTERS) for _ in range(3))
    for arm in range(6):
        policy.tell(arm, arm % 2)
        other.tell(arm, 1)
        whole.tell(arm, arm % 2 + 1, pulls=2)
    policy.merge(other)
    policy.correct(2, -1)
    whole.correct(2, -1)
    new = module.Greedy(CLUSTERS)
    new.take_over(whole)
    for one in (policy, new):
        assert one.pulls.tolist() == whole.pulls.tolist()
        assert one.totals.tolist() == whole.totals.tolist()
        assert one.ask() == cb.Policy.from_json(whole.to_json()).ask()


def test_what_one_class_wants_is_not_what_another_gets(module: Any) -> None:
    for policy in (module.Greedy(CLUSTERS), Variance(CLUSTERS), module.Greedy(CLUSTERS)):
        assert KERNELS[type(policy.fresh_state())] == policy.kernels


def test_squares_are_for_policies_that_ask_for_them() -> None:
    policy = Variance(CLUSTERS, family="gaussian")
    for reward in (0.5, -2.0, 3.0):
        policy.tell(0, reward)
    assert policy.squares[0] == 0.25 + 4 + 9
    again: Any = cb.Policy.from_json(policy.to_json())
    assert again.squares.tolist() == policy.squares.tolist()
    cb.testing.check_policy(policy, examples=10)

    class Careless(cb.PythonPolicy):
        name = "careless"

        def select(self, _n: int) -> int:
            return int(self.squares[0])

    with pytest.raises(cb.InvalidInputError, match="needs_squares"):
        Careless(CLUSTERS).ask()


@pytest.mark.parametrize("answer", [6, -1, 1.5, None, "a"])
def test_an_arm_that_does_not_exist_is_refused(answer: object) -> None:
    class Astray(cb.PythonPolicy):
        name = "astray"

        def select(self, _n: int) -> Any:
            return answer

    with pytest.raises(cb.InvalidInputError, match="the number of an arm, from 0 to 5"):
        Astray(CLUSTERS).ask()


def test_classes_that_cannot_be_policies_are_refused() -> None:
    with pytest.raises(cb.InvalidInputError, match="Nothing: select must be defined"):
        type("Nothing", (cb.PythonPolicy,), {"name": "nothing"})
    with pytest.raises(cb.InvalidInputError, match="a name that no built-in policy has"):
        type("Taken", (cb.PythonPolicy,), {"name": "ucb1", "select": lambda *_: 0})
    for text in ("no_such_module:Greedy", "json:loads", "json:no", "json:"):
        with pytest.raises(cb.InvalidInputError):
            cb.policy(text, CLUSTERS)
