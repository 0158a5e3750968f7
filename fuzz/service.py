"""Random requests to a service on SQLite: valid ones, nearly valid ones, and junk."""

from __future__ import annotations

import copy
import json
import logging
import os
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import clusterbandits as cb
from clusterbandits.families import as_family
from clusterbandits.policies import POLICIES
from clusterbandits.service.database import Database
from clusterbandits.service.upkeep import check, rebuild
from fuzz.answers import strict_json
from fuzz.json_edits import OTHERS, TEXTS, damaged_text, edit, raw_json
from fuzz.mutations import WORDS, mutated
from fuzz.policies import FAMILIES, VALUES, WIDTHS, pick, random_total
from fuzz.watch import Watch
from fuzz.wire import JSON, Line, Request
from tests.hostile import HOSTILE
from tests.service.running import serving

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.random import Generator

    from fuzz.wire import Answer

SHORT = 1
#: Requests to one service. More of them try more in the same time, since starting it takes a while.
_REQUESTS = int(os.environ.get("CLUSTERBANDITS_REQUESTS", "500"))
_MOST_EXPERIMENTS = 8
#: The length in seconds of windows that the fuzzer waits for.
_BRIEF = 1.0
_TOGETHER = 24
METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND")
_LABELS = (
    "a",
    "b",
    "c",
    "d",
    "ä",
    "💡",
    "0",
    " x ",
    *(text for text in HOSTILE if len(text) <= 200 and "\0" not in text),
)
ADDRESSES = (
    *("/", "//", "/v1", "/v1/", "/v2/experiments", "/v1/experiments/", "/V1/EXPERIMENTS", "/docs", "/docs/"),
    *("/page/page.css", "/page/..%2f..%2fapp.py", "/page/%2e%2e/guard.py", "/page/../../../etc/passwd"),
    *("/page/%00", "/page/" + "a" * 300, "/page//etc/passwd", "/docs/%ff", "/favicon.ico", "/.git/config"),
    *("/v1/decisions/", "/v1/decisions/%2e%2e/reward", "/v1/" + "x" * 20_000, "/" + "a/" * 5_000, "/%"),
    *("/health", "/ready", "/metrics", "/openapi.json", "/v1/me", "/v1/experiments/%2f/arms", "/;/?#"),
)
CONTENT_TYPES = (
    *(b"text/plain", b"", b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x"),
    *(b"application/xml", b"application/json; charset=utf-16", b"application/problem+json", b"\xff\xfe"),
    *(b"application/json" * 500, b"*/*", b";", b"application/octet-stream"),
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    *((b"Content-Encoding", b"gzip"), (b"Accept", b"text/html"), (b"Expect", b"100-continue")),
    *((b"Range", b"bytes=0-1"), (b"Range", b"bytes=9-1,-"), (b"If-None-Match", b"*"), (b"Cookie", b"a=b")),
    *((b"Authorization", b""), (b"Authorization", b"Bearer"), (b"Authorization", b"Basic YTpi")),
    *((b"Authorization", b"Bearer \xff"), (b"Authorization", b"Bearer cb_000000000000_" + b"A" * 43)),
    *((b"Origin", b"http://evil.example"), (b"Host", b"evil.example"), (b"Host", b""), (b"X", b"y" * 30_000)),
    *((b"X-Forwarded-For", b"\x80" * 50), (b"X-HTTP-Method-Override", b"DELETE"), (b"Upgrade", b"websocket")),
    *((b"Connection", b"close"), (b"Connection", b"upgrade"), (b"Accept-Encoding", b"br;q=nan")),
)
QUERIES = (
    *("limit=0", "limit=-1", "limit=1001", "limit=1e3", "limit=nan", "limit=" + "9" * 5000, "limit=%00"),
    *(
        "limit=5",
        "limit=5&limit=x",
        "limit=x&limit=5",
        "limit",
        "archived=true",
        "archived=2",
        "archived=%ff",
    ),
    *("format=csv", "format=parquet", "format=csv%0a", "format=xml", "format=", "unrewarded=maybe", "&&=&"),
    *("propensities=computed", "propensities=x", "unrewarded=true&format=parquet&propensities=computed"),
    *("x=" + "y" * 5000, "%", "%ff%fe=%00", "a[]=1", "archived=true&archived=false"),
)


def attempt(rng: Generator, folder: Path) -> Counter[str]:
    """Start a service on SQLite, send requests, stop it, and check its log."""
    return fuzz_service(rng, folder, f"sqlite:///{folder / 'fuzz.db'}")


def fuzz_service(rng: Generator, folder: Path, address: str) -> Counter[str]:
    """Run the fuzzer on the empty database at an address."""
    workers = 2 if rng.random() < 0.25 else 1
    with serving("--database", address, "--workers", str(workers), folder=folder) as served:
        while served.log.read_text().count("startup complete") < workers:
            time.sleep(0.1)
        # Workers refuse all keys until they have read them.
        time.sleep(workers - 1)
        session = Session(rng, Watch(served.port, served.key))
        try:
            for _ in range(_REQUESTS):
                session.step()
        except Exception as error:
            error.add_note(_failures(served.log))
            raise
        finally:
            session.watch.close()
        served.stop()
        assert not (failures := _failures(served.log)), failures
    _check_log(Database(address))
    return session.watch.tried


def _check_log(database: Database) -> None:
    """Check that the log leads to the state that the service had in memory, including all draws."""
    logger, unusable = logging.getLogger("clusterbandits.service"), _Messages()
    logger.addHandler(unusable)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cb.WidthWarning)
            for found, data in (check(database), rebuild(database, lambda _: None)):
                assert data["ok"], found
    finally:
        logger.removeHandler(unusable)
    assert not unusable.said, unusable.said
    assert not any(one["chosen_differently_here"] for one in data["experiments"]), data
    database.dispose()


