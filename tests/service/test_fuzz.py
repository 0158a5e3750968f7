"""Junk: every request is served or refused with one sentence, and what is refused changes nothing."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import settings
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import positive_data_acceptance

from clusterbandits.service.app import create_app
from clusterbandits.service.settings import ServiceSettings
from fuzz.answers import check_sentence, strict_json
from fuzz.service import ADDRESSES, CONTENT_TYPES, HEADERS, METHODS, QUERIES
from fuzz.watch import Watch
from fuzz.wire import Answer, Request
from tests.hostile import HOSTILE
from tests.processes import PATIENCE
from tests.service.running import Served, serving

#: Requests to every operation of the API, on each of two databases.
EXAMPLES = int(os.environ.get("CLUSTERBANDITS_EXAMPLES", "8"))
described = schemathesis.openapi.from_dict(create_app(ServiceSettings("sqlite:///unused.db")).openapi())
GROUPS = {"red": ["a", "b"], "blue": ["c"]}
#: The experiments that requests of a kind are about: windows and states of the others stay as they are.
SUBJECTS = {"PATCH": "changed", "pause": "changed", "resume": "changed", "archive": "ended"}
#: JSON texts of all kinds, and some that are not JSON or not in range.
VALUES = (
    *("null", "true", "false", "0", "-1", "1", "0.5", "1e-320", "1e308", "1e400", "-1e400", "9" * 400),
    *("9" * 5000, "NaN", "Infinity", "-Infinity", "01", "+1", ".5", "0x10", "1_000", "", "''", "undefined"),
    *('""', '"a"', '"0"', '"nan"', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\x00"', '"a', '"\t"'),
    *(
        "[]",
        "[null]",
        "[[]]",
        '["a"]',
        "[0]",
        "{}",
        '{"a": 1}',
        '{"a": null}',
        '{"": ""}',
        '{"a": 1, "a": 2}',
    ),
    *("[" * 200 + "]" * 200, "[" * 100_000, '{"a":' * 300 + "1" + "}" * 300, json.dumps("x" * 100_000)),
    *("18446744073709551616", "1e999999999", "-0.0", "1E5", "{]", "[1,]", "/* */ 1"),
)


@pytest.fixture(scope="module")
def watch(served: Served) -> Iterator[Watch]:
    """A service with some experiments, decisions and rewards."""
    for name in ("ads", "changed", "ended"):
        served.post("/v1/experiments", {"name": name, "groups": GROUPS, "combine": "last"}, 201)
        decided = served.post(f"/v1/experiments/{name}/decisions", {"count": 5})["decisions"]
        for one in decided[:3]:
            served.post(f"/v1/decisions/{one['id']}/reward", {"value": 1})
    watched = Watch(served.port, served.key)
    yield watched
    watched.close()
    errors = [line for line in served.log.read_text().splitlines() if '"level": "error"' in line]
    assert not errors, errors[0]


@described.exclude(path_regex="/live$").parametrize()
@settings(max_examples=EXAMPLES)
def test_requests_made_from_the_description(case: Any, served: Served, watch: Watch) -> None:
    valid = not case.meta.is_negative_at(ParameterLocation.PATH)
    subject = SUBJECTS.get(case.method, SUBJECTS.get(case.path.rpartition("/")[2], "ads"))
    if "name" in case.path_parameters and valid:
        case.path_parameters["name"] = subject
    if "id" in case.path_parameters and valid:
        case.path_parameters["id"] = newest(watch)
    keyless = case.meta.is_negative_at(ParameterLocation.HEADER)
    before = watch.state(subject)
    # Whether an arm, a policy or a group exists is not in the description.
    response = case.call_and_validate(
        base_url=served.url,
        headers={} if keyless else {"Authorization": f"Bearer {served.key}"},
        excluded_checks=[positive_data_acceptance],
        timeout=PATIENCE,
    )
    if response.status_code >= 400:
        check_sentence(Answer(response.status_code, {"content-type": "application/json"}, response.content))
        assert watch.state(subject) == before


def newest(watch: Watch) -> str:
    found = strict_json(watch.read("/v1/experiments/ads/decisions?limit=1"))
    return str(found["decisions"][0]["id"])


def fields(schema: Any, document: Any, depth: int = 3) -> Iterator[tuple[str, ...]]:
    """Yield the places of all values in a request body; ``*`` stands for any key or item."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    yield ()
    inside = dict(schema.get("properties", {}))
    for some in (schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()):
        inside |= {"*": some} if isinstance(some, dict) else {}
    if "items" in schema:
        inside["*"] = schema["items"]
    if depth:
        for name, part in inside.items():
            yield from ((name, *rest) for rest in fields(part, document, depth - 1))
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from (place for place in fields(part, document, depth) if place)


