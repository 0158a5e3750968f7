"""A Dask cluster as an executor; workers that could return different results are refused."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import pickle
import re
import threading
import uuid
import warnings
from concurrent import futures
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from clusterbandits.errors import ClusterBanditsError, InvalidInputError
from clusterbandits.fingerprint import differing, fingerprint
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    from distributed import Client

R = TypeVar("R")

_ADDRESS = re.compile(r"(?:tcp|tls)://(?:[\w.-]+|\[[\da-fA-F:.]+\]):(\d{1,5})")
#: Seconds in which workers must send their fingerprint; the first task of a busy worker checks it later.
_INTRODUCTION = 30.0
#: Seconds between checks for a first worker, and the timeout for closing the connection.
_LOOK, _FAREWELL = 0.2, 2.0
#: Seconds that running coroutines have to end before they are abandoned.
_LAST_SECONDS = 5.0


class WorkersError(ClusterBanditsError):
    """Dask workers that cannot be reached, were lost, or could return different results."""


@contextlib.contextmanager
def dask_executor(
    address: str, *, patience: float = 10.0, waiting: Callable[[], None] | None = None
) -> Iterator[Executor]:
    """Provide an executor that runs simulations on a Dask cluster, which keeps running afterwards.

    If a worker fails, other workers repeat its runs. Workers are compared with this process before the first
    run and in every task; a worker that could return different results is refused by name.

    Parameters
    ----------
    address
        Address of the scheduler, as ``"tcp://HOST:PORT"``, or ``tls://`` if Dask is configured for it.
    patience
        Seconds in which the scheduler must answer, by default 10.
    waiting
        Function that is called once if the cluster has no worker yet, while the executor waits for the first.

    Raises
    ------
    WorkersError
        If no scheduler answers or a worker is refused; from a future, if several workers fail at the same
        task or the connection to the scheduler is lost.

    Examples
    --------
    >>> import clusterbandits as cb
    >>> from distributed import LocalCluster
    >>> instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
    >>> here = cb.simulate(instance, "kl-ucb", 1000, runs=8)
    >>> cluster = LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=None)
    >>> with cluster, dask_executor(cluster.scheduler_address) as executor:
    ...     there = cb.simulate(instance, "kl-ucb", 1000, runs=8, executor=executor)
    >>> bool((here.pulls == there.pulls).all())
    True
    """
    _check_address(address)
    _check_installed()
    with _quiet_dask(), EventLoop() as loop:
        client = loop.run(_connected(address, patience))
        executor = DaskExecutor(loop, client, address)
        try:
            try:
                loop.run(_first_worker(client, waiting))
                loop.run(_check_workers(client))
            except OSError:
                raise _lost(address) from None
            yield executor
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            loop.run(_close(client))


class EventLoop:
    """An event loop in a separate thread, which ends with the ``with`` block that opened it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # Ignore errors of coroutines that nothing waits for.
        self._loop.set_exception_handler(lambda *_: None)
        self._thread = threading.Thread(target=self._turn, name="clusterbandits-loop", daemon=True)
        self._stop = asyncio.Event()

    def __enter__(self) -> EventLoop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_LAST_SECONDS)

    def start(self, coroutine: Coroutine[Any, Any, R]) -> Future[R]:
        """Start a coroutine in the loop; cancelling the future cancels the coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine in the loop and wait for it; Ctrl-C cancels it."""
        future = self.start(coroutine)
        try:
            return future.result()
        finally:
            future.cancel()

    def _turn(self) -> None:
        # At its end, a runner cancels the remaining coroutines.
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        await self._stop.wait()


class DaskExecutor(Executor):
    """Submit tasks to a Dask client; cancelled tasks are dropped unless they have started."""

    def __init__(self, loop: EventLoop, client: Client, address: str) -> None:
        self._loop, self._client, self._address = loop, client, address
        self._pending: set[Future[Any]] = set()
        self._closed = False

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Call ``fn(*args, **kwargs)`` on a worker."""
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        job = _Job(fingerprint(), pickle.dumps((fn, args, kwargs)))
        future: Future[R] = self._loop.start(self._call(pickle.dumps(job)))
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more tasks; the cluster keeps running."""
        self._closed = True
        pending = list(self._pending)
        if cancel_futures:
            for future in pending:
                future.cancel()
        if wait:
            futures.wait(pending)

    async def _call(self, job: bytes) -> Any:
        from distributed import CancelledError, KilledWorker

        task = self._client.submit(pickle.loads, job, key=f"clusterbandits-{uuid.uuid4()}")
        try:
            return await task
        except ImportError as error:
            raise _not_importable("A Dask worker", error) from None
        except KilledWorker as killed:
            count = killed.allowed_failures + 1
            raise WorkersError(
                f"{count} Dask workers died while simulating the same runs. They may need more memory."
            ) from None
        except CancelledError:
            raise _lost(self._address) from None
        finally:
            task.release()