class _Messages(logging.Handler):
    """Stores warnings, such as that a snapshot cannot be used."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Store a warning."""
        self.said.append(record.getMessage())


def _failures(log: Path) -> str:
    """Return the errors in the log file of a service."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    shown = [f"{line['message']}\n{line.get('exception', '')}" for line in lines if line["level"] == "error"]
    return "\n".join(shown)


@dataclass
class Known:
    """The fuzzer's record of an experiment."""

    name: str
    groups: list[str]
    arms: list[str]
    family: str
    decisions: list[str] = field(default_factory=list)


@dataclass
class Draft:
    """A request before it is damaged; ``query`` is sent as written."""

    method: str
    path: tuple[str, ...]
    body: Any = None
    query: str = ""

    def request(self) -> Request:
        """Return the undamaged request."""
        target = "/" + "/".join(quote(part, safe="") for part in self.path)
        target += f"?{self.query}" if self.query else ""
        body = b"" if self.body is None else raw_json(self.body).encode("utf-8", "surrogatepass")
        return Request(self.method, target, body)


class Session:
    """A user who makes mistakes, and an attacker."""

    def __init__(self, rng: Generator, watch: Watch) -> None:
        self.rng, self.watch = rng, watch
        self.known: dict[str, Known] = {}
        self._made = 0
        self._learn(self.watch.line.send(self._create_brief().request()), "brief")

    def step(self) -> None:
        """Send one request, or a few at the same time."""
        way = self.rng.random()
        if way < 0.003:
            self._together()
        elif way < 0.006:
            self._let_close()
        elif way < 0.03:
            self._broken()
        else:
            request = self._request()
            answer = self.watch.send(request, self._subject(request), thorough=bool(self.rng.random() < 0.01))
            self._note(request, answer)

    def _subject(self, request: Request) -> str:
        """Return the experiment of a request, or any experiment."""
        named = request.path.split("/")[3:4]
        return named[0] if named and named[0] in self.known else str(pick(self.rng, self._names()))

    def _names(self) -> list[str]:
        """Return the experiments in use, or all if there are none."""
        return list(self.known) or self.watch.names()

    def _note(self, request: Request, answer: Answer) -> None:
        """Record the changes of a request."""
        if answer.status >= 300 or request.method not in {"POST", "PATCH"}:
            return
        data = strict_json(answer.body)
        if "arms" in data and "state" in data:
            self._learn(answer, data["name"])
        elif "decisions" in data:
            known = self.known.get(request.path.split("/")[3])
            if known is not None:
                known.decisions += [one["id"] for one in data["decisions"][:50]]
            self._wait_for(data["decisions"])

    def _learn(self, answer: Answer, name: str) -> None:
        data = strict_json(answer.body)
        window = data["window"]
        if data["state"] == "archived" or (window is not None and _BRIEF < window < 3600):
            # Windows that close later would change the expected state.
            self.known.pop(name, None)
            return
        decisions = self.known[name].decisions if name in self.known else []
        groups, arms = [one["group"] for one in data["groups"]], [one["arm"] for one in data["arms"]]
        self.known[name] = Known(name, groups, arms, data["family"], decisions)

    def _wait_for(self, decisions: Sequence[dict[str, Any]]) -> None:
        """Wait until short windows have closed and their decisions are settled."""
        soon = [one["expires_at"] for one in decisions if one["expires_at"] is not None]
        soon = [when for when in soon if when < time.time() + 2 * _BRIEF]
        if soon:
            time.sleep(max(0.0, max(soon) - time.time()) + 0.05)
            self.watch.settle()

    def _let_close(self) -> None:
        """Wait until windows have closed, so that later rewards are late."""
        if "brief" in self.known:
            request = Draft("POST", ("v1", "experiments", "brief", "decisions"), {"count": 20}).request()
            self._note(request, self.watch.send(request, "brief"))

    def _together(self) -> None:
        """Send requests at the same time; refused ones must not affect the others."""
        drafts = [self._draft() for _ in range(_TOGETHER)]
        drafts = [
            one
            for one in drafts
            if one.path[-1] not in {"archive", "experiments"} and "brief" not in one.path
        ]
        requests = [self._damaged(one) if self.rng.random() < 0.4 else one.request() for one in drafts]
        requests = [one for one in requests if one.method != "PATCH"]

        def send(request: Request) -> Answer:
            line = Line(self.watch.line.port, self.watch.line.key)
            try:
                return line.send(request)
            finally:
                line.close()

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(send, requests))
        self.watch.judge(requests, answers)
        for request, answer in zip(requests, answers, strict=True):
            self._note(request, answer)

    def _broken(self) -> None:
        """Send nearly valid HTTP."""
        name = pick(self.rng, self._names())
        body = json.dumps({"count": 1}).encode()
        request = Request("POST", f"/v1/experiments/{quote(name)}/decisions", body)
        raw = request.raw(self.watch.line.key)
        answer = self.watch.send_raw(self._flawed(raw), request, name, patience=0.25)
        if answer is not None and answer.status == 200 and b"decisions" in answer.body:
            self._wait_for(strict_json(answer.body)["decisions"])

    def _flawed(self, raw: bytes) -> bytes:
        rng = self.rng
        # Bytes after a complete request would begin another one.
        first, last = sorted(rng.integers(0, len(raw), 2).tolist())
        head, _, body = raw.partition(b"\r\n\r\n")
        ways: tuple[Callable[[], bytes], ...] = (
            lambda: raw[:first] + bytes([int(rng.integers(256))]) + raw[first + 1 :],
            lambda: raw[:first] + rng.bytes(3) + raw[first:],
            lambda: raw[:first],
            lambda: raw[:first] + raw[last:],
            lambda: raw.replace(
                b"HTTP/1.1", pick(rng, (b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"HTTP", b""))
            ),
            lambda: raw.replace(b"Content-Length: ", pick(rng, (b"Content-Length: 9", b"Content-Length: -"))),
            lambda: raw.replace(b"\r\n", pick(rng, (b"\n", b"\r", b"\r\n ", b"\0\r\n"))),
            lambda: head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + body,
            lambda: (
                head.replace(b"Content-Length", b"X")
                + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
                + pick(
                    rng,
                    (b"2\r\n{}\r\nzz\r\n", b"2\r\n{}\r\n", b"-2\r\n{}\r\n0\r\n\r\n", b"2\r\n{}\r\n0\r\n\r\n"),
                )
            ),
            lambda: (
                head
                + b"\r\n"
                + pick(rng, (b"X" * 100_000, b"A: b\r\n" * 20_000, b"\0: \0"))
                + b"\r\n\r\n"
                + body
            ),
            lambda: rng.bytes(200),
        )
        chosen: Callable[[], bytes] = pick(rng, ways)
        return chosen()

    def _request(self) -> Request:
        draft = self._draft()
        return draft.request() if self.rng.random() < 0.25 else self._damaged(draft)

    def _damaged(self, draft: Draft) -> Request:
        """Return a damaged request, most often with a damaged body."""
        rng, way = self.rng, self.rng.random()
        if draft.body is not None and way < 0.6:
            return self._other_body(draft)
        if way < 0.72:
            parts = list(draft.path)
            parts[int(rng.integers(len(parts)))] = pick(rng, (*WORDS, *HOSTILE, "..", ".", "%", "a/b"))
            return replace(
                draft, path=tuple(part.encode("utf-8", "replace").decode() for part in parts)
            ).request()
        if way < 0.8:
            return replace(draft, query=pick(rng, QUERIES)).request()
        request = draft.request()
        if way < 0.86:
            return replace(request, headers=((b"Content-Type", pick(rng, CONTENT_TYPES)),))
        if way < 0.92:
            headers = (JSON, *(pick(rng, HEADERS) for _ in range(int(rng.integers(1, 4)))))
            return replace(request, headers=headers, key=bool(rng.random() < 0.7))
        if way < 0.97:
            return replace(request, method=pick(rng, METHODS))
        return Request(pick(rng, METHODS[:6]), pick(rng, ADDRESSES))

    def _other_body(self, draft: Draft) -> Request:
        rng, way = self.rng, self.rng.random()
        request = draft.request()
        if way < 0.75:
            changed = copy.deepcopy(draft.body)
            for _ in range(int(rng.integers(1, 4))):
                edit(rng, changed)
            return replace(draft, body=changed).request()
        if way < 0.8:
            return replace(draft, body=pick(rng, (*OTHERS, *TEXTS, 0))).request()
        text = request.body.decode("utf-8", "surrogatepass")
        if way < 0.88:
            return replace(request, body=mutated(rng, text))
        if way < 0.95:
            return replace(request, body=damaged_text(rng, text).encode("utf-8", "surrogatepass"))
        doubled = text.replace("{", '{"key": "twice", "name": "x", "key": null, ', 1)
        deep = "[" * pick(rng, (300, 5_000, 900_000))
        bodies = (doubled, text + text, text + " " * 2_000_000, deep, text.replace(":", ':{"x":' * 200, 1))
        return replace(request, body=pick(rng, bodies).encode("utf-8", "surrogatepass"))

    def _draft(self) -> Draft:
        """Return a valid request of a random kind."""
        kinds: tuple[Callable[[Known], Draft], ...] = (
            *(self._decide,) * 6,
            *(self._reward,) * 6,
            *(self._reward_many,) * 3,
            *(self._change,) * 3,
            *(self._arm,) * 4,
            *(self._read,) * 4,
            self._state,
            self._create,
            self._create_again,
        )
        kind = pick(self.rng, kinds)
        if not self.known:
            return self._create(Known("", [], [], ""))
        if kind != self._create and self.rng.random() < 0.5 / len(self.known) ** 2:
            kind = self._create
        draft: Draft = kind(self.known[pick(self.rng, list(self.known))])
        return draft

    def _create_brief(self) -> Draft:
        body = {"name": "brief", "groups": {"x": ["a", "b"]}, "window": 0.2, "combine": "sum"}
        return Draft("POST", ("v1", "experiments"), body)

    def _create(self, _known: Known) -> Draft:
        rng = self.rng
        if len(self.known) > _MOST_EXPERIMENTS:
            self.known.pop(next(name for name in self.known if name != "brief"))
        self._made += 1
        labels = [str(_LABELS[i]) for i in rng.permutation(len(_LABELS))[: int(rng.integers(2, 9))]]
        cut = int(rng.integers(1, len(labels)))
        groups = {"first": labels[:cut], pick(rng, _LABELS[:8]): labels[cut:]}
        kind = POLICIES[pick(rng, list(POLICIES))]
        settings = self._settings(kind, len(labels))
        body: dict[str, Any] = {
            "name": f"e{self._made}",
            "groups": groups,
            "widths": pick(rng, (None, 0.1, {"first": 0.2})),
            "policy": pick(rng, ("auto", kind.name)),
            "family": pick(rng, FAMILIES),
            "window": pick(rng, (None, 86400)),
            "combine": pick(rng, ("first", "last", "sum")),
            "explore": pick(rng, (0, 0.1, 1)),
        }
        if body["policy"] != "auto":
            body["settings"] = settings
        if rng.random() < 0.3:
            body["history"] = {labels[0]: {"pulls": 10, "total": 4}}
        return Draft("POST", ("v1", "experiments"), body)

    def _settings(self, kind: Any, arms: int) -> dict[str, Any]:
        """Return some settings of a policy for ``arms`` arms."""
        rng = self.rng
        settings: dict[str, Any] = {"horizon": 1000} if kind.needs_horizon else {}
        for key in kind.defaults:
            if rng.random() < 0.3:
                distances = [[0.0 if i == j else 0.1 for j in range(arms)] for i in range(arms)]
                settings[key] = distances if key == "distances" else pick(rng, VALUES[key])
        return settings

    def _create_again(self, known: Known) -> Draft:
        return Draft("POST", ("v1", "experiments"), {"name": known.name, "groups": {"x": known.arms[:2]}})

    def _decide(self, known: Known) -> Draft:
        rng = self.rng
        body: dict[str, Any] = {}
        if rng.random() < 0.4:
            body["available"] = [pick(rng, known.arms) for _ in range(int(rng.integers(1, 5)))]
        if rng.random() < 0.4:
            body["count"] = int(rng.integers(1, 20))
        if rng.random() < 0.4:
            body["key"] = f"key-{rng.integers(30)}"
        if rng.random() < 0.4:
            body["note"] = {
                "user": int(rng.integers(10**6)),
                "tags": ["x", None, 0.5],
                pick(rng, TEXTS[:7]): {},
            }
        return Draft("POST", ("v1", "experiments", known.name, "decisions"), body)

    def _value(self, known: Known) -> float:
        extreme = bool(self.rng.random() < 0.3)
        return random_total(self.rng, as_family(known.family, "fuzz"), 1, extreme=extreme)

    def _id(self, known: Known) -> str:
        found = known.decisions[-200:] or ["1-00000000"]
        return str(pick(self.rng, found))

    def _reward(self, known: Known) -> Draft:
        body: dict[str, Any] = {"value": self._value(known)}
        if self.rng.random() < 0.4:
            body["key"] = f"purchase-{self.rng.integers(5)}"
        return Draft("POST", ("v1", "decisions", self._id(known), "reward"), body)

    def _reward_many(self, known: Known) -> Draft:
        rewards = [
            {"id": self._id(known), "value": self._value(known), "key": f"k{self.rng.integers(5)}"}
            for _ in range(int(self.rng.integers(0, 30)))
        ]
        return Draft("POST", ("v1", "rewards"), {"rewards": rewards})

    def _change(self, known: Known) -> Draft:
        rng = self.rng
        kind = POLICIES[pick(rng, list(POLICIES))]
        changes: dict[str, Any] = {
            "widths": pick(rng, (None, 0.3, {known.groups[0]: pick(rng, WIDTHS[:8])})),
            "policy": kind.name,
            "settings": self._settings(kind, len(known.arms)),
            "window": pick(rng, (None, 86400)),
            "default_reward": pick(rng, (None, 0, 1)),
            "explore": pick(rng, (0, 0.5, 1)),
        }
        chosen = {key: value for key, value in changes.items() if rng.random() < 0.3}
        return Draft("PATCH", ("v1", "experiments", known.name), chosen)

    def _arm(self, known: Known) -> Draft:
        rng = self.rng
        path = ("v1", "experiments", known.name, "arms")
        if rng.random() < 0.4:
            label = pick(rng, (f"new {rng.integers(100)}", pick(rng, _LABELS)))
            return Draft("POST", path, {"arm": label, "group": pick(rng, known.groups)})
        return Draft("POST", (*path, pick(rng, ("retire", "restore"))), {"arm": pick(rng, known.arms)})

    def _state(self, known: Known) -> Draft:
        changes = ("pause", "resume", "resume", "resume", "archive" if self.rng.random() < 0.1 else "resume")
        change = pick(self.rng, changes)
        name = "e0" if known.name == "brief" and change != "resume" else known.name
        return Draft("POST", ("v1", "experiments", name, change))

    def _read(self, known: Known) -> Draft:
        rng = self.rng
        views = ("decisions", "changes", "history", "explain", "export", "live")
        paths = (
            *(("v1", "experiments", known.name, view) for view in views),
            ("v1", "experiments", known.name),
            ("v1", "experiments"),
            ("v1", "decisions", self._id(known)),
            *(("v1", "live"), ("v1", "me"), ("metrics",), ("health",)),
        )
        path = pick(rng, paths)
        query = pick(rng, QUERIES) if rng.random() < 0.3 else ""
        return Draft("GET", path, query=query)
