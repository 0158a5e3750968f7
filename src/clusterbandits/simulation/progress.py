"""How far a simulation has come, and a bar that shows it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Called now and then with how far a simulation has come.
    Listener = Callable[["Progress"], None]


class Progress(NamedTuple):
    """What is done and what there is to do; ``seconds`` since the start."""

    runs_done: int
    runs: int
    rounds_done: int
    rounds: int
    seconds: float


class Tally:
    """Counts what is done, from any thread."""

    def __init__(self, runs: int, horizon: int, runs_done: int) -> None:
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._horizon = horizon
        self._runs, self._runs_done = runs, runs_done
        self._rounds_done = runs_done * horizon

    def add_rounds(self, rounds: int) -> None:
        """Count rounds of a run that is under way."""
        with self._lock:
            self._rounds_done += rounds

    def add_runs(self, runs: int) -> None:
        """Count finished runs, whose rounds were counted before."""
        with self._lock:
            self._runs_done += runs

    def progress(self) -> Progress:
        """Return how far it has come."""
        with self._lock:
            seconds = time.monotonic() - self._start
            return Progress(
                self._runs_done, self._runs, self._rounds_done, self._runs * self._horizon, seconds
            )
