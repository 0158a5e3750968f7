"""Simulations: the same bits everywhere, the same law with and without holding, and whatever goes wrong."""

from __future__ import annotations

import gc
import itertools
import math
import multiprocessing
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import clusterbandits as cb
from clusterbandits.paper.figures import figure
from clusterbandits.simulation.loop import OUT_OF_TAPE, Record, Rewards, Rules, advance, new_cursor

CLUSTERED = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
EASY = cb.Instance([[0.2], [0.8]])
BOTH = ["kl-ucb", "clus-ucb"]
FAMILIES = [
    "bernoulli",
    "gaussian:sigma=0.5",
    "poisson",
    "exponential",
    "exponential:shape=3",
    "negative-binomial",
]
loosely: Any = cb.simulate


def at_most(seconds: float) -> Callable[[cb.Progress], None]:
    """A listener that ends a simulation which takes too long."""

    def listen(progress: cb.Progress) -> None:
        if progress.seconds > seconds:
            raise TimeoutError(f"{progress.rounds_done} rounds of {progress.rounds} in {seconds} s")

    return listen


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("clusterbandits")]


def check_counts(result: cb.Result) -> None:
    assert (result.pulls.sum(axis=3) == result.checkpoints).all()
    assert (result.pulls >= 0).all()
    assert (np.diff(result.pulls, axis=2) >= 0).all()


class AtOnce(Executor):
    """Somebody's executor: plays where it is asked, before it answers."""

    def __init__(self) -> None:
        self.asked = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.asked += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """Compile before anything is timed."""
    cb.simulate(CLUSTERED, BOTH, 100, runs=1)


@pytest.fixture
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def plain() -> cb.Result:
    """What every other way to play the same must equal."""
    return cb.simulate(CLUSTERED, BOTH, 3000, runs=21, seed=7, workers=1)


@pytest.mark.parametrize("workers", [2, 5, 64])
def test_the_same_bits_for_any_number_of_workers(plain: cb.Result, workers: int) -> None:
    result = cb.simulate(CLUSTERED, BOTH, 3000, runs=21, seed=7, workers=workers)
    assert np.array_equal(result.pulls, plain.pulls)
    assert np.array_equal(result.checkpoints, plain.checkpoints)
    assert result.labels == plain.labels
    assert result.runs.tolist() == list(range(21))
    assert (result.seed, result.paired) == (7, False)
    assert own_threads() == []


def test_the_same_bits_again_and_by_default(plain: cb.Result) -> None:
    assert np.array_equal(cb.simulate(CLUSTERED, BOTH, 3000, runs=21, seed=7).pulls, plain.pulls)
    assert np.array_equal(loosely(CLUSTERED, BOTH, 3e3, 21.0, np.uint8(7)).pulls, plain.pulls)


def test_the_same_bits_on_somebodys_threads(plain: cb.Result) -> None:
    with ThreadPoolExecutor(3) as executor:
        for _ in range(2):
            result = cb.simulate(CLUSTERED, BOTH, 3000, runs=21, seed=7, executor=executor)
            assert np.array_equal(result.pulls, plain.pulls)
        assert executor.submit(math.sqrt, 4.0).result() == 2


def test_the_same_bits_in_other_processes(plain: cb.Result, tmp_path: Path) -> None:
    paired = cb.simulate(CLUSTERED, BOTH, 500, runs=5, seed=2, paired=True)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        store = tmp_path / "store"
        result = cb.simulate(CLUSTERED, BOTH, 3000, runs=21, seed=7, executor=executor, store=store)
        assert np.array_equal(result.pulls, plain.pulls)
        again = cb.simulate(CLUSTERED, BOTH, 500, runs=5, seed=2, paired=True, executor=executor)
        assert np.array_equal(again.pulls, paired.pulls)
        assert executor.submit(math.sqrt, 4.0).result() == 2
    assert np.array_equal(cb.load_result(store).pulls, plain.pulls)


def test_the_same_bits_from_an_executor_of_ones_own(plain: cb.Result) -> None:
    executor = AtOnce()
    assert np.array_equal(
        cb.simulate(CLUSTERED, BOTH, 3000, runs=21, seed=7, executor=executor).pulls, plain.pulls
    )
    assert executor.asked > 1


