"""Compile the kernels that another process orders on stdin, and answer each order on stdout.

``background.py`` starts ``python -m clusterbandits.policies.compile_orders``.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
import queue
import sys
import threading
from typing import TYPE_CHECKING

from clusterbandits.background import ANSWER, Order
from clusterbandits.clusters import Clusters
from clusterbandits.machine_code import Kernel, Missing, if_missing
from clusterbandits.policies.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator


def compile_orders() -> None:
    """Compile until there are no more orders; what fails is left to the process that ordered it."""
    _register_states()
    for module, name, types in _orders():
        with contextlib.suppress(Exception), if_missing(Missing.COMPILE):
            kernel = getattr(importlib.import_module(module), name)
            if isinstance(kernel, Kernel):
                kernel.compile(types)
        # The other process may have ended; the next one finds what is compiled now.
        with contextlib.suppress(OSError):
            sys.stdout.buffer.write(ANSWER)
            sys.stdout.buffer.flush()


def _register_states() -> None:
    """Create a state of every policy, by whose class kernels are chosen."""
    with if_missing(Missing.AVOID):
        for kind in Policy.kinds.values():
            kind(Clusters([2, 2], widths=0.2)).for_horizon(20).fresh_state()


def _orders() -> Iterator[Order]:
    """Read orders as they come, so that the other process never waits."""
    received: queue.SimpleQueue[Order | None] = queue.SimpleQueue()

    def read() -> None:
        with contextlib.suppress(EOFError):
            while True:
                received.put(pickle.load(sys.stdin.buffer))
        received.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (order := received.get()) is not None:
        yield order


if __name__ == "__main__":
    compile_orders()
