"""A load generator: keep-alive connections that request decisions, send rewards, and time all answers."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time

import numpy as np
import uvloop


class Connection(asyncio.Protocol):
    """One keep-alive connection with one request at a time."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Collect an answer until it has as many bytes as its header declares."""
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 or self._answer is None:
            return
        head = self._buffer[:end].lower()
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(self._buffer) >= end + 4 + length:
            if not self._buffer.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(self._buffer.decode(errors="replace"))
            body, self._buffer = self._buffer[end + 4 :], b""
            self._answer.set_result(body)

    def post(self, path: str, body: bytes, header: bytes) -> asyncio.Future[bytes]:
        """Send a request; return a future for its answer."""
        self._answer = asyncio.get_running_loop().create_future()
        head = b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\n%bContent-Type: application/json\r\n"
        text = head + b"Content-Length: %d\r\n\r\n%b"
        self._transport.write(text % (path.encode(), header, len(body), body))  # type: ignore[attr-defined]
        return self._answer


async def _pairs(
    number: int, port: int, header: bytes, until: float, every: float, spent: list[float]
) -> None:
    """Send pairs of a decision and its reward until a time, at most one per ``every`` seconds."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
    chance = random.Random(number)
    due = time.perf_counter() + chance.random() * every
    while time.perf_counter() < until:
        if every:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
        began = due if every else time.perf_counter()
        answer = await connection.post("/v1/experiments/load/decisions", b"{}", header)
        middle = time.perf_counter()
        at = answer.index(b'"id":"') + 6
        decision = answer[at : answer.index(b'"', at)].decode()
        body = b'{"value":1}' if chance.random() < 0.3 else b'{"value":0}'
        await connection.post(f"/v1/decisions/{decision}/reward", body, header)
        done = time.perf_counter()
        spent += [middle - began, done - middle]
        due = max(due + every, done - every) if every else 0.0


async def _load(port: int, header: bytes, connections: int, seconds: float, rate: float) -> dict[str, float]:
    spent: list[float] = []
    every = connections / rate if rate else 0.0
    began = time.perf_counter()
    await asyncio.gather(
        *(_pairs(number, port, header, began + seconds, every, spent) for number in range(connections))
    )
    elapsed = time.perf_counter() - began
    return {
        "pairs per second": len(spent) / 2 / elapsed,
        "p50": float(np.quantile(spent, 0.5)),
        "p99": float(np.quantile(spent, 0.99)),
    }


def main() -> None:
    """Run with arguments ``port key connections seconds rate``, rate 0 for no limit; print JSON."""
    port, key, connections, seconds, rate = sys.argv[1:]
    header = f"Authorization: Bearer {key}\r\n".encode() if key != "-" else b""
    found = uvloop.run(_load(int(port), header, int(connections), float(seconds), float(rate)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
