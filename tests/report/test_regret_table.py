"""Final regrets: every number against plain arithmetic."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from clusterbandits import Instance, InvalidInputError, simulate
from clusterbandits.report.regret_table import regret_records, regret_table
from clusterbandits.simulation.results import Result

INSTANCE = Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
RESULT = simulate(INSTANCE, ["kl-ucb", "clus-ucb"], 500, runs=7, seed=2, paired=True)


def error(values: list[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values))


def test_rows_are_plain_arithmetic() -> None:
    gaps = [0.5, 0.1, 0.7, 0.6, 0.0]
    finals = [
        [sum(gap * int(n) for gap, n in zip(gaps, run[-1], strict=True)) for run in policy]
        for policy in RESULT.pulls
    ]
    for place, row in enumerate(regret_records(RESULT, "kl-ucb")):
        own = finals[place]
        apart = [mine - base for mine, base in zip(own, finals[0], strict=True)]
        assert row["policy"] == RESULT.labels[place]
        assert row["runs"] == 7
        assert row["regret"] == pytest.approx(statistics.fmean(own))
        assert row["standard_error"] == pytest.approx(error(own))
        assert row["difference"] == pytest.approx(statistics.fmean(apart), abs=1e-12)
        assert row["difference_error"] == pytest.approx(error(apart), abs=1e-12)
        assert row["median"] == pytest.approx(statistics.median(own))
        assert row["worst_run"] == pytest.approx(max(own))
        best = [int(run[-1][4]) / 500 for run in RESULT.pulls[place]]
        assert row["best_arm_share"] == pytest.approx(statistics.fmean(best))
        assert row["alarms"] == np.mean([(rounds > 0).any() for rounds in RESULT.alarm_rounds[place]])


def test_all_best_arms_count_as_the_best() -> None:
    equal = simulate(Instance([[0.5, 0.5], [0.5]]), "kl-ucb", 50, runs=3)
    (row,) = regret_records(equal, "kl-ucb")
    assert (row["regret"], row["difference"], row["best_arm_share"]) == (0, 0, 1)
    assert "0 ± 0" in regret_table(equal, "kl-ucb").text()


def test_the_table_says_how_it_was_compared() -> None:
    text = regret_table(RESULT, "kl-ucb").text()
    assert text.startswith("Regret after 500 rounds, 7 runs\n")
    assert "on the same rewards." in " ".join(text.split())
    rows = regret_table(RESULT, "kl-ucb").rows
    assert rows[0][2] == ""
    assert "±" in str(rows[1][2])
    own = Result(INSTANCE, RESULT.labels, RESULT.checkpoints, RESULT.pulls, RESULT.runs)
    assert "on the same rewards" not in regret_table(own, "clus-ucb").text()
    assert regret_table(own, "clus-ucb").columns[2] == "minus clus-ucb"


def test_an_unknown_base_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="kl-ucb, clus-ucb"):
        regret_records(RESULT, "moss")
