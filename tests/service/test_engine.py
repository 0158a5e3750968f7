"""The engine: workers that follow the log agree to the last bit, and whatever fails leaves no trace."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from psycopg import Error as DriverError
from sqlalchemy import event as events, text
from sqlalchemy.exc import OperationalError

from clusterbandits.errors import InvalidInputError
from clusterbandits.policies import POLICIES
from clusterbandits.service import database as database_module, log, recent, snapshots
from clusterbandits.service.app import create_app
from clusterbandits.service.database import Database, begin_sqlite_turn
from clusterbandits.service.engine import Engine
from clusterbandits.service.keys import ANYBODY, KeyRing
from clusterbandits.service.metrics import Metrics
from clusterbandits.service.operations import Change, Create, Decide, Read, Write
from clusterbandits.service.refusals import RefusedError, UnavailableError
from clusterbandits.service.rewards import Reward
from clusterbandits.service.settings import ServiceSettings
from clusterbandits.service.upkeep import check, rebuild
from clusterbandits.service.views import explain
from clusterbandits.service.writer import Writer

GROUPS = {"red": ["a", "b", "c"], "blue": ["d", "e", "f"]}
PLAN: dict[str, Any] = {
    "name": "ads",
    "groups": GROUPS,
    "widths": 0.2,
    "policy": "auto",
    "settings": {},
    "family": "bernoulli",
    "window": None,
    "default_reward": None,
    "combine": "first",
    "explore": 0.0,
}


def engine_on(database: Database) -> Engine:
    return Engine(database, KeyRing())


def saved_every(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Let engines save an experiment after so many events."""
    for limit in ("_EVENTS_PER_START", "_EVENTS_PER_SNAPSHOT"):
        monkeypatch.setattr(f"clusterbandits.service.engine.{limit}", count)


@pytest.fixture
def engine(database: Database) -> Iterator[Engine]:
    made = engine_on(database)
    yield made
    made.close()


class Clock:
    """The clock of this process and of the database, ahead of the true time by some seconds."""

    ahead = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made, begin, real = Clock(), log.begin_turn, time.time

    def begin_later(connection: Any, after: int) -> tuple[float, list[log.Event]]:
        now, missed = begin(connection, after)
        # With SQLite, it is the time of this process already.
        return now + (made.ahead if connection.dialect.name == "postgresql" else 0.0), missed

    monkeypatch.setattr(log, "begin_turn", begin_later)
    monkeypatch.setattr(time, "time", lambda: real() + made.ahead)
    return made


def perform(engine: Engine, operation: Any) -> Any:
    (outcome,) = engine.perform([operation])
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def create(engine: Engine, **settings: Any) -> None:
    perform(engine, Create({**PLAN, **settings}, ANYBODY))


def decide(engine: Engine, **settings: Any) -> list[dict[str, Any]]:
    known: dict[str, Any] = {"available": None, "count": 1, "idempotency": None, "note": None}
    found: list[dict[str, Any]] = perform(engine, Decide("ads", **{**known, **settings}))["decisions"]
    return found


def reward(engine: Engine, decision: str, value: float, key: str = "") -> Any:
    return perform(engine, Reward(decision, value, key, ANYBODY))


def described(engine: Engine, *, policy: bool = True) -> Any:
    """Return all that an engine has in memory of the experiment."""
    one = perform(engine, Read(lambda engine: engine.experiments["ads"]))
    return {**one.to_dict(), **({} if policy else {"policy": None})}


