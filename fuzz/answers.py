"""Checks of all answers of the service: no failure, as in the description, errors of one sentence."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from starlette.routing import compile_path

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from fuzz.wire import Answer, Request

_LONGEST = 600
#: The statuses of errors before an operation is found, or in all operations.
_ANYWHERE = {400, 405}
#: The statuses of addresses that are not in the description: pages, redirections, and errors.
_ELSEWHERE = {200, 304, 307, 400, 401, 404, 405, 413, 416}


class Description:
    """The OpenAPI description of a service, against which answers are checked."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.paths: list[tuple[re.Pattern[str], Mapping[str, Any]]] = [
            (compile_path(path)[0], operations) for path, operations in document["paths"].items()
        ]
        self._validators: dict[str, Any] = {}

    def check(self, request: Request, answer: Answer) -> None:
        """Check an answer to a request."""
        try:
            self._check(request, answer)
        except AssertionError as error:
            shown = f"{request.method} {request.target[:300]} {list(request.headers)} {request.body[:1000]!r}"
            raise AssertionError(f"{shown}\n-> {answer.status} {answer.body[:1000]!r}\n{error}") from error

    def _check(self, request: Request, answer: Answer) -> None:
        # Only a few exports run at the same time; others are refused with 503.
        busy = answer.status == 503 and request.path.endswith("/export")
        assert answer.status < 500 or busy, "the service failed"
        if answer.status >= 400 and request.method != "HEAD":
            check_sentence(answer)
        if answer.status != 400:
            assert answer.headers.get("x-content-type-options") == "nosniff", "no security headers"
        operation = self.operation(request.method, request.path)
        if operation is None:
            assert answer.status in _ELSEWHERE, "an unexpected status"
        elif answer.status not in _ANYWHERE:
            described = operation["responses"].get(str(answer.status))
            assert described is not None, "an undocumented status"
            self._check_content(described.get("content", {}), answer)

    def operation(self, method: str, path: str) -> Mapping[str, Any] | None:
        """Return the operation that handles a request."""
        for pattern, operations in self.paths:
            if pattern.match(path):
                found: Mapping[str, Any] | None = operations.get(method.lower())
                return found
        return None

    def _check_content(self, content: Mapping[str, Any], answer: Answer) -> None:
        kind = answer.headers.get("content-type", "").partition(";")[0]
        assert kind in content, f"an undocumented content type {kind!r}"
        if kind == "application/json":
            schema = content[kind]["schema"]
            name = json.dumps(schema)
            if name not in self._validators:
                whole = {**schema, "components": self.document["components"]}
                self._validators[name] = jsonschema_rs.Draft202012Validator(whole)
            for error in self._validators[name].iter_errors(strict_json(answer.body)):
                raise AssertionError(f"the answer is not as described: {error.message[:500]}")


def strict_json(body: bytes) -> Any:
    """Return the data of strict JSON: no NaN, infinities or numbers outside the range of floats."""

    def refuse(word: str) -> None:
        raise AssertionError(f"the answer has {word}")

    def finite(text: str) -> float:
        assert math.isfinite(float(text)), f"the answer has {text}"
        return float(text)

    return json.loads(body.decode(), parse_constant=refuse, parse_float=finite)


def check_sentence(answer: Answer) -> None:
    """Check that an error message is one sentence."""
    kind = answer.headers.get("content-type")
    assert kind == "application/json", f"a refusal of type {kind!r}"
    data = strict_json(answer.body)
    assert list(data) == ["detail"], "a refusal without a sentence"
    sentence = data["detail"]
    assert isinstance(sentence, str), "a refusal without a sentence"
    assert 10 < len(sentence) <= _LONGEST, "a sentence of no or too many letters"
    assert sentence.isprintable(), "a sentence that cannot be printed"
    assert sentence[0].isupper(), "a sentence without a beginning"
    assert sentence.endswith((".", "?")), "a sentence without an end"
