"""Replay of a log whose rewards are revenue: between bounds, mostly 0 and skewed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import clusterbandits as cb
from clusterbandits.cli.main import run
from tests.studies.test_revenue import HIGH, REVENUE, mean_of_visits, visits

SHARES = np.array([0.05, 0.06, 0.08, 0.12])
GROUPS = np.array(["old", "old", "new", "new"])
WIDTHS = {"old": 0.3, "new": 1.0}
ROUNDS = 400


def revenue_log(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Return a log that shows four pages uniformly."""
    shown = rng.integers(0, SHARES.size, rows)
    rewards = visits(rng, rows, share=1.0) * (rng.random(rows) < SHARES[shown])
    return {"time": np.arange(rows), "arm": shown, "reward": rewards, "group": GROUPS[shown]}


def true_value(policy: str) -> float:
    """Return the reward per round of a policy, simulated."""
    amounts = cb.Empirical(visits(np.random.default_rng(9), 10**6, share=1.0))
    arms = [cb.Mixture([amounts, cb.Empirical([0.0])], [share, 1.0 - share]) for share in SHARES]
    instance = cb.Instance([arms[:2], arms[2:]], family=REVENUE)
    declared = instance.clusters(list(WIDTHS.values()))
    result = cb.simulate(instance, policy, ROUNDS, runs=4000, seed=5, clusters=declared, checkpoints=[ROUNDS])
    return instance.best_mean - float(result.mean(0)[-1]) / ROUNDS


def test_a_log_of_revenue_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = revenue_log(np.random.default_rng(1), 60_000)
    file = tmp_path / "log.csv"
    pd.DataFrame(log).to_csv(file, index=False)
    declared: dict[str, Any] = {"widths": WIDTHS, "family": REVENUE, "rounds": ROUNDS}
    result = cb.replay(file, ["kl-ucb", "clus-ucb", "thompson"], **declared)
    assert 0 < result.value("clus-ucb").low < mean_of_visits(0.12)
    assert result.log.means.max() > 1.2
    skewness = float(stats.skew(log["reward"]))
    assert result.log.skewness == pytest.approx(skewness, rel=1e-3)
    bounds = ["--low", "0", "--high", f"{HIGH:g}", "--widths", "old=0.3,new=1", "--rounds", str(ROUNDS)]
    with pytest.raises(SystemExit) as end:
        run(["replay", str(file), "--policy", "clus-ucb", *bounds, "--json"])
    assert not end.value.code
    found = json.loads(capsys.readouterr().out)["policies"]["clus-ucb"]
    assert found["values"] == result.values("clus-ucb").tolist()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "column 'reward' must hold a number from 0 to 1, for bernoulli rewards"),
        (["--high", "0.5"], "column 'reward' must hold a number from 0 to 0.5, for bounded rewards"),
        (["--low", "0"], "--low needs --high, the largest possible reward."),
        (["--high", "50", "--family", "poisson"], "must be left out if --low or --high is given"),
        (["--low", "3", "--high", "1"], "--high must be larger than low"),
    ],
)
def test_bounds_that_are_missing_or_wrong(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "log.csv"
    pd.DataFrame(revenue_log(np.random.default_rng(1), 2000)).to_csv(file, index=False)
    with pytest.raises(SystemExit) as end:
        run(["replay", str(file), *options])
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err


def test_episodes_that_are_too_short_for_skewed_rewards_are_named() -> None:
    log = revenue_log(np.random.default_rng(2), 20_000)
    short = cb.replay(log, "kl-ucb", family=REVENUE, rounds=10)
    long = cb.replay(log, "kl-ucb", family=REVENUE, rounds=200)
    assert "so that the intervals are too short. Use episodes of" in " ".join(str(short).split())
    assert "too short" not in str(long)


@pytest.mark.statistical
def test_intervals_hold_the_truth_in_95_of_100_logs() -> None:
    logs, held, truth = 300, 0, true_value("clus-ucb")
    for number in range(logs):
        log = pa.table(revenue_log(np.random.default_rng([7, number]), 36_000))
        result = cb.replay(log, "clus-ucb", widths=WIDTHS, family=REVENUE, rounds=ROUNDS, seed=number)
        found = result.value(0)
        held += found.low <= truth <= found.high
    assert 0.92 <= held / logs <= 0.98
