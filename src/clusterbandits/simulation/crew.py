"""Who plays the blocks of a plan, and the ledger that finished blocks are entered into."""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Protocol

import numpy as np

from clusterbandits.errors import ClusterBanditsError
from clusterbandits.simulation.progress import Tally
from clusterbandits.simulation.results import Result
from clusterbandits.simulation.runs import play_block, play_runs
from clusterbandits.validate import Described, invalid, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from clusterbandits.simulation.plan import Block, Plan, Played
    from clusterbandits.simulation.store import Store

#: Pieces a policy's runs are handed out and stored in.
PIECES = 16
#: Seconds between looks at how far it has come.
_LOOK = 0.1


class Ledger:
    """The pulls and alarms of all runs, filled in block by block, in memory and in the store."""

    def __init__(self, plan: Plan, store: Store | None, pieces: int = PIECES) -> None:
        self.plan, self._store = plan, store
        # Before anything of the plan's size is made: what is damaged may ask for too much.
        stored = {} if store is None else store.load()
        arms = len(plan.instance.arms)
        shape = (len(plan.policies), plan.runs, len(plan.checkpoints), arms)
        self._pulls = np.zeros(shape, dtype=np.int64)
        self._alarms = tuple(
            np.zeros((plan.runs, len(policy.clusters.widths)), dtype=np.int64) for policy in plan.policies
        )
        self._done = np.zeros(shape[:2], dtype=np.bool_)
        for block, played in stored.items():
            self._write(block, played)
        self.missing = plan.blocks(pieces, self._done)
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

    @property
    def complete(self) -> bool:
        """Whether nothing is missing any more."""
        return bool(self._done.all())


class Crew(Protocol):
    """Plays blocks somewhere."""

    #: Whether it tells of rounds while it plays them.
    counts_rounds: bool
    #: How many blocks it takes at a time.
    room: int

    def submit(self, ledger: Ledger, block: Block) -> Future[Played]:
        """Begin to play a block of a ledger's plan."""

    def stop(self, futures: Iterable[Future[Played]]) -> None:
        """End as soon as can be; blocks that are finished stay finished."""


class Threads:
    """Threads of this process: kernels release the GIL, so each has a core to itself."""

    counts_rounds = True

    def __init__(self, workers: int) -> None:
        self.room = 4 * workers
        self._stopped = threading.Event()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="clusterbandits")

    def submit(self, ledger: Ledger, block: Block) -> Future[Played]:
        """Begin to play a block of a ledger's plan."""

        def watch(rounds: int) -> None:
            if self._stopped.is_set():
                raise InterruptedError
            ledger.tally.add_rounds(rounds)

        return self._pool.submit(play_runs, ledger.plan, block, watch)

    def stop(self, futures: Iterable[Future[Played]]) -> None:
        """End within the few milliseconds a kernel takes to look up."""
        del futures
        self._stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class Foreign:
    """Somebody's executor: gets the plan as text and plain numbers, so that it may be on another machine."""

    counts_rounds = False
    room = 512

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._last: tuple[Ledger, str] | None = None

    def submit(self, ledger: Ledger, block: Block) -> Future[Played]:
        """Begin to play a block of a ledger's plan."""
        # Blocks of one ledger come one after the other: its text is written once, and not kept for long.
        if self._last is None or self._last[0] is not ledger:
            self._last = ledger, ledger.plan.to_json()
        return self._executor.submit(play_block, self._last[1], block)

    def stop(self, futures: Iterable[Future[Played]]) -> None:
        """Ask for nothing more; the executor belongs to somebody else and is left running."""
        for future in futures:
            future.cancel()


def crew_of(workers: object, executor: object, owner: str) -> Crew:
    """Return who plays: an executor where one is given, else so many threads, one a core by default."""
    threads = _cores() if workers is None else whole("workers", owner, workers, least=1, most=1024)
    if executor is None:
        return Threads(threads)
    if not isinstance(executor, Executor):
        raise invalid("executor", owner, "a concurrent.futures.Executor", executor)
    return Foreign(executor)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def play_all(
    ledgers: Iterable[Ledger], crew: Crew, look: Callable[[], None]
) -> Generator[Ledger, None, None]:
    """Play all blocks that ledgers miss, as many at a time as the crew takes; yield each ledger when whole.

    Ledgers are asked for when there is room for them, so there may be thousands. Whatever ends it early keeps
    the blocks that are finished.

    Parameters
    ----------
    ledgers
        What is to be played.
    crew
        Who plays.
    look
        Called now and then.
    """
    waiting: dict[Future[Played], tuple[Ledger, Block]] = {}
    try:
        pieces = _pieces(ledgers)
        coming: tuple[Ledger, Block | None] | None = next(pieces, None)
        while coming or waiting:
            while coming and len(waiting) < crew.room:
                ledger, block = coming
                if block is None:
                    yield ledger
                else:
                    waiting[crew.submit(ledger, block)] = ledger, block
                coming = next(pieces, None)
            look()
            for ledger in _enter_finished(waiting, crew):
                yield ledger
        look()
    finally:
        crew.stop(waiting)
        _rescue(waiting, crew)


def _pieces(ledgers: Iterable[Ledger]) -> Iterator[tuple[Ledger, Block | None]]:
    """Return every block with its ledger, and None for a ledger that misses nothing."""
    for ledger in ledgers:
        if not ledger.missing:
            yield ledger, None
        for block in ledger.missing:
            yield ledger, block


def _enter_finished(waiting: dict[Future[Played], tuple[Ledger, Block]], crew: Crew) -> Iterator[Ledger]:
    """Wait a moment for blocks to be finished and enter them; return the ledgers that are whole by that."""
    done, _ = wait(waiting, timeout=_LOOK, return_when=FIRST_COMPLETED)
    # One that failed ends it all: those that did not are kept before.
    for future in sorted(done, key=_failed):
        ledger, block = waiting[future]
        ledger.enter(block, future.result(), rounds_counted=crew.counts_rounds)
        del waiting[future]
        if ledger.complete:
            yield ledger


def _rescue(waiting: dict[Future[Played], tuple[Ledger, Block]], crew: Crew) -> None:
    """Keep what is finished, whatever ended it: an interruption here or in who listens, or a failure."""
    for future, (ledger, block) in waiting.items():
        if future.done() and not _failed(future):
            # What cannot be written any more must not hide what went wrong first.
            with contextlib.suppress(ClusterBanditsError):
                ledger.enter(block, future.result(), rounds_counted=crew.counts_rounds)


def _failed(future: Future[Played]) -> bool:
    return future.cancelled() or future.exception() is not None
