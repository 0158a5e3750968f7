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


def test_the_last_row_of_a_long_log_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    block = "".join(f"{k},{k % 3},{k % 2}\n" for k in range(100))
    file.write_text(f"arm,group,reward\n{block * 10_000}5,2,x\n")
    with pytest.raises(cb.UnreadableFileError, match=r"Row 1000001 \(line 1000002\) has 'x'"):
        read_history(file)


def test_rows_of_an_arm_are_added_up() -> None:
    daily = changed(arm=["a", "b", "a", "a"], group=["red", "blue", "red", "red"])
    assert counts(read_history(daily)) == {
        "arm": ["a", "b"],
        "group": ["red", "blue"],
        "trials": [50, 50],
        "successes": [14, 10],
    }
    sums = {
        "arm": ["a", "a"],
        "group": ["x", "x"],
        "trials": [2, 1],
        "total": [5.0, 4.0],
        "squares": [13, 16],
    }
    assert counts(read_history(sums, family="bounded:low=0,high=9")) == {
        "arm": ["a"],
        "group": ["x"],
        "trials": [3],
        "total": [9.0],
        "squares": [29.0],
    }


def test_arms_of_the_same_name_in_several_groups_are_told_apart() -> None:
    rows = changed(arm=["a", "b", "c", "a"], group=["red", "red", "blue", "blue"])
    assert read_history(rows).arms == ("red / a", "b", "c", "blue / a")
    assert read_history(rows).partition.cluster_names == ["red", "red", "blue", "blue"]
    events = {"arm": ["a", "a", "b", "a"], "group": ["x", "y", "x", "x"], "reward": [1, 0, 1, 1]}
    assert counts(read_history(events)) == {
        "arm": ["x / a", "y / a", "b"],
        "group": ["x", "y", "x"],
        "trials": [2, 1, 1],
        "successes": [2, 0, 1],
    }
    with pytest.raises(cb.InvalidInputError, match="Two arms are called 'red / a'"):
        read_history(rows | {"arm": ["a", "red / a", "c", "a"]})


WRONG = [
    ({"arm": ["a"], "trials": [1], "successes": [1]}, "no column 'group'"),
    ({"group": ["a"], "reward": [1]}, "no column 'arm'"),
    ({"arm": ["a"], "group": ["x"], "trials": [3]}, "There is only 'trials'"),
    ({"arm": ["a"], "group": ["x"]}, "or 'reward' (one row per event). There are none"),
    (
        changed(reward=[1, 1, 1, 1]),
        "either 'trials' and 'successes', or 'reward'. There are 'reward', 'successes' and",
    ),
    (changed(successes=[4, 51, 0, 10]), "Row 2 has 51 successes in 50 trials"),
    (changed(trials=[40, -1, 0, 10]), "'trials' must hold whole numbers from 0 to 1e+15. Row 2 has -1"),
    (
        changed(successes=[4, 0.5, 0, 10]),
        "'successes' must hold whole numbers from 0 to 1e+15. Row 2 has 0.5",
    ),
    (changed(trials=[40, "many", 0, 10]), "column 'trials' must hold numbers. Row 2 has 'many'"),
    (changed(trials=[40, None, 0, 10]), "Row 2 has an empty cell"),
    (changed(trials=[40, float("nan"), 0, 10]), "Row 2 has an empty cell"),
    (changed(trials=[40, float("inf"), 0, 10]), "Row 2 has inf"),
    (changed(trials=[40, 1e17, 0, 10]), "Row 2 has 1e+17"),
    (changed(trials=[6e14, 6e14, 0, 10]), "at most 1e+15 trials in all. There are 1.2e+15"),
    (changed(arm=["a", "", "c", "d"]), "column 'arm' must hold text. Row 2 has an empty cell"),
    ({"arm": [], "group": [], "trials": [], "successes": []}, "at least one row"),
    (
        {"arm": ["a"] * 3, "group": ["x"] * 3, "reward": [1, 2.5, 40]},
        "must hold 0 or 1, or bounds must be given, as in family='bounded:low=0,high=50'. "
        "Row 2 has 2.5; the rewards go from 1 to 40",
    ),
    ({"arm": ["a"], "group": ["x"], "trials": [3], "total": [7.5]}, "need bounds, as in family="),
    (changed(Trials=[1, 1, 1, 1]), "There are 'trials' and 'Trials': choose one"),
    (7, "a path, a frame, columns by name, or a list of rows by name. It is 7"),
    (None, "a path, a frame, columns by name"),
]


