"""Campaigns of many simulations: the same bits, nothing lost, nothing left running."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import clusterbandits as cb
from clusterbandits.simulation.campaign import Campaign, Simulation, open_simulation
from clusterbandits.simulation.executors import Workers, workers_of
from clusterbandits.simulation.plan import Plan
from clusterbandits.simulation.runs import play_runs
from clusterbandits.simulation.simulate import plan_of
from tests.simulation.test_simulate import EASY, AtOnce, own_threads

if TYPE_CHECKING:
    from clusterbandits.simulation.campaign import Listener

SHORT: dict[str, Any] = {"horizon": 20, "runs": 2, "checkpoints": [5], "paired": False, "stepwise": False}


def short_plan(seed: int, mean: float = 0.5) -> Plan:
    return plan_of(cb.Instance([[0.2, mean], [0.8]]), "kl-ucb", {**SHORT, "seed": seed})


def both_workers() -> list[Workers]:
    return [workers_of(2, None, "test"), workers_of(None, AtOnce(), "test")]


def finished(
    simulations: Iterable[Simulation], workers: Workers, listener: Listener | None = None
) -> Generator[Simulation, None, None]:
    return Campaign(simulations, workers, listener, runs=0).finished()


@pytest.mark.parametrize("which", [0, 1])
def test_thousands_of_small_plans_are_open_only_while_they_are_played(which: int) -> None:
    chosen, alive, most = both_workers()[which], 0, 0

    def made() -> Iterator[Simulation]:
        nonlocal alive, most
        for seed in range(1500):
            alive += 1
            most = max(most, alive)
            yield Simulation(short_plan(seed), None, 1)

    found: dict[int, NDArray[np.int64]] = {}
    for one in finished(made(), chosen):
        alive -= 1
        assert one.complete
        found[one.plan.seed] = one.result("test").pulls
    assert sorted(found) == list(range(1500))
    assert most <= chosen.capacity + 1
    for seed in (0, 1, 700, 1499):
        alone = cb.simulate(cb.Instance([[0.2, 0.5], [0.8]]), "kl-ucb", 20, 2, seed, checkpoints=[5])
        assert np.array_equal(found[seed], alone.pulls)
    assert own_threads() == []


def test_plans_sent_away_are_those_of_the_ledger_they_belong_to() -> None:
    """A simulation that is gone may leave its place in memory to the next one."""
    workers = workers_of(None, AtOnce(), "test")
    places = set()
    for k in range(60):
        one = Simulation(short_plan(k, 0.01 * k), None, 1)
        places.add(id(one))
        (block,) = one.missing
        played = workers.submit(one, block).result()
        wanted = play_runs(short_plan(k, 0.01 * k), block, lambda _: None)
        assert np.array_equal(played.pulls, wanted.pulls), k
        del one
    if len(places) == 60:
        pytest.skip("no simulation was given the place of an earlier one")


def test_simulations_that_miss_nothing_are_told_of_at_once(tmp_path: Path) -> None:
    plans = [short_plan(seed) for seed in range(6)]
    for seed in (0, 2, 3):
        for _ in finished([open_simulation(plans[seed], tmp_path / str(seed))], both_workers()[0]):
            pass
    simulations = [open_simulation(plan, tmp_path / str(seed)) for seed, plan in enumerate(plans)]
    assert [bool(one.missing) for one in simulations] == [False, True, False, False, True, True]
    received = [one.plan.seed for one in finished(simulations, both_workers()[0])]
    assert sorted(received) == list(range(6))


class Failing(Executor):
    """Somebody's executor whose machines are gone after a few blocks."""

    def __init__(self, good: int, error: BaseException) -> None:
        self.good, self.error = good, error

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.good -= 1
        if self.good < 0:
            future.set_exception(self.error)
        else:
            future.set_result(fn(*args, **kwargs))
        return future


@pytest.mark.parametrize("error", [ConnectionError("gone"), KeyboardInterrupt()])
def test_an_executor_that_fails_leaves_what_it_finished(error: BaseException, tmp_path: Path) -> None:
    def simulations() -> list[Simulation]:
        return [open_simulation(short_plan(seed), tmp_path / str(seed), 1) for seed in range(8)]

    with pytest.raises(type(error)):
        list(finished(simulations(), workers_of(None, Failing(5, error), "test")))
    kept = [seed for seed in range(8) if list((tmp_path / str(seed)).glob("*.parquet"))]
    assert kept == list(range(5))
    assert sum(not one.missing for one in simulations()) == len(kept)
    assert len(list(finished(simulations(), both_workers()[0]))) == 8


