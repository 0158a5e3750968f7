"""Histories: both forms of a table, what is refused, and warm policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clusterbandits as cb
from clusterbandits.limits import MOST_TABLE_ARMS
from clusterbandits.studies.history import TABLES, History, read_history, table_history, table_instance

ROWS: dict[str, list[Any]] = {
    "arm": ["a", "b", "c", "d"],
    "group": ["red", "blue", "red", "blue"],
    "trials": [40, 50, 0, 10],
    "successes": [4, 10, 0, 10],
}


def counts(history: History) -> dict[str, Any]:
    return history.to_dict()


def changed(**columns: list[Any]) -> dict[str, list[Any]]:
    return ROWS | columns


def test_one_row_an_arm() -> None:
    history = read_history(ROWS)
    assert history.arms == ("a", "b", "c", "d")
    assert history.groups == ("red", "blue")
    assert counts(history) == ROWS
    np.testing.assert_equal(history.means, [0.1, 0.2, np.nan, 1.0])
    assert [part.tolist() for pair in history.counts() for part in pair] == [
        [40, 0],
        [4, 0],
        [50, 10],
        [10, 10],
    ]
    assert repr(history) == "<History: 4 arms in 2 groups, 100 trials>"
    assert "<table>" in history._repr_html_()
    assert max(map(len, str(history).splitlines())) <= 80


def test_one_row_an_event_is_the_same_history(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arms = rng.integers(0, 30, 10_000)
    frame = pd.DataFrame(
        {"arm": [f"arm {k}" for k in arms], "group": arms % 4, "reward": rng.integers(0, 2, arms.size)}
    )
    history = read_history(frame)
    summed = frame.groupby("arm")["reward"].agg(["size", "sum"]).loc[list(history.arms)]
    assert history.trials.tolist() == summed["size"].tolist()
    assert history.successes.tolist() == summed["sum"].tolist()
    assert [int(name) for name in history.partition.cluster_names] == [
        int(arm.split()[1]) % 4 for arm in map(str, history.arms)
    ]
    file = tmp_path / "events.csv"
    frame.rename(columns={"reward": "Click"}).to_csv(file, index=False, sep=";")
    assert counts(read_history(file)) == counts(history)
    assert counts(read_history(history.to_dict())) == counts(history)
    assert read_history(history) is history


def test_a_million_events_are_read(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    block = "".join(f"{k},{k % 3},{k % 2}\n" for k in range(100))
    file.write_text("arm,group,reward\n" + block * 10_000)
    history = read_history(file)
    assert len(history.arms) == 100
    assert set(history.trials.tolist()) == {10_000}
    assert history.successes.tolist() == [k % 2 * 10_000 for k in range(100)]


def test_the_last_row_of_a_long_log_is_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    block = "".join(f"{k},{k % 3},{k % 2}\n" for k in range(100))
    file.write_text(f"arm,group,reward\n{block * 10_000}5,0,1\n")
    with pytest.raises(cb.UnreadableFileError) as error:
        read_history(file)
    assert str(error.value) == (
        f"The table '{file}' must have every arm in one group. "
        "Got '5' in '2' and, in row 1000001, in '0' instead."
    )


WRONG = [
    ({"arm": ["a"], "trials": [1], "successes": [1]}, "have the column 'group'. Got 'arm, trials"),
    ({"group": ["a"], "reward": [1]}, "have the column 'arm'"),
    ({"arm": ["a"], "group": ["x"], "trials": [3]}, "(one row per event). Got 'trials' alone instead"),
    ({"arm": ["a"], "group": ["x"]}, "or 'reward' (one row per event). Got none of them instead."),
    (changed(reward=[1, 1, 1, 1]), "either 'trials' and 'successes', or 'reward'. Got 'reward' and"),
    (
        changed(successes=[4, 51, 0, 10]),
        "the trials in its column 'successes'. Got 51 of 50 trials in row 2",
    ),
    (changed(trials=[40, -1, 0, 10]), "a whole number, 0 or more, in its column 'trials'. Got -1 in row 2"),
    (changed(successes=[4, 0.5, 0, 10]), "column 'successes'. Got 0.5 in row 2"),
    (changed(trials=[40, "many", 0, 10]), "a number in its column 'trials'. Got 'many' in row 2"),
    (changed(trials=[40, None, 0, 10]), "a number in its column 'trials'. Got '' in row 2"),
    (changed(trials=[40, float("nan"), 0, 10]), "Got '' in row 2"),
    (changed(trials=[40, float("inf"), 0, 10]), "in row 2"),
    (changed(trials=[40, 1e17, 0, 10]), "Got 1e+17 in row 2"),
    (changed(trials=[6e14, 6e14, 0, 10]), "at most 1e+15 trials in all. Got 1.2e+15"),
    (changed(arm=["a", "b", "a", "d"]), "have every arm once, in one row. Got 'a' in rows 1 and 3"),
    (changed(arm=["a", "", "c", "d"]), "a text in its column 'arm'. Got '' in row 2"),
    ({"arm": [], "group": [], "trials": [], "successes": []}, "have at least one row. Got none"),
    (
        {"arm": ["a"] * 3, "group": ["x"] * 3, "reward": [1, 2.5, 40]},
        "have 0 or 1 in its column 'reward', or bounds for other rewards, as in "
        "family='bounded:low=0,high=50'. Got 2.5 in row 2, and 1 to 40 in all, instead.",
    ),
    (
        {"arm": ["a"], "group": ["x"], "trials": [3], "total": [7.5]},
        "have the columns 'trials' and 'successes', or bounds for other rewards, as in family='bounded:",
    ),
    ({"arm": ["a", "a"], "group": ["x", "y"], "reward": [1, 0]}, "'a' in 'x' and, in row 2, in 'y'"),
    (changed(Trials=[1, 1, 1, 1]), "have one column 'trials'. Got 'trials' and 'Trials'"),
    (7, "the path of a CSV file, a frame, or columns by name. Got 7"),
    (None, "the path of a CSV file"),
]


@pytest.mark.parametrize(("table", "sentence"), WRONG)
def test_what_is_wrong_is_said_in_one_sentence(table: Any, sentence: str) -> None:
    with pytest.raises(cb.InvalidInputError) as error:
        read_history(table, "advise")
    text = str(error.value)
    assert text.startswith("The 'table' parameter of advise must ")
    assert sentence in text
    assert text.count("\n") == 0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "an empty file"),
        (b"\n\n", "an empty"),
        (b"arm,group,trials,successes\n", "have at least one row. Got none"),
        (b"arm,group,trials,successes\na,x,3,1\nb,x,4\n", "4 cells in every row. Got 3 in row 2"),
        (
            "arm,group,trials,successes\nä,x,3,1\n".encode("latin-1"),
            "be text in UTF-8, which spreadsheets save as 'CSV UTF-8'. Got other bytes",
        ),
        (
            "arm,group,trials,successes\na,x,3,1\n".encode("utf-16"),
            "be text in UTF-8, which spreadsheets save as 'CSV UTF-8'. Got other bytes",
        ),
        (
            b"arm,group,trials,successes\na,x,3,one\n",
            "in its column 'successes'. Got 'one' in row 1",
        ),
        (b"\x00\x01\x02", "UTF-8"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "history.csv"
    file.write_bytes(content)
    with pytest.raises(cb.UnreadableFileError) as error:
        read_history(file)
    assert str(error.value).startswith(f"The table '{file}' must ")
    assert sentence in str(error.value)


@pytest.mark.parametrize("name", ["nowhere.csv", ".", ""])
def test_paths_that_lead_nowhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(cb.UnreadableFileError, match="must be readable"):
        read_history(str(tmp_path / name) if name else "")


def test_too_many_arms() -> None:
    arms = list(range(MOST_TABLE_ARMS + 1))
    table = {"arm": arms, "group": [0] * len(arms), "trials": [1] * len(arms), "successes": [0] * len(arms)}
    with pytest.raises(cb.InvalidInputError, match=r"at most 10,000 arms\. Got one more in row 10001"):
        read_history(table)
    events = {"arm": arms, "group": [0] * len(arms), "reward": [0] * len(arms)}
    with pytest.raises(cb.InvalidInputError, match="at most 10,000 arms"):
        read_history(events)
    assert len(read_history({name: column[:-1] for name, column in table.items()}).arms) == MOST_TABLE_ARMS


def test_the_instance_has_the_shares_as_means() -> None:
    with pytest.raises(cb.InvalidInputError, match=r"at least 1 of every arm\. Got none of 'c'"):
        read_history(ROWS).instance()
    tried = changed(trials=[40, 50, 8, 10], successes=[4, 10, 2, 10])
    instance = read_history(tried).instance()
    assert instance.means.tolist() == [0.1, 0.2, 0.25, 1.0]
    assert instance.partition == read_history(tried).partition


@pytest.mark.parametrize("name", TABLES)
def test_bundled_tables_are_histories(name: str) -> None:
    history = table_history(name)
    assert history.instance() == table_instance(name)
    json.dumps(history.to_dict())


def test_unknown_tables_are_refused_by_their_owner() -> None:
    with pytest.raises(cb.InvalidInputError, match="'name' parameter of table_history"):
        table_history("flights")


@pytest.mark.parametrize("kind", sorted(cb.POLICIES))
def test_every_policy_can_begin_with_a_history(kind: str) -> None:
    history = read_history(ROWS)
    settings: dict[str, Any] = {"horizon": 1000} if cb.POLICIES[kind].needs_horizon else {}
    policy = cb.POLICIES[kind].from_history(history, widths=[0.9, 0.95], **settings)
    assert type(policy) is cb.POLICIES[kind]
    assert list(policy.pulls.values()) == ROWS["trials"]
    assert list(policy.totals.values()) == ROWS["successes"]
    assert policy.rounds == 100
    assert policy.clusters.widths == (0.9, 0.95)
    # The only arm that was never tried; Kindred knows its group, and has no need to.
    assert policy.ask() == "c" or kind == "kindred"


def test_a_warm_policy_is_one_that_was_told() -> None:
    history = table_history("admissions")
    warm = cb.ClusUCB.from_history(history, a=1.0, label="warm")
    told = cb.ClusUCB(history.clusters(), a=1.0, label="warm")
    for arm, trials, successes in zip(history.arms, history.trials, history.successes, strict=True):
        told.tell(arm, int(successes), pulls=int(trials))
    assert warm.to_json() == told.to_json()
    assert warm.clusters.widths == history.clusters().widths
    assert min(w - s for w, s in zip(warm.clusters.widths, history.instance().spans, strict=True)) > 0


@pytest.mark.parametrize("history", ["history.csv", ROWS, None])
def test_a_warm_policy_needs_a_history(history: Any) -> None:
    with pytest.raises(cb.InvalidInputError, match=r"of ClusUCB\.from_history must be a history, as read"):
        cb.ClusUCB.from_history(history)


def test_wrong_settings_of_a_warm_policy() -> None:
    with pytest.raises(cb.InvalidInputError, match=r"alone\. Got 'b'"):
        cb.ClusUCB.from_history(read_history(ROWS), b=3)
    with pytest.raises(cb.InvalidInputError, match="widths"):
        cb.ClusUCB.from_history(read_history(ROWS), widths=[0.1])
