"""The HTTP protocol with a size limit for request heads and short error messages for invalid requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clusterbandits.service.guard import SECURITY_HEADERS

if TYPE_CHECKING:
    import asyncio

_MOST_BYTES = 65_536


class Protocol(HttpToolsProtocol):
    """One connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Prepare for the head of the first request."""
        super().connection_made(transport)
        self._in_head, self._begins, self._bytes = True, True, 0

    def data_received(self, data: bytes) -> None:
        """Refuse a head that exceeds the size limit, since it is kept in memory."""
        self._begins = False
        super().data_received(data)
        # Data in which a head begins may be the end of a long request before it.
        if self._in_head and not self._begins and not self.transport.is_closing():
            self._bytes += len(data)
            if self._bytes > _MOST_BYTES:
                self._refuse(f"The headers of a request may have at most {_MOST_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """Record that a request begins."""
        super().on_message_begin()
        self._in_head, self._begins, self._bytes = True, True, 0

    def on_headers_complete(self) -> None:
        """Record that the head of a request is complete."""
        self._in_head = False
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse data that are not HTTP."""
        del msg
        self._refuse("This is not a valid HTTP request.")

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: a request to upgrade the protocol is served as an ordinary request."""

    def _is_answering(self) -> bool:
        """Return whether a complete request awaits its answer, or an answer has begun."""
        cycle = self.cycle
        pending = cycle is not None and not cycle.response_complete
        return bool(self.pipeline) or (pending and (cycle.response_started or not cycle.more_body))

    def _refuse(self, sentence: str) -> None:
        if self._is_answering():
            # A refusal must not be taken for the answer to an earlier request of this connection.
            self.transport.close()
            return
        body = json.dumps({"detail": sentence}).encode()
        head = [
            b"HTTP/1.1 400 Bad Request",
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"connection: close",
            *(b"%b: %b" % header for header in SECURITY_HEADERS),
        ]
        self.transport.write(b"\r\n".join([*head, b"", body]))
        self.transport.close()
