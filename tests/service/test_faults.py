"""Nothing lost, nothing twice: load on two workers that are killed, on a database that is restarted."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from clusterbandits.service.database import Database
from clusterbandits.service.upkeep import rebuild
from tests.service.postgres import cluster, programs
from tests.service.running import Served, serving

CLIENTS, PAIRS = 8, 40
GROUPS = {"red": ["a", "b", "c"], "blue": ["d", "e", "f"]}


class Visitor(threading.Thread):
    """A client that asks and rewards, and repeats every request until it is acknowledged."""

    def __init__(self, served: Served, number: int) -> None:
        super().__init__(daemon=True)
        self._served, self._number = served, number
        self.rewards: dict[str, float] = {}
        self.arms: dict[str, str] = {}
        self.retries = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with httpx.Client(base_url=self._served.url, timeout=20) as client:
                client.headers["Authorization"] = f"Bearer {self._served.key}"
                for place in range(PAIRS):
                    body = {"key": f"{self._number}-{place}"}
                    answer = self._until_done(client, "/v1/experiments/load/decisions", body)
                    (decision,) = answer["decisions"]
                    value = float((self._number + place) % 3 == 0)
                    self._until_done(client, f"/v1/decisions/{decision['id']}/reward", {"value": value})
                    self.rewards[decision["id"]] = value
                    self.arms[decision["id"]] = decision["arm"]
        except BaseException as error:
            self.failure = error

    def _until_done(self, client: httpx.Client, path: str, body: object) -> Any:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with contextlib.suppress(httpx.TransportError):
                answer = client.post(path, json=body)
                if answer.status_code == 200:
                    return answer.json()
                assert answer.status_code == 503, answer.text
            self.retries += 1
            time.sleep(0.02)
        raise AssertionError(f"{path} was never acknowledged")


def load(served: Served, disturb: Callable[[threading.Event], None]) -> list[Visitor]:
    """Let visitors finish while something disturbs the service."""
    served.post("/v1/experiments", {"name": "load", "groups": GROUPS, "widths": 0.2}, 201)
    visitors = [Visitor(served, number) for number in range(CLIENTS)]
    over = threading.Event()
    trouble = threading.Thread(target=disturb, args=[over], daemon=True)
    for thread in [*visitors, trouble]:
        thread.start()
    for visitor in visitors:
        visitor.join(240)
        assert visitor.failure is None, visitor.failure
    over.set()
    trouble.join(60)
    return visitors


def check(served: Served, address: str, visitors: list[Visitor]) -> None:
    """Compare what clients had acknowledged with what the service counts, and that with a rebuild."""
    served.wait()
    given = {decision: value for visitor in visitors for decision, value in visitor.rewards.items()}
    arms = {decision: arm for visitor in visitors for decision, arm in visitor.arms.items()}
    assert len(given) == CLIENTS * PAIRS
    state = served.get("/v1/experiments/load")
    assert (state["pulls"], state["total"]) == (CLIENTS * PAIRS, sum(given.values()))
    assert (state["decisions"], state["open"]) == (CLIENTS * PAIRS, 0)
    for arm in state["arms"]:
        own = [given[decision] for decision in given if arms[decision] == arm["arm"]]
        assert (arm["pulls"], arm["total"]) == (len(own), sum(own))
    for decision in random.Random(1).sample(sorted(given), 20):
        found = served.get(f"/v1/decisions/{decision}")
        assert (found["value"], len(found["rewards"])) == (given[decision], 1)
    # A worker may have been killed at any moment: every one of them must agree.
    for _ in range(10):
        with httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {served.key}"}) as client:
            assert client.get("/v1/experiments/load").json()["arms"] == state["arms"]
    opened = Database(address)
    _, rebuilt = rebuild(opened, lambda _: None)
    opened.dispose()
    assert rebuilt["ok"]
    (one,) = rebuilt["experiments"]
    assert one["arms"] == {
        arm["arm"]: {"pulls": arm["pulls"], "total": arm["total"]} for arm in state["arms"]
    }
    assert one["chosen_differently_here"] == 0


def kill_workers(served: Served, over: threading.Event, chance: random.Random) -> None:
    """Kill a worker at random moments."""
    while not over.wait(chance.uniform(0.3, 1.2)):
        workers = served.workers()
        if len(workers) > 1:
            with contextlib.suppress(Exception):
                chance.choice(workers).send_signal(signal.SIGKILL)


@pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")
def test_killed_workers_and_a_restarted_postgresql(tmp_path: Path) -> None:
    with cluster() as running:
        address = running.new_database()
        with serving("--database", address, "--workers", "2", folder=tmp_path) as served:

            def disturb(over: threading.Event) -> None:
                chance = random.Random(16)
                for mode in ("immediate", "fast"):
                    time.sleep(chance.uniform(0.3, 0.8))
                    running.stop(mode)
                    time.sleep(chance.uniform(0.1, 0.5))
                    running.start()
                kill_workers(served, over, chance)

            visitors = load(served, disturb)
            assert sum(visitor.retries for visitor in visitors) > 0
            check(served, address, visitors)


def test_killed_workers_on_sqlite(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'test.db'}"
    with serving("--database", address, "--workers", "2", folder=tmp_path) as served:
        visitors = load(served, lambda over: kill_workers(served, over, random.Random(17)))
        check(served, address, visitors)


def test_a_service_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'test.db'}"
    served = Served("--database", address, folder=tmp_path).wait()
    try:
        served.post("/v1/experiments", {"name": "load", "groups": GROUPS}, 201)
        found = served.post("/v1/experiments/load/decisions", {"count": 200})["decisions"]
        for one in found[:150]:
            served.post(f"/v1/decisions/{one['id']}/reward", {"value": 1})
        before, key = served.get("/v1/experiments/load"), served.key
    finally:
        served.kill()
    again = Served("--database", address, folder=tmp_path)
    try:
        again.use_key(key)
        again.wait()
        assert again.get("/v1/experiments/load") == before
        for one in found:
            again.post(f"/v1/decisions/{one['id']}/reward", {"value": 1})
        state = again.get("/v1/experiments/load")
        assert (state["pulls"], state["total"], state["open"]) == (200, 200, 0)
        assert again.stop() == -signal.SIGTERM
        assert "Finished server process" in again.log.read_text()
    finally:
        again.kill()
