"""Requests and answers as bytes on a socket, including requests that no HTTP library would send."""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON = (b"Content-Type", b"application/json")
#: The time limit per request in seconds, which may include compilation.
_PATIENCE = 120.0
#: Seconds after which a connection is not reused, because the service may close it.
_IDLE = 2.0
#: The largest body after which a connection is reused; the service may have read only a part of larger ones.
_LARGE = 100_000


@dataclass(frozen=True)
class Request:
    """A request before it is sent; ``key=False`` omits the API key."""

    method: str
    target: str
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = (JSON,)
    key: bool = True

    @property
    def path(self) -> str:
        """The path as the service reads it."""
        return unquote(self.target.partition("?")[0].partition("#")[0])

    def raw(self, key: str) -> bytes:
        """Return all bytes of the request."""
        headers = [(b"Host", b"localhost"), *self.headers]
        if self.key:
            headers.append((b"Authorization", b"Bearer " + key.encode()))
        if self.body or self.method not in {"GET", "HEAD"}:
            headers.append((b"Content-Length", b"%d" % len(self.body)))
        first = f"{self.method} {self.target} HTTP/1.1".encode()
        return b"\r\n".join([first, *(b": ".join(one) for one in headers), b"", self.body])


@dataclass(frozen=True)
class Answer:
    """An answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Line:
    """A connection to a local service, which is opened again if the service has closed it."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key
        self._socket: socket.socket | None = None
        self._used = 0.0

    def send(self, request: Request) -> Answer:
        """Return the answer to a request."""
        answer = self.exchange(request.raw(self.key), request.method, _PATIENCE)
        assert answer is not None, f"{request} was not answered in {_PATIENCE:.0f} seconds"
        if len(request.body) > _LARGE:
            self.close()
        return answer

    def exchange(self, raw: bytes, method: str, patience: float) -> Answer | None:
        """Send bytes; return the answer, or None after a timeout or if the service closes the connection."""
        line = self._opened()
        line.settimeout(patience)
        # The service may refuse a request, and close the connection, before it has read all of it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            line.sendall(raw)
        return self.receive(method)

    def receive(self, method: str) -> Answer | None:
        """Wait for an answer; for a stream, wait for its first event."""
        assert self._socket is not None
        try:
            with http.client.HTTPResponse(self._socket, method=method) as response:
                response.begin()
                headers = {name.lower(): value for name, value in response.getheaders()}
                endless = headers.get("content-type", "").startswith("text/event-stream")
                body = b"".join(iter(response.readline, b"\n")) if endless else response.read()
        except TimeoutError:
            return None
        except (http.client.BadStatusLine, ConnectionResetError):
            self.close()
            return None
        self._used = time.monotonic()
        if endless or headers.get("connection") == "close":
            self.close()
        return Answer(response.status, headers, body)

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _opened(self) -> socket.socket:
        if time.monotonic() - self._used > _IDLE:
            self.close()
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket
