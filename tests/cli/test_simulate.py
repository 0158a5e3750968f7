"""``clusterbandits simulate`` as people meet it."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

import clusterbandits as cb
import clusterbandits.simulation
from clusterbandits.cli.main import run
from clusterbandits.errors import SimulationInterrupted
from tests.cli.terminal import bar_of
from tests.processes import command, has_first_runs, started, wait_until

PROBLEM = "0.3,0.7; 0.1,0.2,0.8"
SMALL = ("simulate", PROBLEM, "--widths", "0.4,0.7", "--horizon", "1e4", "--runs", "6", "--seed", "3")


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        run(list(arguments))
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def test_it_prints_what_python_returns(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, *SMALL, "--policy", "kl-ucb", "--policy", "clus-ucb:a=5,refresh=50")
    instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
    clusters = instance.clusters([0.4, 0.7])
    result = cb.simulate(
        instance, ["kl-ucb", "clus-ucb:a=5,refresh=50"], 10**4, runs=6, seed=3, clusters=clusters
    )
    assert (code, err) == (0, "")
    assert out.startswith(str(result))
    assert "Bounds per log n: lower 5.609, Clus-UCB (Theorem 2) 5.609, classical 5.741." in out
    assert max(map(len, out.splitlines())) <= 80


def test_json_holds_the_result_and_the_bound(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, *SMALL, "--json")
    data = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert code == 0
    assert data["labels"] == ["kindred", "kl-ucb", "clus-ucb"]
    assert data["checkpoints"][-1] == 10**4
    assert data["bound"]["classical"] == pytest.approx(5.741, abs=1e-3)


def test_a_misleading_width_leaves_the_classical_bound_alone(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["0.4,0.2" if part == "0.4,0.7" else part for part in SMALL]
    _, out, _ = call(capsys, *arguments)
    assert "classical 5.741; no other applies" in " ".join(out.split())


def test_store_and_plot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store, plot = tmp_path / "kept", tmp_path / "regret.png"
    _, first, _ = call(capsys, *SMALL, "--store", str(store), "--plot", str(plot))
    code, second, _ = call(capsys, *SMALL, "--store", str(store))
    assert code == 0
    assert first == second
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert len(cb.load_result(store).runs) == 6
    refused = call(capsys, *SMALL, "--store", str(store), "--paired")
    assert refused[0] == 2
    assert "paired" in refused[2]


def test_a_history_to_begin_with(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, plot = tmp_path / "past.csv", tmp_path / "regret.svg"
    file.write_text("arm,group,trials,successes\n4,1,50,41\n1,0,50,33\n")
    code, out, err = call(capsys, *SMALL, "--start", str(file), "--plot", str(plot))
    instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
    declared = instance.clusters([0.4, 0.7])
    policies = ["auto", "kl-ucb", "clus-ucb"]
    result = cb.simulate(instance, policies, 10**4, 6, 3, clusters=declared, start=cb.read_history(file))
    assert (code, err) == (0, "")
    assert out.startswith(str(result))
    assert "Every run begins after a history of 100 trials." in out
    assert "Bounds per log n, for runs without a history: lower 5.609" in out
    assert "Bounds: slopes" not in plot.read_text()
    _, out, _ = call(capsys, *SMALL, "--start", str(file), "--json")
    data = json.loads(out)
    assert data["start_trials"] == 100
    assert data["policies"]["kl-ucb"]["mean"][-1] == result.mean("kl-ucb")[-1]


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (
            "arm,group,trials,successes\nz,1,50,41\n",
            "Unknown arm 'z' in the history. Available: 0, 1, 2, 3, 4.",
        ),
        ("arm,group,trials,successes\n0,1,50,51\n", "'successes'"),
        ("arm,group\n0,1\n", "'trials'"),
        (None, "must be readable"),
    ],
)
def test_a_wrong_history_gets_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: str | None, named: str
) -> None:
    file = tmp_path / "past.csv"
    if table is not None:
        file.write_text(table)
    code, out, err = call(capsys, *SMALL, "--start", str(file))
    assert (code, out) == (2, "")
    assert named in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--policy", "ucb9"), "Unknown policy 'ucb9'"),
        (("--policy", "clus-ucb:b=1"), "Unknown setting 'b' of policy clus-ucb"),
        (("--horizon", "0"), "--horizon must be"),
        (("--horizon", "1.5"), "--horizon must be"),
        (("--runs", "0"), "--runs must be"),
        (("--seed", "-1"), "--seed must be"),
        (("--workers", "0"), "--workers must be"),
        (("--policy", "kl-ucb", "--policy", "kl-ucb"), "--policy must be different"),
        (("--plot", "regret.txt"), "--plot must be"),
        (("--plot", "nowhere/regret.png"), "nowhere"),
    ],
)
def test_bad_input_gets_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], named: str
) -> None:
    code, out, err = call(capsys, *SMALL, *arguments)
    assert (code, out) == (2, "")
    assert named in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_what_cannot_skip_ahead_is_left_out_of_long_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clusterbandits.cli.simulate._LONGEST_AUTO", 9999)
    code, out, _ = call(capsys, *SMALL)
    assert code == 0
    assert "kindred" not in out
    assert "auto is left out: it draws in every round, which is slow. --policy auto" in " ".join(out.split())
    _, out, _ = call(capsys, *SMALL, "--policy", "auto")
    assert "kindred" in out
    assert "left out" not in out


def test_ctrl_c_shows_what_is_done(tmp_path: Path) -> None:
    store = tmp_path / "kept"
    endless = command("simulate", PROBLEM, "--horizon", "1e12", "--runs", "320", "--store", str(store))
    with started(endless, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        wait_until(child, lambda: has_first_runs(store, policies=2))
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert err.startswith("Interrupted: ")
    assert out.startswith("Regret after 1e12 rounds")


def test_ctrl_c_before_a_first_run_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise SimulationInterrupted(None)

    monkeypatch.setattr(clusterbandits.simulation, "simulate", interrupted)
    assert call(capsys, *SMALL) == (130, "", "Interrupted before every policy had finished a run.\n")


def test_the_bar_is_for_terminals_only() -> None:
    shown = bar_of(*SMALL, "--policy", "kl-ucb")
    assert "runs" in shown
    assert "rounds/s" in shown


ADS = """Ad ID;Campaign;Impressions;Clicks;Orders
1;red;1.200;134;12
1;red;1.200;134;9
2;red;2.150;231;20
1;blue;2.500;404;30
"""


def test_a_table_is_a_problem(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "ads.csv"
    file.write_text(ADS)
    options = ("--policy", "ucb1", "--horizon", "100", "--runs", "2")
    code, out, err = call(capsys, "simulate", str(file), "--successes", "Clicks", *options)
    assert (code, err) == (0, "")
    assert "Widths: safe widths from the same table" in " ".join(out.split())
    assert max(len(line) for line in out.splitlines() if str(file) not in line) <= 80
    spans = call(
        capsys, "simulate", str(file), "--successes", "Clicks", "--widths", "spans", *options, "--json"
    )
    history = cb.read_history(file, columns={"successes": "Clicks"})
    assert history.arms == ("red / 1", "2", "blue / 1")
    bound = cb.regret_bound(history.instance(), history.instance().clusters())
    assert json.loads(spans[1])["bound"]["clus_ucb"] == bound.clus_ucb
    assert call(capsys, "simulate", str(file), *options)[2].endswith(
        "choose one, as with --successes Clicks.\n"
    )
    code, out, err = call(capsys, "simulate", str(file), "--successes", "Click", *options)
    assert (code, out) == (2, "")
    assert err.endswith("Did you mean 'Clicks'?\n")
    assert "columns=" not in err


def test_a_history_beside_a_table_has_its_columns_or_the_usual_ones(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, past = tmp_path / "ads.csv", tmp_path / "past.csv"
    file.write_text(ADS)
    past.write_text("arm,group,trials,successes\n2,red,50,7\n")
    options = ("--successes", "Clicks", "--policy", "ucb1", "--horizon", "100", "--runs", "2", "--json")
    for start, trials in ((file, 7050), (past, 50)):
        code, out, _ = call(capsys, "simulate", str(file), *options, "--start", str(start))
        assert (code, json.loads(out)["start_trials"]) == (0, trials)