def test_policies_do_not_depend_on_their_company(plain: cb.Result) -> None:
    turned = cb.simulate(CLUSTERED, BOTH[::-1], 3000, runs=21, seed=7)
    assert turned.labels == ("clus-ucb", "kl-ucb")
    assert np.array_equal(turned.pulls[::-1], plain.pulls)
    for place, name in enumerate(BOTH):
        alone = cb.simulate(CLUSTERED, name, 3000, runs=21, seed=7)
        assert np.array_equal(alone.pulls[0], plain.pulls[place])
    crowd = cb.simulate(CLUSTERED, ["clus-ucb:a=1", "kl-ucb", "kl-ucb:a=3"], 3000, runs=21, seed=7)
    assert np.array_equal(crowd.pulls[1], plain.pulls[0])


def test_runs_do_not_depend_on_how_many_there_are(plain: cb.Result) -> None:
    fewer = cb.simulate(CLUSTERED, BOTH, 3000, runs=5, seed=7)
    assert np.array_equal(fewer.pulls, plain.pulls[:, :5])


def test_policies_may_be_given_as_anything_that_can_be_listed(plain: cb.Result) -> None:
    clusters = CLUSTERED.clusters()
    lists: list[Any] = [
        tuple(BOTH),
        (name for name in BOTH),
        np.array(BOTH),
        ["kl-ucb", cb.ClusUCB(clusters)],
        [cb.KLUCB(clusters), cb.ClusUCB(clusters)],
    ]
    for policies in lists:
        result = cb.simulate(CLUSTERED, policies, 3000, runs=5, seed=7)
        assert np.array_equal(result.pulls, plain.pulls[:, :5])


def test_seeds_runs_and_labels_differ(plain: cb.Result) -> None:
    final = plain.pulls[:, :, -1]
    for one, other in itertools.combinations(range(21), 2):
        assert not np.array_equal(plain.pulls[0, one], plain.pulls[0, other])
    clusters = CLUSTERED.clusters()
    twins = [cb.KLUCB(clusters), cb.KLUCB(clusters, label="twin")]
    result = cb.simulate(CLUSTERED, twins, 3000, runs=21, seed=7)
    assert np.array_equal(result.pulls[0], plain.pulls[0])
    assert not (result.pulls[0, :, -1] == result.pulls[1, :, -1]).all(axis=1).any()
    for seed in (0, 6, 8, 7 + 2**32, 7 + 2**64, 2**128 - 1):
        seeded = cb.simulate(CLUSTERED, BOTH, 3000, runs=21, seed=seed)
        assert not (seeded.pulls[:, :, -1] == final).all(axis=2).any()
        assert seeded.seed == seed


def test_what_a_policy_was_told_stays_its_own(plain: cb.Result) -> None:
    policy = cb.ClusUCB(CLUSTERED.clusters())
    for reward in (1, 0, 1, 1, 0, 1):
        policy.tell(policy.ask(), reward)
    before = policy.to_json()
    result = cb.simulate(CLUSTERED, policy, 3000, runs=21, seed=7)
    assert np.array_equal(result.pulls[0], plain.pulls[1])
    assert policy.to_json() == before


def test_names_know_the_clusters_they_are_told() -> None:
    received = CLUSTERED.clusters([0.5, 0.9])
    named = cb.simulate(CLUSTERED, "clus-ucb:a=2,refresh=3", 2000, runs=6, clusters=received)
    made = cb.simulate(CLUSTERED, cb.ClusUCB(received, a=2, refresh=3), 2000, runs=6)
    assert np.array_equal(named.pulls, made.pulls)
    assert not np.array_equal(
        named.pulls, cb.simulate(CLUSTERED, "clus-ucb:a=2,refresh=3", 2000, runs=6).pulls
    )


def test_results_remember_what_was_played() -> None:
    instance = cb.Instance({"red": {"a": 0.3, "b": 0.7}, "blue": {"c": 0.5}})
    result = cb.simulate(instance, BOTH, 100, runs=3, paired=True)
    assert result.instance == instance
    assert result.arms == ("a", "b", "c")
    assert result.paired is True
    assert result.seed == 0
    assert result.pulls.dtype == np.int64


