"""Tables of rewards that are not 0 or 1: reading, refusing, intervals that hold, and policies from them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

import clusterbandits as cb
from clusterbandits.studies.history import History, read_history
from clusterbandits.studies.mean_bounds import Sums
from clusterbandits.studies.safe_widths import safe_widths

HIGH = 50.0
REVENUE = f"bounded:low=0,high={HIGH:g}"


def visits(rng: np.random.Generator, *shape: int, share: float = 0.05) -> NDArray[np.float64]:
    """Revenue per visitor: mostly 0, else lognormal and cut at the bound."""
    amounts = np.minimum(rng.lognormal(2.0, 1.0, shape), HIGH)
    return np.where(rng.random(shape) < share, amounts, 0.0)


def mean_of_visits(share: float = 0.05) -> float:
    """E min(X, h) = e^{m + s²/2} Φ((log h − m − s²)/s) + h (1 − Φ((log h − m)/s)), times the share."""
    cut = math.log(HIGH) - 2.0
    whole = math.exp(2.5) * stats.norm.cdf(cut - 1.0) + HIGH * stats.norm.sf(cut)
    return float(share * whole)


def events(rows: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, 6, rows)
    return pd.DataFrame(
        {
            "arm": [f"page {k}" for k in arms],
            "group": [f"theme {k % 2}" for k in arms],
            "click": rng.integers(0, 2, rows),
            "revenue": visits(rng, rows).round(2),
        }
    )


def test_events_are_added_up_arm_by_arm(tmp_path: Path) -> None:
    frame = events(30_000)
    history = read_history(frame, family=REVENUE)
    by_arm = frame.groupby("arm")["revenue"]
    order = list(history.arms)
    assert history.family == cb.Bounded(high=HIGH)
    assert history.trials.tolist() == by_arm.size()[order].tolist()
    assert history.totals == pytest.approx(by_arm.sum()[order].to_numpy())
    assert history.squares == pytest.approx((frame["revenue"] ** 2).groupby(frame["arm"]).sum()[order])
    assert history.rewards is not None
    for arm, rewards in zip(order, history.rewards, strict=True):
        assert rewards.tolist() == frame.loc[frame["arm"] == arm, "revenue"].tolist()
        assert not rewards.flags.writeable
    file = tmp_path / "visits.csv"
    frame.rename(columns={"revenue": "Amount"}).to_csv(file, index=False)
    assert read_history(file, family=REVENUE).totals.tolist() == history.totals.tolist()
    again = read_history(history.to_dict(), family=REVENUE)
    assert again.rewards is None
    assert again.intervals().tolist() == history.intervals().tolist()
    assert repr(again) == "<History: 6 arms in 2 groups, 3e4 trials, bounded:low=0.0,high=50.0>"
    assert "total" in str(again)


def test_the_family_decides_which_column_counts() -> None:
    frame = events(1000)
    clicks, revenue = read_history(frame), read_history(frame, family=REVENUE)
    assert clicks.family == cb.Bernoulli()
    assert clicks.totals.sum() == frame["click"].sum()
    assert clicks.rewards is None
    assert clicks.squares is None
    assert revenue.totals.sum() == pytest.approx(frame["revenue"].sum())
    rows = {"arm": ["a"], "group": ["x"], "trials": [10], "successes": [3], "total": [42.0]}
    assert read_history(rows).totals.tolist() == [3.0]
    assert read_history(rows, family=REVENUE).totals.tolist() == [42.0]
    assert read_history({**rows, "revenue": [41.0]}, family=REVENUE).totals.tolist() == [42.0]
    named = {"arm": ["a"], "group": ["x"], "pulls": [10], "revenue": [41.0]}
    assert read_history(named, family=REVENUE).totals.tolist() == [41.0]


ARM: dict[str, list[Any]] = {"arm": ["a"], "group": ["x"]}
WRONG = [
    (ARM | {"revenue": [60]}, "column 'revenue' must hold a number from 0 to 50"),
    (ARM | {"trials": [2], "total": [101]}, "each a number from 0 to 50. Row 1 has 101 in 2 trials"),
    (ARM | {"trials": [2], "total": [-1]}, "Row 1 has -1 in 2 trials"),
    (ARM | {"trials": [0], "total": [5]}, "Row 1 has 5 in 0 trials"),
    (ARM | {"trials": [2], "total": [20], "squares": [150]}, "from 200 to 1000"),
    (ARM | {"trials": [2], "total": [20], "squares": [1001]}, "Row 1 has 1001"),
    (ARM | {"trials": [2], "successes": [1]}, "'total' (counts) or 'revenue' (one row per event)"),
    (ARM | {"total": [20]}, "There is only 'total'"),
    (ARM | {"trials": [2], "total": [20], "reward": [3]}, "either 'trials' and 'total', or 'reward'"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "sentence"), WRONG)
def test_what_is_wrong_is_said_in_one_sentence(table: Any, sentence: str) -> None:
    with pytest.raises(cb.InvalidInputError) as error:
        read_history(table, family=REVENUE)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_squares_without_enough_digits_are_refused() -> None:
    """Six digits of squares around 10^6 say nothing of rewards that differ by 1."""
    rows = ARM | {"trials": [1000], "total": [1000500]}
    family = "bounded:low=1000,high=1001"
    exact = read_history(rows | {"squares": [1001000500.0]}, family=family)
    assert exact.intervals() is not None
    with pytest.raises(cb.InvalidInputError, match="sums of squared rewards"):
        read_history(rows | {"squares": [1.001e9]}, family=family)


def test_rounded_squares_make_no_interval_narrower_than_exact_ones() -> None:
    """Squares that are too small by what is admitted for rounding."""
    rows = ARM | {"trials": [1000], "total": [50]}
    exact, rounded = (
        read_history(rows | {"squares": [squares]}, family=REVENUE).intervals() for squares in (2.5, 0.001)
    )
    assert (rounded[:, 0] <= exact[:, 0] + 1e-12).all()
    assert (rounded[:, 1] >= exact[:, 1] - 1e-12).all()


def test_families_of_tables() -> None:
    with pytest.raises(
        cb.InvalidInputError, match=r"'bernoulli' or 'bounded:low=L,high=H' for a table, but got 'poisson'"
    ):
        read_history(ARM | {"reward": [1]}, family="poisson")
    history = read_history(ARM | {"revenue": [1.5]}, family=REVENUE)
    assert read_history(history) is read_history(history, family=REVENUE) is history
    with pytest.raises(cb.InvalidInputError, match="'totals'"):
        _ = history.successes
    assert cb.advise(history, horizon=10, worlds=2).history is history
    with pytest.raises(
        cb.InvalidInputError, match=r"column 'revenue' must hold 0 or 1, or bounds must be given"
    ):
        cb.advise(ARM | {"revenue": [1.5]})


def sums_of(rewards: NDArray[np.float64]) -> Sums:
    """The sums of every row, as if each were an arm."""
    many = np.full(len(rewards), float(rewards.shape[1]))
    return Sums(cb.Bounded(high=HIGH), many, rewards.sum(axis=1), (rewards**2).sum(axis=1))


@pytest.mark.parametrize("trials", [30, 300, 3000])
def test_intervals_of_skewed_rewards_hold_their_mean(trials: int) -> None:
    """At the same level Student's intervals miss far more often: the test can fail."""
    runs, risk = 4000, 0.05
    rewards, mean = visits(np.random.default_rng(trials), runs, trials), mean_of_visits()
    sums = sums_of(rewards)
    for one in (sums, sums._replace(squares=None)):
        below, above = (one.upper(risk) < mean).mean(), (one.lower(risk) > mean).mean()
        allowed = risk + 3 * math.sqrt(risk * (1 - risk) / runs)
        assert max(below, above) <= allowed
    errors = rewards.std(axis=1, ddof=1) / math.sqrt(trials)
    student = rewards.mean(axis=1) + stats.t.ppf(1 - risk, trials - 1) * errors
    if trials <= 300:
        assert (student < mean).mean() > 0.08


