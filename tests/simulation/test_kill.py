"""Processes that are stopped or killed while they simulate into a store."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clusterbandits as cb
from tests.processes import line, started, wait_until

INSTANCE = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
POLICIES = ["kl-ucb", "clus-ucb", "clus-ucb:a=2"]
PLAN: dict[str, Any] = {"horizon": 150_000, "runs": 32, "seed": 6, "workers": 2, "stepwise": True}
#: Warms up, so that what follows its first sign of life is the simulation alone.
CHILD = f"""
import sys, tempfile
import clusterbandits as cb

instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
with tempfile.TemporaryDirectory() as folder:
    cb.simulate(instance, {POLICIES}, 100, 2, store=folder)
print("alive", flush=True)
cb.simulate(instance, {POLICIES}, store=sys.argv[1], **{PLAN})
print("done", flush=True)
"""
#: Hangs permanently while it writes its third block.
STUCK = f"""
import os, sys, time
import clusterbandits as cb

def sync(handle):
    sync.calls += 1
    if sync.calls == 8:  # Two for every file and one for the new folder: the first of the fourth file.
        print("writing", flush=True)
        time.sleep(600)

sync.calls = 0
os.fsync = sync
instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
cb.simulate(instance, {POLICIES}, store=sys.argv[1], **{PLAN})
"""
#: Says how long it took to stop, and how.
INTERRUPTED = """
import sys, threading
import clusterbandits as cb

instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
print("alive", flush=True)
try:
    cb.simulate(instance, ["kl-ucb", "clus-ucb"], 100_000, 32, 1, stepwise=True, store=sys.argv[1])
except cb.SimulationInterrupted as stopped:
    runs = [] if stopped.result is None else stopped.result.runs.tolist()
    own = [thread for thread in threading.enumerate() if thread.name.startswith("clusterbandits")]
    print("stopped", len(runs), len(own), flush=True)
"""


def child(code: str, store: Path, **options: Any) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    return started([sys.executable, "-c", code, str(store)], stdout=subprocess.PIPE, **options)


def unfinished(store: Path) -> list[Path]:
    return list(store.glob(".*"))


def count_files(store: Path) -> int:
    return len(list(store.glob("*.parquet")))


def wait_for_files(process: subprocess.Popen[str], store: Path, count: int) -> None:
    wait_until(process, lambda: count_files(store) >= count)


@pytest.fixture(scope="module")
def undisturbed() -> cb.Result:
    return cb.simulate(INSTANCE, POLICIES, **PLAN)


def test_killed_again_and_again_it_ends_with_the_same_bits(tmp_path: Path, undisturbed: cb.Result) -> None:
    store = tmp_path / "store"
    generator = random.Random(1)
    kills, files = 0, [0]
    for _ in range(40):
        with child(CHILD, store) as process:
            assert line(process) == "alive"
            wait_for_files(process, store, min(48, files[-1] + generator.randrange(14)))
            time.sleep(generator.uniform(0, 0.05))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            said = line(process)
            process.wait()
        files.append(count_files(store))
        assert files[-1] >= files[-2]
        if said == "done":
            break
        assert process.returncode == -signal.SIGKILL
        kills += 1
    assert said == "done"
    assert kills >= 3
    assert len({count for count in files if 0 < count < 48}) >= 2
    assert files[-1] == 48
    assert unfinished(store) == []
    assert np.array_equal(cb.load_result(store).pulls, undisturbed.pulls)
    assert np.array_equal(cb.simulate(INSTANCE, POLICIES, store=store, **PLAN).pulls, undisturbed.pulls)
    assert len(pd.read_parquet(store)) == undisturbed.pulls.size


def test_killed_in_the_middle_of_a_write(tmp_path: Path, undisturbed: cb.Result) -> None:
    store = tmp_path / "store"
    with child(STUCK, store) as process:
        assert line(process) == "writing"
        process.send_signal(signal.SIGKILL)
    assert len(unfinished(store)) == 1
    kept = {path: path.read_bytes() for path in store.glob("*.parquet")}
    assert len(kept) == 2
    with pytest.raises(cb.InvalidInputError, match="simulate: store"):
        cb.simulate(INSTANCE, POLICIES, store=store, **{**PLAN, "seed": 7})
    result = cb.simulate(INSTANCE, POLICIES, store=store, **PLAN)
    assert np.array_equal(result.pulls, undisturbed.pulls)
    assert all(path.read_bytes() == content for path, content in kept.items())
    assert unfinished(store) == []


@pytest.mark.usefixtures("undisturbed")
def test_ctrl_c_ends_promptly_and_loses_no_finished_run(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with child(INTERRUPTED, store) as process:
        assert line(process) == "alive"
        wait_until(process, lambda: bool(list(store.glob("policy-1-*.parquet"))))
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        word, runs, threads = line(process).split()
        process.wait(timeout=60)
        assert time.monotonic() - asked < 5
    assert process.returncode == 0
    assert word == "stopped"
    assert int(threads) == 0
    part = cb.load_result(store)
    assert 0 < len(part.runs) < 32
    assert len(part.runs) == int(runs)
    before = {path: path.stat().st_mtime_ns for path in store.glob("[!.]*")}
    again = cb.simulate(INSTANCE, ["kl-ucb", "clus-ucb"], 100_000, 32, 1, stepwise=True, store=store)
    whole = cb.simulate(INSTANCE, ["kl-ucb", "clus-ucb"], 100_000, 32, 1, stepwise=True)
    assert np.array_equal(again.pulls, whole.pulls)
    assert np.array_equal(part.pulls, whole.pulls[:, part.runs])
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    assert unfinished(store) == []


@pytest.mark.usefixtures("undisturbed")
def test_an_uncaught_ctrl_c_ends_a_program(tmp_path: Path) -> None:
    endless = CHILD.replace("'horizon': 150000", "'horizon': 10**9")
    assert endless != CHILD
    with child(endless, tmp_path / "store", stderr=subprocess.PIPE) as process:
        assert line(process) == "alive"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        _, said = process.communicate(timeout=60)
        assert time.monotonic() - asked < 5
    assert process.returncode != 0
    assert "SimulationInterrupted" in said
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["_manifest.json"]
