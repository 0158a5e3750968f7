"""Checks on all requests: keys, rates, sizes; security headers; errors of one sentence."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from clusterbandits.service.direct import direct_operation
from clusterbandits.service.keys import ANYBODY, Caller
from clusterbandits.service.refusals import RefusedError
from clusterbandits.service.views import as_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from clusterbandits.service.keys import KeyRing
    from clusterbandits.service.metrics import Metrics
    from clusterbandits.service.settings import ServiceSettings

_logger = logging.getLogger("clusterbandits.service")
_OPEN = ("/", "/health", "/ready", "/openapi.json", "/docs", "/favicon.ico")
_OPEN_FOLDERS = ("/page/", "/docs/")
_SOURCES = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_POLICY = b"content-security-policy", _SOURCES
_DOCS_POLICY = _POLICY[0], _SOURCES.replace(b"style-src 'self'", b"style-src 'self' 'unsafe-inline'")
_NO_CACHE, _NO_STORE = (b"cache-control", b"no-cache"), (b"cache-control", b"no-store")
_JSON = b"content-type", b"application/json"
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
#: The headers of an answer to data that are not HTTP.
SECURITY_HEADERS = (*_HEADERS, _POLICY, _NO_STORE)
#: The methods that metrics count by name; requests can have any other name.
_METHODS = {"GET", "HEAD", "POST", "PATCH"}
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
#: The status in metrics of a request whose connection was closed before it was complete.
_GONE = 499
#: The number of buckets from which on full ones are removed.
_MOST_BUCKETS = 10_000


class Guard:
    """Middleware around the application; stores the caller of a request in ``scope["caller"]``."""

    def __init__(self, app: ASGIApp, ring: KeyRing, metrics: Metrics, settings: ServiceSettings) -> None:
        self._app, self._ring, self._metrics, self._settings = app, ring, metrics, settings
        self._rates = Rates(settings.rate)
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._hosts = {*_LOOPBACK, own}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD" and scope["path"] in _OPEN:
            # Monitors and load balancers ask for headers alone; the server omits the body.
            scope = {**scope, "method": "GET"}
        answer = _Answer(scope, send)
        began = time.perf_counter()
        try:
            headers = dict(scope["headers"])
            scope["caller"] = self._caller(scope, headers)
            if b"range" in headers:
                # Files are small or created for one request, so ranges are ignored.
                scope["headers"] = [one for one in scope["headers"] if one[0] != b"range"]
            if scope["method"] in {"GET", "HEAD"}:
                await self._app(scope, receive, answer.send)
            else:
                body = await _read(receive, headers, self._settings.most_bytes)
                if not await self._answer_directly(scope, headers, body, answer):
                    await self._app(scope, _replayed(body, receive), answer.send)
        except RefusedError as refusal:
            await answer.refuse(refusal.code, str(refusal))
        except _GoneError:
            answer.status = _GONE
        except Exception:
            _logger.exception("a request failed: %s %s", scope["method"], scope["path"])
            await answer.refuse(500, "Internal error; see the log of the service.")
        finally:
            route = answer.route or str(getattr(scope.get("route"), "path", "other"))
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.request(route, method, answer.status, time.perf_counter() - began)

    @staticmethod
    async def _answer_directly(
        scope: Scope, headers: dict[bytes, bytes], body: bytes, answer: _Answer
    ) -> bool:
        """Answer a request directly if it is one of the most frequent ones; return whether it was."""
        wanted = direct_operation(scope, headers, body)
        if wanted is None:
            return False
        answer.route, operation = wanted
        await answer.give(200, as_json(await scope["app"].state.writer.submit(operation)))
        return True

    def _caller(self, scope: Scope, headers: dict[bytes, bytes]) -> Caller | None:
        """Return the caller of the request; None for addresses that need no key."""
        path: str = scope["path"]
        if self._settings.insecure:
            _check_local(headers, self._hosts)
            return ANYBODY
        if path in _OPEN or path.startswith(_OPEN_FOLDERS):
            return None
        kind, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        caller = self._ring.find(key.strip()) if kind.lower() == "bearer" else None
        if caller is None:
            raise RefusedError(401, "A valid API key is required, as 'Authorization: Bearer KEY'.")
        self._rates.take(caller.id)
        return caller


def _check_local(headers: dict[bytes, bytes], hosts: Collection[str]) -> None:
    """Refuse requests that a page of another site may have sent through the user's browser."""
    host = headers.get(b"host", b"").decode("latin-1")
    if (host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host) not in hosts:
        raise RefusedError(403, "Without keys, the service only accepts requests to localhost.")
    if headers.get(b"sec-fetch-site", b"none") not in {b"none", b"same-origin"}:
        raise RefusedError(403, "Without keys, the service does not answer to pages of other sites.")
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1") not in {f"http://{host}", f"https://{host}"}:
        raise RefusedError(403, "Without keys, the service does not answer to pages of other sites.")


class Rates:
    """Rate limits: a token bucket per key, which holds the requests of two seconds.

    Each worker has its own buckets, so a service with n workers allows n times as many requests.
    """

    def __init__(self, per_second: float) -> None:
        self._rate = per_second
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> None:
        """Take one request from the bucket of a key; refuse it if the bucket is empty."""
        now = time.monotonic()
        most = 2 * self._rate
        left, then = self._buckets.get(key, (most, now))
        left = min(most, left + (now - then) * self._rate)
        if left < 1:
            raise RefusedError(429, f"This key sends more than {self._rate:g} requests per second.")
        if len(self._buckets) >= _MOST_BUCKETS:
            self._buckets.clear()
        self._buckets[key] = left - 1, now


class _GoneError(Exception):
    """The client closed the connection before its request was complete."""


async def _read(receive: Receive, headers: dict[bytes, bytes], most: int) -> bytes:
    """Read the body of a request."""
    length = headers.get(b"content-length", b"0")
    parts: list[bytes] = []
    size, read, more = int(length[:18]) if length.isdigit() else 0, 0, True
    while more:
        if size > most:
            raise RefusedError(413, f"A request may have at most {most} bytes.")
        message = await receive()
        if message["type"] != "http.request":
            raise _GoneError
        parts.append(message.get("body", b""))
        read, more = read + len(parts[-1]), message.get("more_body", False)
        size = max(size, read)
    return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` function for a body that was already read."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_whole() -> Message:
        return whole.pop() if whole else await receive()

    return receive_whole


class _Answer:
    """Sends an answer with security headers, and stores its status."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send, self.status, self._begun = send, 500, False
        #: The route of a request that the framework does not handle.
        self.route: str | None = None
        path: str = scope["path"]
        self._headers = [
            *_HEADERS,
            _DOCS_POLICY if path.startswith("/docs") else _POLICY,
            _NO_CACHE if path.startswith(_OPEN_FOLDERS) else _NO_STORE,
        ]

    async def send(self, message: Message) -> None:
        """Send a message, with security headers at the start."""
        if message["type"] == "http.response.start":
            self.status, self._begun = message["status"], True
            message["headers"] = [*message.get("headers", []), *self._headers]
        await self._send(message)

    async def refuse(self, status: int, sentence: str) -> None:
        """Answer with an error message, unless the answer has begun."""
        if self._begun:
            return
        extra = [(b"retry-after", b"1")] if status in {429, 503} else []
        if status == 401:
            extra.append((b"www-authenticate", b"Bearer"))
        await self.give(status, as_json({"detail": sentence}), extra)

    async def give(self, status: int, body: bytes, extra: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Answer with JSON."""
        headers = [_JSON, (b"content-length", str(len(body)).encode()), *extra]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})
