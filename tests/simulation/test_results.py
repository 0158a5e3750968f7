"""Numbers of results against plain Python, and results of the smallest sizes."""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from clusterbandits import Instance, InvalidInputError
from clusterbandits.serial import to_json
from clusterbandits.simulation import statistics as over_runs
from clusterbandits.simulation.results import Result
from clusterbandits.simulation.statistics import Difference, Slope

CLUSTERED = Instance({"red": {"a": 0.3, "b": 0.7}, "blue": {"c": 0.1, "d": 0.2, "e": 0.8}})
TWO_ARMS = Instance([[0.5], [0.75]])
loosely: Any = Result


def made(
    labels: tuple[str, ...] = ("kl-ucb", "clus-ucb"), runs: int = 7, instance: Instance = CLUSTERED
) -> Result:
    """A result of independent pulls, more of the best arms than of the others."""
    rounds = np.array([1, 10, 100, 1000, 5000])
    generator = np.random.default_rng(5)
    weights = np.where(instance.gaps == 0, 10.0, 1.0)
    steps = np.diff(rounds, prepend=0)[:, None] * np.ones((len(labels), runs, 1, 1), dtype=np.int64)
    pulls = generator.multinomial(steps[..., 0], weights / weights.sum()).cumsum(axis=2)
    return Result(instance, labels, rounds, pulls, seed=5)


def of_bad_pulls(bad: Any, rounds: Any) -> Result:
    """One policy on two arms, by its pulls of the worse one, ``[run, checkpoint]``; each costs 0.25."""
    worse = np.asarray(bad)
    pulls = np.stack([worse, np.asarray(rounds) - worse], axis=-1)
    return Result(TWO_ARMS, ("p",), np.asarray(rounds), pulls[None])


def test_regret_against_three_loops() -> None:
    result = made()
    for place, label in enumerate(result.labels):
        regret = result.regret(label)
        assert regret.shape == (7, 5)
        for run in range(7):
            for step in range(5):
                plain = 0.0
                for arm, mean in enumerate([0.3, 0.7, 0.1, 0.2, 0.8]):
                    plain += (0.8 - mean) * int(result.pulls[place, run, step, arm])
                assert regret[run, step] == pytest.approx(plain, rel=1e-13)
        assert np.array_equal(result.regret(place), regret)


def test_mean_error_and_quantiles_against_the_standard_library() -> None:
    result = made()
    for step, column in enumerate(result.regret("clus-ucb").T.tolist()):
        assert result.mean("clus-ucb")[step] == pytest.approx(statistics.mean(column), rel=1e-13)
        error = statistics.stdev(column) / math.sqrt(7)
        assert result.standard_error("clus-ucb")[step] == pytest.approx(error, rel=1e-12)
        quartiles = statistics.quantiles(column, n=4, method="inclusive")
        assert result.quantiles("clus-ucb", [0.25, 0.5, 0.75])[:, step].tolist() == pytest.approx(quartiles)
    assert result.quantiles("clus-ucb").shape == (3, 5)


def test_the_band_of_normal_runs_is_two_standard_errors_wide() -> None:
    generator = np.random.default_rng(1)
    bad = np.rint(generator.normal(500, 60, size=(400, 1))).astype(np.int64)
    result = of_bad_pulls(np.hstack([bad, 2 * bad]), [1000, 2000])
    low, high = result.band("p")
    error = result.standard_error("p")
    assert (result.mean("p") - low).tolist() == pytest.approx(1.96 * error, rel=0.08)
    assert (high - result.mean("p")).tolist() == pytest.approx(1.96 * error, rel=0.08)
    narrow = np.subtract(*result.band("p", level=0.5)[::-1])
    assert narrow.tolist() == pytest.approx(2 * 0.6745 * error, rel=0.08)


def test_the_band_covers_the_truth_as_often_as_it_says() -> None:
    generator = np.random.default_rng(2)
    hits = 0
    for trial in range(200):
        bad = generator.poisson(100, size=(60, 1))
        low, high = of_bad_pulls(bad, [1000]).band("p", level=0.9, resamples=400, seed=trial)
        hits += bool(low[0] <= 25 <= high[0])
    assert 166 <= hits <= 192