def test_ctrl_c_among_many_plans_keeps_every_piece_that_was_finished(tmp_path: Path) -> None:
    def simulations() -> list[Simulation]:
        return [open_simulation(short_plan(seed), tmp_path / str(seed), 2) for seed in range(40)]

    looks = itertools.count()

    def look(_: object) -> None:
        if next(looks) == 3:
            raise KeyboardInterrupt

    received = []
    with pytest.raises(KeyboardInterrupt):
        received += [one.plan.seed for one in finished(simulations(), workers_of(2, None, "test"), look)]
    assert own_threads() == []
    stored = len(list(tmp_path.rglob("*.parquet")))
    assert 0 < stored < 80
    again = simulations()
    assert sum(len(one.missing) for one in again) == 80 - stored
    for one in finished(again, both_workers()[1]):
        alone = cb.simulate(one.plan.instance, "kl-ucb", 20, 2, one.plan.seed, checkpoints=[5])
        assert np.array_equal(one.result("test").pulls, alone.pulls)


def test_whoever_stops_listening_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    """Ctrl-C while a problem is summarised: eight are finished, one was reported."""
    simulations = [open_simulation(short_plan(seed), tmp_path / str(seed), 1) for seed in range(8)]
    playing = finished(simulations, workers_of(None, AtOnce(), "test"))
    next(playing)
    playing.close()
    assert len(list(tmp_path.rglob("*.parquet"))) == 8


def test_whoever_stops_listening_stops_the_workers() -> None:
    long = plan_of(EASY, "kl-ucb", {**SHORT, "horizon": 10**15, "seed": 0, "stepwise": True})
    playing = finished([Simulation(short_plan(0), None), Simulation(long, None)], workers_of(2, None, "test"))
    assert next(playing).plan.seed == 0
    playing.close()
    assert own_threads() == []


def test_progress_is_one_account_of_simulations_of_any_length(tmp_path: Path) -> None:
    long = plan_of(EASY, "kl-ucb", {**SHORT, "horizon": 500, "seed": 3})
    list(finished([open_simulation(short_plan(0), tmp_path / "0")], both_workers()[0]))
    received: list[cb.Progress] = []
    plans = {"0": short_plan(0), "1": short_plan(1), "long": long}
    simulations = (open_simulation(plan, tmp_path / name, name=name) for name, plan in plans.items())
    rounds = sum(plan.runs * plan.horizon for plan in plans.values())
    campaign = Campaign(simulations, both_workers()[0], received.append, runs=6, rounds=rounds)
    assert len(list(campaign.finished())) == 3
    last = received[-1]
    assert (last.runs_done, last.runs, last.rounds_done, last.rounds) == (6, 6, rounds, rounds)
    assert (last.reused, last.under_way, last.doing, last.idle) == (2, 0.0, "", 0.0)
    assert campaign.reused == 2
    assert {one.doing for one in received} <= {*plans, ""}
    for before, after in itertools.pairwise(received):
        assert before.runs_done + before.under_way <= after.runs_done + after.under_way


class Remembering(ThreadPoolExecutor):
    """Knows its futures."""

    def __init__(self) -> None:
        super().__init__(1)
        self.given: list[Future[Any]] = []

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        self.given.append(super().submit(*args, **kwargs))
        return self.given[-1]

    def left_locked(self) -> list[Future[Any]]:
        """Return the futures that the main thread left locked, as another thread finds them."""
        found: list[Future[Any]] = []

        def look() -> None:
            for future in self.given:
                if future._condition.acquire(timeout=0.3):
                    future._condition.release()
                else:
                    found.append(future)

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return found


def interrupted_at(line: int, executor: Executor) -> bool:
    """Simulate, and raise KeyboardInterrupt at a line that Python's futures run; tell if it came to that."""
    lines = 0

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal lines
        lines += event == "line" and "concurrent" in frame.f_code.co_filename
        if lines < line:
            return trace
        sys.settrace(None)
        raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        cb.simulate(EASY, "kl-ucb", 1000, runs=64, executor=executor)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_ctrl_c_leaves_futures_that_other_threads_can_finish() -> None:
    """But for the one that it met: waiting for all at once would lock all of them."""
    interrupted = 0
    for line in range(5, 1500, 29):
        executor = Remembering()
        interrupted += interrupted_at(line, executor)
        locked = executor.left_locked()
        for future in locked:
            future._condition.release()
        executor.shutdown()
        assert len(locked) <= 1
    assert interrupted > 10
