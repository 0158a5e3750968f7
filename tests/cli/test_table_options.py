"""Options for reading tables: the numbers that commands read with them, and errors that name them."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clusterbandits.cli.main import run
from tests.studies.replayed import uniform_log

MEANS = {"a": 0.15, "b": 0.4}
PLAIN = "arm,group,trials,successes\na,x,2000,300\nb,x,1000,400\n"
QUICK = {
    "bound": (),
    "simulate": ("--policy", "ucb1", "--horizon", "1e1", "--runs", "2e0"),
}
PYTHON = re.compile(r"cb\.|columns=|family=|thousands=|decimal=|History\.|None")


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        run(list(map(str, arguments)))
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def read_by(capsys: pytest.CaptureFixture[str], command: str, *arguments: object) -> dict[str, Any]:
    """Return the means by group and arm that a command reads."""
    code, out, _ = call(capsys, command, *arguments, *QUICK[command], "--json")
    assert code == 0
    found = json.loads(out)
    clusters = found.get("bound", found)["clusters"]
    return {one["name"]: dict(zip(one["arms"], one["means"], strict=True)) for one in clusters}


#: A table, the options that it needs, and the means.
TABLES: list[tuple[str, list[str], dict[str, float]]] = [
    ("arm;group;trials;successes\na;x;2.000;300\nb;x;1.000;400\n", ["--thousands", "."], MEANS),
    ("arm\tgroup\ttrials\tsuccesses\na\tx\t2,000\t300\nb\tx\t1,000\t400\n", ["--thousands", ","], MEANS),
    ("arm;group;trials;successes\na;x;20.000;3\nb;x;5.000;2\n", ["--decimal", "."], MEANS),
    ("arm;group;trials;total\na;x;10;1,500\nb;x;10;4,000\n", ["--decimal", ",", "--high", "9"], MEANS),
    (PLAIN.replace("a,", "Реклама,"), ["--encoding", "cp1251"], {"Реклама": 0.15, "b": 0.4}),
    (PLAIN.replace("trials", "n"), ["--trials", "n"], MEANS),
    (PLAIN.replace("group", "team"), ["--group", "team"], MEANS),
    (PLAIN.replace("arm,", "who is shown,"), ["--arm", "who is shown"], MEANS),
    (PLAIN.replace("successes", "won"), ["--successes", "won"], MEANS),
]


@pytest.mark.parametrize("command", ["bound", "simulate"])
@pytest.mark.parametrize("table", TABLES)
def test_numbers_are_read_as_the_options_say(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    command: str,
    table: tuple[str, list[str], dict[str, float]],
) -> None:
    file, (text, options, means) = tmp_path / "table.csv", table
    file.write_text(text, encoding="utf-8" if text.isascii() else "cp1251")
    assert read_by(capsys, command, file, *options) == {"x": pytest.approx(means)}
    code, out, err = call(capsys, command, file, *QUICK[command])
    assert (code, out) == (2, "")
    assert options[0] in err or "--high" in options
    assert not PYTHON.search(err)


@pytest.mark.parametrize("command", ["bound", "simulate"])
def test_a_sheet_is_chosen(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for name, trials in (("May", "2.000"), ("June", 3000)):
        sheet = book.create_sheet(name)
        for row in (["arm", "group", "trials", "successes"], ["a", "x", trials, 300], ["b", "x", 1000, 400]):
            sheet.append(row)
    file, text = tmp_path / "table.xlsx", tmp_path / "table.csv"
    book.save(file)
    text.write_text(PLAIN)
    assert read_by(capsys, command, file, "--sheet", "June") == {"x": pytest.approx({"a": 0.1, "b": 0.4})}
    may = ("--sheet", "May", "--thousands", ".")
    assert read_by(capsys, command, file, *may) == {"x": pytest.approx(MEANS)}
    assert "choose with --sheet May." in call(capsys, command, file)[2]
    assert call(capsys, command, text, "--sheet", "May")[2] == (
        f"Error: Table '{text}': --sheet May needs an Excel workbook, but this file is not one.\n"
    )


def test_logs_are_read_as_the_options_say(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = pd.DataFrame(uniform_log(np.random.default_rng(1), 4000))
    plain, written = tmp_path / "plain.csv", tmp_path / "written.csv"
    log.to_csv(plain, index=False)
    log["reward"] = log["reward"].map({0: "0,000", 1: "1,000"})
    log.rename(columns={"group": "Gruppe Ü"}).to_csv(written, index=False, sep=";", encoding="cp850")
    quick = ("--policy", "ucb1", "--arms", "--high", "1")
    options = ("--decimal", ",", "--encoding", "cp850", "--group", "Gruppe Ü")
    found = call(capsys, "replay", written, *quick, *options)
    assert found[0] == 0
    assert found == call(capsys, "replay", plain, *quick)


BAD = {
    "no arm": "name,group,trials,successes\na,x,3,1\n",
    "no counts": "arm,group\na,x\n",
    "only trials": "arm,group,trials\na,x,3\n",
    "two readings": "arm;group;trials;successes\na;x;2.000;1\n",
    "two columns": "arm,group,trials,clicks,orders\na,x,3,2,1\n",
    "sums": "arm,group,trials,total\na,x,3,7\n",
    "amounts": "arm,group,reward\na,x,7\n",
    "encoding": "arm,group,trials,successes\nM\x9ad\x9f,x,3,1\n",
    "untried": "arm,group,trials,successes\na,x,0,0\n",
}


@pytest.mark.parametrize("name", BAD)
def test_errors_about_tables_name_options(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(BAD[name].encode("latin-1"))
    commands: list[tuple[object, ...]] = [("bound", file), ("simulate", file)]
    commands += [] if name == "untried" else [("advise", file), ("simulate", "0.1,0.2", "--start", file)]
    for arguments in commands:
        code, out, err = call(capsys, *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert not PYTHON.search(err)
        assert " --" in err or "every arm must have at least one trial. Arm 'a' has none." in err


@pytest.mark.parametrize(
    ("name", "key"),
    [*itertools.product(sorted(set(BAD) - {"untried"}), ["table", "start"]), ("untried", "table")],
)
def test_errors_about_tables_of_studies_name_keys(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, key: str
) -> None:
    (tmp_path / "table.csv").write_bytes(BAD[name].encode("latin-1"))
    study = tmp_path / "study.toml"
    means = "" if key == "table" else "means = [[0.1]]\n"
    study.write_text(f"policies = ['ucb1']\n[[instances]]\n{means}{key} = 'table.csv'\n")
    code, out, err = call(capsys, "run", study, "--out", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"key 'instances[0].{key}'" in err
    assert not PYTHON.search(err)
    assert " --" not in err
    said = {
        "no arm": f'give {key} = {{ file = "…", columns = {{ arm = "NAME" }} }}.',
        "two readings": f'give {key} = {{ file = "…", thousands = "." }} if it means 2000 or ',
        "sums": 'need bounds, as in family = "bounded:low=0,high=50".',
    }
    assert said.get(name, "") in err


def test_columns_of_another_table_are_not_guessed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table, past = tmp_path / "table.csv", tmp_path / "past.csv"
    table.write_text("arm,group,trials,clicks,won\na,x,2000,300,30\nb,x,1000,400,40\n")
    past.write_text("arm,group,trials,clicks\na,x,20,3\n")
    quick = (*QUICK["simulate"], "--json")
    code, out, err = call(capsys, "simulate", table, "--successes", "won", "--start", past, *quick)
    assert (code, out) == (2, "")
    assert "There is only 'trials': name columns with --successes NAME." in err
    code, out, _ = call(capsys, "simulate", table, "--successes", "clicks", "--start", past, *quick)
    assert (code, json.loads(out)["start_trials"]) == (0, 20)
    means = "0.1,0.2"
    code, out, err = call(capsys, "simulate", means, "--start", past, "--successes", "won", *quick)
    assert (code, out) == (2, "")
    assert "--successes won must name one column. There is no column 'won'." in err


def test_a_history_beside_a_log_has_columns_of_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log, past = tmp_path / "log.csv", tmp_path / "past.csv"
    frame = pd.DataFrame(uniform_log(np.random.default_rng(1), 4000))
    frame.rename(columns={"arm": "shown to", "reward": "n"}).to_csv(log, index=False)
    options = ("--arm", "shown to", "--reward", "n", "--policy", "ucb1", "--json", "--start", past)
    past.write_text("arm,group,trials,n,clicks\na,red,50,7,9\n")
    code, out, _ = call(capsys, "replay", log, *options, "--successes", "n")
    assert (code, json.loads(out)["start_trials"]) == (0, 50)
    assert (
        "There are 'reward' (column 'n'), 'successes' (column 'clicks') and 'trials'."
        in call(capsys, "replay", log, *options)[2]
    )
    past.write_text("ad,group,trials,clicks\na,red,50,9\n")
    assert "--arm 'shown to' must name one column" in call(capsys, "replay", log, *options)[2]
    past.write_text("arm,group,trials,clicks\na,red,50,9\n")
    assert call(capsys, "replay", log, *options)[0] == 0
    assert "--successes won must name" in call(capsys, "replay", log, *options, "--successes", "won")[2]
