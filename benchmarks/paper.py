"""How long people wait for the paper, and how much memory it takes: fresh, warm, stored, and beyond."""

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


def _paper(folder: Path, cache: Path, *arguments: str) -> Run:
    command = [sys.executable, "-m", "clusterbandits", "paper", "--out", str(folder), *arguments]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"the paper ended with {os.waitstatus_to_exitcode(status)}")
    return Run(time.perf_counter() - start, used.ru_maxrss / 1024)


def measure() -> list[Measurement]:
    """Measure the whole paper: 48 runs of 10⁶ rounds, all figures; then 24 runs of 10¹⁰ rounds."""
    with tempfile.TemporaryDirectory() as folder:
        cache, place = Path(folder) / "cache", Path(folder)
        cold = _paper(place / "cold", cache)
        warm = _paper(place / "warm", cache)
        stored = _paper(place / "warm", cache)
        beyond = _paper(place / "warm", cache, "--beyond")
    return [
        Measurement("paper, empty compile cache", cold.seconds, "s", limit=120),
        Measurement("paper, warm compile cache", warm.seconds, "s", limit=45),
        Measurement("paper, all runs stored", stored.seconds, "s"),
        Measurement("paper, most memory", max(cold.memory, warm.memory), "MB", limit=600),
        Measurement("paper --beyond, its own policies not yet compiled", beyond.seconds, "s", limit=900),
        Measurement("paper --beyond, most memory", beyond.memory, "MB"),
    ]