def bodies(watch: Watch) -> dict[tuple[str, str], Any]:
    """Return a valid body for every operation that takes one."""
    ads = "/v1/experiments/ads"
    return {
        ("POST", "/v1/experiments"): {
            "name": "never",
            "groups": GROUPS,
            "widths": {"red": 0.1},
            "policy": "kl-ucb",
            "settings": {"a": 3},
            "family": "bernoulli",
            "window": 60,
            "default_reward": 0,
            "combine": "sum",
            "explore": 0.1,
            "history": {"a": {"pulls": 10, "total": 3}},
        },
        ("PATCH", "/v1/experiments/changed"): {
            "widths": {"red": 0.2},
            "policy": "ucb1",
            "settings": {},
            "window": 86400,
            "default_reward": 1,
            "explore": 0.2,
        },
        ("POST", f"{ads}/arms"): {"arm": "new", "group": "red"},
        ("POST", f"{ads}/arms/retire"): {"arm": "a"},
        ("POST", f"{ads}/arms/restore"): {"arm": "a"},
        ("POST", f"{ads}/decisions"): {"available": ["a", "b"], "count": 2, "key": "k", "note": {"x": 1}},
        ("POST", f"/v1/decisions/{newest(watch)}/reward"): {"value": 1, "key": "k"},
        ("POST", "/v1/rewards"): {"rewards": [{"id": newest(watch), "value": 1, "key": "k"}]},
    }


def replaced(body: Any, place: tuple[str, ...], text: str) -> str | None:
    """Return a body as JSON, in which the value at a place is a text; None where there is no such place."""
    if not place:
        return text
    if not isinstance(body, dict | list) or not body:
        return None
    first, *rest = place
    parts = dict(enumerate(body)) if isinstance(body, list) else dict(body)
    key = next(iter(parts)) if first == "*" else first
    inside = replaced(parts[key], tuple(rest), text) if key in parts else None
    if inside is None:
        return None
    written = {name: inside if name == key else json.dumps(part) for name, part in parts.items()}
    if isinstance(body, list):
        return f"[{', '.join(written.values())}]"
    return f"{{{', '.join(f'{json.dumps(name)}: {part}' for name, part in written.items())}}}"


def test_wrong_values_in_every_field_of_every_request(watch: Watch) -> None:
    tried, hostile = 0, itertools.cycle(map(json.dumps, HOSTILE))
    for (method, path), body in bodies(watch).items():
        operation = watch.description.operation(method, path)
        assert operation is not None
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        for place in sorted(set(fields(schema, watch.description.document))):
            for text in (*VALUES, *itertools.islice(hostile, 5)):
                raw = replaced(body, place, text)
                if raw is not None:
                    watch.send(Request(method, path, raw.encode()), "changed" if "changed" in path else "ads")
                    tried += 1
    assert tried > 1500


def test_unknown_and_missing_fields_are_refused(watch: Watch) -> None:
    for (method, path), body in bodies(watch).items():
        changes = [{**body, "nobody": 1}, {**body, "": None}, {key.upper(): one for key, one in body.items()}]
        for changed in changes:
            request = Request(method, path, json.dumps(changed).encode())
            assert watch.send(request, "ads").status == 422


