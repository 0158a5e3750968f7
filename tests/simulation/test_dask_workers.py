"""A Dask cluster plays the same bits as this machine, or refuses in one sentence."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.cli.main import run
from clusterbandits.simulation.dask_workers import WorkersError, dask_executor
from tests.processes import command, has_first_runs, started, wait_until
from tests.simulation.dask_cluster import DaskCluster

INSTANCE = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
BOTH = ["kl-ucb", "clus-ucb"]
#: Two seconds of work for one core, in 32 pieces.
LONG: dict[str, Any] = {"horizon": 120_000, "runs": 32, "seed": 5, "stepwise": True}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    with DaskCluster(tmp_path_factory.mktemp("cluster")) as running:
        running.have_workers(2)
        yield running


@pytest.fixture
def two(cluster: DaskCluster) -> DaskCluster:
    """The cluster with two workers, whatever a test did to them."""
    cluster.have_workers(2)
    return cluster


@pytest.fixture(scope="module")
def long() -> cb.Result:
    """What the long simulation gives on this machine."""
    return cb.simulate(INSTANCE, BOTH, **LONG)


def call(*arguments: str) -> int:
    """Run a command in this process and return its exit code."""
    with pytest.raises(SystemExit) as end:
        run(list(arguments))
    return int(end.value.code or 0)


def equal(one: cb.Result, other: cb.Result) -> bool:
    alarms = zip(one.alarm_rounds, other.alarm_rounds, strict=True)
    return np.array_equal(one.pulls, other.pulls) and all(np.array_equal(*pair) for pair in alarms)


@pytest.mark.parametrize("paired", [False, True])
def test_the_same_bits_as_on_this_machine(two: DaskCluster, tmp_path: Path, paired: bool) -> None:
    before = threading.enumerate()
    here = cb.simulate(INSTANCE, BOTH, 3000, runs=21, seed=7, paired=paired)
    with dask_executor(two.address) as executor:
        for store in (None, tmp_path / "store"):
            there = cb.simulate(
                INSTANCE, BOTH, 3000, runs=21, seed=7, paired=paired, executor=executor, store=store
            )
            assert equal(here, there)
    assert equal(here, cb.load_result(tmp_path / "store"))
    assert threading.enumerate() == before


def test_a_worker_that_is_killed_is_survived(two: DaskCluster, long: cb.Result) -> None:
    seen: list[int] = []

    def listen(progress: cb.Progress) -> None:
        if not seen and progress.runs_done >= 8:
            two.kill_worker()
            seen.append(progress.runs_done)

    with dask_executor(two.address) as executor:
        result = cb.simulate(INSTANCE, BOTH, **LONG, executor=executor, progress=listen)
    assert seen
    assert seen[0] < 64
    assert equal(result, long)


def test_all_workers_may_die_if_others_come(two: DaskCluster, long: cb.Result) -> None:
    seen: list[int] = []

    def listen(progress: cb.Progress) -> None:
        if not seen and progress.runs_done >= 8:
            two.kill_worker()
            two.kill_worker()
            seen.append(progress.runs_done)
            two.add_worker()

    with dask_executor(two.address) as executor:
        result = cb.simulate(INSTANCE, BOTH, **LONG, executor=executor, progress=listen)
    assert seen
    assert seen[0] < 64
    assert equal(result, long)


def test_ctrl_c_leaves_the_cluster_running_and_idle(two: DaskCluster, tmp_path: Path) -> None:
    store = tmp_path / "store"
    problem = ["0.3,0.7; 0.1,0.2,0.8", "--horizon", "1e9", "--runs", "480", "--store", str(store)]
    arguments = command("simulate", *problem, "--dask", two.address)
    with started(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(process, lambda: has_first_runs(store, policies=2))
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        out, err = process.communicate(timeout=60)
        assert time.monotonic() - asked < 15
    assert process.returncode == 130
    assert err.startswith("Interrupted: these are the ")
    assert err.count("\n") == 1
    assert out.startswith("Regret after 1e9 rounds, ")
    assert 0 < len(cb.load_result(store).runs) < 480
    with dask_executor(two.address) as executor:
        start = time.monotonic()
        assert executor.submit(math.sqrt, 4.0).result(60) == 2
        assert time.monotonic() - start < 30
    assert [worker.poll() for worker in two.workers] == [None, None]


STUDY = """
horizon = 500
runs = 4
policies = ["kl-ucb", "clus-ucb"]
[[instances]]
means = [[0.3, 0.7], [0.1, 0.2, 0.8]]
"""


@pytest.mark.parametrize("name", ["paper", "run"])
def test_commands_write_the_same_bytes(
    two: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    study = tmp_path / "small.toml"
    study.write_text(STUDY)
    small = {"paper": ["--figure", "2", "--runs", "4", "--horizon", "500"], "run": [str(study)]}[name]
    written = []
    for folder, where in [("here", []), ("there", ["--dask", two.address])]:
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        assert call(name, *small, "--out", "report", *where) == 0
        files = [path for path in Path("report").rglob("*") if path.is_file()]
        written.append({path: path.read_bytes() for path in files})
    here, there = written
    assert here.keys() == there.keys()
    assert [path for path in here if here[path] != there[path]] == []
    assert sum(path.suffix == ".parquet" for path in here) >= 8


def test_an_executor_like_any_other(two: DaskCluster) -> None:
    with dask_executor(two.address) as executor:
        assert list(executor.map(math.sqrt, [1.0, 4.0, 9.0])) == [1, 2, 3]
        with pytest.raises(ValueError, match="math domain error"):
            executor.submit(math.sqrt, -1.0).result(60)
        assert executor.submit(os.getpid).result(60) in {worker.pid for worker in two.workers}
        # Equal calls are still as many calls.
        drawn = {executor.submit(os.urandom, 8).result(60) for _ in range(3)}
        assert len(drawn) == 3
        sleeping = [executor.submit(time.sleep, 0.5) for _ in range(20)]
        sleeping[-1].cancel()
        assert sleeping[-1].cancelled()
        start = time.monotonic()
    assert time.monotonic() - start < 8
    assert all(future.done() for future in sleeping)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(math.sqrt, 4.0)


def test_a_worker_is_no_scheduler(two: DaskCluster) -> None:
    with pytest.raises(WorkersError, match="No Dask scheduler answered"):  # noqa: SIM117
        with dask_executor(two.address_of(two.workers[0])):
            pytest.fail("it connected")


def test_the_documented_processes(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "machines.md"
    (program,) = re.findall(r"```python\n(# processes.py\n.*?)```", page.read_text(), flags=re.DOTALL)
    file = tmp_path / "processes.py"
    file.write_text(program)
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    here = cb.simulate(INSTANCE, BOTH, 10**6, runs=24, seed=1)
    assert ran.stdout == f"{here}\n"
