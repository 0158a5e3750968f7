"""Intervals hold what they promise, and where a plain replay would be misled, this one is not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import clusterbandits as cb
from clusterbandits.studies.replay_result import interval
from tests.studies.replayed import MEANS, WIDTHS, targeted_log, true_value, uniform_log

LOGS, ROUNDS = 400, 100
POLICIES = ["kl-ucb", "clus-ucb"]
Maker = Callable[[np.random.Generator, int], dict[str, Any]]


class Covered(NamedTuple):
    """Results of intervals: how often they contained the true value, and the errors of their centres."""

    values: dict[str, float]
    difference: float
    errors: dict[str, np.ndarray[Any, np.dtype[np.float64]]]
    widths: tuple[float, float]


@functools.cache
def truth() -> dict[str, float]:
    return {name: true_value(name, ROUNDS) for name in POLICIES}


def replayed(make: Maker, rows: int, seed: int, logs: int = LOGS) -> Covered:
    """Replay many logs and compare the estimates with the true values."""
    held: dict[str, int] = dict.fromkeys(POLICIES, 0)
    errors: dict[str, list[float]] = {name: [] for name in POLICIES}
    together, apart, reach = 0, truth()["clus-ucb"] - truth()["kl-ucb"], []
    for number in range(logs):
        log = pa.table(make(np.random.default_rng([seed, number]), rows))
        result = cb.replay(log, POLICIES, widths=WIDTHS, rounds=ROUNDS, seed=number)
        for name in POLICIES:
            found = result.value(name)
            held[name] += found.low <= truth()[name] <= found.high
            errors[name].append(found.value - truth()[name])
        paired = result.difference("clus-ucb", "kl-ucb")
        together += paired.low <= apart <= paired.high
        reach.append((paired.high - paired.low, found.high - found.low))
    widths = np.mean(reach, axis=0)
    return Covered(
        {name: held[name] / logs for name in POLICIES},
        together / logs,
        {name: np.array(errors[name]) for name in POLICIES},
        (float(widths[0]), float(widths[1])),
    )


@pytest.mark.statistical
@pytest.mark.parametrize(("make", "rows"), [(uniform_log, 12_000), (targeted_log, 30_000)])
def test_intervals_hold_the_truth_in_95_of_100_logs(make: Maker, rows: int) -> None:
    found = replayed(make, rows, seed=1)
    for share in (*found.values.values(), found.difference):
        assert 0.93 <= share <= 0.97
    for errors in found.errors.values():
        assert abs(errors.mean()) < 4 * errors.std(ddof=1) / np.sqrt(LOGS)


def test_a_log_that_was_targeted_misleads_a_replay_without_propensities() -> None:
    """Nothing in such a log shows it: its arms are shown equally often, and one by one."""

    def without(rng: np.random.Generator, rows: int) -> dict[str, Any]:
        log = targeted_log(rng, rows)
        del log["propensity"]
        return log

    plain, mended = replayed(without, 12_000, seed=2, logs=20), replayed(targeted_log, 30_000, 2, logs=20)
    for name in POLICIES:
        assert plain.errors[name].mean() < -0.05
        assert plain.values[name] <= 0.1
        assert mended.values[name] >= 0.8
        assert abs(mended.errors[name].mean()) < 0.02


def test_arms_of_a_targeted_log_are_weighed() -> None:
    found = cb.replay(targeted_log(np.random.default_rng(3), 50_000), "kl-ucb").log
    places = [found.arms.index(arm) for arm in "abcd"]
    assert (np.abs(found.means[places] - MEANS) < 4 * found.errors[places]).all()
    assert (found.errors < 0.01).all()
    assert found.usable == pytest.approx(20_000, rel=0.02)


def test_an_interval_is_students() -> None:
    values = np.array([0.1, 0.4, 0.3, 0.6, 0.35])
    found = interval(values, 0.9)
    reach = 2.131847 * values.std(ddof=1) / np.sqrt(5)
    assert found == pytest.approx((0.35, 0.35 - reach, 0.35 + reach, 5), rel=1e-6)


def test_policies_that_choose_alike_are_compared_more_closely_than_each_is_known() -> None:
    rng = np.random.default_rng(4)
    log = uniform_log(rng, 400_000)
    log["reward"] = rng.random(400_000) < np.where(log["arm"] == "d", 0.6, 0.3)
    result = cb.replay(log, POLICIES, widths=0.5)
    paired, alone = result.difference(1, 0), result.value(1)
    assert paired.high - paired.low < 0.5 * (alone.high - alone.low)