def test_bodies_that_are_not_the_expected_json(watch: Watch) -> None:
    texts = (
        *(
            b"",
            b" ",
            b"\0",
            b"\xef\xbb\xbf{}",
            b"\xff\xfe{\0}\0",
            b"\xff",
            b"{",
            b'{"rewards": []',
            b"[" * 1_900_000,
        ),
        *(
            b'{"rewards": []}' * 2,
            b'{"rewards": [' + b" " * 2_000_000 + b"]}",
            b"rewards=1",
            b"--x\r\n\r\n1\r\n--x--",
        ),
        *(b'{"rewards": [], "rewards": 1}', b'{"rewards": [' + b'{"id":"","value":0},' * 1001 + b"0]}"),
    )
    for text in texts:
        assert watch.send(Request("POST", "/v1/rewards", text), "ads").status in {413, 422}
    # Of a key that is there twice, the last value counts.
    answer = watch.send(Request("POST", "/v1/rewards", b'{"rewards": 1, "rewards": []}'), "ads")
    assert answer.status == 200
    body = json.dumps({"rewards": []}).encode()
    for kind in CONTENT_TYPES:
        request = Request("POST", "/v1/rewards", body, ((b"Content-Type", kind),))
        assert watch.send(request, "ads").status in {200, 422}


def test_addresses_methods_queries_and_headers(watch: Watch) -> None:
    known = [
        path.replace("{name}", "ads").replace("{id}", "1-00000000")
        for path in watch.description.document["paths"]
    ]
    for address in (*ADDRESSES, *(f"/v1/experiments/{quote(text, safe='')}" for text in HOSTILE)):
        watch.send(Request("GET", address), "ads")
        watch.send(Request("POST", address, b"{}"), "ads")
    for path in known:
        for method in METHODS[3:]:
            probe = method == "HEAD" and path in {"/health", "/ready"}
            assert watch.send(Request(method, path), "ads").status == (200 if probe else 405)
    for path in ("/v1/experiments", "/v1/experiments/ads/decisions", "/v1/experiments/ads/export"):
        for query in QUERIES:
            watch.send(Request("GET", f"{path}?{query}"), "ads")
    for header in HEADERS:
        watch.send(Request("GET", "/v1/me", headers=(header,)), "ads")
        refused = watch.send(
            Request("POST", "/v1/experiments/ads/pause", headers=(header,), key=False), "ads"
        )
        assert refused.status == 401


def test_what_is_not_http(watch: Watch) -> None:
    whole = Request("POST", "/v1/experiments/ads/decisions", b'{"count": 1}').raw(watch.line.key)
    head, _, body = whole.partition(b"\r\n\r\n")
    chunked = head.replace(b"Content-Length", b"X") + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    junk = (
        *(
            b"GET\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\0" * 100,
        ),
        *(b"GET /\xff HTTP/1.1\r\n\r\n", b"GET http://[::1 HTTP/1.1\r\n\r\n", b"FOO / HTTP/1.1\r\n\r\n"),
        *(
            whole.replace(b"HTTP/1.1", b"HTTP/9.9"),
            whole.replace(b"Host", b"Ho\0st"),
            whole.replace(b"\r\n", b"\n\0"),
        ),
        *(
            head + b"\r\nContent-Length: 12\r\n\r\n" + body,
            head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + body,
        ),
        *(
            whole.replace(b"Length: 12", b"Length: -1"),
            whole.replace(b"Length: 12", b"Length: 9" + b"9" * 30),
        ),
        *(
            chunked + b"2\r\n{}\r\nzz\r\n",
            chunked + b"-2\r\n{}\r\n0\r\n\r\n",
            chunked + b"ffffffffffffffffff\r\n{}",
        ),
        *(b"GET / HTTP/1.1\r\nX: " + b"x" * 400_000, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100_000),
    )
    request = Request("POST", "/")
    for raw in junk:
        answer = watch.send_raw(raw, request, "ads", patience=2)
        # A reset may overtake the answer to a request that was still being sent.
        assert answer is not None or len(raw) > 100_000, raw[:200]
        if answer is not None:
            assert answer.status == 400, raw[:200]
            check_sentence(answer)