class _Job(NamedTuple):
    """A function call that is executed when it is unpickled.

    A worker that cannot import a function would fail while reading the task. With this class, reading is part
    of the task, and the scheduler needs only Dask.
    """

    expected: Mapping[str, str]
    call: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        return call_alike, (self.expected, self.call)


def call_alike(expected: Mapping[str, str], call: bytes) -> Any:
    """Execute a pickled call, unless this worker, perhaps a late one, could return different results."""
    from distributed import get_worker

    _check_alike(expected, get_worker().address, fingerprint())
    function, args, kwargs = pickle.loads(call)
    return function(*args, **kwargs)


def _lost(address: str) -> WorkersError:
    return WorkersError(
        f"Lost the connection to the Dask scheduler at '{address}' before all runs were finished."
    )


def _not_importable(worker: str, error: Exception) -> WorkersError:
    return WorkersError(f"{worker} lacks a module that the simulation needs: {error}.")


def _check_alike(expected: Mapping[str, str], worker: str, found: Mapping[str, str]) -> None:
    names = differing(expected, found)
    if names:
        wanted, given = (
            ", ".join(f"{name} {one.get(name, 'none')}" for name in names) for one in (expected, found)
        )
        raise WorkersError(
            f"The Dask worker at '{worker}' has {given}, but must have {wanted}: "
            "otherwise its results could differ."
        )


def _check_address(address: object) -> None:
    match = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
    if match is None or not 0 < int(match[1]) < 2**16:
        raise invalid(
            "address", "dask_executor", "the address of a scheduler, as in tcp://HOST:PORT", address
        )


def _check_installed() -> None:
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError:
        sentence = "Dask is not installed. Install it with: pip install 'clusterbandits[dask]'"
        raise InvalidInputError(sentence, parameter="address", owner="dask_executor") from None


async def _connected(address: str, patience: float) -> Client:
    from distributed import Client

    options = {"asynchronous": True, "set_as_default": False, "name": "clusterbandits"}
    client = Client(address, timeout=patience, **options)
    # Another program may answer anything; incompatible versions are refused later.
    with warnings.catch_warnings(action="ignore"), contextlib.suppress(Exception):
        return await asyncio.wait_for(client, patience)
    await _close(client)
    del client
    gc.collect()  # Otherwise Dask later warns of an open connection.
    raise WorkersError(
        f"No Dask scheduler answered at '{address}' within {patience:g} seconds. "
        "Check the address, and that a scheduler is running there."
    )


async def _close(client: Client) -> None:
    with contextlib.suppress(Exception):
        await asyncio.wait_for(client.close(), _FAREWELL)


async def _first_worker(client: Client, waiting: Callable[[], None] | None) -> None:
    announced = False
    while not await client.nthreads():
        if not announced and waiting is not None:
            waiting()
        announced = True
        await asyncio.sleep(_LOOK)


async def _check_workers(client: Client) -> None:
    """Compare all present workers with this process."""
    try:
        answers = await asyncio.wait_for(client.run(fingerprint, on_error="return"), _INTRODUCTION)
    except TimeoutError:
        return
    for worker, found in sorted(answers.items()):
        if isinstance(found, OSError):
            continue  # The worker was lost.
        if isinstance(found, Exception):
            raise _not_importable(f"The Dask worker at '{worker}'", found)
        _check_alike(fingerprint(), worker, found)


@contextlib.contextmanager
def _quiet_dask() -> Iterator[None]:
    """Silence the loggers of Dask; errors are reported in one sentence."""
    known = [one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    loggers = {one: one.level for one in known if one.name.partition(".")[0] in {"distributed", "tornado"}}
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in loggers.items():
            logger.setLevel(level)
