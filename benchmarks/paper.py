"""How long people wait for the paper, and how much memory it takes: fresh, warm, and stored."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Measurement


class Run(NamedTuple):
    """Seconds, and the most memory in MB."""

    seconds: float
    memory: float


def run_paper(folder: Path, cache: Path, *arguments: str) -> Run:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "clusterbandits", "paper", "--out", str(folder), *arguments]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"the paper ended with {os.waitstatus_to_exitcode(status)}")
    return Run(time.perf_counter() - start, used.ru_maxrss / 1024)


def measure() -> list[Measurement]:
    """Measure the whole paper: 48 runs of 10⁶ rounds, all figures."""
    with tempfile.TemporaryDirectory() as folder:
        cache, place = Path(folder) / "cache", Path(folder)
        cold = run_paper(place / "cold", cache)
        warm = run_paper(place / "warm", cache)
        stored = run_paper(place / "warm", cache)
    return [
        Measurement("paper, empty compile cache", cold.seconds, "s", limit=120),
        Measurement("paper, warm compile cache", warm.seconds, "s", limit=45),
        Measurement("paper, all runs stored", stored.seconds, "s"),
        Measurement("paper, most memory", max(cold.memory, warm.memory), "MB", limit=600),
    ]
