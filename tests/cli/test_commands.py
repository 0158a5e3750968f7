"""The command line as people meet it: what it prints, what it refuses, how it ends."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from clusterbandits import Instance, __version__, regret_bound
from clusterbandits.cli import progress_bar
from clusterbandits.cli.main import run
from clusterbandits.simulation import Progress

PROBLEM = "0.41,0.42,0.43; 0.43,0.44,0.45"
TOML = """
family = "bernoulli"

[clusters.red]
width = 0.03
means = { a = 0.41, b = 0.42, c = 0.43 }

[clusters.blue]
means = { d = 0.43, e = 0.44, f = 0.45 }
"""


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        run(list(arguments))
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def test_bound_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "bound", PROBLEM, "--widths", "0.03,0.04", "--arms", "--horizon", "1e6")
    assert (code, err) == (0, "")
    assert "50.80  194.4  A " in out
    assert "in 1e+06" in out
    assert max(map(len, out.splitlines())) <= 80


def test_bound_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "bound", PROBLEM, "--widths", "inf,0.04", "--json", "--horizon", "1e6")
    data = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert code == 0
    assert data["clusters"][0]["width"] == "inf"
    assert sum(data["expected_pulls"]) == pytest.approx(1e6)


def test_one_width_serves_all_and_spans_are_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    cases: list[tuple[list[str], list[float]]] = [(["--widths", "0.5"], [0.5, 0.5]), ([], [0.02, 0.02])]
    for arguments, wanted in cases:
        data = json.loads(call(capsys, "bound", PROBLEM, "--json", *arguments)[1])
        assert [part["width"] for part in data["clusters"]] == pytest.approx(wanted)


@pytest.mark.parametrize(
    "family",
    [
        "gaussian",
        "gaussian:sigma=0.5",
        "poisson",
        "exponential:shape=2",
        "negative-binomial",
        "bounded:high=9",
    ],
)
def test_bound_for_every_family(capsys: pytest.CaptureFixture[str], family: str) -> None:
    code, out, _ = call(capsys, "bound", "1,2; 3", "--family", family, "--json")
    assert code == 0
    assert json.loads(out)["lower"] == regret_bound(Instance([[1, 2], [3]], family=family)).lower


def test_bound_reads_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "ads.toml"
    file.write_text(TOML)
    code, out, _ = call(capsys, "bound", str(file), "--json")
    data = json.loads(out)
    assert code == 0
    assert [part["name"] for part in data["clusters"]] == ["red", "blue"]
    assert [part["width"] for part in data["clusters"]] == pytest.approx([0.03, 0.02])
    assert data["clusters"][0]["arms"] == ["a", "b", "c"]
    file.write_bytes(b"\xef\xbb\xbf" + TOML.encode())
    assert call(capsys, "bound", str(file), "--json")[1] == out
    wider = json.loads(call(capsys, "bound", str(file), "--json", "--widths", "0.1,0.2")[1])
    assert [part["width"] for part in wider["clusters"]] == [0.1, 0.2]


def test_means_may_begin_with_a_minus_sign(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "bound", "-0.1,0.2;0.5", "--family", "gaussian")
    assert code == 0
    assert "best mean 0.5" in out


def test_one_long_cluster_is_no_file_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "bound", ",".join(f"0.{k}" for k in range(100, 400)))
    assert code == 0
    assert "best mean 0.399" in out


def test_a_horizon_that_is_too_short_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "too few" in call(capsys, "bound", PROBLEM, "--horizon", "1000")[1]
    assert json.loads(call(capsys, "bound", PROBLEM, "--horizon", "1000", "--json")[1])["suffices"] is False


@pytest.mark.parametrize(
    "arguments",
    [
        ["0;1e-300", "--family", "gaussian", "--horizon", "10"],
        ["0;1e-170", "--family", "gaussian"],
        ["0,1e-310", "--family", "poisson"],
        ["1e100,-1e100;0", "--family", "gaussian:sigma=1e-50"],
        ["1e100,1e-100;5", "--family", "exponential:shape=1e50", "--widths", "1e99,1e-99"],
        ["0;1;0.5;1", "--widths", "0"],
    ],
)
def test_extremes_give_numbers_without_warnings(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code, out, err = call(capsys, "bound", *arguments, "--arms")
    assert (code, err) == (0, "")
    assert "nan" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert "nan" not in call(capsys, "bound", *arguments, "--json")[1]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "--version") == (0, f"clusterbandits {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["bound", "nan,0.2; 0.3"], "Means must be finite numbers, but got nan."),
        (["bound", "inf; 0.3"], "Means must be finite numbers, but got inf."),
        (["bound", "0.1; 1.3"], "from 0 to 1 for bernoulli rewards, but got 1.3."),
        (
            ["bound", "0.1; 0", "--family", "exponential"],
            "from 1e-100 to 1e+100 for exponential rewards, but got 0.0",
        ),
        (["bound", "0.1,x; 0.3"], "Error: The problem must be means such as"),
        (["bound", ""], "Error: The problem must be means such as"),
        (["bound", "0.1;;0.3"], "Error: The problem must be means such as"),
        (["bound", "nothing.tml"], "Error: The problem must be means such as"),
        (["bound", "0.1; 0.3", "--widths", "-1"], "must be numbers from 0 to infinity, but got -1.0."),
        (["bound", "0.1; 0.3", "--widths", "nan"], "must be numbers from 0 to infinity, but got nan."),
        (
            ["bound", "0.1; 0.3", "--widths", "wide"],
            "--widths must be numbers separated by commas",
        ),
        (["bound", "0.1; 0.3", "--widths", "1,2,3"], "one for each of the 2 clusters, but got 3 widths."),
        (
            ["bound", "0.1; 0.3", "--family", "beta"],
            "Unknown family 'beta'. Available: bernoulli, gaussian, ",
        ),
        (["bound", "0.1; 0.3", "--horizon", "0"], "must be a whole number of at least 1, but got 0."),
        (
            ["bound", "missing.toml"],
            "'missing.toml' cannot be read: no such file or directory.",
        ),
        (
            ["paper", "--figure", "9"],
            "Error: --figure must be a number from 1 to 8, but got 9.",
        ),
        (["paper", "--runs", "1"], "Error: --runs must be a whole number of at least 2,"),
        (["paper", "--horizon", "1"], "--horizon must be a whole number of at least 100,"),
        (["paper", "--a", "-1"], "--a must be a number from 0 to 1000, but got -1.0."),
        (["paper", "--refresh", "0"], "--refresh must be a whole number of at least 1,"),
    ],
)
def test_bad_input_ends_with_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("means = [", "is not valid TOML: "),
        (
            "colour = 1\n[clusters.a]\nmeans = [0.1]",
            "Unknown key 'colour' in 'file' of ads.toml. Available: clusters, family.",
        ),
        (f"x = {'9' * 5000}", "is not valid TOML: "),
        (f"x = {'[' * 5000}", "is not valid TOML: "),
        (
            "[clusters.a]\nmeans = [0.1]\nwidth = [0.1]",
            "must be numbers from 0 to infinity, but got [0.1].",
        ),
        ("", "ads.toml: clusters must be a table with one table for each cluster, but got None"),
        (
            "clusters = 3",
            "ads.toml: clusters must be a table with one table for each cluster, but got 3",
        ),
        ("[clusters]\na = 1", "ads.toml: clusters.a must be a table with the key means"),
        ("[clusters.a]\nwidth = 1", "ads.toml: clusters.a must be a table with the key means"),
        (
            "[clusters.a]\nmeans = [0.1]\nwidht = 1",
            "Unknown key 'widht' in 'clusters.a' of ads.toml. Did you mean 'width'?",
        ),
        ("[clusters.a]\nmeans = []", "must be at least one mean per group"),
        ("[clusters.a]\nmeans = 0.1", "ads.toml: clusters.a.means must be a list or a table"),
        ("[clusters.a]\nmeans = ['x']", "must be finite numbers, but got 'x'."),
        (
            "[clusters.a]\nmeans = [0.1]\nwidth = 'wide'",
            "must be numbers from 0 to infinity, but got 'wide'.",
        ),
        ("[clusters.a]\nmeans = [0.1]\nwidth = -1", "must be numbers from 0 to infinity, but got -1."),
        ("family = 3\n[clusters.a]\nmeans = [0.1]", "Unknown family 3. Available: bernoulli,"),
        (
            "[clusters.a]\nmeans.x = 0.1\n[clusters.b]\nmeans.x = 0.2",
            "Arms must be different labels, but got 'x' twice.",
        ),
        (
            "[clusters.a]\nmeans.x = 0.1\n[clusters.b]\nmeans = [0.2]",
            "must be labelled in all groups or in none",
        ),
    ],
)
def test_bad_files_end_with_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, sentence: str
) -> None:
    file = tmp_path / "ads.toml"
    file.write_text(text)
    code, out, err = call(capsys, "bound", str(file))
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_unreadable_files_end_with_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    foreign = tmp_path / "latin.toml"
    foreign.write_bytes(b"family = '\xe9'")
    assert "is not text in UTF-8" in call(capsys, "bound", str(foreign))[2]
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    code, _, err = call(capsys, "bound", str(folder))
    assert code == 2
    assert "cannot be read: is a directory." in err


def test_wrong_usage_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "bound")[0] == 2
    assert call(capsys, "bound", "0.1", "--wide")[0] == 2
    assert call(capsys, "unknown")[0] == 2


def run_process(*arguments: str, **environment: str) -> Any:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, check=False, env=os.environ | environment)


COMMANDS = ("advise", "bound", "example", "paper", "policies", "replay", "run", "simulate", "warmup")


@pytest.mark.parametrize("arguments", [["--help"], *([name, "-h"] for name in COMMANDS), ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    found = run_process("-X", "importtime", "-m", "clusterbandits", *arguments)
    assert found.returncode == 0
    assert found.stdout
    assert max(map(len, found.stdout.decode().splitlines())) <= 80
    imported = {line.rpartition(b"|")[2].strip().partition(b".")[0] for line in found.stderr.splitlines()}
    assert b"typer" in imported
    assert not imported & {b"numba", b"scipy", b"matplotlib", b"numpy"}


def test_a_full_disk_ends_with_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "clusterbandits", "policies"]
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert found.returncode == 2
    assert found.stderr == b"Error: The output cannot be written: no space left on device.\n"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            OSError(24, "Too many open files"),
            "The operating system stopped the command: too many open files.",
        ),
        (
            OSError(13, "Permission denied", "a.csv"),
            "The path 'a.csv' cannot be used: permission denied.",
        ),
    ],
)
def test_errors_of_the_system_are_not_blamed_on_the_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: OSError, sentence: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("clusterbandits.studies.problem.read_problem", fail)
    assert call(capsys, "bound", PROBLEM) == (2, "", f"Error: {sentence}\n")


def test_output_survives_a_narrow_encoding() -> None:
    found = run_process(
        "-m", "clusterbandits", "bound", "0.3,0.7; 0.8", "--widths", "inf", PYTHONIOENCODING="ascii"
    )
    assert found.returncode == 0
    assert b"lower bound" in found.stdout
    assert found.stderr == b""


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys)
    assert (code, out) == (2, "")
    assert all(name in err for name in COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["bound", "0.1", "y" * 5000],
        ["bound", "x" * 5000],
        ["bound", "a/" * 2500 + "x.toml"],
        ["bound", "0.1", "--family", "\x1b[2J\x9b31m"],
        ["bound", "0.1\x1b[2J"],
        ["simulate", "0.1", "--policy", "kl-ucb:" + "b" * 5000],
        ["simulate", "0.1", "--policy", "kl-ucb", "--runs", "\x1b[2J"],
        ["example", "start", "--out", "b/" * 2500],
        ["example", "start", "--out", "no/such\nfolder/x.toml"],
        ["advise", "\u202e" * 5000],
        ["bound", "0.1;0.2\udc9b"],
    ],
)
def test_errors_are_short_and_printable(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.removesuffix("\n").isprintable()
    assert len(err) <= 500


def test_a_cluster_of_a_thousand_names_is_not_listed_whole(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "study.toml"
    means = ", ".join(f"group{k} = [0.5]" for k in range(1000))
    file.write_text(
        f'policies = ["kl-ucb"]\n[[instances]]\nmeans = {{ {means} }}\nwidths = [{{ groups = {{ x = 1 }} }}]'
    )
    code, _, err = call(capsys, "run", str(file))
    assert code == 2
    assert "'group0', 'group1', " in err
    assert re.search(r"… and 9\d\d more, but got widths for \['x'\]\.", err)
    assert len(err) <= 500


@pytest.mark.parametrize("flag", [[], ["--json"], ["--arms"]])
def test_names_send_a_terminal_no_commands(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, flag: list[str]
) -> None:
    file = tmp_path / "ads.toml"
    name = r'"\u001b[2J\u009b31m\u202e"'
    file.write_text(f"[clusters.{name}]\nmeans = {{ {name} = 0.2, b = 0.9 }}\nwidth = 0.1")
    code, out, _ = call(capsys, "bound", str(file), *flag)
    assert code == 0
    assert out.replace("\n", "").isprintable()
    if flag == ["--json"]:
        assert json.loads(out)["clusters"][0]["name"] == "\x1b[2J\x9b31m\u202e"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["simulate", "0.1;0.2", "--runs", "1000000"],
            "at most 100,000,000, but got 3 × 1,000,000 × 48 × 2.",
        ),
        (["paper", "--runs", "1000000", "--out", "report"], "Error: --runs must be at most "),
        (["run", "/dev/zero"], "is too large: more than 10,000,000 bytes."),
    ],
)
def test_absurd_sizes_are_refused_before_anything_is_made(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(MemoryError(), "more memory than is available"), (RecursionError(), "nested too deeply")],
)
def test_what_the_machine_cannot_do_ends_with_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("clusterbandits.studies.problem.read_problem", fail)
    code, out, err = call(capsys, "bound", PROBLEM)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_bars_show_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Square brackets are markup for Rich: a name that closes none of it would be an error."""
    screen = io.StringIO()
    monkeypatch.setattr(
        progress_bar, "Console", lambda **_: Console(file=screen, force_terminal=True, width=100)
    )
    with progress_bar.campaign_bar() as listener:
        assert listener is not None
        listener(Progress(1, 4, 0, 0, 1.0, doing="[/red] \x1b[5m"))
    assert r"[/red] \x1b[5m" in screen.getvalue()
    assert "\x1b[5m" not in screen.getvalue()