def test_paired_policies_meet_the_same_rewards() -> None:
    clusters = CLUSTERED.clusters()
    twins = [cb.ClusUCB(clusters), cb.ClusUCB(clusters, label="twin"), cb.KLUCB(clusters)]
    paired = cb.simulate(CLUSTERED, twins, 3000, runs=8, seed=3, paired=True)
    assert np.array_equal(paired.pulls[0], paired.pulls[1])
    assert not np.array_equal(paired.pulls[0], paired.pulls[2])
    assert not np.array_equal(paired.pulls[0, 0], paired.pulls[0, 1])
    own = cb.simulate(CLUSTERED, twins, 3000, runs=8, seed=3)
    assert not (own.pulls[0, :, -1] == own.pulls[1, :, -1]).all(axis=1).any()
    for workers in (1, 5):
        again = cb.simulate(CLUSTERED, twins[::-1], 3000, runs=8, seed=3, paired=True, workers=workers)
        assert np.array_equal(again.pulls[::-1], paired.pulls)


def test_pairing_makes_comparisons_sharper() -> None:
    close = [cb.KLUCB(CLUSTERED.clusters()), cb.KLUCB(CLUSTERED.clusters(), a=0.05, label="a little more")]
    paired = cb.simulate(CLUSTERED, close, 2000, runs=200, seed=5, paired=True)
    apart = cb.simulate(CLUSTERED, close, 2000, runs=200, seed=5)
    assert paired.difference(0, 1).error < 0.8 * apart.difference(0, 1).error
    together = np.corrcoef(paired.regret(0)[:, -1], paired.regret(1)[:, -1])[0, 1]
    alone = np.corrcoef(apart.regret(0)[:, -1], apart.regret(1)[:, -1])[0, 1]
    assert together > 0.4
    assert abs(alone) < 0.25


def test_pairing_keeps_the_law() -> None:
    paired = cb.simulate(CLUSTERED, BOTH, 2000, runs=300, seed=11, paired=True)
    own = cb.simulate(CLUSTERED, BOTH, 2000, runs=300, seed=12)
    for label in BOTH:
        assert alike(paired.regret(label)[:, -1], own.regret(label)[:, -1]) > 0.001


@pytest.mark.parametrize("family", FAMILIES)
def test_paired_holding_is_paired_stepping_bit_for_bit(family: str) -> None:
    """5000 pulls of the best arm are more than are drawn ahead at a time."""
    instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]], family=family)
    names = [*BOTH, "clus-ucb:refresh=50,a=5", "clus-ucb:leader=plain", "kl-ucb:refresh=3"]
    rounds = range(1, 9001, 7)
    held = cb.simulate(instance, names, 9000, runs=3, seed=1, paired=True, checkpoints=rounds)
    stepped = cb.simulate(
        instance, names, 9000, runs=3, seed=1, paired=True, checkpoints=rounds, stepwise=True
    )
    assert np.array_equal(held.pulls, stepped.pulls)
    assert held.pulls[:, :, -1].max() > 4096


def test_paired_rewards_never_run_out() -> None:
    """A million rounds draw ahead hundreds of times."""
    rounds = [10**5, 10**6]
    long = cb.simulate(EASY, BOTH, 10**6, runs=2, paired=True, checkpoints=rounds, progress=at_most(20))
    check_counts(long)
    short = cb.simulate(EASY, BOTH, 10**5, runs=2, paired=True, checkpoints=rounds[:1])
    assert np.array_equal(long.pulls[:, :, 0], short.pulls[:, :, 0])
    assert (long.regret("kl-ucb")[:, -1] < 100).all()


def test_clusters_that_say_nothing_make_it_kl_ucb() -> None:
    wide = cb.ClusUCB(CLUSTERED.clusters(math.inf), label="wide")
    single = cb.ClusUCB(cb.Clusters([1] * 5, widths=0), label="single")
    result = cb.simulate(
        CLUSTERED, ["kl-ucb", wide, single], 5000, runs=8, paired=True, checkpoints=range(1, 5001)
    )
    assert np.array_equal(result.pulls[0], result.pulls[1])
    assert np.array_equal(result.pulls[0], result.pulls[2])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("horizon", [1, 2, 4, 5, 6])
def test_horizons_about_the_number_of_arms(family: str, paired: bool, horizon: int) -> None:
    instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]], family=family)
    result = cb.simulate(instance, BOTH, horizon, runs=3, paired=paired, checkpoints=range(1, horizon + 1))
    check_counts(result)
    for n in range(1, min(horizon, 5) + 1):
        assert (result.pulls[:, :, n - 1, :n] == 1).all()


