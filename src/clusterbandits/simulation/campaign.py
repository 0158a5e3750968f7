"""Campaigns: many planned simulations that run in blocks as workers become free and resume from their stores.

``simulate``, the paper, studies and advice all use this module.
"""

from __future__ import annotations

import contextlib
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.errors import ClusterBanditsError
from clusterbandits.extras import extras_explained
from clusterbandits.simulation.results import Result
from clusterbandits.validate import Described, invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from clusterbandits.simulation.executors import Workers
    from clusterbandits.simulation.plan import Block, Plan, Played
    from clusterbandits.simulation.store import Store

    #: A function that is called several times per second with the progress of a campaign.
    Listener = Callable[["Progress"], None]

#: The number of blocks per policy in which its runs are simulated and stored.
PIECES = 16
#: Seconds between two progress reports.
_INTERVAL = 0.1


class Progress(NamedTuple):
    """The progress of a campaign, ``seconds`` after its start."""

    runs_done: int
    runs: int
    rounds_done: int
    rounds: int
    seconds: float
    #: The number of finished runs that were reused from earlier calls.
    reused: int = 0
    #: The runs in progress, each counted by its share of finished rounds.
    under_way: float = 0.0
    #: The name of the simulation in progress; empty if all are finished.
    doing: str = ""
    #: Seconds that it has waited for its first round, for example while its policy is compiled.
    idle: float = 0.0


class Simulation:
    """A planned simulation and its finished runs, in memory and in its store; see ``open_simulation``.

    ``pieces`` is the number of blocks per policy; the result does not depend on it. Progress reports show
    ``name``; callers may identify the simulation by any ``key``.
    """

    def __init__(
        self, plan: Plan, store: Store | None, pieces: int = PIECES, *, name: str = "", key: Any = None
    ) -> None:
        self.plan, self.name, self.key, self._store = plan, name, key, store
        # Read before arrays of the plan's size are allocated: a damaged plan can require too much memory.
        stored = {} if store is None else store.load()
        shape = (len(plan.policies), plan.runs, len(plan.checkpoints), len(plan.instance.arms))
        self._pulls = np.zeros(shape, dtype=np.int64)
        self._alarms = tuple(
            np.zeros((plan.runs, len(policy.clusters.widths)), dtype=np.int64) for policy in plan.policies
        )
        self._done = np.zeros(shape[:2], dtype=np.bool_)
        for block, played in stored.items():
            self._write(block, played)
        self.missing = plan.blocks(pieces, self._done)
        #: The number of runs, of runs found in the store, and of finished runs.
        self.runs = int(self._done.size)
        self.reused = self.runs_done = int(self._done.sum())
        self._rounds_done = self.runs_done * plan.horizon
        self._lock = threading.Lock()
        self._start = time.monotonic()

    def add(self, block: Block, played: Played, *, rounds_counted: bool) -> None:
        """Add a finished block."""
        if self._store is not None:
            self._store.save(block, played)
        self._write(block, played)
        self.runs_done += block.runs
        if not rounds_counted:
            self.add_rounds(block.runs * self.plan.horizon)

    def add_rounds(self, rounds: int) -> None:
        """Count rounds of a run in progress; may be called from any thread."""
        with self._lock:
            self._rounds_done += rounds

    def _write(self, block: Block, played: Played) -> None:
        runs = slice(block.first, block.first + block.runs)
        self._pulls[block.policy, runs] = played.pulls
        self._alarms[block.policy][runs] = played.alarms
        self._done[block.policy, runs] = True

    @property
    def complete(self) -> bool:
        """Whether all runs are finished."""
        return bool(self._done.all())

    def result(self, owner: str = "simulate") -> Result:
        """Return the result of the runs that all policies have finished."""
        runs = np.flatnonzero(self._done.all(axis=0))
        if not runs.size:
            raise invalid(
                "store", owner, "a folder with at least one run finished by all policies", Described("none")
            )
        plan = self.plan
        return Result(
            plan.instance,
            plan.labels,
            np.array(plan.checkpoints, dtype=np.int64),
            self._pulls if runs.size == plan.runs else self._pulls[:, runs],
            runs,
            alarm_rounds=tuple(rounds[runs] for rounds in self._alarms),
            seed=plan.seed,
            paired=plan.paired,
            start_trials=plan.start.trials,
        )

    def finished_result(self) -> Result | None:
        """Return the result of the runs that all policies have finished, or None if there are none yet."""
        return self.result() if self._done.all(axis=0).any() else None

    def progress(self) -> Progress:
        """Return the progress of this simulation."""
        with self._lock:
            rounds, seconds = self._rounds_done, time.monotonic() - self._start
        under_way = rounds / self.plan.horizon - self.runs_done
        total, idle = self.runs * self.plan.horizon, 0.0 if rounds else seconds
        return Progress(
            self.runs_done, self.runs, rounds, total, seconds, self.reused, under_way, self.name, idle
        )


