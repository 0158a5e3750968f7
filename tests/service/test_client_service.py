"""The clients on a real service: nothing is counted twice, whatever is lost on the way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

import clusterbandits as cb
from tests.service.running import Served

GROUPS = {"red": ["a", "b"], "blue": ["c"]}


class LosesAnswers(httpx.HTTPTransport):
    """Loses the first answer to every request after the service has sent it."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[bytes] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        sent = str(request.url).encode() + request.read()
        if sent in self._seen:
            return response
        self._seen.add(sent)
        response.read()
        raise httpx.ReadError("connection reset", request=request)


class LosesAnswersAsync(httpx.AsyncHTTPTransport):
    """Loses answers likewise."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[bytes] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        sent = str(request.url).encode() + await request.aread()
        if sent in self._seen:
            return response
        self._seen.add(sent)
        await response.aread()
        raise httpx.ReadError("connection reset", request=request)


def test_lost_answers_count_once(served: Served, tmp_path: Path) -> None:
    with cb.Client(served.url, served.key, transport=LosesAnswers()) as client:
        assert client.create_experiment("lost", GROUPS, widths=0.1).decisions == 0
        first, *others = [client.decide("lost"), *client.decide("lost", count=4)]
        assert client.reward(first, 1).status == "repeated"
        assert [result.ok for result in client.rewards([(one, 0) for one in others])] == [True] * 4
        client.add_arm("lost", "d", "red")
        client.retire_arm("lost", "d")
        state = client.experiment("lost")
        assert (state.decisions, state.pulls, state.total, state.open) == (5, 5, 1.0, 0)
        assert [change.change for change in client.changes("lost")] == ["created", "arm added", "arm retired"]
        file = client.export("lost", tmp_path / "lost.csv")
        assert len(file.read_text().splitlines()) == 6


def test_lost_answers_count_once_with_await(served: Served) -> None:
    async def use() -> tuple[int, int, float]:
        async with cb.AsyncClient(served.url, served.key, transport=LosesAnswersAsync()) as client:
            await client.create_experiment("awaited", GROUPS)
            decisions = await asyncio.gather(*(client.decide("awaited") for _ in range(20)))
            await asyncio.gather(*(client.reward(one, 1) for one in decisions))
            state = await client.experiment("awaited")
            return state.decisions, state.pulls, state.total

    assert asyncio.run(use()) == (20, 20, 20.0)


def test_refusals_are_errors_with_their_sentence(served: Served) -> None:
    with cb.Client(served.url, served.key) as client:
        client.create_experiment("refused", GROUPS)
        decision = client.decide("refused")
        client.reward(decision, 1)
        refused: dict[int, Callable[[], object]] = {
            404: lambda: client.experiment("none"),
            409: lambda: client.reward(decision, 0),
            422: lambda: client.reward(decision, 2),
        }
        for code, call in refused.items():
            with pytest.raises(cb.ServiceError, match=r"\.$") as raised:
                call()
            assert raised.value.code == code
    with (
        cb.Client(served.url, "cb_unknown") as stranger,
        pytest.raises(cb.ServiceError, match="key") as raised,
    ):
        stranger.experiments()
    assert raised.value.code == 401


def test_calls_survive_a_killed_service(tmp_path: Path) -> None:
    served = Served("--data", "data", folder=tmp_path).wait()
    rewarded: list[str] = []

    def work() -> None:
        for _ in range(50):
            decision = client.decide("killed")
            assert client.reward(decision, 1).ok
            rewarded.append(decision.id)

    client = cb.Client(served.url, served.key, timeout=120, retries=200)
    try:
        client.create_experiment("killed", GROUPS)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(rewarded) < 40:
            threads[0].join(0.01)
        served.kill()
        key, served = served.key, Served("--data", "data", folder=tmp_path, port=served.port)
        served.use_key(key)
        for thread in threads:
            thread.join()
        state = client.experiment("killed")
    finally:
        client.close()
        served.kill()
    assert len(rewarded) == len(set(rewarded)) == 200
    assert (state.decisions, state.pulls, state.total) == (200, 200, 200.0)