@pytest.mark.parametrize("paired", [True, False])
def test_one_arm(paired: bool) -> None:
    for means in ([[0.5]], [[0.0]], [[1.0]]):
        result = cb.simulate(cb.Instance(means), BOTH, 10**4, runs=2, paired=paired)
        assert (result.pulls[..., 0] == result.checkpoints).all()
        assert (result.regret("kl-ucb") == 0).all()


def test_one_arm_for_as_long_as_there_are_numbers() -> None:
    result = cb.simulate(cb.Instance([0.5]), BOTH, 10**15, runs=2, progress=at_most(10))
    assert (result.pulls[:, :, -1, 0] == 10**15).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "means", [[[0.4] * 4], [[0.4], [0.4]], [[0.4, 0.4], [0.4, 0.4]], [[0.2, 0.4, 0.5]], [[0.5], [0.2], [0.1]]]
)
@pytest.mark.parametrize("width", [0, 0.1, math.inf])
def test_small_worlds(family: str, means: list[list[float]], width: float) -> None:
    instance = cb.Instance(means, family=family)
    clusters = instance.clusters(width)
    result = cb.simulate(instance, BOTH, 1000, runs=3, clusters=clusters, progress=at_most(20))
    check_counts(result)
    assert (result.pulls[:, :, -1] >= 1).all()
    if not instance.gaps.any():
        assert (result.regret("clus-ucb") == 0).all()


@pytest.mark.parametrize("family", ["bernoulli", "gaussian", "poisson"])
@pytest.mark.parametrize(
    "means",
    [[[0, 0]], [[1, 1]], [[0, 1]], [[0], [1]], [[1e-9, 0], [1e-9]], [[0, 1e-9], [1]], [[1e-9], [1 - 1e-9]]],
)
@pytest.mark.parametrize("width", [None, 0, math.inf])
def test_means_at_the_ends(family: str, means: list[list[float]], width: float | None) -> None:
    instance = cb.Instance(means, family=family)
    result = cb.simulate(
        instance, BOTH, 2000, runs=2, clusters=instance.clusters(width), progress=at_most(20)
    )
    check_counts(result)
    if family == "bernoulli" and means == [[0], [1]]:
        assert (result.pulls[:, :, -1, 0] < 20).all()


@pytest.mark.parametrize("family", ["gaussian:sigma=100", "poisson", "exponential:shape=0.01", "exponential"])
def test_means_far_from_1(family: str) -> None:
    for means in ([[1e-9, 3e-9], [1e-8]], [[1e6, 3e6], [1e7]], [[1e-9, 1.0], [1e9]]):
        instance = cb.Instance(means, family=family)
        for paired in (False, True):
            result = cb.simulate(instance, BOTH, 2000, runs=2, paired=paired, progress=at_most(20))
            check_counts(result)


