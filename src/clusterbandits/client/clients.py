"""The synchronous and the asynchronous client; ``exchange`` contains what they share."""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypedDict, TypeVar, Unpack, overload

from clusterbandits.client import decision_calls, experiment_calls
from clusterbandits.client.exchange import Link, Outcome, Pause, Step, Steps
from clusterbandits.client.transport import (
    answer_of,
    arguments,
    checked_link,
    failure_of,
    headers_with,
    import_httpx,
)

if TYPE_CHECKING:
    import httpx

    from clusterbandits.client.answers import Decision

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Occasion(TypedDict, total=False):
    """Options of ``decide``."""

    available: Iterable[str] | None
    key: str | None
    note: Mapping[str, Any] | None


def _described(call: Callable[..., Any]) -> Callable[[F], F]:
    """Give a method the name, the docstring and the signature of a call."""

    def describe(method: F) -> F:
        functools.update_wrapper(method, call)
        del method.__wrapped__  # type: ignore[attr-defined]
        signature = inspect.signature(call)
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = [own, *list(signature.parameters.values())[1:]]
        returned = str(signature.return_annotation).removeprefix("Steps[").removesuffix("]")
        method.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=parameters, return_annotation=returned
        )
        return method

    return describe


def _blocking(call: Callable[Concatenate[Link, P], Steps[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return a call as a method of Client."""

    @_described(call)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(call(self._link, *args, **kwargs))

    return method


def _awaitable(
    call: Callable[Concatenate[Link, P], Steps[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """Return a call as a method of AsyncClient."""

    @_described(call)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(call(self._link, *args, **kwargs))

    return method


class Client:
    """Client of a decision service, started by ``clusterbandits serve``.

    All calls can be repeated safely. The client therefore retries after lost connections and after the
    statuses 429, 502, 503 and 504. Waits double from 0.1 to 5 s, have random jitter, and are at least as long
    as ``Retry-After`` requires.

    Threads may share a client. After a fork, the new process needs a client of its own. Close a client when
    it is no longer needed, or use it as a context manager.

    Parameters
    ----------
    url
        Address of the service, such as ``"http://127.0.0.1:8000"``.
    key
        API key; by default None, for a service that was started with ``--insecure``.
    timeout
        Seconds after which a call fails, retries included; by default 30. One attempt waits for at most half
        of that.
    retries
        Largest number of retries per call, by default 10; 0 for none.
    transport
        httpx transport to use instead of the network, for tests; by default None.

    Raises
    ------
    ServiceError
        From every method, if the service refuses a request (``code`` is the HTTP status) or does not answer
        (``code`` is None).

    Examples
    --------
    With a transport that answers instead of a service:

    >>> import httpx
    >>> def answer(request):
    ...     if request.url.path == "/v1/experiments/ads/decisions":
    ...         chosen = {"id": "2f-9c41d07a", "arm": "b", "group": "red", "expires_at": None}
    ...         return httpx.Response(200, json={"decisions": [chosen]})
    ...     return httpx.Response(200, json={"id": "2f-9c41d07a", "status": "counted", "value": 1.0})
    >>> with Client("http://127.0.0.1:8000", transport=httpx.MockTransport(answer)) as client:
    ...     decision = client.decide("ads")
    ...     result = client.reward(decision, 1)
    >>> decision.arm, result.status
    ('b', 'counted')
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 10,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._link = checked_link(url, timeout, retries)
        self._http = import_httpx().Client(headers=headers_with(key), transport=transport)

    create_experiment = _blocking(experiment_calls.create_experiment)
    experiments = _blocking(experiment_calls.experiments)
    experiment = _blocking(experiment_calls.experiment)
    change = _blocking(experiment_calls.change)
    pause = _blocking(experiment_calls.pause)
    resume = _blocking(experiment_calls.resume)
    archive = _blocking(experiment_calls.archive)
    add_arm = _blocking(experiment_calls.add_arm)
    retire_arm = _blocking(experiment_calls.retire_arm)
    restore_arm = _blocking(experiment_calls.restore_arm)
    changes = _blocking(experiment_calls.changes)
    reward = _blocking(decision_calls.reward)
    rewards = _blocking(decision_calls.rewards)
    decision = _blocking(decision_calls.decision)
    decisions = _blocking(decision_calls.decisions)
    history = _blocking(experiment_calls.history)
    explain = _blocking(experiment_calls.explain)
    export = _blocking(decision_calls.export)
    health = _blocking(decision_calls.health)
    ready = _blocking(decision_calls.ready)

    @overload
    def decide(self, name: str, *, count: None = None, **options: Unpack[Occasion]) -> Decision: ...
    @overload
    def decide(self, name: str, *, count: int, **options: Unpack[Occasion]) -> list[Decision]: ...
    @_described(decision_calls.decide)
    def decide(
        self, name: str, *, count: int | None = None, **options: Unpack[Occasion]
    ) -> Decision | list[Decision]:
        """Choose an arm, or a list of ``count`` arms."""
        return self._run(decision_calls.decide(self._link, name, count=count, **options))

    def close(self) -> None:
        """Close all connections; the client cannot be used afterwards."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._link.url!r})"

    def _run(self, steps: Steps[T]) -> T:
        outcome: Outcome = None
        with contextlib.closing(steps):
            while True:
                try:
                    step = steps.send(outcome)
                except StopIteration as end:
                    result: T = end.value
                    return result
                outcome = self._do(step)

    def _do(self, step: Step) -> Outcome:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            with self._http.stream(**arguments(self._link, step, self._http.is_closed)) as response:
                if step.request.into is None or response.status_code != 200:
                    response.read()
                else:
                    with step.request.into.open("wb") as file:
                        for part in response.iter_bytes():
                            file.write(part)
                return answer_of(response, step)
        except Exception as error:
            return failure_of(error, step)


class AsyncClient:
    """Asynchronous client of a decision service, with the same methods as ``Client``.

    Tasks of one event loop (asyncio or trio) may share a client; another loop needs its own client. See
    ``Client`` for parameters, retries and errors.

    Examples
    --------
    >>> import asyncio, httpx
    >>> def answer(request):
    ...     return httpx.Response(200, json={"status": "ok", "version": "0.1.0"})
    >>> async def status():
    ...     async with AsyncClient("http://127.0.0.1:8000", transport=httpx.MockTransport(answer)) as client:
    ...         return (await client.health())["status"]
    >>> asyncio.run(status())
    'ok'
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 10,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._link = checked_link(url, timeout, retries)
        self._http = import_httpx().AsyncClient(headers=headers_with(key), transport=transport)

    create_experiment = _awaitable(experiment_calls.create_experiment)
    experiments = _awaitable(experiment_calls.experiments)
    experiment = _awaitable(experiment_calls.experiment)
    change = _awaitable(experiment_calls.change)
    pause = _awaitable(experiment_calls.pause)
    resume = _awaitable(experiment_calls.resume)
    archive = _awaitable(experiment_calls.archive)
    add_arm = _awaitable(experiment_calls.add_arm)
    retire_arm = _awaitable(experiment_calls.retire_arm)
    restore_arm = _awaitable(experiment_calls.restore_arm)
    changes = _awaitable(experiment_calls.changes)
    reward = _awaitable(decision_calls.reward)
    rewards = _awaitable(decision_calls.rewards)
    decision = _awaitable(decision_calls.decision)
    decisions = _awaitable(decision_calls.decisions)
    history = _awaitable(experiment_calls.history)
    explain = _awaitable(experiment_calls.explain)
    export = _awaitable(decision_calls.export)
    health = _awaitable(decision_calls.health)
    ready = _awaitable(decision_calls.ready)

    @overload
    async def decide(self, name: str, *, count: None = None, **options: Unpack[Occasion]) -> Decision: ...
    @overload
    async def decide(self, name: str, *, count: int, **options: Unpack[Occasion]) -> list[Decision]: ...
    @_described(decision_calls.decide)
    async def decide(
        self, name: str, *, count: int | None = None, **options: Unpack[Occasion]
    ) -> Decision | list[Decision]:
        """Choose an arm, or a list of ``count`` arms."""
        return await self._run(decision_calls.decide(self._link, name, count=count, **options))

    async def close(self) -> None:
        """Close all connections; the client cannot be used afterwards."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._link.url!r})"

    async def _run(self, steps: Steps[T]) -> T:
        outcome: Outcome = None
        with contextlib.closing(steps):
            while True:
                try:
                    step = steps.send(outcome)
                except StopIteration as end:
                    result: T = end.value
                    return result
                outcome = await self._do(step)

    async def _do(self, step: Step) -> Outcome:
        import anyio

        if isinstance(step, Pause):
            await anyio.sleep(step.seconds)
            return None
        try:
            async with self._http.stream(**arguments(self._link, step, self._http.is_closed)) as response:
                if step.request.into is None or response.status_code != 200:
                    await response.aread()
                else:
                    async with await anyio.open_file(step.request.into, "wb") as file:
                        async for part in response.aiter_bytes():
                            await file.write(part)
                return answer_of(response, step)
        except Exception as error:
            return failure_of(error, step)