def test_the_band_belongs_to_its_seed_and_not_to_its_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    result = made(runs=20)
    band = np.array(result.band("kl-ucb", resamples=101, seed=3))
    assert np.array_equal(result.band("kl-ucb", resamples=101, seed=3), band)
    assert not np.array_equal(result.band("kl-ucb", resamples=101, seed=4), band)
    monkeypatch.setattr(over_runs, "_CHUNK", 60)
    assert np.allclose(result.band("kl-ucb", resamples=101, seed=3), band, rtol=1e-13, atol=0)


def test_runs_that_agree_have_no_error_and_no_width() -> None:
    instance = Instance([[0.1, 0.2], [0.4]])
    result = loosely(instance, ["p"], [10], [[[[1, 2, 7]]] * 9])
    mean = result.regret("p")[0, 0]
    assert result.standard_error("p").tolist() == [0]
    assert [side.tolist() for side in result.band("p")] == [[mean], [mean]]
    assert result.difference("p", "p") == (0, 0)


def test_shares_by_group() -> None:
    result = made()
    shares = result.shares("kl-ucb")
    assert shares.shape == (5, 2)
    assert shares.sum(axis=1).tolist() == pytest.approx([1] * 5, abs=1e-15)
    red = [sum(run[2][:2]) / 100 for run in result.pulls[0].tolist()]
    assert shares[2, 0] == pytest.approx(statistics.mean(red), rel=1e-14)


def test_shares_where_groups_are_not_side_by_side() -> None:
    instance = Instance([0.5, 0.6, 0.7], labels=["x", "y", "x"])
    result = loosely(instance, ["p"], [10], [[[[1, 2, 7]]]])
    assert result.shares("p").tolist() == [pytest.approx([0.8, 0.2])]


def test_the_slope_of_logarithmic_regret() -> None:
    """Three bad pulls at every doubling: 3 · 0.25 · log₂ n."""
    powers = np.arange(21)
    rounds = 8 * 2**powers
    result = of_bad_pulls(np.tile(3 * powers, (4, 1)), rounds)
    for since, until in ((None, None), (8, None), (64, 1024), (8, 16)):
        slope = result.slope("p", since, until)
        assert slope.value == pytest.approx(0.75 / math.log(2), rel=1e-13)
        assert slope.error == 0
    assert result.slope("p")[2:] == (8 * 2**14, 8 * 2**20)


def test_the_slope_is_measured_run_by_run() -> None:
    result = of_bad_pulls([[1, 3], [1, 9], [1, 5]], [10, 1000])
    rates = [0.25 * pulls / math.log(100) for pulls in (2, 8, 4)]
    slope = result.slope("p", 10, 1000)
    assert slope.value == pytest.approx(statistics.mean(rates), rel=1e-13)
    assert slope.error == pytest.approx(statistics.stdev(rates) / math.sqrt(3), rel=1e-12)


def test_slopes_take_the_nearest_checkpoints_and_say_which() -> None:
    result = of_bad_pulls([[0, 1, 2, 3]], [10, 100, 1000, 10_000])
    assert result.slope("p", 25, 400)[2:] == (10, 1000)
    assert result.slope("p", until=900)[2:] == (10, 1000)
    assert result.slope("p")[2:] == (100, 10_000)
    assert of_bad_pulls([[0, 1]], [10, 10**6]).slope("p")[2:] == (10, 10**6)


@pytest.mark.parametrize("rounds", [(0, None), (None, 10_001), (1000, 100), (11, 12), ("x", None)])
def test_slopes_between_no_two_checkpoints(rounds: tuple[Any, Any]) -> None:
    result = of_bad_pulls([[0, 1, 2, 3]], [10, 100, 1000, 10_000])
    with pytest.raises(InvalidInputError, match=r"Result\.slope: (since|until) must be"):
        result.slope("p", *rounds)


def test_slopes_and_differences_print() -> None:
    assert str(Slope(3.6789, 0.2512, 10**8, 10**10)) == "3.68 ± 0.25 (1e8 to 1e10)"
    assert str(Slope(3.6789, math.nan, 10, 12_345)) == "3.679 (10 to 12,345)"
    assert str(Slope(0.0, 0.0, 1, 10)) == "0 ± 0 (1 to 10)"
    assert str(Difference(-12.34, 2.04)) == "-12.3 ± 2.0"


def test_differences_use_the_pairs() -> None:
    """Policies that meet the same luck differ by the same in every run."""
    luck = np.array([10, 40, 90, 160])
    pulls = np.array([[[[n + 8, 992 - n]] for n in luck], [[[n, 1000 - n]] for n in luck]])
    result = Result(TWO_ARMS, ("a", "b"), np.array([1000]), pulls, paired=True)
    assert result.difference("a", "b") == (2.0, 0.0)
    assert result.difference(1, 0) == (-2.0, 0.0)
    assert result.standard_error("a")[0] > 5