@pytest.mark.parametrize("groups", [1, 10, 1000])
def test_a_thousand_arms(groups: int) -> None:
    means = np.random.default_rng(0).uniform(0.1, 0.9, (groups, 1000 // groups))
    instance = cb.Instance(means.tolist())
    start = time.monotonic()
    result = cb.simulate(instance, BOTH, 3000, runs=1, checkpoints=[999, 1000, 2000])
    check_counts(result)
    assert (result.pulls[:, :, 1] == 1).all()
    assert time.monotonic() - start < 30


def test_a_million_million_rounds_take_seconds() -> None:
    result = cb.simulate(EASY, BOTH, 10**12, runs=3, seed=1, progress=at_most(15))
    check_counts(result)
    assert (result.pulls[:, :, -1].sum(axis=2) == 10**12).all()
    assert (result.pulls[:, :, -1, 0] < 10**4).all()
    assert (result.pulls[:, :, -1, 0] > 20).all()


LONG = {
    "clustered": CLUSTERED,
    "figure 2": figure(2).instance,
    "poisson": cb.Instance([[0.5, 0.6], [1.0, 2.0]], family="poisson"),
    "exponential": cb.Instance([[0.5, 0.6], [1.0, 2.0]], family="exponential"),
    "negative-binomial": cb.Instance([[0.5, 0.6], [1.0, 2.0]], family="negative-binomial"),
}


@pytest.mark.parametrize("name", LONG)
def test_a_thousand_million_rounds_take_seconds(name: str) -> None:
    """Rivals rise at different rates; one that overtakes another must not end all certainty."""
    instance = LONG[name]
    result = cb.simulate(instance, BOTH, 10**9, runs=4, seed=1, progress=at_most(15))
    check_counts(result)
    assert (result.pulls[:, :, -1, instance.gaps.argmin()] > 0.99 * 10**9).all()


def alike(one: NDArray[Any], other: NDArray[Any]) -> float:
    """The smaller p-value of two tests that samples are of one law: for any difference, and for a shift."""
    anything = stats.ks_2samp(one, other).pvalue
    shift = stats.mannwhitneyu(one, other).pvalue
    return float(min(anything, shift))


LAWS = {
    "figure 2": (figure(2).instance, figure(2).widths[0]),
    "figure 8": (figure(8).instance, figure(8).widths[0]),
    "poisson": (cb.Instance([[0.5, 1.0], [1.5, 2.0]], family="poisson"), (0.5, 0.6)),
    "exponential": (cb.Instance([[0.5, 1.0], [1.5, 2.0]], family="exponential"), (0.5, 0.6)),
    "negative-binomial": (cb.Instance([[0.5, 1.0], [1.5, 2.0]], family="negative-binomial"), (0.5, 0.6)),
}


@pytest.mark.parametrize("name", LAWS)
def test_holding_keeps_the_law_of_regret(name: str) -> None:
    """Different seeds, so that the samples are independent; the same test sees another exploration."""
    instance, widths = LAWS[name]
    clusters = instance.clusters(widths)
    rounds = [100, 1000]
    held = cb.simulate(instance, BOTH, 3000, runs=300, seed=1, clusters=clusters, checkpoints=rounds)
    stepped = cb.simulate(
        instance, BOTH, 3000, runs=300, seed=2, clusters=clusters, checkpoints=rounds, stepwise=True
    )
    for label in BOTH:
        for step in range(3):
            assert alike(held.regret(label)[:, step], stepped.regret(label)[:, step]) > 0.001
        best = int(instance.gaps.argmin())
        place = BOTH.index(label)
        assert alike(held.pulls[place, :, -1, best], stepped.pulls[place, :, -1, best]) > 0.001
    bolder = cb.simulate(
        instance, [f"{label}:a=1" for label in BOTH], 3000, runs=300, seed=3, clusters=clusters
    )
    for place in range(2):
        assert alike(stepped.regret(place)[:, -1], bolder.regret(place)[:, -1]) < 1e-6


def test_progress_is_told_and_only_grows() -> None:
    received: list[cb.Progress] = []
    cb.simulate(CLUSTERED, BOTH, 30_000, runs=40, stepwise=True, progress=received.append)
    assert len(received) >= 3
    assert all(isinstance(one, cb.Progress) for one in received)
    for before, after in itertools.pairwise(received):
        assert before.runs_done <= after.runs_done
        assert before.rounds_done <= after.rounds_done
        assert before.seconds <= after.seconds
    assert {(one.runs, one.rounds) for one in received} == {(80, 80 * 30_000)}
    assert all(one.runs_done * 30_000 <= one.rounds_done <= one.rounds for one in received)
    assert received[0].runs_done < 80
    assert received[-1].runs_done == 80
    assert received[-1].rounds_done == 80 * 30_000


def test_progress_of_long_runs_is_told_before_they_are_done() -> None:
    received: list[cb.Progress] = []
    cb.simulate(CLUSTERED, "clus-ucb", 10**6, runs=1, stepwise=True, progress=received.append)
    assert any(0 < one.rounds_done < 10**6 and one.runs_done == 0 for one in received)


@pytest.mark.usefixtures("quick_switches")
def test_progress_on_somebodys_executor_ends_with_everything() -> None:
    """However threads take turns when the last block comes in."""
    with ThreadPoolExecutor(4) as executor:
        for seed in range(300):
            received: list[cb.Progress] = []
            cb.simulate(EASY, "kl-ucb", 50, 2, seed, executor=executor, progress=received.append)
            assert received[-1][:4] == (2, 2, 100, 100)


def test_a_listener_that_raises_stops_everything(tmp_path: Path) -> None:
    error = LookupError("enough")

    def listen(progress: cb.Progress) -> None:
        if progress.runs_done:
            raise error

    start = time.monotonic()
    with pytest.raises(LookupError) as caught:
        cb.simulate(CLUSTERED, BOTH, 10**6, runs=64, stepwise=True, progress=listen, store=tmp_path / "store")
    assert caught.value is error
    assert own_threads() == []
    assert time.monotonic() - start < 20
    assert list((tmp_path / "store").glob("*.parquet"))


def test_a_listener_that_raises_leaves_an_executor_usable(plain: cb.Result) -> None:
    def listen(_: cb.Progress) -> None:
        raise LookupError("enough")

    with ThreadPoolExecutor(2) as executor:
        with pytest.raises(LookupError, match="enough"):
            cb.simulate(CLUSTERED, BOTH, 20_000, runs=64, executor=executor, progress=listen)
        result = cb.simulate(CLUSTERED, BOTH, 3000, runs=5, seed=7, executor=executor)
    assert np.array_equal(result.pulls, plain.pulls[:, :5])


@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt])
@pytest.mark.parametrize("paired", [False, True])
def test_many_arms_do_not_delay_the_end(error: type[BaseException], paired: bool) -> None:
    """A round of a thousand arms takes long, so kernels must look up after work rather than after rounds."""
    means = np.random.default_rng(0).uniform(0.1, 0.9, 1000)
    raised: list[float] = []

    def listen(progress: cb.Progress) -> None:
        if progress.seconds > 0.5:
            raised.append(time.monotonic())
            raise error

    many = cb.Instance(means.tolist())
    with pytest.raises(error):
        cb.simulate(many, "clus-ucb", 8000, runs=2, paired=paired, stepwise=True, progress=listen)
    assert time.monotonic() - raised[0] < 3
    assert own_threads() == []


