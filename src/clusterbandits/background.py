"""Another process that compiles kernels, while this one answers with plain Python."""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from typing import Any

from clusterbandits.kernel_cache import announce, cache

#: A kernel, by module and name, and the types of its arguments.
Order = tuple[str, str, tuple[Any, ...]]
#: What the other process answers to each order in turn, whether or not it could compile the kernel.
ANSWER = b"."
_COMMAND = ["-P", "-m", "clusterbandits.policies.compile_orders"]


class Orders:
    """Kernels that another process was asked to compile; threads may share it.

    The process begins with the first order. It ends when it has compiled everything and this process has
    ended, or together with this process if its work could not be kept.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin without a process."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._sent: deque[Order] = deque()
        self._answered: set[Order] = set()
        #: Whether a process can be asked.
        self._works = cache().own is not None and not getattr(sys, "frozen", False)

    def waiting(self, order: Order) -> bool:
        """Return whether a kernel is being compiled."""
        with self._lock:
            return order in self._sent

    def place(self, order: Order) -> bool:
        """Ask for a kernel; return whether it is now being compiled.

        It is not if this has been answered before, or if no process can be started.
        """
        with self._lock:
            if not self._works or order in self._answered:
                return False
            if order in self._sent:
                return True
            try:
                self._send(order)
            except (OSError, pickle.PicklingError):
                self._works = False
            return self._works

    def _send(self, order: Order) -> None:
        if self._process is None:
            announce(background=True)
            self._process = _start()
            threading.Thread(target=self._follow, args=[self._process], daemon=True).start()
        self._sent.append(order)
        pickle.dump(order, self._process.stdin)  # type: ignore[arg-type]
        self._process.stdin.flush()  # type: ignore[union-attr]

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        """Read the answers of a process until it ends."""
        while process.stdout is not None and process.stdout.read(len(ANSWER)):
            with self._lock:
                if process is self._process:
                    self._answered.add(self._sent.popleft())
        with self._lock:
            if process is self._process:
                self._works = False
                self._sent.clear()


def _start() -> subprocess.Popen[bytes]:
    # In a session of its own: Ctrl-C ends this program, not what the next one would have to compile again.
    process = subprocess.Popen(
        [sys.executable, *_COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=cache().environment(),
        start_new_session=True,
    )
    atexit.register(_leave, process)
    return process


def _leave(process: subprocess.Popen[bytes]) -> None:
    """Let a process end by itself if what it compiles is kept; otherwise end it."""
    if not cache().kept:
        process.kill()
        process.wait()
    # Popen would warn that the process is still running.
    process.returncode = 0


#: The orders of this process.
orders = Orders()
if hasattr(os, "register_at_fork"):
    # The thread that reads the answers does not exist in the copy of this process.
    os.register_at_fork(after_in_child=orders.begin)
