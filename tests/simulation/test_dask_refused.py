"""What a Dask cluster is refused for: one sentence each."""

from __future__ import annotations

import math
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import clusterbandits as cb
from clusterbandits.cli.main import run
from clusterbandits.fingerprint import fingerprint
from clusterbandits.simulation.dask_workers import WorkersError, dask_executor
from tests.simulation.dask_cluster import DaskCluster


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost",
        "localhost:8786",
        "tcp://localhost",
        "tcp://localhost:",
        "tcp://:8786",
        "tcp://localhost:0",
        "tcp://localhost:65536",
        "tcp://localhost:8786/",
        "http://localhost:8786",
        "tcp://two words:8786",
        "tcp://localhost:8786\n",
        8786,
        None,
    ],
)
def test_what_is_no_address_is_refused(address: Any) -> None:
    with (
        pytest.raises(
            cb.InvalidInputError, match="must be the address of a scheduler, as in tcp://HOST:PORT"
        ),
        dask_executor(address),
    ):
        pytest.fail("it connected")


@pytest.mark.parametrize("listens", [False, True])
def test_nobody_answers(listens: bool) -> None:
    before = threading.enumerate()
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        if listens:
            stranger.listen()
        address = f"tcp://127.0.0.1:{stranger.getsockname()[1]}"
        start = time.monotonic()
        with pytest.raises(WorkersError, match=r"No Dask scheduler answered .* within 1 seconds"):  # noqa: SIM117
            with dask_executor(address, patience=1):
                pytest.fail("it connected")
        assert time.monotonic() - start < 10
    assert threading.enumerate() == before


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(cb.InvalidInputError, match=r"pip install 'clusterbandits\[dask\]'"):  # noqa: SIM117
        with dask_executor("tcp://localhost:8786"):
            pytest.fail("it connected")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (
            ["simulate", "0.3,0.7", "--store", "out", "--dask", "localhost"],
            "--dask must be the address of a scheduler, as in tcp://HOST:PORT",
        ),
        (
            ["paper", "--out", "out", "--dask", "localhost"],
            "--dask must be the address of a scheduler, as in tcp://HOST:PORT",
        ),
        (["simulate", "0.3,0.7", "--dask", "tcp://localhost:1", "--workers", "2"], "--workers must be"),
    ],
)
def test_commands_refuse_in_one_sentence(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    named: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        run(arguments)
    printed = capsys.readouterr()
    assert (end.value.code, printed.out) == (2, "")
    assert printed.err.startswith("Error: ")
    assert named in printed.err
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def before_all(folder: Path) -> str:
    """The places where Python looks for packages, with a folder in front."""
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def impostor(folder: Path, name: str) -> str:
    """A folder that a worker looks into before all others, with another version of a package."""
    about = folder / "impostor" / f"{name}-99.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 99.0\n")
    return before_all(about.parent)


def without_package(folder: Path) -> str:
    """A folder that a worker looks into before all others, so that it cannot import the package."""
    package = folder / "without" / "clusterbandits"
    package.mkdir(parents=True)
    package.joinpath("__init__.py").write_text("raise ModuleNotFoundError('No module of that name')\n")
    return before_all(package.parent)


def test_other_workers_are_refused_by_name(tmp_path: Path) -> None:
    """Those that are there, and those that join when it has begun; first of all, nobody is there."""
    numpy = fingerprint()["numpy"]
    received = []
    with DaskCluster(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as cluster:

        def waiting() -> None:
            received.append(cluster.add_worker())

        with dask_executor(cluster.address, waiting=waiting) as executor:
            assert executor.submit(math.sqrt, 4.0).result(60) == 2
            assert len(received) == 1
            with pytest.raises(WorkersError, match="1 Dask workers died"):
                executor.submit(os._exit, 1).result(60)
            received[0].wait(60)
            cluster.have_workers(0)
            cluster.add_worker(PYTHONPATH=impostor(tmp_path, "numpy"))
            with pytest.raises(WorkersError, match=rf"has numpy 99.0, .*must have numpy {numpy}"):
                cb.simulate(cb.Instance([[0.3], [0.7]]), "kl-ucb", 100, runs=2, executor=executor)
        with pytest.raises(WorkersError, match=rf"has numpy 99.0, .*must have numpy {numpy}"):  # noqa: SIM117
            with dask_executor(cluster.address):
                pytest.fail("it connected")
        cluster.kill_worker()
        cluster.have_workers(1)
        with dask_executor(cluster.address) as executor:
            cluster.kill_worker()
            cluster.add_worker(PYTHONPATH=without_package(tmp_path))
            with pytest.raises(WorkersError, match="No module of that name"):
                executor.submit(math.sqrt, 4.0).result(60)
            with pytest.raises(WorkersError, match="No module of that name"):  # noqa: SIM117
                with dask_executor(cluster.address):
                    pytest.fail("it connected")
            cluster.kill_worker()
            unfinished = executor.submit(math.sqrt, 4.0)
            cluster.scheduler.kill()
            with pytest.raises(WorkersError, match="Lost the connection"):
                unfinished.result(60)
