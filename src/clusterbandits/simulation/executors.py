"""Workers that simulate blocks of runs: threads of this process, or any executor, local or remote."""

from __future__ import annotations

import dataclasses
import os
import sys
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from clusterbandits.simulation.runs import play_alone, play_block, play_runs
from clusterbandits.validate import invalid, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterbandits.simulation.campaign import Simulation
    from clusterbandits.simulation.plan import Block, Played


#: Seconds after which idle processes end.
_IDLE = 60


class Workers(Protocol):
    """Workers that simulate blocks of runs."""

    #: Whether rounds are counted during a block, or only when it is finished.
    counts_rounds: bool
    #: The largest number of blocks to submit at a time.
    capacity: int

    def submit(self, simulation: Simulation, block: Block) -> Future[Played]:
        """Start to simulate a block."""

    def stop(self, futures: Iterable[Future[Played]]) -> None:
        """Stop as soon as possible; finished blocks are kept."""


class Threads:
    """Threads of this process; kernels release the GIL, so each thread can use one core.

    With more than one worker, policies in plain Python run in processes instead.
    """

    counts_rounds = True

    def __init__(self, workers: int) -> None:
        self.capacity = 4 * workers
        self._workers = workers
        self._processes: Any = None
        self._stopped = threading.Event()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="clusterbandits")

    def submit(self, simulation: Simulation, block: Block) -> Future[Played]:
        """Start to simulate a block."""

        def watch(rounds: int) -> None:
            if self._stopped.is_set():
                raise InterruptedError
            simulation.add_rounds(rounds)

        plan = simulation.plan
        if self._workers == 1 or plan.policies[block.policy].compiled:
            return self._pool.submit(play_runs, plan, block, watch)
        return self._in_process(simulation, block)

    def _in_process(self, simulation: Simulation, block: Block) -> Future[Played]:
        """Start to simulate a policy in plain Python in a process, since its threads would share one core."""
        if self._processes is None:
            import loky

            # With other arguments than last time, loky starts new processes: old ones lack later paths.
            self._processes = loky.get_reusable_executor(
                self._workers, timeout=_IDLE, initializer=_import_from, initargs=(tuple(sys.path),)
            )
        plan = simulation.plan
        # One policy at a time, so that each process imports or receives only the code it needs.
        part = dataclasses.replace(plan, policies=(plan.policies[block.policy],))
        alone = block._replace(policy=0)
        future: Future[Played] = self._processes.submit(play_alone, part, alone, part.sources())

        def count(done: Future[Played]) -> None:
            if not done.cancelled() and done.exception() is None:
                simulation.add_rounds(block.runs * plan.horizon)

        future.add_done_callback(count)
        return future

    def stop(self, futures: Iterable[Future[Played]]) -> None:
        """Stop within a few milliseconds, when kernels return; processes are terminated."""
        self._stopped.set()
        if self._processes is not None and not all(future.done() for future in futures):
            self._processes.shutdown(wait=True, kill_workers=True)
        self._pool.shutdown(wait=True, cancel_futures=True)


def _import_from(paths: tuple[str, ...]) -> None:
    """Let this process import what its parent can import."""
    sys.path[:] = paths


class Remote:
    """An executor of the caller, possibly remote: it receives the plan as text and numbers."""

    counts_rounds = False
    capacity = 512

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._last: tuple[Simulation, str] | None = None

    def submit(self, simulation: Simulation, block: Block) -> Future[Played]:
        """Start to simulate a block."""
        # Blocks of one simulation are submitted in sequence, so the text of the last plan is enough.
        if self._last is None or self._last[0] is not simulation:
            self._last = simulation, simulation.plan.to_json()
        return self._executor.submit(play_block, self._last[1], block)

    def stop(self, futures: Iterable[Future[Played]]) -> None:
        """Cancel blocks that have not started; the executor belongs to the caller and keeps running."""
        for future in futures:
            future.cancel()


def workers_of(workers: object, executor: object, owner: str) -> Workers:
    """Return workers for the given executor or, without one, threads: by default one per core."""
    threads = thread_count(workers, owner)
    if executor is None:
        return Threads(threads)
    if not isinstance(executor, Executor):
        raise invalid("executor", owner, "a concurrent.futures.Executor object", executor)
    return Remote(executor)


def thread_count(workers: object, owner: str) -> int:
    """Return the number of threads that a caller asked for, by default one per core."""
    return _cores() if workers is None else whole("workers", owner, workers, least=1, most=1024)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
