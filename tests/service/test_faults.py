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

CLIENTS, IMPATIENT, PAIRS = 6, 2, 40
GROUPS = {"red": ["a", "b", "c"], "blue": ["d", "e", "f"]}


class Visitor(threading.Thread):
    """A client that asks and rewards until the disturbance is over.

    A patient one repeats every request until it is acknowledged. Another one sends it once, and goes on to
    the next decision if it fails.
    """

    def __init__(self, served: Served, number: int, over: threading.Event, *, patient: bool) -> None:
        super().__init__(daemon=True)
        self._served, self._number, self._over, self._patient = served, number, over, patient
        self.arms: dict[str, str] = {}
        #: Rewards by decision: those that were acknowledged, and those that failed.
        self.counted: dict[str, float] = {}
        self.doubtful: dict[str, float] = {}
        self.failures = self.pairs = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with httpx.Client(base_url=self._served.url, timeout=20) as client:
                client.headers["Authorization"] = f"Bearer {self._served.key}"
                while self.pairs < PAIRS or not self._over.is_set():
                    self._pair(client, value_of(self._number, self.pairs))
                    self.pairs += 1
        except BaseException as error:
            self.error = error

    def _pair(self, client: httpx.Client, value: float) -> None:
        answer = self._send(client, "/v1/experiments/load/decisions", {"key": f"{self._number}-{self.pairs}"})
        if answer is None:
            return
        (decision,) = answer["decisions"]
        self.arms[decision["id"]] = decision["arm"]
        answer = self._send(client, f"/v1/decisions/{decision['id']}/reward", {"value": value})
        (self.doubtful if answer is None else self.counted)[decision["id"]] = value

    def _send(self, client: httpx.Client, path: str, body: object) -> Any:
        """Return the answer; None if an impatient client does not get one."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with contextlib.suppress(httpx.TransportError):
                answer = client.post(path, json=body)
                if answer.status_code == 200:
                    return answer.json()
                assert answer.status_code == 503, answer.text
            self.failures += 1
            time.sleep(0.02)
            if not self._patient:
                return None
        raise AssertionError(f"{path} was never acknowledged")


def value_of(visitor: int, pair: int) -> float:
    """Return the reward that a visitor gives to its decision, with or without faults."""
    return float((visitor + pair) % 3 == 0)


def load(served: Served, disturb: Callable[[], None]) -> list[Visitor]:
    """Let visitors come until something has disturbed the service as often as it wants to."""
    served.post("/v1/experiments", {"name": "load", "groups": GROUPS, "widths": 0.2}, 201)
    over = threading.Event()
    visitors = [Visitor(served, number, over, patient=number >= IMPATIENT) for number in range(CLIENTS)]
    for visitor in visitors:
        visitor.start()
    try:
        disturb()
    finally:
        over.set()
    for visitor in visitors:
        visitor.join(240)
        assert visitor.error is None, visitor.error
    assert sum(visitor.failures for visitor in visitors) > 0
    return visitors


def check(served: Served, address: str, visitors: list[Visitor]) -> None:
    """Compare what clients had acknowledged with what the service counts, and that with a rebuild."""
    served.wait()
    for number, visitor in enumerate(visitors[IMPATIENT:], start=IMPATIENT):
        # Clients that retry have the totals of a run without faults.
        assert len(visitor.counted) == visitor.pairs >= PAIRS
        assert sum(visitor.counted.values()) == sum(value_of(number, pair) for pair in range(visitor.pairs))
    arms = {decision: arm for visitor in visitors for decision, arm in visitor.arms.items()}
    given = {decision: value for visitor in visitors for decision, value in visitor.counted.items()}
    for decision, value in [one for visitor in visitors for one in visitor.doubtful.items()]:
        rewards = served.get(f"/v1/decisions/{decision}")["rewards"]
        assert [one["value"] for one in rewards] in ([], [value])
        given |= {decision: value} if rewards else {}
    state = served.get("/v1/experiments/load")
    assert (state["pulls"], state["total"]) == (len(given), sum(given.values()))
    made = sum(visitor.pairs for visitor in visitors)
    assert len(arms) <= state["decisions"] == state["pulls"] + state["open"] <= made
    for arm in state["arms"]:
        own = [given[decision] for decision in given if arms[decision] == arm["arm"]]
        assert (arm["pulls"], arm["total"]) == (len(own), sum(own))
    for decision in random.Random(1).sample(sorted(given), 20):
        found = served.get(f"/v1/decisions/{decision}")
        assert (found["value"], len(found["rewards"])) == (given[decision], 1)
    # Every worker must agree, also one that was started again just now.
    for _ in range(10):
        with httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {served.key}"}) as client:
            answer = client.get("/v1/experiments/load")
            while answer.status_code == 503:
                time.sleep(0.1)
                answer = client.get("/v1/experiments/load")
            assert answer.json()["arms"] == state["arms"]
    opened = Database(address)
    _, rebuilt = rebuild(opened, lambda _: None)
    opened.dispose()
    assert rebuilt["ok"]
    (one,) = rebuilt["experiments"]
    assert one["arms"] == {
        arm["arm"]: {"pulls": arm["pulls"], "total": arm["total"]} for arm in state["arms"]
    }
    assert one["chosen_differently_here"] == 0


def kill_workers(served: Served, kills: int, chance: random.Random) -> None:
    """Kill workers at random moments, each while it has connections of clients."""
    end = time.monotonic() + 120
    while kills:
        assert time.monotonic() < end, "no worker has connections"
        time.sleep(chance.uniform(0.1, 0.6))
        busy = served.busy_workers()
        if busy:
            chance.choice(busy).send_signal(signal.SIGKILL)
            kills -= 1


@pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")
def test_killed_workers_and_a_restarted_postgresql(tmp_path: Path) -> None:
    with cluster() as running:
        address = running.new_database()
        with serving("--database", address, "--workers", "2", folder=tmp_path) as served:

            def disturb() -> None:
                chance = random.Random(16)
                for mode in ("immediate", "fast"):
                    kill_workers(served, 2, chance)
                    time.sleep(chance.uniform(0.3, 0.8))
                    running.stop(mode)
                    kill_workers(served, 1, chance)
                    running.start()
                kill_workers(served, 2, chance)

            check(served, address, load(served, disturb))


def test_killed_workers_on_sqlite(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'test.db'}"
    with serving("--database", address, "--workers", "2", folder=tmp_path) as served:
        check(served, address, load(served, lambda: kill_workers(served, 6, random.Random(17))))


def test_a_service_that_is_stopped_under_load_loses_nothing(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'test.db'}"
    options = ("--database", address)
    served = Served(*options, folder=tmp_path).wait()
    found: list[Served] = []

    def disturb() -> None:
        time.sleep(1)
        served.process.send_signal(signal.SIGTERM)
        served.process.wait(30)
        found.append(Served(*options, folder=tmp_path, port=served.port))

    try:
        visitors = load(served, disturb)
        found[0].use_key(served.key)
        check(found[0], address, visitors)
        assert "exception" not in served.log.read_text()
    finally:
        for one in (served, *found):
            one.kill()


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
