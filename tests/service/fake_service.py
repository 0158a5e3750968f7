"""A service without a network: it answers with fixed data, or loses what is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import httpx

import clusterbandits as cb
from clusterbandits.client import Decision

URL = "http://127.0.0.1:8000"
Handler: TypeAlias = Callable[[httpx.Request], httpx.Response]
Data: TypeAlias = dict[str, Any]
DECISION: Data = {"id": "2f-9c41d07a", "arm": "b", "group": "red", "expires_at": None}
ARM: Data = {
    "arm": "b",
    "group": "red",
    "retired": False,
    "decisions": 3,
    "open": 1,
    "pulls": 2,
    "total": 1.0,
}
ARM |= {"mean": 0.5, "low": 0.1, "high": 0.9, "share": 1.0}
GROUP: Data = {
    "group": "red",
    "width": None,
    "arms": 1,
    "decisions": 3,
    "pulls": 2,
    "total": 1.0,
    "mean": 0.5,
}
GROUP |= {"share": 1.0, "alarm": None}
EXPERIMENT: Data = {
    "name": "ads",
    "state": "running",
    "policy": "kindred",
    "settings": {},
    "family": "bernoulli",
}
EXPERIMENT |= {"window": None, "default_reward": None, "combine": "first", "explore": 0.0, "created_at": 1.5}
EXPERIMENT |= {"seq": 4, "decisions": 3, "open": 1, "pulls": 2, "late": 0, "cancelled": 0, "defaulted": 0}
EXPERIMENT |= {"total": 1.0, "mean": 0.5, "best": "b", "regret": 0.0, "groups": [GROUP], "arms": [ARM]}
EXPERIMENT |= {"alarms": []}
RECORD: Data = {**DECISION, "at": 2.5, "status": "open", "value": None, "note": {"page": 3}}
SUMMARY: Data = {
    "name": "ads",
    "state": "running",
    "policy": "kindred",
    "arms": 1,
    "groups": 1,
    "decisions": 3,
}
SUMMARY |= {"pulls": 2, "mean": 0.5, "alarms": 0, "created_at": 1.5}


def answer(request: httpx.Request) -> httpx.Response:
    """Answer as the service does, with fixed data."""
    path = request.url.path
    if path.endswith("/export"):
        kind = (
            "text/csv; charset=utf-8"
            if request.url.params["format"] == "csv"
            else "application/vnd.apache.parquet"
        )
        return httpx.Response(200, content=b"time,arm\n1,b\n", headers={"Content-Type": kind})
    if path.endswith("/decisions"):
        if request.method == "GET":
            return httpx.Response(200, json={"decisions": [RECORD]})
        count = json.loads(request.content).get("count", 1)
        return httpx.Response(200, json={"decisions": [DECISION] * count})
    if path == "/v1/rewards":
        sent = json.loads(request.content)["rewards"]
        results = [{"id": one["id"], "status": "counted", "code": 200, "value": one["value"]} for one in sent]
        return httpx.Response(200, json={"results": results})
    if path == "/v1/experiments" and request.method == "GET":
        return httpx.Response(200, json={"experiments": [SUMMARY]})
    if path.startswith("/v1/decisions/"):
        counted = {"id": "2f-9c41d07a", "status": "counted", "value": 1.0}
        return httpx.Response(200, json=counted if path.endswith("/reward") else {**RECORD, "rewards": []})
    last = path.rpartition("/")[2]
    plain: Data = {"changes": {"changes": []}, "history": {"at": []}, "explain": {"text": ""}}
    plain |= {"health": {"status": "ok"}, "ready": {"status": "ready"}}
    return httpx.Response(200, json=plain.get(last, EXPERIMENT))


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("create_experiment", ("ads", {"red": ("a", "b")}), {"widths": {"red": 0.1}, "window": None}),
    ("experiments", (), {"archived": True}),
    ("experiment", ("ads",), {}),
    ("change", ("ads",), {"explore": 0.1, "widths": None}),
    ("pause", ("ads",), {}),
    ("resume", ("ads",), {}),
    ("archive", ("ads",), {}),
    ("add_arm", ("ads", "c", "red"), {}),
    ("retire_arm", ("ads", "c"), {}),
    ("restore_arm", ("ads",), {"arm": "c"}),
    ("changes", ("ads",), {}),
    ("decide", ("ads",), {"available": iter("ab"), "key": "visit-17", "note": {"page": "ü"}}),
    ("decide", ("ads",), {"count": 3, "key": "visit-18"}),
    ("reward", (Decision("2f-9c41d07a", "b", "red"), True), {}),
    ("reward", ("2f-9c41d07a", 2), {"key": "order-3"}),
    ("rewards", ([("2f-9c41d07a", 1), ("2f-9c41d07a", 0, "order-4")],), {}),
    ("decision", ("2f-9c41d07a",), {}),
    ("decisions", ("ads",), {"limit": 7}),
    ("history", ("ads",), {}),
    ("explain", ("ads",), {}),
    ("health", (), {}),
    ("ready", (), {}),
]


def client(handler: Handler, **options: Any) -> cb.Client:
    return cb.Client(URL, transport=httpx.MockTransport(handler), **options)


def both(handler: Handler, name: str, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Return the results or the errors of a call by both clients."""

    async def awaited() -> Any:
        async with cb.AsyncClient(URL, transport=httpx.MockTransport(handler)) as asynchronous:
            return await getattr(asynchronous, name)(*args, **kwargs)

    with client(handler) as synchronous:
        one = outcome(lambda: getattr(synchronous, name)(*args, **kwargs))
    return one, outcome(lambda: asyncio.run(awaited()))


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except cb.ClusterBanditsError as error:
        return type(error), str(error), getattr(error, "code", 0)


def broken(*parts: bytes, after: Exception) -> httpx.Response:
    """Return an answer that ends with an error, for both clients."""

    class Stream(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield from parts
            raise after

        async def __aiter__(self) -> Any:
            for part in parts:
                yield part
            raise after

    return httpx.Response(200, stream=Stream(), headers={"Content-Type": "text/csv"})