@pytest.mark.parametrize(("table", "sentence"), WRONG)
def test_what_is_wrong_is_said_in_one_line(table: Any, sentence: str) -> None:
    with pytest.raises(cb.InvalidInputError) as error:
        read_history(table, "advise")
    text = str(error.value)
    assert text.startswith("Table given to advise: ")
    assert sentence in text
    assert text.count("\n") == 0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty"),
        (b"\n\n", "empty"),
        (b"arm,group,trials,successes\n", "at least one row"),
        (b"arm,group,trials,successes\na,x,3,1\nb,x,4\n", "must have 4 cells. Row 2 (line 3) has 3"),
        (b"arm,group,trials,successes\na,x,3,4\n", "Row 1 (line 2) has 4 successes in 3 trials"),
        (
            b"arm,group,trials,successes\na,x,3,one\n",
            "column 'successes' must hold numbers. Row 1 (line 2) has 'one'",
        ),
        (b"\x00\x01\x02", "UTF-8"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "history.csv"
    file.write_bytes(content)
    with pytest.raises(cb.UnreadableFileError) as error:
        read_history(file)
    assert str(error.value).startswith(f"Table '{file}': ")
    assert sentence in str(error.value)


@pytest.mark.parametrize("name", ["nowhere.csv", ".", ""])
def test_paths_that_lead_nowhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(cb.UnreadableFileError, match="must be readable"):
        read_history(str(tmp_path / name) if name else "")


def test_too_many_arms() -> None:
    arms = list(range(MOST_TABLE_ARMS + 1))
    table = {"arm": arms, "group": [0] * len(arms), "trials": [1] * len(arms), "successes": [0] * len(arms)}
    with pytest.raises(cb.InvalidInputError, match=r"at most 10,000 arms\. One more is in row 10001"):
        read_history(table)
    events = {"arm": arms, "group": [0] * len(arms), "reward": [0] * len(arms)}
    with pytest.raises(cb.InvalidInputError, match="at most 10,000 arms"):
        read_history(events)
    assert len(read_history({name: column[:-1] for name, column in table.items()}).arms) == MOST_TABLE_ARMS


def test_the_instance_has_the_shares_as_means() -> None:
    with pytest.raises(cb.InvalidInputError, match=r"at least 1 of every arm, but got none of 'c'"):
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
    with pytest.raises(cb.InvalidInputError, match=r"Unknown table 'flights'\. Did you mean 'flights-by-"):
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
    online = cb.ClusUCB(history.clusters(), a=1.0, label="warm")
    for arm, trials, successes in zip(history.arms, history.trials, history.successes, strict=True):
        online.tell(arm, int(successes), pulls=int(trials))
    assert warm.to_json() == online.to_json()
    assert warm.clusters.widths == history.clusters().widths
    assert min(w - s for w, s in zip(warm.clusters.widths, history.instance().spans, strict=True)) > 0


@pytest.mark.parametrize("history", ["history.csv", ROWS, None])
def test_a_warm_policy_needs_a_history(history: Any) -> None:
    with pytest.raises(cb.InvalidInputError, match=r"ClusUCB\.from_history: history must be .* read_history"):
        cb.ClusUCB.from_history(history)


def test_wrong_settings_of_a_warm_policy() -> None:
    with pytest.raises(cb.InvalidInputError, match=r"Unknown setting 'b' of policy clus-ucb"):
        cb.ClusUCB.from_history(read_history(ROWS), b=3)
    with pytest.raises(cb.InvalidInputError, match="widths"):
        cb.ClusUCB.from_history(read_history(ROWS), widths=[0.1])