def test_frames_hold_the_same_numbers() -> None:
    result = made()
    frame = result.frame()
    assert list(frame.columns) == ["policy", "run", "round", "regret"]
    assert frame.shape == (2 * 7 * 5, 4)
    generator = np.random.default_rng(0)
    for _ in range(20):
        place, run, step = (int(generator.integers(n)) for n in (2, 7, 5))
        cell = frame[
            (frame["policy"] == result.labels[place])
            & (frame["run"] == run)
            & (frame["round"] == int(result.checkpoints[step]))
        ]
        assert cell["regret"].tolist() == [result.regret(place)[run, step]]


def test_frames_of_arms() -> None:
    pulls = made().pulls
    result = Result(CLUSTERED, ("x", "y"), made().checkpoints, pulls[:, :3], np.array([4, 9, 2]))
    frame = result.frame(arms=True)
    assert list(frame.columns) == ["policy", "run", "round", "cluster", "arm", "pulls", "regret"]
    assert len(frame) == 2 * 3 * 5 * 5
    cell = frame[(frame["policy"] == "y") & (frame["run"] == 9) & (frame["round"] == 100)]
    assert cell["arm"].tolist() == ["a", "b", "c", "d", "e"]
    assert cell["cluster"].tolist() == ["red", "red", "blue", "blue", "blue"]
    assert cell["pulls"].tolist() == pulls[1, 1, 2].tolist()
    assert cell["regret"].tolist() == pytest.approx((pulls[1, 1, 2] * CLUSTERED.gaps).tolist())
    total = frame.groupby(["policy", "run", "round"], observed=True, sort=False)["regret"].sum()
    assert total.tolist() == pytest.approx(result.frame()["regret"].tolist())
    assert {str(frame[name].dtype) for name in ("policy", "cluster", "arm")} == {"category"}


def test_frames_where_arms_are_numbers_and_words() -> None:
    result = loosely(Instance({"x": {0: 0.1, "b": 0.2}}), ["p"], [3], [[[[1, 2]]]])
    assert result.frame(arms=True)["arm"].tolist() == [0, "b"]


def test_one_run_one_arm_one_checkpoint() -> None:
    result = loosely(Instance([0.5]), ["p"], [1], [[[[1]]]])
    assert result.horizon == 1
    assert result.arms == (0,)
    assert result.regret("p").tolist() == [[0]]
    assert result.shares("p").tolist() == [[1]]
    assert result.quantiles("p").tolist() == [[0]] * 3
    assert result.frame()["regret"].tolist() == [0]
    assert math.isnan(result.standard_error("p")[0])
    assert all(np.isnan(side).all() for side in result.band("p"))
    assert math.isnan(result.slope("p").value)
    assert math.isnan(result.difference("p", 0).error)
    assert "Regret after 1 round, 1 run\n" in str(result)
    assert "nan" not in str(result)
    assert json.loads(to_json(result.to_dict()))["policies"]["p"]["standard_error"] == [None]


def test_the_table_says_what_the_methods_say() -> None:
    result = made()
    table = result.table()
    assert table.title == "Regret after 5000 rounds, 7 runs, seed 5"
    label, regret, error, median, high, best, slope = table.rows[1]
    assert label == "clus-ucb"
    assert regret == result.mean(1)[-1]
    assert error == result.standard_error(1)[-1]
    assert [median, high] == result.quantiles(1)[1:, -1].tolist()
    assert best == pytest.approx(100 * result.pulls[1, :, -1, 4].mean() / 5000)
    assert str(result.slope(1)) == f"{slope} (100 to 5000)"
    assert "100 to 5000" in table.notes[-1]
    assert str(result) == table.text()
    assert result._repr_html_() == table.html()
    assert repr(result) == "<Result: kl-ucb, clus-ucb, 7 runs of 5000 rounds>"


