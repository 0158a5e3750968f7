"""Processes that tests start: they hear Ctrl-C, nobody waits for them for ever, and none outlives its test."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

#: Seconds for which a line or an end is waited for; compilation may be part of it.
PATIENCE = 300.0
#: Becomes the program that it is given, with Ctrl-C as a shell in the foreground leaves it: a job in the
#: background begins with SIGINT ignored, and so would all that it starts.
_LAUNCHER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@contextlib.contextmanager
def started(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a program while the block lasts; then it is killed, and all that it started."""
    launched = [sys.executable, "-S", "-c", _LAUNCHER, *command]
    process = subprocess.Popen(launched, text=True, start_new_session=True, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that a process prints, or nothing at its end; fail if neither comes."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        assert ready.select(PATIENCE), "it says nothing"
    return process.stdout.readline().strip()