def traffic(engines: list[Engine], rounds: int, seed: int = 1) -> None:
    """Let engines decide and reward in turns, some rewards later or never, with changes in between."""
    chance, waiting = random.Random(seed), []
    for number in range(rounds):
        one = chance.choice(engines)
        available = chance.sample(["a", "b", "d", "e", "f"], 3) if chance.random() < 0.2 else None
        waiting += [(found["id"], found["arm"]) for found in decide(one, available=available)]
        if chance.random() < 0.8:
            decision, arm = waiting.pop(chance.randrange(len(waiting)))
            reward(chance.choice(engines), decision, float(chance.random() < 0.1 + 0.1 * "abcdef".find(arm)))
        if number == rounds // 2:
            perform(one, Change("ads", "arm retired", {"arm": "c"}, ANYBODY))
            perform(one, Change("ads", "arm added", {"arm": "g", "group": "blue"}, ANYBODY))


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "kl-ucb++"])
def test_workers_agree_to_the_last_bit(database: Database, policy: str) -> None:
    engines = [engine_on(database) for _ in range(2)]
    create(engines[0], policy=policy, explore=0.1)
    traffic(engines, 40)
    states = [described(one) for one in engines]
    assert states[0] == states[1]
    late = engine_on(database)
    assert described(late) == states[0]
    for one in (*engines, late):
        one.close()
    # Now there are snapshots.
    saved = engine_on(database)
    assert described(saved) == states[0]
    assert decide(saved)[0]["arm"] in set("abdefg")
    saved.close()


def test_one_worker_and_two_make_the_same_decisions(database: Database) -> None:
    single, pair = engine_on(database), [engine_on(database), engine_on(database)]
    chosen = []
    for name, engines in (("ads", [single]), ("two", pair)):
        create(engines[0], name=name)
        arms = []
        for number in range(60):
            operation = Decide(name, None, 1, None, None)
            (one,) = perform(engines[number % len(engines)], operation)["decisions"]
            reward(engines[(number + 1) % len(engines)], one["id"], float(number % 3 == 0))
            arms.append(one["arm"])
        chosen.append(arms)
    assert chosen[0] == chosen[1]
    for engine in (single, *pair):
        engine.close()


