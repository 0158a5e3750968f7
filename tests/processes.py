"""Processes that tests start: Ctrl-C reaches them, and none outlives its test or hangs."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: Seconds that a process may take; compilation may be part of it.
PATIENCE = 300.0
#: A line of progress, such as "figure 8: 240 of 336 runs, about 3 s left".
_PROGRESS = re.compile(r": [\d,]+ (of [\d,]+ )?(runs|rows|events)\b")
#: Runs a program with process numbers of its own, as a container does.
ISOLATED = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
#: Becomes the program that it is given, with SIGINT at its default. A job in the background starts with
#: SIGINT ignored, as do all processes that it starts, and Python then installs no handler.
_LAUNCHER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@contextlib.contextmanager
def started(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a program while the block lasts; kill it and all that it started at the end, or if it hangs."""
    launched = [sys.executable, "-S", "-c", _LAUNCHER, *command]
    process = subprocess.Popen(launched, text=True, start_new_session=True, **options)
    watchdog = threading.Timer(PATIENCE, _kill, [process])
    watchdog.daemon = True
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        _kill(process)
        process.communicate(timeout=60)


@functools.cache
def can_isolate() -> bool:
    """Tell whether this machine allows process numbers of their own."""
    try:
        return not subprocess.run(
            [*ISOLATED, "true"], check=False, capture_output=True, timeout=60
        ).returncode
    except OSError:
        return False


def without_jit(code: str, folder: Path) -> str:
    """Run code in plain Python, without compiled kernels; return what it prints."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def command(*arguments: str) -> list[str]:
    """Return a call of ``clusterbandits``."""
    return [sys.executable, "-m", "clusterbandits", *arguments]


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that a process prints, or nothing at its end."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def besides_progress(written: str) -> list[str]:
    """Return the lines on standard error that do not tell progress, of which a slow machine writes some."""
    return [one for one in written.splitlines() if not _PROGRESS.search(one)]


def wait_until(process: subprocess.Popen[str], there: Callable[[], bool]) -> None:
    """Wait until something is there; fail if the process ends before."""
    while not there():
        assert process.poll() is None, f"ended with {process.returncode}"
        time.sleep(0.005)


def has_first_runs(store: Path, policies: int) -> bool:
    """Return whether a store contains the first runs of ``policies`` policies."""
    return all((store / f"policy-{policy}-runs-000000.parquet").exists() for policy in range(policies))


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
