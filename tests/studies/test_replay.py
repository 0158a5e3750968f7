"""Replay does, row by row, what plain Python does with ask and tell."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clusterbandits as cb
from clusterbandits.studies import stored_tables
from clusterbandits.studies.replay import needs_groups
from clusterbandits.studies.replay_episodes import chance_of, rounds_in, rows_for, stream
from tests.studies.replayed import ARMS, GROUP_OF, WIDTHS, targeted_log, uniform_log

Log = dict[str, Any]


def told_by(log: Log) -> cb.Clusters:
    """Return the clusters of a log, its arms in the order in which they appear."""
    names = list(dict.fromkeys(str(arm) for arm in log["arm"]))
    return cb.Clusters.from_labels([GROUP_OF[ARMS.tolist().index(name)] for name in names], WIDTHS, names)


def plain_replay(log: Log, policy: cb.Policy, rounds: int, seed: int = 0) -> list[float]:
    """Return the reward a round of every episode, from ask and tell over one row at a time."""
    arms, rewards = [str(arm) for arm in log["arm"]], [float(reward) for reward in log["reward"]]
    kept = list(range(len(arms)))
    if "propensity" in log:
        coin, least = stream(seed, 0), min(log["propensity"])
        kept = [row for row in kept if coin.random() <= least / log["propensity"][row]]
    size = rows_for(rounds, len(set(arms)))
    description = policy.for_horizon(rounds).description()
    means = []
    for episode in range(len(kept) // size):
        policy = cb.Policy.of_description(description)
        assert policy.rounds == 0
        if policy.randomised:
            policy._live = policy.fresh_state(chance_of(seed, policy.label, episode))
        chosen, earned, played = policy.ask(), 0.0, 0
        for row in kept[episode * size : (episode + 1) * size]:
            if played < rounds and arms[row] == chosen:
                policy.tell(chosen, rewards[row])
                earned, played = earned + rewards[row], played + 1
                if played < rounds:
                    chosen = policy.ask()
        means.append(earned / rounds if played == rounds else math.nan)
    return means


@pytest.mark.parametrize("spec", ["kl-ucb", "kl-ucb++", "clus-ucb:a=3", "ucb1", "tlp-mean", "thompson"])
@pytest.mark.parametrize("make", [uniform_log, targeted_log])
def test_it_plays_as_plain_python(make: Callable[[np.random.Generator, int], Log], spec: str) -> None:
    log = make(np.random.default_rng(5), 6_000)
    result = cb.replay(log, spec, widths=WIDTHS, rounds=150, seed=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cb.WidthWarning)
        expected = plain_replay(log, cb.policy(spec, told_by(log)), 150, seed=4)
    assert len(expected) >= 3
    assert result.means[0].tolist() == pytest.approx(expected, abs=0, nan_ok=True)


def test_rewards_of_many_digits_show_that_every_row_is_the_same() -> None:
    rng = np.random.default_rng(6)
    log = uniform_log(rng, 4_000)
    log["reward"] = log["reward"] + rng.normal(size=4_000)
    result = cb.replay(log, "kl-ucb", rounds=150, family="gaussian")
    expected = plain_replay(log, cb.KLUCB(told_by(log), family="gaussian"), 150)
    assert result.means[0].tolist() == expected


@pytest.mark.parametrize("make", [uniform_log, targeted_log])
def test_the_size_of_batches_does_not_matter(
    make: Callable[[np.random.Generator, int], Log], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make(np.random.default_rng(7), 100_000)
    file = tmp_path / "log.csv"
    pd.DataFrame(log).to_csv(file, index=False)
    specs = ["kl-ucb", "clus-ucb", "thompson"]
    at_once = cb.replay(log, specs, widths=WIDTHS, seed=3)
    batches = []
    for block in (1_000, 65_537):
        monkeypatch.setattr(stored_tables, "BLOCK", block)
        parts: list[cb.ReplayProgress] = []
        batched = cb.replay(file, specs, widths=WIDTHS, seed=3, progress=parts.append)
        assert np.array_equal(batched.means, at_once.means, equal_nan=True)
        assert batched.log.means == pytest.approx(at_once.log.means, rel=1e-12)
        assert parts[-1] == ("replaying", 100_000, 100_000)
        batches.append(len(parts))
    assert batches[0] > 40 * batches[1] > 1000


def test_a_policy_does_not_depend_on_its_rivals() -> None:
    log = targeted_log(np.random.default_rng(8), 20_000)
    both = cb.replay(log, ["kl-ucb", "thompson"], seed=2)
    assert np.array_equal(cb.replay(log, "thompson", seed=2).means[0], both.means[1], equal_nan=True)
    other = cb.replay(log, "thompson", seed=3)
    assert not np.array_equal(other.means[0], both.means[1], equal_nan=True)


def test_policies_may_number_the_arms_in_their_own_way() -> None:
    log = uniform_log(np.random.default_rng(9), 6_000)
    for order in ("abcd", "dcba", "bdac"):
        policy = cb.KLUCB(cb.Clusters([list(order)], 1.0))
        assert cb.replay(log, policy, rounds=150).means[0].tolist() == plain_replay(log, policy, 150)
    numbered = log | {"arm": ARMS.searchsorted(log["arm"])}
    again = cb.replay(numbered, cb.KLUCB(cb.Clusters([4], 1.0)), rounds=150)
    assert again.means[0].tolist() == plain_replay(log, cb.KLUCB(cb.Clusters([list("abcd")], 1.0)), 150)


def test_groups_and_widths_given_are_those_of_the_log() -> None:
    log = uniform_log(np.random.default_rng(10), 20_000)
    bare = {name: log[name] for name in ("time", "arm", "reward")}
    by_column = cb.replay(log, "clus-ucb", widths=WIDTHS)
    in_order = cb.replay(log, "clus-ucb", widths=[WIDTHS[name] for name in dict.fromkeys(log["group"])])
    assert np.array_equal(by_column.means, in_order.means)
    given = cb.replay(bare, "clus-ucb", groups={"red": ["a", "b"], "blue": ["c", "d"]}, widths=[0.1, 0.2])
    assert given.value(0).value == pytest.approx(by_column.value(0).value, abs=0.02)
    assert not np.array_equal(by_column.means, cb.replay(log, "clus-ucb", widths=0.5).means)


def test_policies_that_need_groups_are_known() -> None:
    """A policy that needs none begins in the same state whoever belongs together; or it learns that."""
    one, two = cb.Clusters([4], math.inf), cb.Clusters([2, 2], math.inf)
    for name in cb.POLICIES:
        states = [cb.policy(name, declared).fresh_state(np.random.default_rng(0)) for declared in (one, two)]
        apart = repr(states[0]) != repr(states[1])
        made = cb.policy(name, one)
        assert not apart or needs_groups(made) or made.widths_optional, name
    assert not any(needs_groups(cb.policy(name, one)) for name in ("ucb1", "kl-ucb", "imed", "thompson"))


def test_alarms_are_counted() -> None:
    rng = np.random.default_rng(11)
    log = uniform_log(rng, 60_000)
    log["reward"] = rng.random(60_000) < np.array([0.3, 0.3, 0.2, 0.8])[ARMS.searchsorted(log["arm"])]
    result = cb.replay(log, ["clus-ucb", "kl-ucb"], widths=0.0)
    assert result.alarmed[0] > 10 > result.alarmed[1] == 0
    assert f"in {result.alarmed[0]} of 20 episodes" in " ".join(str(result).split())


@pytest.mark.parametrize(("rounds", "arms"), [(1, 2), (20, 3), (1000, 6), (5000, 183)])
def test_episodes_have_the_rows_they_need_but_for_one_in_a_thousand(rounds: int, arms: int) -> None:
    rows = rows_for(rounds, arms)
    assert rounds_in(rows, arms) >= rounds
    assert rounds_in(rows - 1, arms) < rounds or rounds_in(rows, arms) > rounds
    matches = np.random.default_rng(12).binomial(rows, 1 / arms, 200_000)
    assert (matches < rounds).mean() <= 1e-3 + 4 * math.sqrt(1e-3 / 200_000)


def test_a_log_that_grows_is_replayed_as_it_was(tmp_path: Path) -> None:
    log = pd.DataFrame(uniform_log(np.random.default_rng(13), 20_000))
    file = tmp_path / "log.csv"
    log.to_csv(file, index=False)
    expected = cb.replay(file, "kl-ucb")

    def grow(progress: cb.ReplayProgress) -> None:
        if progress.doing == "reading":
            with file.open("a") as end:
                end.write("20000,new,1,red\n")

    assert np.array_equal(cb.replay(file, "kl-ucb", progress=grow).means, expected.means)

    def shrink(progress: cb.ReplayProgress) -> None:
        if progress.doing == "reading":
            log[:10_000].to_csv(file, index=False)

    log.to_csv(file, index=False)
    with pytest.raises(cb.UnreadableFileError, match="must not change while it is read"):
        cb.replay(file, "kl-ucb", progress=shrink)