def test_an_answer_on_a_connection_is_that_of_its_request(served: Served, watch: Watch) -> None:
    """Many requests in one piece of data, with the beginning of another; and garbage after a request."""
    del watch
    served.post("/v1/experiments", {"name": "piped", "groups": {"red": ["a", "b"]}}, 201)
    body = json.dumps({"note": {"text": "x" * 3000}}).encode()
    one = Request("POST", "/v1/experiments/piped/decisions", body).raw(served.key)

    def exchange(*parts: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", served.port), timeout=2) as line:
            for part in parts:
                line.sendall(part)
            answer = b""
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                while part := line.recv(65_536):
                    answer += part
        return answer

    answer = exchange(one * 39 + one[:20], one[20:])
    assert answer.count(b"HTTP/1.1 200 ") == answer.count(b"HTTP/1.1 ") == 40
    # The decision is made, so its connection must not end with a refusal.
    assert b"HTTP/1.1 400 " not in exchange(one + b"\0garbage\r\n\r\n")
    assert served.get("/v1/experiments/piped")["decisions"] == 41


def test_a_head_without_end_is_not_kept_in_memory(served: Served) -> None:
    def send_all(line: socket.socket, part: bytes) -> None:
        line.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(1_000):
            line.sendall(part)
            time.sleep(0.001)

    for part in (b"x" * 10_000, b"X: y\r\n" * 1_500):
        # The connection is closed long before all of it is sent.
        with (
            socket.create_connection(("127.0.0.1", served.port)) as line,
            pytest.raises((BrokenPipeError, ConnectionResetError)),
        ):
            send_all(line, part)


def test_what_the_engine_refuses_changes_nothing(watch: Watch) -> None:
    def send(path: str, body: object = None) -> Answer:
        raw = b"" if body is None else json.dumps(body).encode()
        return watch.send(Request("POST", path, raw), "ads", thorough=True)

    one = "/v1/experiments/refusing"
    created = {"name": "refusing", "groups": GROUPS, "policy": "thompson", "explore": 0.5}
    assert send("/v1/experiments", created).status == 201
    identity = strict_json(send(f"{one}/decisions", {}).body)["decisions"][0]["id"]
    assert send(f"/v1/decisions/{identity}/reward", {"value": 1}).status == 200
    for count in (1, 2, 1000):
        assert send(f"{one}/decisions", {"count": count, "available": ["a", "nobody"]}).status == 422
        assert send(f"{one}/decisions", {"count": count, "available": []}).status == 422
    assert send(f"/v1/decisions/{identity}/reward", {"value": 0}).status == 409
    assert send(f"/v1/decisions/{identity}/reward", {"value": 2}).status == 422
    assert send("/v1/experiments", {**created, "explore": 0.6}).status == 409
    assert send(f"{one}/arms", {"arm": "a", "group": "blue"}).status == 409
    assert send(f"{one}/arms", {"arm": "z", "group": "nowhere"}).status == 422
    for arm in "ab":
        assert send(f"{one}/arms/retire", {"arm": arm}).status == 200
    assert send(f"{one}/arms/retire", {"arm": "c"}).status == 409
    assert send(f"{one}/decisions", {"count": 2, "available": ["a", "b"]}).status == 422
    for change in ("pause", "archive"):
        assert send(f"{one}/{change}").status == 200
        for count in (1, 2, 1000):
            assert send(f"{one}/decisions", {"count": count, "key": "k", "note": {"x": 1}}).status == 409
    assert send(f"{one}/resume").status == 409


def test_exports_survive_that_their_folder_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving("--data", str(tmp_path / "data"), "--insecure", folder=tmp_path) as served:
        served.post("/v1/experiments", {"name": "ads", "groups": GROUPS}, 201)
        for _ in range(2):
            assert served.client.get("/v1/experiments/ads/export").status_code == 200
            (folder,) = tmp_path.glob("clusterbandits-exports-*")
            # The file is removed after it was sent.
            while any(folder.iterdir()):
                time.sleep(0.01)
            shutil.rmtree(folder)


def test_a_request_that_is_cut_off_is_not_served(served: Served, watch: Watch) -> None:
    whole = Request("POST", "/v1/experiments/ads/decisions", b"{}").raw(watch.line.key)
    head, _, _ = whole.partition(b"\r\n\r\n")
    chunked = head.replace(b"Content-Length", b"X") + b"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
    before = watch.state("ads")
    for raw in (
        whole.replace(b"Length: 2", b"Length: 100"),
        chunked,
        *(whole[:end] for end in range(0, len(whole), 20)),
    ):
        with socket.create_connection(("127.0.0.1", served.port)) as line:
            line.sendall(raw)
            time.sleep(0.02)
    time.sleep(0.3)
    assert watch.state("ads") == before


def test_a_request_to_change_the_protocol_is_an_ordinary_one(watch: Watch) -> None:
    upgrade = ((b"Upgrade", b"websocket"), (b"Connection", b"Upgrade"), (b"Sec-WebSocket-Key", b"x" * 24))
    assert watch.send(Request("GET", "/v1/live", headers=upgrade, key=False), "ads").status == 401
    assert watch.send(Request("GET", "/v1/me", headers=upgrade), "ads").status == 200


def test_large_numbers_and_deep_notes_can_be_read_again(watch: Watch) -> None:
    def send(path: str, body: object) -> int:
        return watch.send(Request("POST", path, json.dumps(body).encode()), "ads").status

    deep: Any = 1
    for _ in range(260):
        deep = {"a": deep}
    for note in ({"a": 2**64}, deep, {"a": float("nan")}, {"\ud800": 1}, {"a": "x" * 4000}):
        assert send("/v1/experiments/ads/decisions", {"note": note}) == 422
    for note in ({"a": 2**63}, {"a": -1e308, "\0": "\0"}, {"a": [[[[1]]]]}):
        assert send("/v1/experiments/ads/decisions", {"note": note}) == 200
    assert (
        send("/v1/experiments", {"name": "seeded", "groups": GROUPS, "settings": {"seed": 2**128 - 1}}) == 201
    )
    history = {"a": {"pulls": 10, "total": 4}}
    assert (
        send("/v1/experiments", {"name": "hier", "groups": GROUPS, "policy": "hier-ts", "history": history})
        == 201
    )
    for name in ("ads", "seeded", "hier"):
        for view in (
            "",
            "/decisions",
            "/changes",
            "/history",
            "/explain",
            "/live",
            "/export?unrewarded=true",
        ):
            assert watch.send(Request("GET", f"/v1/experiments/{name}{view}"), "ads").status == 200


def test_a_part_of_a_file_is_not_sent(watch: Watch) -> None:
    for path in ("/v1/experiments/ads/export", "/", "/page/page.css"):
        for part in (b"bytes=0-1", b"bytes=9-1", b"x", b"bytes=" + b"0-1," * 1000):
            assert watch.send(Request("GET", path, headers=((b"Range", part),)), "ads").status == 200


def test_a_late_reward_is_refused_and_recorded(watch: Watch) -> None:
    def send(path: str, body: object) -> Answer:
        return watch.send(Request("POST", path, json.dumps(body).encode()), "ads")

    send("/v1/experiments", {"name": "brief", "groups": GROUPS, "window": 0.05})
    identity = strict_json(send("/v1/experiments/brief/decisions", {}).body)["decisions"][0]["id"]
    time.sleep(0.1)
    watch.settle()
    before = watch.position()
    for _ in range(2):
        assert send(f"/v1/decisions/{identity}/reward", {"value": 1}).status == 410
        assert watch.position() == before + 1
    assert send(f"/v1/decisions/{identity}/reward", {"value": 2}).status == 422
    assert strict_json(watch.read("/v1/experiments/brief"))["late"] == 1
    assert watch.position() == before + 1
