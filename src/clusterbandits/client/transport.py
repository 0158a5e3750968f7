"""The layer between ``exchange`` and httpx: addresses, headers, answers and failures, for both clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clusterbandits.client.exchange import JSON, Answer, Link, Lost, Outcome, Send, check_seconds
from clusterbandits.errors import ServiceError
from clusterbandits.extras import extras_explained
from clusterbandits.validate import Described, invalid, whole

if TYPE_CHECKING:
    import httpx

_MOST_RETRIES = 1_000


def import_httpx() -> Any:
    """Return httpx, or say how to install it."""
    with extras_explained():
        import httpx
    return httpx


def checked_link(url: object, timeout: object, retries: object) -> Link:
    """Check the address and the limits of a client, and return them."""
    try:
        parts = urlsplit(str(url))
        port_is_right = parts.port is None or parts.port > 0
    except ValueError:
        port_is_right = False
    if not (port_is_right and parts.scheme in {"http", "https"} and parts.hostname):
        raise invalid("url", "Client", "an address such as http://127.0.0.1:8000", url)
    if parts.username is not None or parts.query or parts.fragment:
        given = Described("one with more than that")
        raise invalid("url", "Client", "an address without user name, password, query or fragment", given)
    most = whole("retries", "Client", retries, 0, _MOST_RETRIES)
    return Link(str(url).rstrip("/"), check_seconds(timeout, "Client"), most)


def headers_with(key: object) -> dict[str, str]:
    """Return the headers of every request."""
    headers = {"User-Agent": "clusterbandits-client"}
    if key is None:
        return headers
    if not (isinstance(key, str) and key.isascii() and key.isprintable() and key.strip()):
        # The key itself must not appear in a message.
        raise invalid(
            "key", "Client", "printable ASCII text, as 'keys add' prints it", Described("other data")
        )
    return {**headers, "Authorization": f"Bearer {key.strip()}"}


def arguments(link: Link, step: Send, closed: bool) -> dict[str, Any]:
    """Return the arguments of a request for httpx."""
    if closed:
        raise ServiceError("The client is closed. Create a new one.")
    request = step.request
    return {
        "method": request.method,
        "url": link.url + request.path,
        "params": request.query or None,
        "content": request.body,
        "headers": {} if request.body is None else {"Content-Type": JSON},
        "timeout": step.timeout,
    }


def answer_of(response: httpx.Response, step: Send) -> Answer:
    """Return an answer of httpx whose body was read into memory or a file."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    saved = step.request.into is not None and response.status_code == 200
    body = b"" if saved else response.content
    wait, warning = (response.headers.get(name) for name in ("retry-after", "clusterbandits-warning"))
    return Answer(response.status_code, kind, body, wait, warning)


def failure_of(error: Exception, step: Send) -> Outcome:
    """Return errors that allow a retry and errors of the file system as outcomes; raise all others."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return Lost(f"no answer within {step.timeout:.3g} s")
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError | httpx.ProxyError):
        return Lost(str(error) or type(error).__name__)
    if isinstance(error, OSError):
        return error
    if isinstance(error, httpx.HTTPError):
        raise ServiceError(f"The request cannot be sent: {error}.") from error
    raise error