def test_squares_make_intervals_of_steady_rewards_narrower() -> None:
    rng = np.random.default_rng(2)
    steady = sums_of(rng.normal(25.0, 1.0, (1, 2000)))
    plain = steady._replace(squares=None)
    assert (steady.upper(0.025) - steady.lower(0.025))[0] < 0.4 * (plain.upper(0.025) - plain.lower(0.025))[0]
    nothing = Sums(cb.Bounded(-1.0, 3.0), np.zeros(1), np.zeros(1), np.zeros(1))
    assert (nothing.lower(0.05)[0], nothing.upper(0.05)[0]) == (-1.0, 3.0)


def test_bounds_mirror_each_other() -> None:
    rewards = visits(np.random.default_rng(3), 5, 200)
    sums, turned = sums_of(rewards), sums_of(HIGH - rewards)
    assert turned.lower(0.01) == pytest.approx(HIGH - sums.upper(0.01))
    assert turned.upper(0.2) == pytest.approx(HIGH - sums.lower(0.2))


def test_safe_widths_of_skewed_rewards_are_wide_enough() -> None:
    rng, runs, narrow = np.random.default_rng(4), 600, 0
    span = mean_of_visits(0.10) - mean_of_visits(0.05)
    for _ in range(runs):
        better, worse = visits(rng, 1, 2000, share=0.10), visits(rng, 1, 2000, share=0.05)
        both = sums_of(np.concatenate([better, worse]))
        (width,) = safe_widths([both])
        narrow += width < span
        assert width < HIGH / 8
    assert narrow <= 0.05 * runs + 3 * math.sqrt(0.05 * 0.95 * runs)


def revenue_history() -> History:
    return read_history(events(30_000), family=REVENUE)


@pytest.mark.parametrize("kind", ["kl-ucb", "clus-ucb", "thompson", "hier-ts", "ucb1"])
def test_a_policy_takes_over_the_family_of_its_history(kind: str) -> None:
    history = revenue_history()
    policy = cb.POLICIES[kind].from_history(history)
    assert policy.family == history.family
    assert list(policy.pulls.values()) == history.trials.tolist()
    assert list(policy.totals.values()) == history.totals.tolist()
    policy.tell(policy.ask(), 12.5)
    with pytest.raises(cb.InvalidInputError, match="must be a number from 0 to 50, for bounded rewards"):
        policy.tell(policy.ask(), 50.01)


def test_the_instance_of_events_pays_what_was_observed() -> None:
    history = revenue_history()
    instance = history.instance()
    assert instance.family == history.family
    assert instance.means == pytest.approx(history.means)
    assert history.rewards is not None
    assert instance.rewards is not None
    drawn = instance.rewards[0].draw(1000, np.random.default_rng(1))
    assert set(drawn.tolist()) <= set(history.rewards[0].tolist())
    summed = read_history(history.to_dict(), family=REVENUE).instance()
    assert summed.rewards is None
    assert min(summed.clusters().widths) >= 0