def open_simulation(
    plan: Plan, folder: Path | None = None, pieces: int = PIECES, *, name: str = "", key: Any = None
) -> Simulation:
    """Return a simulation with the runs stored in a folder; missing runs are stored as they finish.

    Without a folder, runs are kept in memory only. A folder that was created by other sources, versions or
    machines can be read, but adding runs to it is refused.
    """
    if folder is None:
        return Simulation(plan, None, pieces, name=name, key=key)
    with extras_explained():
        from clusterbandits.simulation.store import begin_store

    store = begin_store(folder, plan, pieces)
    simulation = Simulation(plan, store, store.pieces, name=name, key=key)
    if simulation.missing:
        store.check_fingerprint()
    return simulation


class Campaign:
    """Simulations that run together, in blocks, as workers become free.

    Parameters
    ----------
    simulations
        Simulations to run; they are taken from the iterable as workers become free, so there may be
        thousands.
    workers
        Workers that simulate blocks.
    listener
        Function that is called several times per second with the ``Progress`` of the campaign; by default
        none.
    runs, rounds
        Total numbers of runs and rounds of all simulations.
    """

    def __init__(
        self,
        simulations: Iterable[Simulation],
        workers: Workers,
        listener: Listener | None = None,
        *,
        runs: int,
        rounds: int = 0,
    ) -> None:
        self._simulations, self._workers, self._listener = simulations, workers, listener
        self.runs, self._rounds = runs, rounds
        #: The number of runs that were reused from earlier calls.
        self.reused = 0
        self._runs_done, self._rounds_done = 0, 0
        self._open: list[Simulation] = []
        self._waiting: dict[Future[Played], tuple[Simulation, Block]] = {}
        # Not concurrent.futures.wait, which locks all futures: after Ctrl-C during that call, some stay
        # locked and the threads that finish them hang.
        self._ended: SimpleQueue[Future[Played]] = SimpleQueue()
        self._start = time.monotonic()

    def finished(self) -> Generator[Simulation, None, None]:
        """Run all simulations and yield each of them when it is complete.

        Whenever the generator ends, workers stop and finished blocks are kept. Close it if the calling code
        may raise.
        """
        try:
            blocks = self._blocks()
            coming: tuple[Simulation, Block | None] | None = next(blocks, None)
            while coming or self._waiting:
                while coming and len(self._waiting) < self._workers.capacity:
                    simulation, block = coming
                    if block is None:
                        yield self._close(simulation)
                    else:
                        self._submit(simulation, block)
                    coming = next(blocks, None)
                self._report()
                yield from self._add_finished()
            self._report()
        finally:
            self._workers.stop(self._waiting)
            self._rescue()

    def _blocks(self) -> Iterator[tuple[Simulation, Block | None]]:
        """Yield each missing block with its simulation, and None for a simulation that is complete."""
        for simulation in self._simulations:
            self._open.append(simulation)
            self.reused += simulation.reused
            if not simulation.missing:
                yield simulation, None
            for block in simulation.missing:
                yield simulation, block

    def _submit(self, simulation: Simulation, block: Block) -> None:
        future = self._workers.submit(simulation, block)
        self._waiting[future] = simulation, block
        future.add_done_callback(self._ended.put)

    def _add_finished(self) -> Iterator[Simulation]:
        """Wait briefly for finished blocks and add them; yield the simulations that they complete."""
        ended: list[Future[Played]] = []
        with contextlib.suppress(Empty):
            if self._waiting:
                ended.append(self._ended.get(timeout=_INTERVAL))
            while True:
                ended.append(self._ended.get_nowait())
        # A failed block ends the campaign, so the other blocks are added first.
        for future in sorted(ended, key=_failed):
            simulation, block = self._waiting[future]
            simulation.add(block, future.result(), rounds_counted=self._workers.counts_rounds)
            del self._waiting[future]
            if simulation.complete:
                yield self._close(simulation)

    def _close(self, simulation: Simulation) -> Simulation:
        self._open.remove(simulation)
        self._runs_done += simulation.runs
        self._rounds_done += simulation.runs * simulation.plan.horizon
        return simulation

    def _rescue(self) -> None:
        """Keep finished blocks after an interruption or a failure."""
        for future, (simulation, block) in self._waiting.items():
            if future.done() and not _failed(future):
                # An error while writing must not hide the first error.
                with contextlib.suppress(ClusterBanditsError):
                    simulation.add(block, future.result(), rounds_counted=self._workers.counts_rounds)

    def _report(self) -> None:
        if self._listener is not None:
            self._listener(self.progress())

    def progress(self) -> Progress:
        """Return the progress of the campaign."""
        parts = [simulation.progress() for simulation in self._open]
        return Progress(
            self._runs_done + sum(part.runs_done for part in parts),
            self.runs,
            self._rounds_done + sum(part.rounds_done for part in parts),
            self._rounds,
            time.monotonic() - self._start,
            self.reused,
            sum(part.under_way for part in parts),
            parts[0].doing if parts else "",
            parts[0].idle if parts else 0.0,
        )


def _failed(future: Future[Played]) -> bool:
    return future.cancelled() or future.exception() is not None
