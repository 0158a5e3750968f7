"""A service whose answers are all checked; refused requests must change nothing."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fuzz.answers import Description, strict_json
from fuzz.wire import Answer, Line, Request

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The status of a late reward, which is refused and recorded.
_LATE = 410
_VIEWS = ("", "/changes", "/decisions?limit=1000", "/history", "/explain")


class Watch:
    """Sends requests one by one to a service without other users."""

    def __init__(self, port: int, key: str) -> None:
        self.line, self._reader = Line(port, key), Line(port, key)
        self.description = Description(strict_json(self.read("/openapi.json")))
        self.tried: Counter[str] = Counter()
        self._position, self._states = -1, dict[str, bytes]()

    def close(self) -> None:
        """Close the connections."""
        self.line.close()
        self._reader.close()

    def read(self, path: str) -> bytes:
        """Return the answer of an address."""
        answer = self._reader.send(Request("GET", path))
        assert answer.status == 200, (path, answer)
        return answer.body

    def send(self, request: Request, name: str, *, thorough: bool = False) -> Answer:
        """Send a request; if it is refused, an experiment (with ``thorough``, all) must not have changed."""
        before = self.whole() if thorough else self._known_state(name)
        answer = self.line.send(request)
        self._judge(request, answer)
        if 400 <= answer.status < 500 and answer.status != _LATE:
            after = self.whole() if thorough else self.state(name)
            assert after == before, f"refused, but changed: {request} {answer}"
        return answer

    def send_raw(self, raw: bytes, request: Request, name: str, patience: float) -> Answer | None:
        """Send damaged bytes of a request; without an answer, nothing may change."""
        before = self._known_state(name)
        self.line.close()
        answer = self.line.exchange(raw, request.method, patience)
        if answer is None and self.position() != before[0]:
            # On a slow machine, the answer can come late.
            answer = self.line.receive(request.method)
            assert answer is not None, f"not answered, but changed: {raw!r}"
        self.line.close()
        self.tried["requests"] += 1
        self.tried["not answered" if answer is None else str(answer.status)] += 1
        if answer is not None:
            assert answer.status < 500, f"the service failed: {raw!r} {answer}"
        if answer is None or (400 <= answer.status < 500 and answer.status != _LATE):
            assert self.state(name) == before, f"refused, but changed: {raw!r} {answer}"
        return answer

    def judge(self, requests: Sequence[Request], answers: Sequence[Answer]) -> None:
        """Check answers to requests that were sent elsewhere."""
        for request, answer in zip(requests, answers, strict=True):
            self._judge(request, answer)

    def _judge(self, request: Request, answer: Answer) -> None:
        self.tried["requests"] += 1
        self.tried[str(answer.status)] += 1
        self.description.check(request, answer)

    def position(self) -> int:
        """Return the number of events in the log."""
        return int(strict_json(self.read("/ready"))["seq"])

    def settle(self, seconds: float = 20.0) -> None:
        """Wait until every decision whose window has closed is settled."""
        end = time.monotonic() + seconds
        while any(one["expires_at"] and one["expires_at"] < time.time() for one in self._open()):
            assert time.monotonic() < end, "a decision was not settled"
            time.sleep(0.1)

    def _open(self) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = []
        for name in self.names():
            found = strict_json(self.read(f"/v1/experiments/{quote(name)}/decisions?limit=1000"))
            shown += [one for one in found["decisions"] if one["status"] == "open"]
        return shown

    def names(self) -> list[str]:
        """Return the names of all experiments."""
        found = strict_json(self.read("/v1/experiments?archived=true"))
        return [one["name"] for one in found["experiments"]]

    def state(self, name: str) -> tuple[int, bytes]:
        """Return the number of events and the state of an experiment."""
        return self.position(), self.read(f"/v1/experiments/{quote(name)}")

    def _known_state(self, name: str) -> tuple[int, bytes]:
        """Return the same, cached while there are no further events."""
        position = self.position()
        if position != self._position:
            self._position, self._states = position, {}
        if name not in self._states:
            self._states[name] = self.state(name)[1]
        return position, self._states[name]

    def whole(self) -> tuple[int, bytes, list[bytes]]:
        """Return all that readers can see of all experiments."""
        views = [
            self.read(f"/v1/experiments/{quote(name)}{view}") for name in self.names() for view in _VIEWS
        ]
        return self.position(), self.read("/v1/experiments?archived=true"), views
