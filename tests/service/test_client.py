"""The clients: one sentence per error, and the same behaviour with and without await."""

from __future__ import annotations

import inspect
import json
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

import clusterbandits as cb
from clusterbandits.client import Decision, RewardResult, exchange
from tests.service.fake_service import CALLS, URL, Handler, answer, both, broken, client


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits between attempts."""
    monkeypatch.setattr(exchange, "_FIRST_WAIT", 0.001)


def test_both_clients_have_the_same_methods() -> None:
    names = {name for name in vars(cb.Client) if not name.startswith("_")}
    assert names == {name for name in vars(cb.AsyncClient) if not name.startswith("_")}
    assert {name for name, _, _ in CALLS} | {"export", "close"} == names
    for name in names - {"close"}:
        one, other = getattr(cb.Client, name), getattr(cb.AsyncClient, name)
        assert inspect.signature(one) == inspect.signature(other)
        assert one.__doc__ == other.__doc__
        assert inspect.iscoroutinefunction(other)


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_both_clients_send_the_same_and_return_the_same(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    sent: list[tuple[str, str, bytes]] = []

    def record(request: httpx.Request) -> httpx.Response:
        sent.append((request.method, str(request.url), request.content))
        return answer(request)

    kwargs = {key: list(value) if key == "available" else value for key, value in kwargs.items()}
    one, other = both(record, name, *args, **kwargs)
    assert one == other
    assert sent[0] == sent[1]
    assert not isinstance(one, tuple), one


def test_requests_are_those_of_the_api() -> None:
    sent: list[httpx.Request] = []

    def record(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return answer(request)

    with client(record, key="cb_x") as one:
        one.create_experiment("ads", {"red": ("a", "b")}, widths={"red": 0.1}, window=None)
        one.change("ads", default_reward=None)
        one.decide("ads", available="ab", count=2, key="visit-17", note={"page": 3})
        one.reward("2f-9c41d07a", 1, key="order-3")
        one.experiment("a/b c")
    assert {request.headers["authorization"] for request in sent} == {"Bearer cb_x"}
    bodies = [json.loads(request.content) for request in sent[:4]]
    assert bodies[0] == {
        "name": "ads",
        "groups": {"red": ["a", "b"]},
        "widths": {"red": 0.1},
        "policy": "auto",
        "settings": {},
        "family": "bernoulli",
        "window": None,
        "default_reward": None,
        "combine": "first",
        "explore": 0.0,
        "history": {},
    }
    assert bodies[1] == {"default_reward": None}
    assert bodies[2] == {"available": ["a", "b"], "count": 2, "key": "visit-17", "note": {"page": 3}}
    assert bodies[3] == {"value": 1.0, "key": "order-3"}
    assert sent[4].url.raw_path == b"/v1/experiments/a%2Fb%20c"


def test_answers_are_data() -> None:
    with client(answer) as one:
        assert one.decide("ads") == Decision("2f-9c41d07a", "b", "red", None)
        assert one.decide("ads", count=1) == [Decision("2f-9c41d07a", "b", "red", None)]
        state = one.experiment("ads")
        assert (state.mean, state.arms[0].arm, state.groups[0].width, state.alarms) == (0.5, "b", None, ())
        assert one.decision("2f-9c41d07a").rewards == ()
        assert one.decisions("ads")[0].rewards is None
        assert one.reward("2f-9c41d07a", 1) == RewardResult("2f-9c41d07a", "counted", 1.0)


@pytest.mark.parametrize("body", [{"decisions": [{}]}, {"decisions": 3}, {}, []])
def test_answers_that_lack_data_are_errors(body: object) -> None:
    with (
        client(lambda _: httpx.Response(200, json=body)) as one,
        pytest.raises(cb.ServiceError, match="lacks data"),
    ):
        one.decide("ads")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", ["decide", "reward"])
def test_retries_send_the_same_bytes(name: str) -> None:
    sent: list[bytes] = []

    def lose_two(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        if len(sent) % 3 == 1:
            raise httpx.ReadError("connection reset", request=request)
        return httpx.Response(503, json={"detail": "later"}) if len(sent) % 3 == 2 else answer(request)

    both(lose_two, name, "ads", *([1] if name == "reward" else []))
    assert len(sent) == 6
    assert len(set(sent[:3])) == len(set(sent[3:])) == 1
    if name == "decide":
        keys = {json.loads(one)["key"] for one in sent}
        assert len(keys) == 2
        assert all(len(key) == 36 for key in keys)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "[Errno 111] Connection refused"),
        (httpx.ReadTimeout(""), "no answer within 15 s"),
        (httpx.RemoteProtocolError("Server disconnected"), "Server disconnected"),
        (httpx.ReadError(""), "ReadError"),
    ],
)
def test_lost_connections_become_one_sentence(error: Exception, reason: str) -> None:
    def lose(_: httpx.Request) -> httpx.Response:
        raise error

    one, other = both(lose, "health")
    for kind, sentence, code in (one, other):
        assert (kind, code) == (cb.ServiceError, None)
        assert sentence.startswith(f"The service at {URL} does not answer: {reason} (11 attempts in ")


def test_requests_that_cannot_be_sent_are_not_retried() -> None:
    sent = []

    def refuse(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        raise httpx.LocalProtocolError("no such method")

    one, other = both(refuse, "health")
    assert one == other == (cb.ServiceError, "The request cannot be sent: no such method.", None)
    assert len(sent) == 2


def test_long_lists_of_rewards_are_split() -> None:
    sizes = []

    def count(request: httpx.Request) -> httpx.Response:
        sizes.append(len(json.loads(request.content)["rewards"]))
        return answer(request)

    with client(count) as one:
        results = one.rewards((f"{k:x}-00000000", k % 2) for k in range(2500))
        assert one.rewards([]) == []
    assert sizes == [1000, 1000, 500]
    assert [result.id for result in results] == [f"{k:x}-00000000" for k in range(2500)]
    assert all(result.ok for result in results)


@pytest.mark.usefixtures("quick")
def test_an_export_that_breaks_begins_again(tmp_path: Path) -> None:
    sent: list[str] = []

    def break_once(request: httpx.Request) -> httpx.Response:
        sent.append(str(request.url.query, "ascii"))
        return broken(b"x" * 100, after=httpx.ReadError("reset")) if len(sent) % 2 else answer(request)

    file = tmp_path / "ads.csv"
    assert both(break_once, "export", "ads", str(file), propensities=True) == (file, file)
    assert file.read_bytes() == b"time,arm\n1,b\n"
    assert [path.name for path in tmp_path.iterdir()] == ["ads.csv"]
    assert set(sent) == {"format=csv&propensities=computed&unrewarded=false"}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "fail",
    [
        lambda _: broken(b"x", after=httpx.ReadError("reset")),
        lambda _: httpx.Response(404, json={"detail": "There is no experiment 'ads'."}),
        lambda _: httpx.Response(200, json={}),
        lambda _: broken(b"x", after=OSError(28, "No space left on device")),
    ],
)
def test_an_export_that_fails_leaves_the_old_file(tmp_path: Path, fail: Handler) -> None:
    file = tmp_path / "ads.csv"
    file.write_text("old")
    one, other = both(fail, "export", "ads", file)
    assert issubclass(one[0], cb.ClusterBanditsError)
    assert one[0] == other[0]
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["ads.csv"]


def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    full = OSError(28, "No space left on device")
    with (
        client(lambda _: broken(b"x", after=full)) as one,
        pytest.raises(cb.UnwritableFileError, match="no space"),
    ):
        one.export("ads", tmp_path / "ads.csv")


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "sentence"),
    [
        ("experiment", ("..",), {}, "at least one letter or digit"),
        ("experiment", (7,), {}, "at least one letter or digit"),
        ("reward", ("1-0", float("nan")), {}, "a finite number"),
        ("reward", ("1-0", "1"), {}, "a finite number"),
        ("rewards", ([("1-0", 10**400)],), {}, "a finite number"),
        ("decide", ("ads",), {"count": 1001}, "at most 1000"),
        ("decide", ("ads",), {"note": {"x": float("inf")}}, "finite numbers"),
        ("decide", ("ads",), {"note": {"x": "\ud800"}}, "only text"),
        ("decisions", ("ads",), {"limit": 0}, "at least 1"),
        ("export", ("ads", "x.csv"), {"format": "xls"}, "csv"),
        ("export", ("ads", "x.csv"), {"timeout": 0}, "seconds above 0"),
        ("export", ("ads", "/no/such/folder/x.csv"), {}, "does not exist"),
    ],
)
def test_impossible_calls_are_refused_before_anything_is_sent(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], sentence: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)

    def never(_: httpx.Request) -> httpx.Response:
        raise AssertionError

    one, other = both(never, name, *args, **kwargs)
    assert one == other
    assert sentence in one[1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8000", "http://", "ftp://h", "http://u:secret@h", "http://h:99999", "http://h/?x=secret"],
)
def test_wrong_addresses_are_refused(url: str) -> None:
    with pytest.raises(cb.InvalidInputError, match="url must be") as raised:
        cb.Client(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": "1"}, {"retries": -1}, {"retries": 1.5}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(cb.InvalidInputError):
        cb.Client(URL, **options)


@pytest.mark.parametrize("key", ["", " ", "cb_secret\n", "cb_sécret", 5])
def test_keys_are_not_shown(key: Any) -> None:
    with pytest.raises(cb.InvalidInputError, match="key must be") as raised:
        cb.AsyncClient(URL, key)
    assert "cret" not in str(raised.value)
    with cb.Client(f"{URL}/", "cb_secret") as one:
        assert repr(one) == f"Client('{URL}')"


def test_a_closed_client_says_so() -> None:
    with client(answer) as one:
        one.health()
    with pytest.raises(cb.ServiceError, match="The client is closed"):
        one.health()


def test_threads_share_a_client() -> None:
    keys: list[str] = []

    def record(request: httpx.Request) -> httpx.Response:
        keys.append(json.loads(request.content)["key"])
        return answer(request)

    with client(record) as one:
        threads = [threading.Thread(target=lambda: [one.decide("ads") for _ in range(25)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(keys) == len(set(keys)) == 200


def test_without_httpx_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    for kind in (cb.Client, cb.AsyncClient):
        with pytest.raises(cb.ClusterBanditsError, match=r"pip install 'clusterbandits\[serve\]'"):
            kind(URL)
