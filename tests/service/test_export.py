"""Exports: every decision with its reward and how likely it was, in a form that ``replay`` reads."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import clusterbandits as cb
from clusterbandits.service.database import Database
from clusterbandits.service.engine import Engine
from clusterbandits.service.export import Wanted, write
from clusterbandits.service.keys import ANYBODY, KeyRing
from clusterbandits.service.operations import Change, Create, Decide
from clusterbandits.service.rewards import Reward, Rewards
from clusterbandits.service.upkeep import export_file

pytestmark = pytest.mark.usefixtures("fixed_salt")

#: For tests of what is computed from a log, wherever it is stored.
ON_SQLITE = pytest.mark.parametrize("address", ["sqlite"], indirect=True)
GROUPS = {"red": ["a", "b", "c"], "blue": ["d", "e", "f"]}
MEANS = dict(zip("abcdef", (0.2, 0.25, 0.3, 0.5, 0.55, 0.6), strict=True))
PLAN: dict[str, Any] = {
    "name": "ads",
    "groups": GROUPS,
    "widths": 0.2,
    "policy": "auto",
    "settings": {},
    "family": "bernoulli",
    "window": None,
    "default_reward": None,
    "combine": "first",
    "explore": 0.0,
}


def served_log(database: Database, rounds: int, delay: int = 3, **settings: Any) -> int:
    """Let a policy decide, with rewards that come a few decisions later; return the experiment's number."""
    engine, rng = Engine(database, KeyRing()), np.random.default_rng(3)
    engine.perform([Create({**PLAN, **settings}, ANYBODY)])
    waiting: list[dict[str, Any]] = []
    for number in range(rounds):
        available = None if number % 5 else ["a", "c", "d", "f"]
        (found,) = engine.perform([Decide("ads", available, 1, f"k{number}", {"n": number})])
        waiting += found["decisions"]
        if len(waiting) > delay:
            one = waiting.pop(0)
            value = float(rng.random() < MEANS[one["arm"]])
            engine.perform([Reward(one["id"], value, "", ANYBODY)])
    engine.perform([Rewards([Reward(one["id"], 0.0, "", ANYBODY) for one in waiting[:-1]])])
    number = engine.experiments["ads"].number
    engine.close()
    return number


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_decision_is_exported_once(database: Database, tmp_path: Path) -> None:
    number = served_log(database, 60)
    write(database, Wanted(number), str(tmp_path / "some.csv"))
    write(database, Wanted(number, unrewarded=True), str(tmp_path / "all.csv"))
    write(database, Wanted(number, "parquet", unrewarded=True), str(tmp_path / "all.parquet"))
    some, everything = rows_of(tmp_path / "some.csv"), rows_of(tmp_path / "all.csv")
    assert [row["key"] for row in everything] == [f"k{number}" for number in range(60)]
    assert [json.loads(row["note"])["n"] for row in everything] == list(range(60))
    assert len(some) == 59
    assert [row for row in everything if row["status"] != "open"] == some
    assert {row["group"] for row in some if row["arm"] in "abc"} == {"red"}
    table = pq.read_table(tmp_path / "all.parquet").to_pylist()
    assert [row["decision"] for row in table] == [row["decision"] for row in everything]
    assert [row["reward"] for row in table] == [
        float(row["reward"]) if row["reward"] else None for row in everything
    ]
    assert json.loads(everything[0]["available"]) == ["a", "c", "d", "f"]


@pytest.mark.parametrize(("policy", "explore"), [("kindred", 0.0), ("thompson", 0.2), ("clus-ucb", 0.3)])
def test_propensities_are_those_of_the_state_before(
    database: Database, tmp_path: Path, policy: str, explore: float
) -> None:
    number = served_log(database, 500, policy=policy, explore=explore)
    write(database, Wanted(number, propensities=True, draws=1000), str(tmp_path / "log.csv"))
    rows = rows_of(tmp_path / "log.csv")
    chances, errors = (
        np.array([float(row[key]) for row in rows]) for key in ("propensity", "propensity_error")
    )
    assert np.all((chances > 0) & (chances <= 1))
    open_arms = np.array([4 if row["available"] else 6 for row in rows])
    if explore:
        # Where every arm is possible, 1/p of the chosen one has the number of arms for its mean.
        deviation = 1 / chances - open_arms
        assert abs(deviation.mean()) < 4 * deviation.std() / np.sqrt(len(rows))
        explored = np.array([row["explored"] == "true" for row in rows])
        assert abs(explored.mean() - explore) < 4 * np.sqrt(explore * (1 - explore) / len(rows))
    if policy == "clus-ucb":
        assert np.all(errors == 0)
        possible = np.stack([explore / open_arms, 1 - explore + explore / open_arms])
        assert np.all(np.abs(chances - possible).min(axis=0) < 1e-12)
    else:
        own = ((chances - explore / open_arms) / (1 - explore) * 1001 + 0.5) / 1002
        assert np.allclose(errors, (1 - explore) * np.sqrt(own * (1 - own) / 1001), atol=1e-9)


