"""Commands in processes of their own: what a terminal shows of them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from tests.processes import besides_progress


def bar_of(*arguments: str) -> str:
    """Return what a command draws on a terminal; without one it draws nothing and prints the same."""
    command = [sys.executable, "-m", "clusterbandits", *arguments]
    leader, follower = pty.openpty()
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=follower, check=True, text=True)
    os.close(follower)
    shown = os.read(leader, 10**6).decode()
    os.close(leader)
    quiet = subprocess.run(command, capture_output=True, check=True, text=True)
    assert besides_progress(quiet.stderr) == []
    assert quiet.stdout == ran.stdout
    return shown
