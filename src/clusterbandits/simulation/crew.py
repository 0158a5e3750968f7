"""Who plays the blocks of a plan, and the ledger that finished blocks are entered into."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Protocol

import numpy as np

from clusterbandits.errors import SimulationInterrupted
from clusterbandits.simulation.progress import Tally
from clusterbandits.simulation.results import Result
from clusterbandits.simulation.runs import play_block, play_runs
from clusterbandits.validate import Described, invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterbandits.simulation.plan import Block, Plan, Played
    from clusterbandits.simulation.progress import Listener
    from clusterbandits.simulation.store import Store

    Futures = dict[Future[Played], Block]

#: Seconds between looks at how far it has come.
_LOOK = 0.1


class Ledger:
    """The pulls and alarms of all runs, filled in block by block, in memory and in the store."""

    def __init__(self, plan: Plan, store: Store | None) -> None:
        self.plan, self._store = plan, store
        arms = len(plan.instance.arms)
        shape = (len(plan.policies), plan.runs, len(plan.checkpoints), arms)
        self._pulls = np.zeros(shape, dtype=np.int64)
        self._alarms = tuple(
            np.zeros((plan.runs, len(policy.clusters.widths)), dtype=np.int64) for policy in plan.policies
        )
        self._done = np.zeros(shape[:2], dtype=np.bool_)
        kept = {} if store is None else store.load()
        for block, played in kept.items():
            self._write(block, played)
        self.missing = [block for block in plan.blocks if block not in kept]
        self.tally = Tally(int(self._done.size), plan.horizon, int(self._done.sum()))

    def enter(self, block: Block, played: Played, *, rounds_counted: bool) -> None:
        """Take in a finished block."""
        if self._store is not None:
            self._store.save(block, played)
        self._write(block, played)
        self.tally.add_runs(block.runs)
        if not rounds_counted:
            self.tally.add_rounds(block.runs * self.plan.horizon)

    def _write(self, block: Block, played: Played) -> None:
        runs = slice(block.first, block.first + block.runs)
        self._pulls[block.policy, runs] = played.pulls
        self._alarms[block.policy][runs] = played.alarms
        self._done[block.policy, runs] = True

    def result(self, owner: str) -> Result:
        """Return the runs that every policy has finished."""
        runs = np.flatnonzero(self._done.all(axis=0))
        if not runs.size:
            raise invalid("store", owner, "a folder with a run that every policy finished", Described("none"))
        plan = self.plan
        pulls = self._pulls if runs.size == plan.runs else self._pulls[:, runs]
        checkpoints = np.array(plan.checkpoints, dtype=np.int64)
        return Result(
            plan.instance,
            plan.labels,
            checkpoints,
            pulls,
            runs,
            alarm_rounds=tuple(rounds[runs] for rounds in self._alarms),
            seed=plan.seed,
            paired=plan.paired,
        )

    def finished_result(self) -> Result | None:
        """Return the runs that every policy has finished, or None where there is none yet."""
        return self.result("simulate") if self._done.all(axis=0).any() else None


class Crew(Protocol):
    """Plays blocks somewhere."""

    #: Whether it tells of rounds while it plays them.
    counts_rounds: bool

    def submit(self, blocks: Iterable[Block]) -> Futures:
        """Begin to play the blocks."""

    def stop(self, futures: Iterable[Future[Played]]) -> None:
        """End as soon as can be; blocks that are finished stay finished."""


class Threads:
    """Threads of this process: kernels release the GIL, so each has a core to itself."""

    counts_rounds = True

    def __init__(self, plan: Plan, workers: int, tally: Tally) -> None:
        self._plan, self._tally = plan, tally
        self._stopped = threading.Event()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="clusterbandits")

    def submit(self, blocks: Iterable[Block]) -> Futures:
        """Begin to play the blocks."""
        return {self._pool.submit(play_runs, self._plan, block, self._watch): block for block in blocks}

    def _watch(self, rounds: int) -> None:
        if self._stopped.is_set():
            raise InterruptedError
        self._tally.add_rounds(rounds)

    def stop(self, futures: Iterable[Future[Played]]) -> None:
        """End within the few milliseconds a kernel takes to look up."""
        del futures
        self._stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class Foreign:
    """Somebody's executor: gets the plan as text and plain numbers, so that it may be on another machine."""

    counts_rounds = False

    def __init__(self, plan: Plan, executor: Executor) -> None:
        self._plan, self._executor = plan, executor

    def submit(self, blocks: Iterable[Block]) -> Futures:
        """Begin to play the blocks."""
        text = self._plan.to_json()
        return {self._executor.submit(play_block, text, block): block for block in blocks}

    def stop(self, futures: Iterable[Future[Played]]) -> None:
        """Ask for nothing more; the executor belongs to somebody else and is left running."""
        for future in futures:
            future.cancel()


def play_missing(ledger: Ledger, crew: Crew, progress: Listener | None) -> None:
    """Play all blocks that the ledger misses; an interruption keeps those that are finished."""
    waiting = crew.submit(ledger.missing)
    try:
        if progress is not None:
            progress(ledger.tally.progress())
        while waiting:
            done, _ = wait(waiting, timeout=_LOOK, return_when=FIRST_COMPLETED)
            for future in done:
                ledger.enter(waiting[future], future.result(), rounds_counted=crew.counts_rounds)
                del waiting[future]
            if progress is not None:
                progress(ledger.tally.progress())
    except KeyboardInterrupt:
        crew.stop(waiting)
        for future, block in waiting.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                ledger.enter(block, future.result(), rounds_counted=crew.counts_rounds)
        raise SimulationInterrupted(ledger.finished_result()) from None
    finally:
        crew.stop(waiting)