@ON_SQLITE
def test_few_draws_do_not_bias_propensities(database: Database, tmp_path: Path) -> None:
    """1/p of the chosen arm has the number of arms for its mean, also where only exploration finds an arm."""
    number = served_log(database, 4_000, policy="thompson", explore=0.2)
    write(database, Wanted(number, propensities=True, draws=4), str(tmp_path / "log.csv"))
    rows = rows_of(tmp_path / "log.csv")
    for arm in "abcdef":
        # The weight 1/p of the decisions for one arm; it was not always available.
        weights = np.array([(row["arm"] == arm) / float(row["propensity"]) for row in rows])
        able = np.array([not row["available"] or arm in row["available"] for row in rows])
        excess = weights[able] - 1
        assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(excess.size), arm


def test_propensities_match_how_often_arms_are_chosen() -> None:
    """One state, decided from again and again: frequencies and propensities agree."""
    policy = cb.policy("kindred", cb.Clusters(GROUPS, widths=0.2))
    for arm, pulls, total in [("a", 10, 3), ("b", 9, 4), ("d", 12, 6), ("e", 4, 2), ("f", 3, 1)]:
        policy.tell(arm, total, pulls)
    expected = policy.chances(20_000, seed=5)
    counts = dict.fromkeys(policy.clusters.arms, 0)
    for _ in range(20_000):
        arm = policy.ask()
        policy.cancel(arm)
        counts[arm] += 1
    for label, chance in expected.items():
        assert abs(counts[label] / 20_000 - chance) < 4 * np.sqrt(2 * chance * (1 - chance) / 20_000) + 1e-9


@ON_SQLITE
def test_replay_reads_a_served_log(database: Database, tmp_path: Path) -> None:
    engine, rng = Engine(database, KeyRing()), np.random.default_rng(3)
    engine.perform([Create({**PLAN, "policy": "thompson", "explore": 0.5}, ANYBODY)])
    for _ in range(200):
        (found,) = engine.perform([Decide("ads", None, 100, None, None)])
        rewards = [(one["id"], float(rng.random() < MEANS[one["arm"]])) for one in found["decisions"]]
        engine.perform([Rewards([Reward(*one, "", ANYBODY) for one in rewards])])
    number = engine.experiments["ads"].number
    engine.close()
    file = tmp_path / "log.csv"
    write(database, Wanted(number, propensities=True, draws=50), str(file))
    estimate = cb.replay(file, "kl-ucb", rounds=40).value("kl-ucb")
    instance = cb.Instance([[MEANS[arm] for arm in group] for group in GROUPS.values()])
    runs = cb.simulate(instance, "kl-ucb", horizon=40, runs=4_000, seed=1)
    expected = max(MEANS.values()) - runs.mean("kl-ucb")[-1] / 40
    error = (estimate.high - estimate.low) / 2 / 1.96
    assert abs(estimate.value - expected) < 4 * error
    # A policy that learned nothing would earn the mean of all arms.
    uniform = np.mean(list(MEANS.values()))
    assert estimate.value - uniform > 4 * error
    command = [
        sys.executable,
        "-m",
        "clusterbandits",
        "replay",
        str(file),
        "--widths",
        "0.2",
        "--rounds",
        "40",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["a\rb", "a\nb", 'a","b', "a;b"])
def test_names_and_keys_with_any_characters_stay_in_their_row(
    database: Database, tmp_path: Path, name: str
) -> None:
    engine = Engine(database, KeyRing())
    engine.perform([Create({**PLAN, "explore": 1.0}, ANYBODY)])
    (found,) = engine.perform([Decide("ads", None, 300, name, {"said": name})])
    engine.perform([Rewards([Reward(one["id"], 1.0, "", ANYBODY) for one in found["decisions"]])])
    file = tmp_path / "log.csv"
    write(database, Wanted(engine.experiments["ads"].number, propensities=True), str(file))
    engine.close()
    assert [row["key"] for row in rows_of(file)] == [name] * 300
    assert cb.replay(file, "ucb1", rounds=1).to_dict()["log"]["rows"] == 300


def test_decisions_without_exploration_are_counted_by_the_policy_of_their_time(
    database: Database, tmp_path: Path
) -> None:
    engine = Engine(database, KeyRing())
    engine.perform([Create({**PLAN, "policy": "kl-ucb", "explore": 0.5}, ANYBODY)])
    engine.perform([Decide("ads", None, 5, None, None)])
    engine.perform([Change("ads", "changed", {"settings": {"explore": 0.0}}, ANYBODY)])
    engine.perform([Decide("ads", None, 3, None, None)])
    engine.perform([Change("ads", "changed", {"settings": {"policy": "thompson"}}, ANYBODY)])
    engine.perform([Decide("ads", None, 4, None, None)])
    engine.close()
    out = tmp_path / "log.csv"
    wanted = Wanted(0, propensities=True, unrewarded=True)
    said = export_file(database, "ads", out, wanted, None)
    assert said is not None
    assert "3 of 12 decisions" in said
    assert [float(row["propensity"]) == 1 for row in rows_of(out)][5:8] == [True] * 3


def test_the_command_writes_a_whole_file_and_warns(database: Database, address: str, tmp_path: Path) -> None:
    served_log(database, 30, policy="kl-ucb")
    out = tmp_path / "log.csv"
    command = [
        sys.executable,
        "-m",
        "clusterbandits",
        "serve",
        "export",
        "ads",
        "--out",
        str(out),
        "--propensities",
    ]
    done = subprocess.run([*command, "--database", address], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "deterministic" in done.stdout
    assert {float(row["propensity"]) for row in rows_of(out)} == {1.0}
    unknown = [*command[:5], "nothing", *command[6:], "--database", address]
    done = subprocess.run(unknown, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
