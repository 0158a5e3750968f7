"""Keys, roles, scopes, rates, sizes, headers, and what pages of other sites may not do."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from clusterbandits.service.database import Database
from clusterbandits.service.guard import Rates
from clusterbandits.service.keys import KeyRing, add_key, list_keys, revoke_key
from clusterbandits.service.refusals import RefusedError
from tests.service.conftest import BOTH
from tests.service.running import Served, serving

GROUPS = {"red": ["a", "b"]}


def keys(database: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clusterbandits", "keys", *arguments, "--database", database]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", params=BOTH)
def secured(
    request: pytest.FixtureRequest,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Served, str]]:
    folder, address = tmp_path_factory.mktemp("secured"), new_database(request.param)
    with serving("--database", address, folder=folder) as served:
        for name in ("ads", "other"):
            served.post("/v1/experiments", {"name": name, "groups": GROUPS}, 201)
        yield served, address


def new_key(address: str, role: str) -> str:
    database = Database(address)
    with database.connected() as connection:
        key = add_key(connection, role, [role])
    database.dispose()
    return key


def send(served: Served, key: str | None, method: str, path: str, body: Any = None) -> httpx.Response:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return httpx.request(method, served.url + path, headers=headers, json=body)


@pytest.mark.parametrize("key", [None, "x", "cb_000000000000_" + "A" * 43, "cb_é"])
def test_without_a_valid_key_nothing_is_told(secured: tuple[Served, str], key: str | None) -> None:
    served, _ = secured
    for method, path in (
        ("GET", "/v1/experiments"),
        ("POST", "/v1/rewards"),
        ("GET", "/metrics"),
        ("GET", "/v1/x"),
    ):
        headers = {} if key is None else {b"Authorization": b"Bearer " + key.encode()}
        answer = httpx.request(method, served.url + path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/health", "/ready", "/", "/openapi.json", "/docs"):
        assert send(served, None, "GET", path).status_code == 200


def test_a_key_does_what_its_roles_allow(secured: tuple[Served, str]) -> None:
    served, address = secured
    found = {}
    for role in ("decide", "reward", "read", "admin"):
        found[role] = new_key(address, role)
    served.wait_for_key(found["admin"])
    one = served.post("/v1/experiments/ads/decisions")["decisions"][0]["id"]
    calls = {
        "decide": ("POST", "/v1/experiments/ads/decisions", {}),
        "reward": ("POST", f"/v1/decisions/{one}/reward", {"value": 1}),
        "read": ("GET", "/v1/experiments/ads", None),
        "admin": ("POST", "/v1/experiments/ads/resume", None),
    }
    for needed, call in calls.items():
        for role, key in found.items():
            expected = 200 if role in {needed, "admin"} else 403
            assert send(served, key, *call).status_code == expected, (needed, role)
    assert send(served, found["read"], "GET", "/metrics").status_code == 200
    assert send(served, found["decide"], "GET", "/v1/me").json()["roles"] == ["decide"]


def test_a_key_may_be_for_some_experiments_alone(secured: tuple[Served, str]) -> None:
    served, address = secured
    key = keys(address, "add", "scoped", "--role", "admin", "--experiment", "ads").stdout.strip()
    served.wait_for_key(key)
    other = served.post("/v1/experiments/other/decisions")["decisions"][0]["id"]
    assert send(served, key, "POST", "/v1/experiments/ads/decisions", {}).status_code == 200
    for method, path, body in (
        ("GET", "/v1/experiments/other", None),
        ("POST", "/v1/experiments/other/decisions", {}),
        ("POST", f"/v1/decisions/{other}/reward", {"value": 1}),
        ("GET", f"/v1/decisions/{other}", None),
        ("GET", "/v1/experiments/other/export", None),
        ("POST", "/v1/experiments", {"name": "third", "groups": GROUPS}),
    ):
        assert send(served, key, method, path, body).status_code == 403, path
    listed = send(served, key, "GET", "/v1/experiments").json()["experiments"]
    assert [one["name"] for one in listed] == ["ads"]
    many = send(served, key, "POST", "/v1/rewards", {"rewards": [{"id": other, "value": 1}]}).json()
    assert many["results"][0]["code"] == 403


def test_a_revoked_key_is_refused(secured: tuple[Served, str]) -> None:
    served, address = secured
    key = keys(address, "add", "gone", "--role", "read").stdout.strip()
    served.wait_for_key(key)
    assert send(served, key, "GET", "/v1/experiments").status_code == 200
    assert keys(address, "revoke", key.split("_")[1]).returncode == 0
    served.wait_for_key(key, 401)
    assert send(served, key, "GET", "/v1/experiments").status_code == 401
    assert keys(address, "revoke", key.split("_")[1]).returncode == 0
    assert keys(address, "revoke", "nonsense").returncode == 2
    shown = keys(address, "list")
    assert "gone" in shown.stdout
    assert key.split("_", 2)[2] not in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert keys(address, "add", "x", "--role", "nonsense").returncode == 2


def test_secrets_are_not_stored(database: Database) -> None:
    with database.connected() as connection:
        key = add_key(connection, "one", ["read"])
        (stored,) = list_keys(connection)
        assert key.split("_", 2)[2] not in repr(stored)
        ring = KeyRing()
        ring.refresh(connection)
        assert ring.find(key) is not None
        assert ring.find(key[:-1] + ("A" if key[-1] != "A" else "B")) is None
        revoke_key(connection, stored.id)
        ring.refresh(connection)
        assert ring.find(key) is None


def test_every_answer_has_security_headers(secured: tuple[Served, str]) -> None:
    served, _ = secured
    for path in ("/", "/v1/experiments", "/v1/nothing", "/health", "/docs"):
        headers = send(served, served.key, "GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe-inline" not in headers["content-security-policy"] or path == "/docs"
        assert "server" not in headers


@pytest.mark.parametrize("path", ["/", "/docs", "/health", "/ready", "/openapi.json", "/page/main.js"])
def test_monitors_may_ask_for_headers_alone(secured: tuple[Served, str], path: str) -> None:
    with httpx.Client(base_url=secured[0].url) as client:
        whole, headers = client.get(path), client.head(path)
    assert (headers.status_code, headers.content) == (200, b"")
    assert headers.headers["content-length"] == str(len(whole.content))
    assert headers.headers["content-security-policy"] == whole.headers["content-security-policy"]


def test_the_answer_to_what_is_not_http_has_security_headers(secured: tuple[Served, str]) -> None:
    with socket.create_connection(("127.0.0.1", secured[0].port), timeout=10) as line:
        line.sendall(b"GET\r\n\r\n")
        answer = b"".join(iter(lambda: line.recv(65536), b"")).lower()
    assert answer.startswith(b"http/1.1 400 ")
    assert b"\r\nx-content-type-options: nosniff\r\n" in answer
    assert b"\r\ncontent-security-policy: default-src 'none';" in answer


@pytest.mark.parametrize("path", ["/v1/experiments/", "/v1/me/", "/page", "/docs/"])
def test_no_address_leads_to_another_host_or_scheme(secured: tuple[Served, str], path: str) -> None:
    for method in ("GET", "POST"):
        answer = secured[0].client.request(method, path, headers={"Host": "elsewhere.example"})
        assert answer.status_code in {404, 405}
        assert "location" not in answer.headers


def test_requests_have_a_size_limit(secured: tuple[Served, str]) -> None:
    served, _ = secured
    body = b'{"rewards": [' + b" " * 2_000_000 + b"]}"
    assert served.client.post("/v1/rewards", content=body).status_code == 413

    def chunks() -> Iterator[bytes]:
        for _ in range(30):
            yield b" " * 100_000

    assert served.client.post("/v1/rewards", content=chunks()).status_code == 413


def test_no_trace_of_a_failure_is_told(secured: tuple[Served, str]) -> None:
    served, _ = secured
    for path in ("/v1/experiments/%00", "/v1/experiments/..%2f..", "/page/..%2fapp.py", "/docs/../app.py"):
        answer = send(served, served.key, "GET", path)
        assert answer.status_code == 404
        assert "Traceback" not in answer.text


def test_a_bucket_is_emptied_and_filled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("clusterbandits.service.guard.time.monotonic", lambda: now[0])
    rates = Rates(10)
    for _ in range(20):
        rates.take("one")
    with pytest.raises(RefusedError) as refused:
        rates.take("one")
    assert refused.value.code == 429
    rates.take("another")
    now[0] += 0.11
    rates.take("one")
    with pytest.raises(RefusedError):
        rates.take("one")


def test_a_rate_limit_per_key(tmp_path: Path) -> None:
    with serving("--data", str(tmp_path / "data"), "--rate", "5", folder=tmp_path) as served:
        statuses = [served.client.get("/v1/me").status_code for _ in range(30)]
        assert set(statuses) == {200, 429}
        refused = served.client.get("/v1/me")
        assert refused.headers["retry-after"] == "1"
        assert served.client.get("/health").status_code == 200


def test_without_keys_only_this_machine_is_served(tmp_path: Path) -> None:
    with serving("--data", str(tmp_path / "data"), "--insecure", folder=tmp_path) as served:
        assert served.client.get("/v1/experiments").status_code == 200
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Host": ""}):
            assert served.client.get("/v1/experiments", headers=headers).status_code in {400, 403}
        own = {"Origin": served.url}
        assert served.client.get("/v1/experiments", headers=own).status_code == 200
    options = ("--data", str(tmp_path / "data"), "--insecure", "--host", "127.0.0.2")
    with serving(*options, folder=tmp_path) as served:
        assert served.client.get("/v1/experiments").status_code == 200
        assert served.client.get("/v1/experiments", headers={"Host": "127.0.0.3"}).status_code == 403
    command = [sys.executable, "-m", "clusterbandits", "serve", "--insecure", "--host", "0.0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "loopback" in done.stderr
