"""The time and memory of a command in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Run(NamedTuple):
    """Seconds, and the peak memory in MB."""

    seconds: float
    memory: float


def run_command(*arguments: str, cache: Path | None = None) -> Run:
    """Run ``clusterbandits`` with arguments; ``cache`` is the folder for compiled kernels."""
    command = [sys.executable, "-m", "clusterbandits", *arguments]
    environment = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{arguments[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return Run(time.perf_counter() - start, used.ru_maxrss / 1024)
