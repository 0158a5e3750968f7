"""Exact simulation compared with the loop that it replaces, and the growth of its time."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import Measurement
from benchmarks.plain_loop import play_plainly
from clusterbandits import Instance, Policy, policy, random_instance, simulate
from clusterbandits.paper.figures import figure
from clusterbandits.simulation.loop import Rewards

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits import Clusters

_NAMES = ("clus-ucb", "kl-ucb")
_PLAIN_ROUNDS = 400_000

_FIRST_CALL = """
import time
import clusterbandits as cb
from clusterbandits import simulate, policy
instance = cb.Instance([[0.41, 0.42, 0.43], [0.43, 0.44, 0.45]])
start = time.perf_counter()
simulate(instance, ["clus-ucb"], 10**4, runs=1)
print(time.perf_counter() - start)
"""


def _seconds_a_run(instance: Instance, name: str, clusters: Clusters, horizon: int, runs: int) -> float:
    """Return the mean time of a run on one core after compilation, the best of four means."""
    simulate(instance, [name], 100, runs=1, clusters=clusters)
    return min(_taken(instance, [name], horizon, runs, clusters, 1) for _ in range(4)) / runs


def _taken(
    instance: Instance, names: Sequence[str], horizon: int, runs: int, clusters: Clusters, workers: int
) -> float:
    start = time.perf_counter()
    simulate(instance, names, horizon, runs, seed=1, clusters=clusters, workers=workers)
    return time.perf_counter() - start


def _plain_seconds_a_round(instance: Instance, learner: Policy) -> float:
    taken = []
    for rounds in (100, _PLAIN_ROUNDS, _PLAIN_ROUNDS):
        rng = np.random.default_rng(1)
        nothing = np.zeros((len(instance.arms), 0))
        first = np.zeros(len(instance.arms), dtype=np.int64)
        rewards = Rewards(instance.family.law, np.array(instance.means), rng, nothing, first)
        state: Any = learner.fresh_state()
        start = time.perf_counter()
        play_plainly(state, rewards, rounds)
        taken.append((time.perf_counter() - start) / rounds)
    return min(taken[1:])


def _numpy_loop(means: np.ndarray, rounds: int) -> float:
    """Return the seconds per round of a common KL-UCB implementation: NumPy, bisection, every round."""
    rng = np.random.default_rng(1)
    pulls, totals = np.ones(means.size), (rng.random(means.size) < means).astype(float)
    start = time.perf_counter()
    for n in range(means.size + 1, rounds + 1):
        mean = totals / pulls
        low, high = mean.copy(), np.ones_like(mean)
        for _ in range(30):
            middle = (low + high) / 2
            x, y = np.clip(mean, 1e-12, 1 - 1e-12), np.clip(middle, 1e-12, 1 - 1e-12)
            inside = pulls * (x * np.log(x / y) + (1 - x) * np.log((1 - x) / (1 - y))) <= math.log(n)
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        arm = int(low.argmax())
        pulls[arm] += 1
        totals[arm] += rng.random() < means[arm]
    return (time.perf_counter() - start) / rounds


def _river_loop(means: np.ndarray, rounds: int) -> float:
    """Return the seconds per round of river's UCB."""
    from river import bandit

    rng = np.random.default_rng(1)
    learner: Any = bandit.UCB(delta=1.0, seed=1)
    arms = list(range(means.size))
    start = time.perf_counter()
    for _ in range(rounds):
        arm = learner.pull(arms)
        learner.update(arm, float(rng.random() < means[arm]))
    return (time.perf_counter() - start) / rounds


def _two_workers(instance: Instance, clusters: Clusters) -> float:
    taken: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(4):
        for workers, times in taken.items():
            times.append(_taken(instance, _NAMES, 10**8, 16, clusters, workers))
    return min(taken[1]) / min(taken[2])


def _first_call() -> float:
    ran = [
        subprocess.run([sys.executable, "-c", _FIRST_CALL], check=True, capture_output=True, env=os.environ)
        for _ in range(8)
    ]
    return min(float(one.stdout) for one in ran[1:])


def measure() -> list[Measurement]:
    """Measure Figure 4 at 10⁶ and 10¹⁰ rounds, many arms, two workers, and rounds of other libraries."""
    four = figure(4)
    instance = four.instance
    clusters = instance.clusters(four.widths[0])
    many = random_instance("scattered", [20] * 50, span=0.05, seed=1)
    found = []
    for name in _NAMES:
        short = _seconds_a_run(instance, name, clusters, 10**6, 24)
        long = _seconds_a_run(instance, name, clusters, 10**10, 3)
        large = _seconds_a_run(many, name, many.clusters(), 10**6, 2)
        plain = _plain_seconds_a_round(instance, policy(name, clusters))
        found += [
            Measurement(f"{name}, 10⁶ rounds of Figure 4", 1e3 * short, "ms"),
            Measurement(f"{name}, plain compiled loop over skip-ahead", 1e6 * plain / short, "×", 100, True),
            Measurement(f"{name}, 10¹⁰ rounds over 10⁶", long / short, "×", limit=40),
            Measurement(f"{name}, 1,000 arms over 6 arms", large / short, "×", limit=100),
            Measurement(f"{name}, per round of 10⁶, skip-ahead", 1e3 * short, "ns"),
            Measurement(f"{name}, per round, plain compiled loop", 1e9 * plain, "ns"),
        ]
    means = np.array(instance.means)
    return [
        *found,
        Measurement("KL-UCB in NumPy, per round", 1e9 * _numpy_loop(means, 3_000), "ns"),
        Measurement("river's UCB, per round", 1e9 * _river_loop(means, 20_000), "ns"),
        Measurement("two workers over one", _two_workers(instance, clusters), "×", 1.8, at_least=True),
        Measurement("first call in a new process, warm cache", _first_call(), "s", limit=0.5),
    ]