def test_an_interruption_carries_what_is_done() -> None:
    whole = cb.simulate(CLUSTERED, BOTH, 5000, runs=64, seed=4)

    def listen(progress: cb.Progress) -> None:
        if progress.runs_done >= 24:
            raise KeyboardInterrupt

    with pytest.raises(cb.SimulationInterrupted) as caught:
        cb.simulate(CLUSTERED, BOTH, 5000, runs=64, seed=4, workers=2, progress=listen)
    result = caught.value.result
    assert isinstance(result, cb.Result)
    assert 0 < len(result.runs) <= 64
    assert np.array_equal(result.pulls, whole.pulls[:, result.runs])
    assert result.labels == whole.labels
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not isinstance(caught.value, Exception)
    assert own_threads() == []


def test_an_interruption_before_anything_is_done_carries_nothing() -> None:
    def listen(_: cb.Progress) -> None:
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(cb.SimulationInterrupted) as caught:
        cb.simulate(CLUSTERED, BOTH, 10**8, runs=16, stepwise=True, progress=listen)
    assert caught.value.result is None
    assert own_threads() == []
    assert time.monotonic() - start < 5


def test_memory_does_not_grow_with_the_horizon() -> None:
    def peak(horizon: int, **options: Any) -> int:
        tracemalloc.start()
        try:
            loosely(EASY, BOTH, horizon, 4, 1, workers=1, checkpoints=20, progress=at_most(20), **options)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1000)
    peak(1000, paired=True)
    assert peak(10**9) < peak(10**5) + 100_000
    assert peak(10**9) < 10**6
    assert peak(10**6, paired=True) < peak(10**5, paired=True) + 10**6


@pytest.mark.parametrize("paired", [False, True])
def test_runs_leave_nothing_behind_in_memory(paired: bool) -> None:
    """Least of all their streams of rewards."""

    def left(runs: int) -> int:
        gc.collect()
        tracemalloc.start()
        try:
            cb.simulate(EASY, "kl-ucb", 20, runs, checkpoints=[10], paired=paired)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    left(200)
    assert left(1200) < left(200) + 1000 * 500
    # isinstance would ask weak proxies, which other tests may have left behind, for what they stand for.
    assert sum(issubclass(type(one), np.random.Generator) for one in gc.get_objects()) < 50


