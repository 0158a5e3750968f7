"""A log that cannot support what is asked of it gets one sentence, before anything is said of a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clusterbandits as cb
from clusterbandits.studies.replay import needs_widths
from tests.studies.replayed import ARMS, CHANCES, targeted_log, uniform_log

ROWS = 8_000


def log_of(**changes: Any) -> dict[str, Any]:
    return uniform_log(np.random.default_rng(1), ROWS) | changes


def without(*names: str) -> dict[str, Any]:
    return {name: values for name, values in log_of().items() if name not in names}


def changed(name: str, row: int, value: object) -> dict[str, Any]:
    values = log_of()[name].astype(object)
    values[row] = value
    return log_of(**{name: values})


def refused(log: object, *parts: str, policies: object = "kl-ucb", **options: Any) -> None:
    with pytest.raises(cb.ClusterBanditsError) as error:
        cb.replay(log, policies, **options)
    sentence = str(error.value)
    for part in parts:
        assert part in sentence, sentence
    assert "\n" not in sentence
    assert sentence.endswith((".", "?")), sentence


@pytest.mark.parametrize("name", ["time", "arm", "reward"])
def test_columns_are_needed(name: str) -> None:
    refused(without(name), f"there is no column '{name}'")


@pytest.mark.parametrize(
    ("name", "row", "value", "parts"),
    [
        ("time", 17, 3, ("must never decrease", "Row 18 has '3' after '16'")),
        ("time", 17, "noon", ("numbers in all rows", "Row 18 has 'noon'")),
        ("time", 17, "inf", ("numbers in all rows", "Row 18 has 'inf'")),
        ("arm", 4, "", ("column 'arm'", "Row 5 has an empty cell")),
        (
            "reward",
            6,
            1.5,
            (
                "column 'reward' must hold a number from 0 to 1, for bernoulli rewards",
                "Row 7 has 1.5",
                "high=50",
            ),
        ),
        ("reward", 6, "yes", ("must hold numbers", "Row 7 has 'yes'")),
    ],
)
def test_rows_that_no_log_can_have(name: str, row: int, value: object, parts: tuple[str, ...]) -> None:
    refused(changed(name, row, value), *parts)


def test_times_may_be_text_that_sorts() -> None:
    dates = pd.date_range("2026-01-01", periods=ROWS, freq="min")
    for times in (dates.strftime("%Y-%m-%dT%H:%M:%SZ").to_numpy(), dates):
        cb.replay(pd.DataFrame(log_of(time=times)), "kl-ucb")
    refused(log_of(time=dates[::-1].strftime("%Y-%m-%dT%H:%M:%SZ").to_numpy()), "Row 2 has")
    cb.replay(log_of(time=np.zeros(ROWS)), "kl-ucb")
    refused(log_of(time=np.r_[np.zeros(ROWS - 1), -1.0]), f"Row {ROWS} has")


@pytest.mark.parametrize("value", [0.0, -0.1, 1.1, 1e-300])
def test_propensities_are_chances(value: float) -> None:
    chances = np.full(ROWS, 0.25)
    chances[9] = value
    refused(log_of(propensity=chances), "probabilities from 1e-12 to 1", "Row 10 has")


def test_arms_must_be_shown_equally_often_or_have_propensities() -> None:
    rng = np.random.default_rng(2)
    shown = rng.choice(4, ROWS, p=[0.31, 0.23, 0.23, 0.23])
    refused(log_of(arm=ARMS[shown]) | {"group": ARMS[shown]}, "a column 'propensity'", "of them 'a'")


def test_propensities_must_be_true() -> None:
    log = targeted_log(np.random.default_rng(3), ROWS)
    refused(log | {"propensity": np.full(ROWS, 0.5)}, "must agree with how often arms are shown")
    refused(
        log | {"propensity": np.minimum(1.0, log["propensity"] * 1.3)},
        "must agree with how often arms are shown",
    )
    never = np.where((log["arm"] == "d") & (log["propensity"] < 0.2), "c", log["arm"])
    refused(log | {"arm": never, "group": never}, "must agree with how often arms are shown")
    cb.replay(log, "kl-ucb", rounds=50)


def test_a_type_that_never_sees_an_arm_is_noticed() -> None:
    """No weights can tell what the arm would have paid it."""
    rng = np.random.default_rng(4)
    kinds = rng.integers(0, 2, 20_000)
    chances = np.array([[0.0, 0.3, 0.3, 0.4], CHANCES[1]])
    shown = np.array([rng.choice(4, p=chances[kind]) for kind in kinds])
    log = {"time": range(20_000), "arm": ARMS[shown], "reward": kinds, "propensity": chances[kinds, shown]}
    refused(log, "must be about 1", "for arm 'a'")


def test_what_may_go_unnoticed_is_told() -> None:
    """A share of visitors too small to be noticed: the fewer the rows, the larger it may be."""
    shares = []
    for rows in (6000, 60_000):
        found = cb.replay(targeted_log(np.random.default_rng(3), rows), "kl-ucb", rounds=50)
        share = found.to_dict()["log"]["unnoticed_share"]
        assert f"Up to {100 * share:.2g} % of visitors" in " ".join(str(found).split())
        shares.append(share)
    assert shares[0] > 2 * shares[1] > 0
    arms = np.random.default_rng(1).choice(["a", "b"], 400).tolist()
    uniform = {"time": range(400), "arm": arms, "reward": [0, 1] * 200}
    assert cb.replay(uniform, "kl-ucb", rounds=20).to_dict()["log"]["unnoticed_share"] is None


@pytest.mark.parametrize("way", ["in turns", "in blocks", "twice"])
def test_arms_must_be_drawn_row_by_row(way: str) -> None:
    place = np.arange(ROWS)
    shown = ARMS[{"in turns": place, "in blocks": place * 4 // ROWS, "twice": place // 2}[way] % 4]
    refused(log_of(arm=shown, group=shown), "drawn independently", rounds=20)


def test_sound_logs_are_not_refused() -> None:
    for seed in range(60):
        rng = np.random.default_rng([5, seed])
        cb.replay(uniform_log(rng, 2_000), "kl-ucb")
        cb.replay(targeted_log(rng, 6_000), "kl-ucb")


def test_a_log_can_be_too_short() -> None:
    short = {name: values[:300] for name, values in log_of().items()}
    refused(short, "about 940 usable rows", "rounds= sets shorter episodes", "There are 300")
    cb.replay(short, "kl-ucb", rounds=10)
    refused(short, "2 episodes of 100 rounds need", "There are 300", rounds=100)
    refused({name: values[:0] for name, values in log_of().items()}, "at least two arms", "0 in 0 rows")
    refused(log_of(arm=np.full(ROWS, "a"), group=np.full(ROWS, "red")), "at least two arms", "1 in 8,000")
    log = targeted_log(np.random.default_rng(6), ROWS)
    refused(log, "There are 3,", f"of {ROWS:,}, because the smallest propensity is 0.1", rounds=1_000)


def test_episodes_must_not_be_too_many() -> None:
    refused(log_of(time=np.zeros(ROWS)), "rounds must be", "a whole number of at least 1", rounds=0)
    rng = np.random.default_rng(7)
    shown = rng.integers(0, 2, 3_000_000)
    log = {"time": np.zeros(shown.size), "arm": ARMS[shown], "reward": shown}
    refused(pd.DataFrame(log), "rounds must be", "at least", "episodes", rounds=1)


def test_arms_can_be_too_many() -> None:
    names = np.arange(20_002) % 10_001
    refused(log_of(time=names * 0, arm=names, reward=names * 0, group=names), "at most 10,000 arms")


def test_policies_need_what_they_use() -> None:
    bare = without("group")
    for name in ("clus-ucb", "tlp-mean", "tlp-max", "tsc", "ucbc", "hier-ts"):
        refused(bare, "groups must be", "a column 'group'", name, policies=name)
    refused(log_of(), "widths must be", "from other data than this log", policies=["kl-ucb", "clus-ucb"])
    refused(bare, "widths must be", "a column 'group' in the log", widths=0.1)
    refused(log_of(), "widths must be", widths=[0.1, 0.2, 0.3])
    refused(log_of(), "widths must be", widths={"red": 0.1})
    refused(bare, "groups: arms", "none for 'd'", groups=[["a", "b"], ["c"]])
    refused(bare, "'e', which the log never shows", groups=[["a", "b"], ["c", "d", "e"]])
    declared = cb.Clusters([2, 1], 0.1)
    assert needs_widths(cb.policy("hier-ts:widths=respected", declared))
    assert not needs_widths(cb.policy("hier-ts", declared))
    assert not needs_widths(cb.policy("ckl-ucb", declared, distances=[[0, 1, 1], [1, 0, 1], [1, 1, 0]]))


def test_policies_must_fit_the_log() -> None:
    declared = cb.Clusters([["a", "b"], ["c", "d"]], 0.1)
    refused(log_of(), "policies must be", "at least one", policies=[])
    refused(log_of(), "policies must be", "policies or their names", policies=[3])
    refused(log_of(), "Unknown policy 'ucb9'", policies="ucb9")
    refused(log_of(), "different labels", policies=["kl-ucb", cb.KLUCB(declared)])
    refused(log_of(), "policies for gaussian rewards", policies=cb.KLUCB(declared), family="gaussian")
    refused(log_of(), "policy 'kl-ucb'", "none for", policies=cb.KLUCB(cb.Clusters([4], 0.1)))
    wide = cb.Clusters([["a", "b", "c", "d", "e"]], 0.1)
    refused(log_of(), "policy 'kl-ucb'", "never shows", policies=cb.KLUCB(wide))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rounds": 1.5}, "rounds must be"),
        ({"seed": -1}, "seed must be"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"confidence": 95}, "confidence must be"),
        ({"family": "cauchy"}, "Unknown family"),
        ({"progress": 3}, "progress must be"),
    ],
)
def test_options_are_checked(options: dict[str, Any], named: str) -> None:
    refused(log_of(), named, **options)


def test_files_are_refused_as_tables_are(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    refused(file, "must be readable")
    file.write_bytes(b"")
    refused(file, "The file is empty")
    pd.DataFrame(changed("time", 17, 3)).to_csv(file, index=False)
    refused(file, "log.csv", "Row 18 (line 19) has '3'")
    pd.DataFrame(changed("reward", 17, "?")).to_csv(file, index=False)
    refused(file, "log.csv", "Row 18 (line 19) has '?'")
    file.write_text("time,arm,reward\n")
    refused(file, "at least two arms")
