"""The thread that runs the engine; requests that arrive while it works form the next batch."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import math
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

from clusterbandits.service.refusals import UnavailableError

if TYPE_CHECKING:
    from clusterbandits.service.engine import Engine
    from clusterbandits.service.metrics import Metrics
    from clusterbandits.service.operations import Operation

    _Request = tuple[Operation, asyncio.Future[Any]]

#: The number of decisions and rewards from which on a batch accepts no more requests.
_MOST_AT_ONCE = 1_000
_MOST_WAITING = 5_000
_TIDY_SECONDS = 1800.0
#: Seconds for the thread to end; a database that does not answer must not keep the process alive.
_STOP_SECONDS = 60.0
#: Seconds after which the requests of a batch that has not ended, and all that wait for it, are refused, and
#: the seconds between two looks.
_BATCH_SECONDS, _LOOK_SECONDS = 30.0, 1.0
_logger = logging.getLogger("clusterbandits.service")
#: Seconds between two ticks of an idle worker, the largest delay of its pages.
_TICK_SECONDS = 0.25


class Writer:
    """Sends requests to the engine in batches.

    ``submit``, ``start`` and ``stop`` must be called in the event loop in which it was created.
    """

    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        self._engine, self._metrics = engine, metrics
        self._waiting: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._stopping = False
        #: The requests of the present batch, and when it began; infinity while the thread waits for requests.
        self._taken: list[_Request] = []
        self._began = math.inf
        #: The number of experiments and the time of the last full garbage collection.
        self._tidied = -1, 0.0
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._loop = asyncio.get_running_loop()
        gc.disable()
        self._thread.start()
        self._look()

    def _look(self) -> None:
        """Refuse requests that a database that does not answer would keep waiting, now and then."""
        if time.monotonic() - self._began > _BATCH_SECONDS:
            # What is in the batch may still be committed; what waits is not performed any more.
            error = UnavailableError("The service is busy, or its database does not answer; try again.")
            _answer([(future, error) for _, future in [*self._taken, *self._waiting_now(0, math.inf)]])
        self._timer = self._loop.call_later(_LOOK_SECONDS, self._look)

    async def stop(self) -> None:
        """Finish the waiting requests, save the experiments, and end the thread."""
        self._stopping = True
        self._timer.cancel()
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join, _STOP_SECONDS)
        if self._thread.is_alive():
            _logger.warning("The database does not answer; the service stops without it.")
        gc.enable()

    def submit(self, operation: Operation) -> asyncio.Future[Any]:
        """Return a future for the result of a request after its commit, or for the error that refuses it."""
        if self._stopping or self._waiting.qsize() >= _MOST_WAITING:
            raise UnavailableError("The service is stopping or overloaded; try again in a second.")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.put((operation, future))
        return future

    @property
    def alive(self) -> bool:
        """Whether the thread performs requests."""
        return self._thread.is_alive()

    def _work(self) -> None:
        ticked = -1e9
        while True:
            taken = self._take()
            self._taken, self._began = taken, time.monotonic()
            if taken:
                self._serve(taken)
            elif self._stopping:
                self._engine.close()
                return
            if time.monotonic() - ticked >= _TICK_SECONDS:
                self._tick()
                self._tidy()
                ticked = time.monotonic()
            self._began = math.inf

    def _tick(self) -> None:
        """Perform periodic work; an error must not end the thread."""
        try:
            self._engine.tick()
            self._metrics.observe(self._engine)
        except Exception:
            _logger.exception("a tick failed")
            self._engine.forget()

    def _take(self) -> list[_Request]:
        """Wait for a request and return all waiting ones."""
        try:
            first = self._waiting.get(timeout=_TICK_SECONDS)
        except queue.Empty:
            first = None
        return [] if first is None else [first, *self._waiting_now(first[0].size)]

    def _waiting_now(self, size: int, most: float = _MOST_AT_ONCE) -> list[_Request]:
        """Return the waiting requests that fit into a batch with ``size`` decisions and rewards."""
        found: list[_Request] = []
        with contextlib.suppress(queue.Empty):
            while size < most and (one := self._waiting.get_nowait()) is not None:
                found.append(one)
                size += one[0].size
        return found

    def _tidy(self) -> None:
        """Collect garbage between batches.

        Automatic collection scanned all objects during a batch, and one request in a hundred took ten times
        as long. Young objects are collected at every tick, all objects when an experiment was added and every
        half hour.
        """
        known, now = len(self._engine.experiments), time.monotonic()
        if known == self._tidied[0] and now - self._tidied[1] < _TIDY_SECONDS:
            gc.collect(1)
            return
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._tidied = known, now

    def _serve(self, taken: list[_Request]) -> None:
        def join() -> list[Operation]:
            joined = self._waiting_now(sum(operation.size for operation, _ in taken))
            taken.extend(joined)
            return [operation for operation, _ in joined]

        outcomes = self._engine.perform([operation for operation, _ in taken], join)
        self._metrics.batch(len(taken), time.monotonic() - self._began)
        answers = [(future, outcome) for (_, future), outcome in zip(taken, outcomes, strict=True)]
        self._loop.call_soon_threadsafe(_answer, answers)


def _answer(answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, outcome in answers:
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