NO_FLAGS: list[Any] = ["no", None, [], np.array([1, 2])]
BAD_INPUT: list[tuple[str, dict[str, Any]]] = [
    *(("instance", {"instance": wrong}) for wrong in (None, [[0.5]], CLUSTERED.clusters())),
    *(("policies", {"policies": wrong}) for wrong in (None, [], (), 5, [None], ["kl-ucb", 3], {"kl-ucb": 1})),
    *(("policies", {"policies": wrong}) for wrong in (CLUSTERED, cb.KLUCB, ["kl-ucb", "kl-ucb"])),
    *(("policy", {"policies": wrong}) for wrong in ("ucb", "", ["kl-ucb", "x"], "kl-ucb:b=1", "kl-ucb:a")),
    *(("a", {"policies": wrong}) for wrong in ("kl-ucb:a=-1", "clus-ucb:a=x", "clus-ucb:a=nan")),
    *(("refresh", {"policies": wrong}) for wrong in ("kl-ucb:refresh=0", "clus-ucb:refresh=1.5")),
    ("leader", {"policies": "clus-ucb:leader=x"}),
    *(("horizon", {"horizon": wrong}) for wrong in (0, -1, 1.5, "10", None, True, math.nan, math.inf, [10])),
    ("horizon", {"horizon": 10**15 + 1}),
    *(("runs", {"runs": wrong}) for wrong in (0, -1, 1.5, "10", None, True, math.nan, 10**6 + 1, [3])),
    *(("seed", {"seed": wrong}) for wrong in (-1, 2**128, 1.5, "1", None, True, math.nan, [1])),
    ("seed", {"seed": np.random.default_rng(0)}),
    *(("clusters", {"clusters": wrong}) for wrong in (5, [2, 3], CLUSTERED, cb.Clusters([2, 2], widths=1))),
    *(("workers", {"workers": wrong}) for wrong in (0, -1, 1.5, "2", True, math.nan, 1025, [2])),
    *(("checkpoints", {"checkpoints": wrong}) for wrong in (0, "all", [], [0], [101])),
    *(("executor", {"executor": wrong}) for wrong in (5, "threads", ThreadPoolExecutor)),
    *(("store", {"store": wrong}) for wrong in (5, True, ["folder"], "a\0b")),
    *(("progress", {"progress": wrong}) for wrong in (True, "bar", 5)),
    *(("paired", {"paired": wrong}) for wrong in NO_FLAGS),
    *(("stepwise", {"stepwise": wrong}) for wrong in NO_FLAGS),
]


#: Errors of policies' names and settings, which say what is unknown instead of naming a parameter.
UNNAMED = r"^Unknown (policy|setting) .*[.?]$|^KLUCB: a must be given"


@pytest.mark.parametrize(("parameter", "changed"), BAD_INPUT)
def test_bad_input_is_refused_before_anything_begins(
    tmp_path: Path, parameter: str, changed: dict[str, Any]
) -> None:
    store = tmp_path / "store"
    whole: dict[str, Any] = {
        "instance": CLUSTERED,
        "policies": BOTH,
        "horizon": 100,
        "runs": 2,
        "seed": 0,
        "store": store,
    }
    threads = threading.active_count()
    said = UNNAMED if parameter == "policy" else rf"^.*: {parameter} must be .*, but got .*\.$"
    with pytest.raises(cb.InvalidInputError, match=said):
        loosely(**{**whole, **changed})
    assert threading.active_count() == threads
    assert not store.exists()


