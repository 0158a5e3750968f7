"""When a request is sent again, after how long, and what is said in the end."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest

import clusterbandits as cb
from clusterbandits.client.exchange import Answer, Link, Lost, Outcome, Pause, Request, Send
from tests.service.fake_service import URL


def steps(link: Link, outcomes: list[Outcome]) -> Iterator[Any]:
    """Yield the steps of a call that receives these outcomes, then its result or error."""
    call = link.ask(Request("GET", "/health"))
    outcome: Outcome = None
    waiting = iter(outcomes)
    while True:
        try:
            step = call.send(outcome)
        except StopIteration as end:
            yield end.value
            return
        except cb.ServiceError as error:
            yield error
            return
        yield step
        outcome = next(waiting) if isinstance(step, Send) else None


def still() -> float:
    return 0.0


def unavailable(retry_after: str | None = None) -> Answer:
    return Answer(503, "application/json", b'{"detail": "The database is not available."}', retry_after)


OK = Answer(200, "application/json", b'{"status": "ok"}')


@pytest.mark.parametrize("jitter", [0.0, 0.4, 1.0])
def test_waits_double_up_to_five_seconds(jitter: float) -> None:
    link = Link(URL, 1e6, 9, still, lambda: jitter)
    taken = list(steps(link, [Lost("refused")] * 9 + [OK]))
    waits = [step.seconds for step in taken if isinstance(step, Pause)]
    longest = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
    assert waits == pytest.approx([most * (0.5 + 0.5 * jitter) for most in longest])
    assert taken[-1] == {"status": "ok"}


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_these_answers_are_retried(status: int) -> None:
    taken = list(steps(Link(URL, 30, 1, still), [Answer(status, "text/html", b"<p>"), OK]))
    assert taken[-1] == {"status": "ok"}


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 409, 410, 413, 422, 500])
def test_these_answers_are_errors(status: int) -> None:
    body = b'{"detail": "This cannot be done."}'
    *_, error = steps(Link(URL, 30, 8, still), [Answer(status, "application/json", body)])
    assert (str(error), error.code) == ("This cannot be done.", status)
    *_, error = steps(Link(URL, 30, 8, still), [Answer(status, "text/html", b"<p>no</p>")])
    assert (str(error), error.code) == (f"{URL} answered with status {status}.", status)


@pytest.mark.parametrize(
    "other", [Answer(200, "text/html", b"<p>"), Answer(200, "application/json", b"{"), Answer(204, "", b"")]
)
def test_other_servers_are_noticed(other: Answer) -> None:
    *_, error = steps(Link(URL, 30, 8, still), [other])
    assert URL in str(error)
    assert "not from a clusterbandits service" in str(error)


def test_the_number_of_retries_is_kept() -> None:
    taken = list(steps(Link(URL, 1e6, 2, still), [unavailable()] * 9))
    assert sum(isinstance(step, Send) for step in taken) == 3
    assert str(taken[-1]) == "The database is not available. (3 attempts in 0.0 s)"
    assert taken[-1].code == 503


def test_no_attempt_begins_after_the_time_limit() -> None:
    now, sent = [0.0], 0
    link = Link(URL, 10.0, 1000, lambda: now[0], lambda: 1.0)
    for step in steps(link, [Lost("refused")] * 1001):
        if isinstance(step, Send):
            assert step.timeout <= min(5.0, 10.0 - now[0])
            sent += 1
            now[0] += 0.25
        elif isinstance(step, Pause):
            now[0] += step.seconds
    assert isinstance(step, cb.ServiceError)
    sentence = rf"The service at {URL} does not answer: refused \({sent} attempts in \d\.\d s\)\."
    assert re.fullmatch(sentence, str(step))
    assert step.code is None
    assert sent > 3
    assert now[0] < 10.0


@pytest.mark.parametrize("retry_after", ["3", " 3 "])
def test_retry_after_is_honoured(retry_after: str) -> None:
    taken = list(steps(Link(URL, 30, 8, still, lambda: 0.5), [unavailable(retry_after), OK]))
    assert taken[1].seconds == pytest.approx(3.025)


def test_retry_after_may_be_a_date() -> None:
    later = formatdate(time.time() + 10, usegmt=True)
    taken = list(steps(Link(URL, 30, 8, still), [unavailable(later), OK]))
    assert 8 < taken[1].seconds < 11


@pytest.mark.parametrize("retry_after", ["soon", "-3", "", "Mon, 99 Jan"])
def test_unreadable_retry_after_is_ignored(retry_after: str) -> None:
    taken = list(steps(Link(URL, 30, 8, still, lambda: 1.0), [unavailable(retry_after), OK]))
    assert taken[1].seconds == pytest.approx(0.1)


@pytest.mark.parametrize("retry_after", ["31", "9" * 400])
def test_retry_after_beyond_the_time_limit_is_an_error_at_once(retry_after: str) -> None:
    taken = list(steps(Link(URL, 30, 8, still), [unavailable(retry_after)]))
    assert taken[1].code == 503