def test_a_start_from_a_snapshot_reads_only_what_came_after(
    database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(engine)
    traffic([engine], 50)
    engine.close()
    second = engine_on(database)
    traffic([second], 7, seed=2)
    expected = described(second)
    read: list[int] = []

    def counted(*arguments: Any) -> Iterator[log.Event]:
        for event in original(*arguments):
            read.append(event.seq)
            yield event

    original = log.read_of
    monkeypatch.setattr("clusterbandits.service.log.read_of", counted)
    third = engine_on(database)
    assert described(third) == expected
    assert 0 < len(read) < 20
    second.close()
    third.close()


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", '{"format": 99}', '{"format": 1}'])
def test_a_snapshot_that_cannot_be_used_is_not(database: Database, engine: Engine, body: str) -> None:
    create(engine)
    traffic([engine], 30)
    expected = described(engine)
    engine.close()
    with database.connected() as connection:
        connection.execute(text("UPDATE snapshots SET body = :body WHERE experiment > 0"), {"body": body})
    again = engine_on(database)
    assert described(again) == expected
    again.close()


def test_a_policy_that_cannot_be_compiled_in_advance_is_served(
    database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(engine)
    monkeypatch.setattr("clusterbandits.service.engine.warm_up", lambda _: 1 / 0)
    other = engine_on(database)
    assert len(decide(other)) == 1
    other.close()


def test_snapshots_are_made_as_the_log_grows(
    database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved_every(monkeypatch, 50)
    create(engine)
    for _ in range(20):
        decide(engine, count=10)
        engine.saver.finish()
    with database.connected() as connection:
        saved, _ = snapshots.read(connection)
    (body,) = saved.values()
    assert '"seq": ' in body
    (created,) = _created(database)
    assert snapshots.restore(created, body).seq > 100


def test_many_experiments_leave_few_events_without_a_snapshot(
    database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clusterbandits.service.engine._EVENTS_PER_START", 100)
    monkeypatch.setattr("clusterbandits.service.engine._EVENTS_PER_SNAPSHOT", 5)
    names = [f"many-{number}" for number in range(10)]
    for name in names:
        create(engine, name=name, policy="ucb1")
    for _ in range(3):
        for name in names:
            perform(engine, Decide(name, None, 20, None, None))
            engine.saver.finish()
    perform(engine, Decide(names[0], None, 1, None, None))
    with database.connected() as connection:
        saved, _ = snapshots.read(connection)
    last = {one.seq: snapshots.restore(one, saved.get(one.seq)).seq for one in _created(database)}
    unsaved = [event for event in _events(database) if event.seq > last[event.experiment]]
    assert 0 < len(unsaved) < 100


def _created(database: Database) -> list[log.Event]:
    with database.connected() as connection:
        return log.created(connection)


def _events(database: Database) -> list[log.Event]:
    with database.connected() as connection:
        return list(log.read_after(connection, 0))


def test_statistics_that_were_tampered_with_are_rebuilt(database: Database, engine: Engine) -> None:
    create(engine)
    traffic([engine], 30)
    expected = described(engine)
    engine.close()
    _, found = rebuild(database, lambda _: None)
    assert found["ok"]
    with database.connected() as connection:
        broken = "REPLACE(body, '\"counts\": [0,', '\"counts\": [7,')"
        connection.execute(text(f"UPDATE snapshots SET body = {broken}"))
    sentences, found = rebuild(database, lambda _: None)
    assert not found["ok"]
    assert "DIFFERENT" in sentences[0]
    assert rebuild(database, lambda _: None)[1]["ok"]
    again = engine_on(database)
    assert described(again) == expected
    again.close()


def test_a_check_beside_a_running_service_finds_no_gaps(
    database: Database, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(engine)
    last = log.last_position

    def decide_meanwhile(connection: Any) -> int:
        found = last(connection)
        decide(engine)
        return found

    monkeypatch.setattr(log, "last_position", decide_meanwhile)
    sentences, found = check(database)
    assert found["ok"], sentences
    assert (found["events"], engine.seq) == (1, 2)


def answer_of(settings: ServiceSettings, path: str) -> httpx.Response:
    """Return the answer of an application in this process to a GET request."""

    async def ask() -> httpx.Response:
        app = create_app(settings)
        line = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")
        async with app.router.lifespan_context(app), line as client:
            return await client.get(path)

    # In the main thread, the application would take over the signals.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, ask()).result()


def test_a_failure_in_the_program_is_not_explained_to_clients(
    database: Database, address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert database.version() is not None

    def fail(*_: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr("clusterbandits.service.live.listing", fail)
    answer = answer_of(ServiceSettings(address, insecure=True), "/v1/experiments")
    assert (answer.status_code, answer.json()) == (
        500,
        {"detail": "Internal error; see the log of the service."},
    )
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "secret" in caplog.text


def test_strangers_are_not_told_why_the_service_is_not_ready(
    database: Database, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert database.version() is not None

    def fail(_: Engine) -> None:
        raise UnavailableError("secret")

    monkeypatch.setattr("clusterbandits.service.app._position", fail)
    for insecure in (True, False):
        answer = answer_of(ServiceSettings(address, insecure=insecure), "/ready")
        assert (answer.status_code, "secret" in answer.text) == (503, insecure)


def test_a_failed_commit_leaves_nothing_behind(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    create(engine)
    (one,) = decide(engine)
    before = described(engine)

    def fail(*_: object) -> None:
        raise OperationalError("COMMIT", {}, Exception("the disk is full"))

    with monkeypatch.context() as patched:
        patched.setattr("clusterbandits.service.log.end_turn", fail)
        for operation in (Decide("ads", None, 3, "key", None), Reward(one["id"], 1.0, "", ANYBODY)):
            with pytest.raises(UnavailableError, match="the disk is full"):
                perform(engine, operation)
    assert described(engine) == before
    # The worker tries by itself whether the database accepts writes again.
    engine.tick()
    reward(engine, one["id"], 1.0)
    assert engine.experiments["ads"].policy.rounds == 1


class _Faulty(Write):
    def run(self, batch: Any) -> None:
        batch.engine.experiments["ads"].policy.expect("a")
        raise ValueError("a mistake in the program")


def test_a_request_that_fails_does_not_harm_the_others(engine: Engine) -> None:
    create(engine)
    operations: list[Any] = [Decide("ads", None, 1, str(number), None) for number in range(4)]
    operations.insert(2, _Faulty())
    outcomes = engine.perform(operations)
    assert isinstance(outcomes[2], ValueError)
    del outcomes[2]
    assert all(len(outcome["decisions"]) == 1 for outcome in outcomes)
    assert sum(engine.experiments["ads"].policy.awaited.values()) == 4
    assert described(engine)["decisions"] == engine.experiments["ads"].decisions.tolist()


def test_a_read_that_fails_does_not_repeat_what_was_committed(engine: Engine) -> None:
    create(engine)
    (known,) = decide(engine)
    operations: list[Any] = [
        Read(lambda _: 1 / 0),
        Decide("ads", None, 1, None, None),
        Reward(known["id"], 1.0, "", ANYBODY),
        Read(lambda engine: int(engine.experiments["ads"].decisions.sum())),
    ]
    failed, made, rewarded, seen = engine.perform(operations)
    assert isinstance(failed, ZeroDivisionError)
    assert (len(made["decisions"]), rewarded["status"], seen) == (1, "counted", 2)
    assert described(engine)["decisions"].count(1) == 2
    assert engine.seq == 4


def test_a_snapshot_that_cannot_be_made_does_not_repeat_what_was_committed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(engine)
    saved_every(monkeypatch, 1)
    with monkeypatch.context() as patched:
        patched.setattr("clusterbandits.service.experiment.Experiment.to_dict", lambda _: 1 / 0)
        assert len(decide(engine)) == 1
    assert engine.experiments["ads"].decisions.sum() == 1
    assert engine.seq == 2


@pytest.mark.parametrize("faulty", [False, True])
def test_requests_that_arrive_during_the_wait_for_a_turn_join_the_batch(engine: Engine, faulty: bool) -> None:
    create(engine)
    (known,) = decide(engine, idempotency="before")
    late: list[Any] = [_Faulty()] if faulty else []
    late += [
        Reward(known["id"], 1.0, "", ANYBODY),
        Read(lambda engine: engine.seq),
        Decide("ads", None, 2, "new", None),
    ]
    operations: list[Any] = [Decide("ads", None, 1, "before", None)]
    repeated, *failed, rewarded, seq, made = engine.perform(operations, lambda: list(late))
    assert len(operations) == 1 + len(late)
    assert repeated["decisions"] == [known]
    assert rewarded["status"] == "counted"
    assert len(made["decisions"]) == 2
    # Reads see what was written before them; without a fault, all of the batch.
    assert seq == (engine.seq - 2 if faulty else engine.seq)
    assert [type(one) for one in failed] == [ValueError] * faulty
    assert described(engine)["decisions"] == engine.experiments["ads"].decisions.tolist()
    assert sum(engine.experiments["ads"].decisions) == 3
    assert sum(engine.experiments["ads"].policy.pulls.values()) == 1


def test_old_decisions_and_keys_are_found_in_the_log(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "_MOST", 5)
    create(engine)
    first = decide(engine, count=4, idempotency="first")
    for number in range(10):
        decide(engine, idempotency=str(number))
    assert decide(engine, count=4, idempotency="first") == first
    for one in first:
        assert reward(engine, one["id"], 1.0)["status"] == "counted"
    for _ in range(10):
        decide(engine)
    assert reward(engine, first[0]["id"], 1.0)["status"] == "repeated"
    with pytest.raises(RefusedError, match="another reward"):
        reward(engine, first[0]["id"], 0.0)
    assert decide(engine, idempotency="first") == first


def test_many_windows_that_close_at_once(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clusterbandits.service.engine._SWEPT_AT_ONCE", 50)
    create(engine, window=60, default_reward=0.0)
    found = decide(engine, count=180) + decide(engine, count=30)
    reward(engine, found[7]["id"], 1.0)
    clock.ahead = 61
    for _ in range(10):
        engine.tick()
    one = engine.experiments["ads"]
    assert (one.defaulted, sum(one.policy.pulls.values()), one.policy.awaited) == (209, 210, {})
    assert sum(one.policy.totals.values()) == 1.0


def test_windows_close_while_no_worker_runs(database: Database, engine: Engine, clock: Clock) -> None:
    create(engine, window=60)
    decide(engine, count=5)
    engine.close()
    clock.ahead = 61
    again = engine_on(database)
    again.tick()
    assert again.experiments["ads"].cancelled == 5
    again.close()


def test_changes_do_not_repeat_random_numbers(engine: Engine) -> None:
    """With a change before every decision, a random policy still chooses as often as its chances say."""
    create(engine, policy="thompson")
    chosen = []
    for number in range(60):
        settings = {"widths": 0.2 + number / 1000, "settings": {"prior": [0.5, 1 + number / 1000]}}
        perform(engine, Change("ads", "changed", {"settings": settings}, ANYBODY))
        chosen.append(decide(engine)[0]["arm"])
    assert len(set(chosen)) == 6
    assert max(map(chosen.count, "abcdef")) < 30


def test_an_idle_worker_does_not_read_closed_windows_again(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(engine, window=60, default_reward=0)
    found = decide(engine, count=20)
    for one in found:
        reward(engine, one["id"], 1)
    clock.ahead = 61
    read: list[float] = []
    due = log.due

    def counted(connection: Any, after: float, until: float, limit: int) -> Any:
        read.append(after)
        return due(connection, after, until, limit)

    monkeypatch.setattr(log, "due", counted)
    engine.tick()
    engine.tick()
    last = max(one["expires_at"] for one in found)
    assert read[0] < last < read[1]
    (late,) = decide(engine)
    clock.ahead = 122
    engine.tick()
    assert described(engine)["counts"][1] == 1, late


def test_a_refused_request_for_many_decisions_makes_none(engine: Engine) -> None:
    arms = [f"a{number}" for number in range(1000)]
    history = {arm: {"pulls": 10**12, "total": 0} for arm in arms}
    history["a0"]["pulls"] -= 5
    create(engine, groups={"all": arms}, history=history, policy="ucb1")
    with pytest.raises(RefusedError, match="has made"):
        decide(engine, count=10, idempotency="k")
    assert sum(described(engine)["decisions"]) == 0
    assert len(decide(engine, count=5, idempotency="k")) == 5


def test_chances_include_exploration(engine: Engine) -> None:
    create(engine, policy="ucb1", explore=0.4)
    perform(engine, Change("ads", "arm retired", {"arm": "f"}, ANYBODY))
    chances = perform(engine, Read(lambda engine: explain(engine.experiments["ads"])))["chances"]
    assert sorted(chances.values()) == pytest.approx([0, 0.08, 0.08, 0.08, 0.08, 0.68])


def test_a_database_in_memory_is_refused() -> None:
    for url in ("sqlite://", "sqlite:///:memory:"):
        with pytest.raises(InvalidInputError, match="in memory"):
            Database(url)


def test_the_log_has_no_gaps(database: Database, engine: Engine) -> None:
    create(engine)
    traffic([engine], 20)
    sentences, data = check(database)
    assert data["ok"]
    assert data["events"] == engine.seq
    with database.connected() as connection:
        connection.execute(text("DELETE FROM events WHERE seq = 7"))
    sentences, data = check(database)
    assert not data["ok"]
    assert "gaps" in sentences[-1]


def test_an_empty_database_is_told_apart(address: str) -> None:
    database = Database(address)
    sentences, data = check(database)
    database.dispose()
    assert not data["ok"]
    assert "upgrade" in sentences[0]


def test_made_up_ids_do_not_change_what_is_known(engine: Engine) -> None:
    create(engine, combine="last", family="gaussian")
    (one,) = decide(engine)
    for value in (1.0, 5.0):
        reward(engine, one["id"], value)
    for position in range(1, 9):
        with pytest.raises(RefusedError):
            reward(engine, f"{position:x}-00000000", 1.0)
    assert reward(engine, one["id"], 5.0)["value"] == 5.0
    assert reward(engine, one["id"], 6.0)["value"] == 6.0
    assert sum(engine.experiments["ads"].policy.totals.values()) == 6.0


def test_a_clock_that_is_put_back(database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    clock.ahead = 3600
    monkeypatch.setattr("clusterbandits.service.engine._SWEEP_SECONDS", 0.0)
    first = engine_on(database)
    create(first, window=1.0, combine="last", family="gaussian")
    clock.ahead = 0
    (one,) = decide(first)
    clock.ahead = 7200
    perform(first, Change("ads", "resumed", {}, ANYBODY))
    assert first.experiments["ads"].cancelled == 1
    first.close()
    clock.ahead = 0
    second = engine_on(database)
    for value in (1.0, 6.0):
        with pytest.raises(RefusedError, match="closed"):
            reward(second, one["id"], value)
    assert second.experiments["ads"].late == 2
    assert sum(second.experiments["ads"].policy.pulls.values()) == 0
    found = decide(second, count=3)
    clock.ahead = 10_800
    perform(second, Change("ads", "resumed", {}, ANYBODY))
    assert second.experiments["ads"].cancelled == 4
    assert len(found) == 3
    second.close()


def test_values_of_one_decision_do_not_lose_digits(engine: Engine) -> None:
    create(engine, combine="last", family="gaussian")
    (one,) = decide(engine)
    for value in (0.1, 0.3, 1e17, 0.5):
        assert reward(engine, one["id"], value)["value"] == value


def test_a_worker_that_only_follows_does_not_grow(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "_MOST", 50)
    busy, idle = engine_on(database), engine_on(database)
    create(busy, window=60)
    for _ in range(20):
        decide(busy, count=20)
        idle.tick()
    assert len(idle.recent._records) <= 70
    clock.ahead = 61
    for _ in range(5):
        busy.tick()
        idle.tick()
    assert idle.swept >= busy.last_at - 1e-6
    busy.close()
    idle.close()


def test_a_snapshot_that_fails_costs_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    saved_every(monkeypatch, 10)

    def fail(*_: object, **__: object) -> None:
        raise OperationalError("INSERT", {}, Exception("the disk is full"))

    monkeypatch.setattr("clusterbandits.service.snapshots.save", fail)
    create(engine)
    for _ in range(10):
        assert len(decide(engine, count=7)) == 7
        engine.saver.finish()
    assert engine.experiments["ads"].decisions.sum() == 70


def test_a_tick_that_fails_does_not_end_the_thread(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        writer = Writer(engine_on(database), Metrics())
        writer.start()
        await writer.submit(Create(PLAN, ANYBODY))
        monkeypatch.setattr(Engine, "tick", lambda _: 1 / 0)
        await asyncio.sleep(0.6)
        assert writer.alive
        made = await writer.submit(Decide("ads", None, 1, None, None))
        assert len(made["decisions"]) == 1
        await writer.stop()
        assert not writer.alive

    asyncio.run(run())


def test_a_database_that_hangs_does_not_keep_the_service_alive(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clusterbandits.service.writer._STOP_SECONDS", 0.2)
    answers = threading.Event()

    async def run() -> None:
        writer = Writer(engine_on(database), Metrics())
        writer.start()
        await writer.submit(Create(PLAN, ANYBODY))
        begin = log.begin_turn
        monkeypatch.setattr(log, "begin_turn", lambda *given: answers.wait(60) and begin(*given))
        waiting = writer.submit(Decide("ads", None, 1, None, None))
        await asyncio.wait_for(writer.stop(), 10)
        assert writer.alive
        assert not waiting.done()
        answers.set()
        assert len((await waiting)["decisions"]) == 1
        writer._thread.join(30)

    asyncio.run(run())


def test_requests_do_not_wait_for_a_database_that_hangs(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose outcome is unknown counts at most once; what waits behind it is not performed."""
    monkeypatch.setattr("clusterbandits.service.writer._LOOK_SECONDS", 0.05)
    reached, answers = threading.Event(), threading.Event()

    async def run() -> None:
        writer = Writer(engine_on(database), Metrics())
        writer.start()
        await writer.submit(Create(PLAN, ANYBODY))
        begin = log.begin_turn

        def hang(*given: Any) -> Any:
            reached.set()
            assert answers.wait(60)
            return begin(*given)

        monkeypatch.setattr(log, "begin_turn", hang)
        requests = [writer.submit(Decide("ads", None, 1, "first", None))]
        await asyncio.to_thread(reached.wait, 60)
        requests.append(writer.submit(Decide("ads", None, 1, "second", None)))
        # Not before: on a busy machine, a batch that does not hang can take as long.
        monkeypatch.setattr("clusterbandits.service.writer._BATCH_SECONDS", 0.3)
        for request in requests:
            with pytest.raises(UnavailableError, match="try again"):
                await asyncio.wait_for(request, 10)
        monkeypatch.undo()
        answers.set()
        await writer.submit(Decide("ads", None, 1, "first", None))
        assert await writer.submit(Read(lambda engine: engine.experiments["ads"].decisions.sum())) == 1
        await writer.stop()

    asyncio.run(run())


def test_a_key_is_found_by_its_index(database: Database) -> None:
    with database.connected() as connection:
        if not database.is_sqlite:
            pytest.skip("PostgreSQL plans by what is in the table")
        statements: list[str] = []
        events.listen(database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
        log.with_keys(connection, 1, ["a", "b"])
        log.created(connection)
        for statement, index in zip(list(statements), ("events_by_key", "events_by_name"), strict=True):
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement.replace('?', '1')}").all()
            assert index in str(plan)


def test_a_database_of_a_later_release(database: Database) -> None:
    with database.connected() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InvalidInputError, match="later release"):
        database.upgrade()


def test_sqlite_writers_wait_for_each_other_and_no_longer_than_allowed(
    new_database: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clusterbandits.service.database._BUSY_SECONDS", 0.05)
    database = Database(new_database("sqlite"))
    with database.writer.connect() as first, database.writer.connect() as second:
        begin_sqlite_turn(first)
        with pytest.raises(OperationalError, match="locked"):
            begin_sqlite_turn(second)
        first.exec_driver_sql("COMMIT")
        begin_sqlite_turn(second)
        second.exec_driver_sql("COMMIT")
    database.dispose()


def test_a_frozen_writer_loses_its_turn_on_postgresql(
    new_database: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(new_database("postgresql"))
    database.upgrade()
    engine = engine_on(database)
    create(engine)
    options = database_module._POSTGRESQL_WRITER
    soon = options["options"].replace(f"timeout={database_module._SILENT_SECONDS}s", "timeout=1s")
    monkeypatch.setattr(database_module, "_POSTGRESQL_WRITER", {**options, "options": soon})
    other = Database(database.url.render_as_string(hide_password=False))
    with other.writer.connect() as frozen:
        log.begin_turn(frozen, engine.seq)
        assert len(decide(engine)) == 1
        with pytest.raises(DriverError):
            log.end_turn(frozen, [])
        frozen.invalidate()
    engine.close()
    for one in (database, other):
        one.dispose()


_COUNTING = """
import gc, sys
from numba.core.dispatcher import Dispatcher
from tests.service.test_engine import PLAN, decide, engine_on, reward
from clusterbandits.service.database import Database
from clusterbandits.service.keys import ANYBODY
from clusterbandits.service.operations import Create, Read, Change, warm_up
from clusterbandits.service.plan import read_plan
from clusterbandits.service.views import explain, history


def compiled():
    kernels = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
    return {one.py_func.__qualname__: len(one.overloads) for one in kernels}


settings = {**PLAN, "policy": sys.argv[2], "combine": "last", "explore": 0.3}
warm_up(read_plan(settings))
before = compiled()
database = Database(sys.argv[1])
database.upgrade()
engine = engine_on(database)
engine.perform([Create(settings, ANYBODY)])
decided = decide(engine, count=30)
for number, one in enumerate(decided[:20]):
    reward(engine, one["id"], float(number % 3 == 0))
reward(engine, decided[0]["id"], 0.0, "again")
for change, body in (
    ("arm retired", {"arm": "a"}), ("arm added", {"arm": "g", "group": "red"}), ("arm restored", {"arm": "a"})
):
    engine.perform([Change("ads", change, body, ANYBODY)])
    decide(engine, available=["b", "d"])
one = engine.experiments["ads"]
one.policy.cancel(decided[25]["arm"])
explain(one), history(one)
engine.close()
other = engine_on(database)
decide(other)
print([name for name, count in compiled().items() if count > before.get(name, 0)])
other.close()
"""


@pytest.mark.parametrize("policy", ["auto", "clus-ucb", "thompson"])
def test_requests_need_no_kernel_that_was_not_compiled_before(
    new_database: Callable[[str], str], policy: str
) -> None:
    command = [sys.executable, "-c", _COUNTING, new_database("sqlite"), policy]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