def test_policies_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    clusters = CLUSTERED.clusters()
    poisson = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]], family="poisson")
    named = cb.Instance({"red": {"a": 0.3, "b": 0.7}, "blue": {"c": 0.5}})
    other = cb.Clusters({"red": ["a", "b"], "blue": ["d"]}, widths=1)
    cases: list[tuple[cb.Instance, object, str]] = [
        (poisson, cb.KLUCB(clusters), "policies must be policies for poisson rewards"),
        (
            poisson,
            [cb.KLUCB(clusters, family="exponential")],
            "policies must be policies for poisson rewards",
        ),
        (
            CLUSTERED,
            [cb.KLUCB(clusters, family="exponential")],
            "policies must be policies for bernoulli rewards",
        ),
        (CLUSTERED, cb.KLUCB(cb.Clusters([2, 2], widths=1)), "5 arms of the instance"),
        (EASY, ["kl-ucb", cb.KLUCB(clusters, label="x")], "2 arms of the instance"),
        (named, cb.ClusUCB(other), "clusters of the arms of the instance"),
        (
            CLUSTERED,
            [cb.KLUCB(clusters), cb.ClusUCB(clusters, label="kl-ucb")],
            "policies must be .*'kl-ucb' twice",
        ),
        (CLUSTERED, ["kl-ucb", "kl-ucb:a=0"], "policies must be .*'kl-ucb' twice"),
    ]
    for instance, policies, sentence in cases:
        with pytest.raises(cb.InvalidInputError, match=sentence):
            cb.simulate(instance, policies, 100, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_policies_for_wider_families_may_play() -> None:
    clusters = CLUSTERED.clusters()
    wider = [
        cb.ClusUCB(clusters, family="gaussian:sigma=0.5", label="gaussian"),
        cb.ClusUCB(clusters, family="poisson", label="poisson"),
    ]
    result = cb.simulate(CLUSTERED, wider, 3000, runs=5, paired=True, checkpoints=range(1, 3001))
    check_counts(result)
    stepped = cb.simulate(
        CLUSTERED, wider, 3000, runs=5, paired=True, checkpoints=range(1, 3001), stepwise=True
    )
    assert np.array_equal(result.pulls, stepped.pulls)


def test_labels_that_are_no_text_are_refused() -> None:
    with pytest.raises(cb.InvalidInputError, match=r": (label|policies) must be"):
        cb.simulate(EASY, cb.KLUCB(EASY.clusters(), label="half a letter: \ud800"), 100, runs=1)


def test_counts_too_large_to_draw_are_refused() -> None:
    many = cb.Instance([[1.0], [1e6]], family="poisson")
    with pytest.raises(cb.InvalidInputError, match=r"^simulate: horizon must be at most 1e\+12"):
        cb.simulate(many, BOTH, 10**13, runs=1)
    assert cb.simulate(many, BOTH, 1000, runs=1).horizon == 1000


def test_paired_policies_draw_once_a_round() -> None:
    """A policy that draws must not draw again because rewards had to be read ahead."""
    instance = cb.Instance([[0.5, 0.5]])
    result = cb.simulate(instance, "thompson", 20_000, runs=40, seed=3, paired=True)
    again = cb.simulate(instance, "thompson", 20_000, runs=40, seed=3, paired=True, checkpoints=[20_000])
    assert np.array_equal(result.pulls[:, :, -1], again.pulls[:, :, -1])


def test_a_selected_arm_waits_for_its_reward() -> None:
    policy, instance = cb.Thompson(cb.Clusters([2], widths=1)), cb.Instance([[0.5, 0.5]])
    chosen = 0
    for seed in range(600):
        state: Any = policy.fresh_state(np.random.default_rng(seed))
        state.pulls[:], state.totals[:], state.memory["unpulled"] = 10, 5.0, 0
        tape, first = np.array([[1.0], [1.0]]), np.array([9, 10])
        rewards = Rewards(instance.family.law, np.array([0.5, 0.5]), np.random.default_rng(0), tape, first)
        record = Record(
            np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)
        )
        cursor = new_cursor()
        cursor[0] = 21
        if advance(state, rewards, record, cursor, Rules(21, False), 10) == OUT_OF_TAPE:
            first[0] = 10
            advance(state, rewards, record, cursor, Rules(21, False), 10)
        chosen += int(state.pulls[0] == 11)
    assert abs(chosen - 300) < 4 * (600 * 0.25) ** 0.5


def test_a_result_that_does_not_fit_into_memory_is_refused() -> None:
    instance = cb.Instance([[0.5] * 1000])
    with pytest.raises(cb.InvalidInputError, match=r"at most 100,000,000, but got 1 × 1,000 × 501 × 1,000"):
        cb.simulate(instance, "kl-ucb", 10**6, runs=1000, checkpoints=list(range(1, 501)))


@pytest.mark.parametrize("name", ["ckl-ucb", "clus-ts", "hier-ts", "kindred"])
def test_policies_that_keep_much_for_every_arm_refuse_many_arms(name: str) -> None:
    with pytest.raises(cb.InvalidInputError, match="at most 10,000 arms in total"):
        cb.policy(name, cb.Clusters([10_001], widths=0.1))


def test_a_policy_that_is_changed_meanwhile_is_simulated_as_it_was() -> None:
    """A state with more arms than its record would be written outside of it."""
    instance = cb.Instance({"red": {"a": 0.3, "b": 0.7}, "blue": {"c": 0.5}})
    policy = cb.KLUCB(instance.clusters())
    expected = cb.simulate(instance, policy, 2000, runs=40, workers=1).pulls
    added = iter(range(100))

    def grow(_: object) -> None:
        policy.add_arm(f"new {next(added)}", "red")

    found = cb.simulate(instance, policy, 2000, runs=40, workers=1, progress=grow).pulls
    assert len(policy.clusters.arms) > 3
    assert np.array_equal(found, expected)