def test_tables_of_many_policies_fit() -> None:
    labels = tuple(f"{'x' * 38}{n:02}" for n in range(12))
    rounds = np.array([10**11 + 7, 10**13 + 1])
    bad = np.random.default_rng(0).integers(10**9, 10**11, size=(12, 3, 1)) * np.array([1, 100])
    pulls = np.stack([bad, rounds - bad], axis=-1)
    result = Result(TWO_ARMS, labels, rounds, pulls, seed=2**128 - 1, paired=True)
    assert max(map(len, str(result).splitlines())) <= 80
    assert f"seed\n{2**128 - 1}" in str(result)
    assert repr(result) == "<Result: 12 policies, 3 runs of 10,000,000,000,001 rounds>"


def test_plain_data() -> None:
    result = made()
    data = json.loads(to_json(result.to_dict()))
    assert data["labels"] == ["kl-ucb", "clus-ucb"]
    assert data["checkpoints"] == [1, 10, 100, 1000, 5000]
    assert data["runs"] == list(range(7))
    assert (data["seed"], data["paired"]) == (5, False)
    assert Instance.from_dict(data["instance"]) == CLUSTERED
    part = data["policies"]["clus-ucb"]
    assert part["mean"] == result.mean(1).tolist()
    assert part["standard_error"] == result.standard_error(1).tolist()
    assert list(part["quantiles"].values()) == result.quantiles(1).tolist()
    assert [part["band"]["low"], part["band"]["high"]] == np.array(result.band(1)).tolist()
    assert list(part["slope"].values()) == list(result.slope(1))
    assert sum(part["mean_pulls"]) == pytest.approx(5000)


def test_unknown_policies() -> None:
    policies: list[Any] = ["ucb", 2, -1, None]
    for policy in policies:
        with pytest.raises(InvalidInputError, match=r"Unknown policy .* in the results"):
            made().regret(policy)


def test_arrays_cannot_be_written() -> None:
    own: NDArray[np.int64] = np.array([[[[1, 9]]]])
    result = Result(TWO_ARMS, ("p",), np.array([10]), own)
    for array in (result.pulls, result.checkpoints, result.regret("p")):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert result.pulls.base is own
    own[0] = own[0]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"labels": []}, "Result: labels must be a list with a different name"),
        ({"labels": ["p", "p"]}, "Result: labels must be a list with a different name"),
        ({"labels": "p"}, "Result: labels must be a list with a different name"),
        ({"labels": ["p", "q"]}, r"shape \(2, runs, 2, 2\).*got shape \(1, 2, 2, 2\)"),
        ({"checkpoints": []}, "Result: checkpoints must be a list of increasing round"),
        ({"checkpoints": [0, 100]}, "increasing round numbers from 1 on"),
        ({"checkpoints": [100, 10]}, "increasing round numbers from 1 on"),
        ({"checkpoints": [10.0, 100.0]}, "got values of type float64"),
        ({"checkpoints": [10, 101]}, "the number of rounds, but got 100 after round 101"),
        ({"checkpoints": [10]}, r"shape \(1, runs, 1, 2\)"),
        ({"pulls": [[[[1, 9], [2, 97]]]]}, "the number of rounds, but got 99 after round 100"),
        ({"pulls": [[[[8, 2], [7, 93]]]]}, "counts that never decrease"),
        ({"pulls": [[[[-1, 11], [7, 93]]]]}, "counts that never decrease"),
        ({"pulls": [[[[1, 9], [2]]]]}, "lists of different lengths"),
        ({"pulls": np.empty((1, 0, 2, 2), dtype=int)}, "at least one run"),
        ({"pulls": [[1, 9], [2, 98]]}, r"got shape \(2, 2\)"),
        ({"runs": [3]}, "a different number for each of 2 runs"),
        ({"runs": [3, 3]}, "a different number for each of 2 runs"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict[str, Any], sentence: str) -> None:
    whole = {
        "instance": TWO_ARMS,
        "labels": ["p"],
        "checkpoints": [10, 100],
        "pulls": [[[[1, 9], [2, 98]], [[3, 7], [4, 96]]]],
    }
    assert loosely(**whole).runs.tolist() == [0, 1]
    with pytest.raises(InvalidInputError, match=sentence):
        loosely(**{**whole, **changed})


def test_levels_and_counts_are_refused() -> None:
    result: Any = made()
    for wrong in ({"level": 1.5}, {"resamples": 0}, {"resamples": 10**9}, {"seed": -1}):
        with pytest.raises(InvalidInputError, match=r"^Result\.band: "):
            result.band("kl-ucb", **wrong)
    for levels in ([2.0], 0.5):
        with pytest.raises(InvalidInputError, match=r"Result\.quantiles: levels must be"):
            result.quantiles("kl-ucb", levels)
