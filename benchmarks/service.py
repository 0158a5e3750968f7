"""The decision service on loopback with durable storage: rates and latencies, compared with an empty service.

The load generator, the workers and the database share the cores of one machine, so only the ratio of the
rates of the two services is meaningful.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psutil

from benchmarks.measure import Measurement
from tests.service.postgres import cluster, free_port
from tests.service.running import Served, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONNECTIONS, _SECONDS = 64, 6
_BATCH = 1_000
_DECISIONS, _EXPERIMENTS = 1_000_000, 100
_ROOT = Path(__file__).parents[1]


def _load(port: int, key: str = "-", rate: float = 0.0, seconds: float = _SECONDS) -> dict[str, float]:
    """Return the results of the load generator."""
    arguments = [str(port), key or "-", str(_CONNECTIONS), str(seconds), str(rate)]
    command = [sys.executable, "-m", "benchmarks.load", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=_ROOT)
    return dict(json.loads(found.stdout))


@contextlib.contextmanager
def _bare(workers: int) -> Iterator[int]:
    """Serve an empty endpoint; yield its port."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "benchmarks.bare_service:app", "--port", str(port)]
    command += ["--no-access-log", "--log-level", "warning", "--workers", str(workers)]
    process = subprocess.Popen(command, cwd=_ROOT)
    try:
        while True:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{port}/openapi.json")
                break
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def _create(served: Served, name: str, arms: int, **settings: Any) -> None:
    # Without cached code, the policy is compiled first.
    served.client.timeout = httpx.Timeout(300)
    groups = {f"group {g}": [f"arm {a}" for a in range(g, arms, 20)] for g in range(min(arms, 20))}
    if arms == 6:
        groups = {"red": ["a", "b", "c"], "blue": ["d", "e", "f"]}
    served.post("/v1/experiments", {"name": name, "groups": groups, "widths": 0.2, **settings}, 201)


def _best(port: int, key: str = "-") -> dict[str, float]:
    """Return the best of three loads after a warm-up."""
    _load(port, key, seconds=2)
    return max((_load(port, key) for _ in range(3)), key=lambda one: one["pairs per second"])


def _workers(count: int) -> str:
    return f"{count} worker{'s' if count > 1 else ''}"


def _rates(kind: str, address: str, workers: int, bare: float, folder: Path) -> list[Measurement]:
    """Measure a service on a database: pairs per second, and latencies at half of that."""
    options = ["--database", address, "--workers", str(workers), "--rate", "1e9"]
    with serving(*options, folder=folder) as served:
        _create(served, "load", 6)
        most = _best(served.port, served.key)["pairs per second"]
        half = _load(served.port, served.key, rate=most / 2, seconds=2 * _SECONDS)
    label = f"{kind}, {_workers(workers)}"
    promised = kind == "PostgreSQL"
    return [
        Measurement(f"{label}: pairs per second", most, "1/s"),
        Measurement(
            f"{label}: share of a bare endpoint",
            100 * most / bare,
            "%",
            40 if promised else None,
            at_least=True,
        ),
        Measurement(f"{label}: p50 at half load", 1000 * half["p50"], "ms"),
        Measurement(f"{label}: p99 at half load", 1000 * half["p99"], "ms", 25 if promised else None),
    ]


def _decision_cost(served: Served, arms: int) -> float:
    """Return the milliseconds per decision, requested one by one, with rewards in between."""
    name = f"cost-{arms}"
    _create(served, name, arms)
    _decided_and_rewarded(served, name)
    spent = []
    for _ in range(200):
        began = time.perf_counter()
        (one,) = served.post(f"/v1/experiments/{name}/decisions")["decisions"]
        spent.append(time.perf_counter() - began)
        served.post(f"/v1/decisions/{one['id']}/reward", {"value": 1})
    return 1000 * sorted(spent)[len(spent) // 2]


def _decided_and_rewarded(served: Served, name: str) -> None:
    """Make as many decisions as a request can, and reward them."""
    found = served.post(f"/v1/experiments/{name}/decisions", {"count": _BATCH})["decisions"]
    rewards = [{"id": one["id"], "value": float(place % 3 == 0)} for place, one in enumerate(found)]
    served.post("/v1/rewards", {"rewards": rewards})


def _memory(served: Served) -> tuple[float, float, float]:
    """Return the worker's memory in MB after a fifth of 10⁶ decisions and after all, and the seconds."""
    _create(served, "memory", 6)
    process = psutil.Process(served.process.pid)
    sizes, began = [], time.perf_counter()
    for batch in range(_DECISIONS // _BATCH):
        _decided_and_rewarded(served, "memory")
        if (batch + 1) % (_DECISIONS // _BATCH // 5) == 0:
            sizes.append(process.memory_info().rss / 1e6)
    return sizes[0], sizes[-1], time.perf_counter() - began


def _start_up(address: str, folder: Path) -> float:
    """Return the seconds until a service answers that has a log and was killed."""
    began = time.perf_counter()
    with serving("--database", address, "--insecure", folder=folder):
        return time.perf_counter() - began


def _start_up_with_many(address: str, folder: Path) -> float:
    """Return the same for a log of many experiments whose events alternate."""
    names = [f"many-{number}" for number in range(_EXPERIMENTS)]
    with serving("--database", address, "--insecure", folder=folder) as served:
        for name in names:
            _create(served, name, 6)
        for _ in range(_DECISIONS // 2 // _BATCH // _EXPERIMENTS):
            for name in names:
                _decided_and_rewarded(served, name)
    return _start_up(address, folder)


def measure() -> list[Measurement]:
    """Measure rates, latencies, the cost of decisions, memory, and start-up."""
    found = []
    with tempfile.TemporaryDirectory() as temporary, cluster() as running:
        folder = Path(temporary)
        for workers in (1, 2):
            with _bare(workers) as port:
                bare = _best(port)["pairs per second"]
            found.append(Measurement(f"bare endpoint, {_workers(workers)}: pairs per second", bare, "1/s"))
            sqlite = f"sqlite:///{folder / f'{workers}.db'}"
            found += _rates("SQLite", sqlite, workers, bare, folder)
            found += _rates("PostgreSQL", running.new_database(), workers, bare, folder)
        with serving("--data", str(folder / "cost"), "--insecure", folder=folder) as served:
            found += [
                Measurement(f"a decision among {arms} arms, one by one", _decision_cost(served, arms), "ms")
                for arms in (6, 183, 2_000)
            ]
        address = f"sqlite:///{folder / 'memory.db'}"
        with serving("--database", address, "--insecure", folder=folder) as served:
            early, late, seconds = _memory(served)
        found += [
            Measurement("memory after 200,000 decisions", early, "MB"),
            Measurement("memory after 1,000,000 decisions", late, "MB"),
            Measurement(
                "memory after 1,000,000 decisions of that after 200,000", 100 * late / early, "%", 115
            ),
            Measurement(
                "decisions and rewards, in requests of 1,000, per second", 2 * _DECISIONS / seconds, "1/s"
            ),
            Measurement(
                "start on a log of 2,000,000 events after a kill",
                _start_up(address, folder),
                "s",
                20,
            ),
            Measurement(
                "start on 1,000,000 events of 100 experiments after a kill",
                _start_up_with_many(f"sqlite:///{folder / 'many.db'}", folder),
                "s",
                20,
            ),
        ]
    return found
