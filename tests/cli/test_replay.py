"""``clusterbandits replay`` as people meet it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import clusterbandits as cb
from clusterbandits.cli.main import run
from tests.cli.terminal import bar_of
from tests.studies.replayed import targeted_log, uniform_log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log.csv"
    pd.DataFrame(uniform_log(np.random.default_rng(1), 20_000)).to_csv(file, index=False)
    return file


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        run(["replay", *map(str, arguments)])
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


@pytest.mark.parametrize("widths", ["red=0.1,blue=0.2", "0.2"])
def test_it_prints_what_python_returns(capsys: pytest.CaptureFixture[str], log: Path, widths: str) -> None:
    received = {"red": 0.1, "blue": 0.2} if "=" in widths else 0.2
    policies = ("--policy", "kl-ucb", "--policy", "clus-ucb", "--widths", widths)
    code, out, err = call(capsys, log, *policies, "--seed", 3, "--rounds", "1e2")
    result = cb.replay(log, ["kl-ucb", "clus-ucb"], widths=received, seed=3, rounds=100)
    assert (code, err) == (0, "")
    assert out == f"{result}\n"
    assert max(map(len, out.splitlines())) <= 80


def test_widths_in_order(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    first = pd.read_csv(log)["group"].iloc[0]
    widths = "0.1,0.2" if first == "red" else "0.2,0.1"
    in_order = call(capsys, log, "--policy", "clus-ucb", "--widths", widths)
    assert in_order == call(capsys, log, "--policy", "clus-ucb", "--widths", " blue = 0.2, red=0.1")


def test_a_history_to_begin_with(capsys: pytest.CaptureFixture[str], log: Path, tmp_path: Path) -> None:
    file = tmp_path / "past.csv"
    file.write_text("arm,group,trials,successes\na,red,50,17\nd,blue,60,35\n")
    code, out, err = call(capsys, log, "--start", file)
    assert (code, err) == (0, "")
    assert out == f"{cb.replay(log, 'auto', start=cb.read_history(file))}\n"
    assert "Every episode begins after a history of 110 trials." in out
    assert json.loads(call(capsys, log, "--start", file, "--json")[1])["start_trials"] == 110
    file.write_text("arm,group,trials,successes\nx,red,50,17\n")
    code, out, err = call(capsys, log, "--start", file)
    assert (code, out) == (2, "")
    assert err.startswith("Error: Unknown arm 'x' in the history. Available: ")
    assert err.count("\n") == 1


def test_arms_and_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "targeted.csv"
    pd.DataFrame(targeted_log(np.random.default_rng(2), 20_000)).to_csv(file, index=False, sep=";")
    code, out, _ = call(capsys, file, "--arms", "--confidence", 0.9)
    assert code == 0
    assert "90 % interval" in out
    assert "arm  group  rows  reward" in out
    code, out, _ = call(capsys, file, "--json")
    data = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (code, list(data["policies"])) == (0, ["kindred"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--policy", "ucb9"), "Unknown policy 'ucb9'"),
        (("--policy", "clus-ucb"), "--widths"),
        (("--policy", "clus-ucb", "--widths", "wide"), "'wide' in 'wide'"),
        (("--policy", "clus-ucb", "--widths", "red=0.1,0.2"), "--widths must be"),
        (("--policy", "clus-ucb", "--widths", "red=0.1,red=0.2"), "--widths must be"),
        (("--policy", "clus-ucb", "--widths", "0.1,0.2,0.3"), "--widths must be"),
        (("--rounds", "1.5"), "--rounds must be"),
        (("--rounds", "1e6"), "usable rows"),
        # SciPy's quantile for this number of rounds ends the process.
        (("--rounds", "1e15"), "usable rows"),
        (("--seed", "-1"), "--seed must be"),
        (("--confidence", "2"), "--confidence must be"),
        (("--family", "cauchy"), "Unknown family 'cauchy'"),
        (("--family", "exponential"), "exponential rewards"),
    ],
)
def test_bad_options_get_one_sentence(
    capsys: pytest.CaptureFixture[str], log: Path, arguments: tuple[str, ...], named: str
) -> None:
    code, out, err = call(capsys, log, *arguments)
    assert (code, out) == (2, "")
    assert named in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "The file is empty"),
        (b"time,arm\n1,a\n", "'reward'"),
        (b"time,arm,reward\n1,a,1\n2,b\n", "every row must have 3 cells"),
        (b"time,arm,reward\n1,a,1\n2,b,x\n", "Row 2 (line 3) has 'x'"),
        (b"time,arm,reward\n2,a,1\n1,b,0\n", "must never decrease"),
        (b"time,arm,reward\n1,\x81,1\n2,b,0\n", "UTF-8"),
        (b"time,arm,reward\n1,a,1\n2,b,0\n", "usable rows"),
        (b"\xff\xfe\0\0t", "UTF-8"),
    ],
)
def test_malformed_logs_get_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, named: str
) -> None:
    file = tmp_path / "log.csv"
    file.write_bytes(content)
    code, out, err = call(capsys, file)
    assert (code, out) == (2, "")
    assert named in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == [file]


def test_a_missing_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.csv", tmp_path):
        code, out, err = call(capsys, path)
        assert (code, out) == (2, "")
        assert "must be readable" in err


def test_the_bar_is_for_terminals_only(log: Path) -> None:
    assert " rows" in bar_of("replay", str(log))


def test_columns_by_other_names(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    frame = pd.read_csv(log)
    renamed = log.with_name("renamed.csv")
    names = {"time": "n", "arm": "shown_to", "reward": "paid", "group": "Campaign"}
    frame.rename(columns=names).to_csv(renamed, index=False, sep="\t", encoding="utf-16")
    given = ("--time", "n", "--arm", "shown_to", "--reward", "paid", "--policy", "ucb1")
    assert call(capsys, renamed, *given) == call(capsys, log, "--policy", "ucb1")
    code, _, err = call(capsys, renamed, *given[2:])
    assert code == 2
    assert "there is no column 'time'. If it has another name, give --time NAME. The columns are: n," in err
