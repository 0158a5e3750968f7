"""An event loop beside the program, which ends with the block that opened it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Future

R = TypeVar("R")

#: Seconds for all that still runs to end, before it is left behind.
_FAREWELL = 5.0


class EventLoop:
    """An event loop in a thread of its own.

    Examples
    --------
    >>> async def double(number):
    ...     return 2 * number
    >>> with EventLoop() as loop:
    ...     loop.run(double(21)), loop.start(double(4)).result()
    (42, 8)
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # What nobody waits for any more has nothing to tell.
        self._loop.set_exception_handler(lambda *_: None)
        self._thread = threading.Thread(target=self._turn, name="clusterbandits-loop", daemon=True)
        self._stop = asyncio.Event()

    def __enter__(self) -> EventLoop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_FAREWELL)

    def start(self, coroutine: Coroutine[Any, Any, R]) -> Future[R]:
        """Begin a coroutine in the loop; cancelling the future cancels it there."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Wait for a coroutine in the loop; Ctrl-C cancels it there."""
        future = self.start(coroutine)
        try:
            return future.result()
        finally:
            future.cancel()

    def _turn(self) -> None:
        # A runner cancels what is still there when it ends.
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        await self._stop.wait()
