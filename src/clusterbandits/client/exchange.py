"""Requests, retries and errors without input or output, shared by both clients.

A call is a generator. It yields steps (``Send`` or ``Pause``), receives their outcomes, and returns its
result. A client executes these steps, with or without ``await``.
"""

from __future__ import annotations

import email.utils
import json
import math
import random
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote

from clusterbandits.errors import InvalidInputError, ServiceError
from clusterbandits.validate import as_float, invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

T = TypeVar("T")
#: The statuses after which a request is sent again; a proxy returns 502 and 504 while its service restarts.
RETRIED = frozenset({429, 502, 503, 504})
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
#: The share of the time limit for one attempt, so that there is time for another one.
_ATTEMPT_SHARE = 0.5
_SHORTEST_ATTEMPT = 0.01
JSON = "application/json"


@dataclass(frozen=True)
class Request:
    """One request; all attempts send the same bytes."""

    method: str
    path: str
    body: bytes | None = None
    query: dict[str, str] = field(default_factory=dict)
    #: Media type of a successful answer.
    kind: str = JSON
    #: The file for the body of a successful answer that is not JSON.
    into: Path | None = None
    #: Seconds for the call instead of the client's time limit; the first attempt may use all of them.
    timeout: float | None = None


@dataclass(frozen=True)
class Send:
    """Send a request and wait for its answer, each wait for at most ``timeout`` seconds."""

    request: Request
    timeout: float


@dataclass(frozen=True)
class Pause:
    """Wait for a number of seconds."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    """An answer of the service with any status; ``body`` is empty if it was written to a file."""

    status: int
    kind: str
    body: bytes
    retry_after: str | None = None
    #: What the user should know about a file.
    warning: str | None = None


@dataclass(frozen=True)
class Lost:
    """No answer, with the reason in a few words."""

    reason: str


Step: TypeAlias = Send | Pause
Outcome: TypeAlias = Answer | Lost | OSError | None
#: A call that returns a T.
Steps: TypeAlias = Generator[Step, Outcome, T]


@dataclass(frozen=True)
class Link:
    """The address of the service, and the limits of retries.

    Parameters
    ----------
    url
        Address of the service.
    timeout
        Seconds per call, retries included.
    retries
        Largest number of retries per call.
    clock, jitter
        Functions that return the time in seconds and random numbers from 0 to 1; tests replace them.
    """

    url: str
    timeout: float
    retries: int
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random

    def get(self, path: str, query: dict[str, str] | None = None) -> Steps[Any]:
        """Return the JSON at an address."""
        return (yield from self.ask(Request("GET", path, query=query or {})))

    def post(self, path: str, body: Mapping[str, Any]) -> Steps[Any]:
        """Send JSON; return the JSON of the answer."""
        return (yield from self.ask(Request("POST", path, _written(body))))

    def patch(self, path: str, body: Mapping[str, Any]) -> Steps[Any]:
        """Send changes as JSON; return the JSON of the answer."""
        return (yield from self.ask(Request("PATCH", path, _written(body))))

    def ask(self, request: Request) -> Steps[Any]:
        """Send a request, with retries; return the JSON of the answer, or the warning about a file.

        Raises
        ------
        ServiceError
            If the service refuses the request, or does not answer in time.
        """
        limit = self.timeout if request.timeout is None else request.timeout
        longest = limit * (_ATTEMPT_SHARE if request.timeout is None else 1.0)
        began, attempts = self.clock(), 0
        while True:
            left = limit - (self.clock() - began)
            outcome = yield Send(request, max(min(left, longest), _SHORTEST_ATTEMPT))
            attempts += 1
            if isinstance(outcome, OSError):
                raise outcome
            if isinstance(outcome, Answer) and outcome.status not in RETRIED:
                return self._read(request, outcome)
            wait = _wait(attempts - 1, self.jitter(), outcome)
            spent = self.clock() - began
            if attempts > self.retries or spent + wait >= limit:
                raise self._given_up(outcome, attempts, spent)
            yield Pause(wait)

    def _read(self, request: Request, answer: Answer) -> Any:
        if answer.status >= 300:
            raise ServiceError(self._sentence(answer), answer.status)
        if answer.kind != request.kind:
            raise self.unreadable(answer.status)
        if request.into is not None:
            return answer.warning
        try:
            return json.loads(answer.body)
        except ValueError:
            raise self.unreadable(answer.status) from None

    def unreadable(self, status: int) -> ServiceError:
        """Return the error for an answer that cannot come from this service."""
        return ServiceError(
            f"The answer of {self.url} is not from a clusterbandits service. Check the address.", status
        )

    def _sentence(self, answer: Answer) -> str:
        """Return the error message of an answer, which may come from another server and have none."""
        try:
            detail = json.loads(answer.body)["detail"]
        except (ValueError, TypeError, KeyError):
            detail = None
        return detail if isinstance(detail, str) else f"{self.url} answered with status {answer.status}."

    def _given_up(self, outcome: Outcome, attempts: int, seconds: float) -> ServiceError:
        tried = f"{attempts} attempt{'s' if attempts > 1 else ''} in {seconds:.1f} s"
        if isinstance(outcome, Answer):
            return ServiceError(f"{self._sentence(outcome)} ({tried})", outcome.status)
        reason = outcome.reason if isinstance(outcome, Lost) else "nothing was sent"
        return ServiceError(f"The service at {self.url} does not answer: {reason} ({tried}).")


def _wait(attempt: int, jitter: float, outcome: Outcome) -> float:
    """Return the seconds before the next attempt: doubling, and at least those that the answer requires."""
    longest = min(_FIRST_WAIT * 2.0**attempt, _LONGEST_WAIT)
    wait = longest * (0.5 + 0.5 * jitter)
    asked = _asked_wait(outcome.retry_after) if isinstance(outcome, Answer) else 0.0
    # Clients that were refused together must not retry together.
    return wait if asked <= wait else asked + longest * 0.5 * jitter


def _asked_wait(given: str | None) -> float:
    """Return the seconds of a Retry-After header, which may also be a date; 0 if it cannot be read."""
    if given is None:
        return 0.0
    if given.strip().isdecimal():
        return float(given)
    try:
        return max(email.utils.parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return 0.0


def _written(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"A request may contain only text, finite numbers, lists and mappings: {error}."
        ) from None


def path_of(name: str) -> str:
    """Return the path of an experiment."""
    return f"/v1/experiments/{path_part(name)}"


def path_part(name: object) -> str:
    """Return a name or an id as one part of a path."""
    # A name of dots only would change the path.
    if not isinstance(name, str) or not name.strip("."):
        raise invalid("name or id", "the client", "a text of at least one letter or digit", name)
    return quote(name, safe="", errors="replace")


def check_seconds(timeout: object, owner: str) -> float:
    """Return a time limit as a float; refuse an invalid one."""
    seconds = as_float(timeout)
    if not 0 < seconds < math.inf:
        raise invalid("timeout", owner, "a number of seconds above 0", timeout)
    return seconds
