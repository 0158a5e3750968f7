"""Ask and tell, beside two libraries that compute far simpler indices, and what sharing a policy costs."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from river import bandit

from benchmarks.measure import Measurement
from clusterbandits import Clusters, policy

if TYPE_CHECKING:
    from collections.abc import Callable

_MEANS = [0.41, 0.42, 0.43, 0.43, 0.44, 0.45]


def _microseconds(step: Callable[[float], None], rounds: int) -> float:
    """Return the best time of a round out of five stretches."""
    uniform = np.random.default_rng(1).random(rounds).tolist()
    best = []
    for part in range(5):
        chosen = uniform[part * rounds // 5 : (part + 1) * rounds // 5]
        start = time.perf_counter()
        for number in chosen:
            step(number)
        best.append((time.perf_counter() - start) / len(chosen))
    return 1e6 * min(best)


def _ours(name: str) -> float:
    learner = policy(name, Clusters([3, 3], widths=[0.03, 0.04]))

    def step(uniform: float) -> None:
        arm = learner.ask()
        learner.tell(arm, uniform < _MEANS[arm])

    return _microseconds(step, 50_000)


def _river() -> float:
    learner: Any = bandit.UCB(delta=1.0, seed=1)
    arms = list(range(6))

    def step(uniform: float) -> None:
        arm = learner.pull(arms)
        learner.update(arm, float(uniform < _MEANS[arm]))

    return _microseconds(step, 50_000)


def _mabwiser() -> float:
    learner: Any = MAB(arms=list(range(6)), learning_policy=LearningPolicy.UCB1(alpha=1.0))
    learner.fit(decisions=list(range(6)), rewards=[0, 1, 0, 1, 0, 1])

    def step(uniform: float) -> None:
        arm = learner.predict()
        learner.partial_fit([arm], [float(uniform < _MEANS[arm])])

    return _microseconds(step, 2_000)


def _locks() -> float:
    """Return the microseconds that a round spends on its two locks."""
    lock = threading.RLock()

    def step(_: float) -> None:
        with lock:
            pass
        with lock:
            pass

    return _microseconds(step, 500_000) - _microseconds(lambda _: None, 500_000)


def _shared(threads: int, rounds: int) -> int:
    """Return how many rewards a policy knows of that threads told it."""
    learner = policy("kl-ucb", Clusters([3, 3], widths=[0.03, 0.04]))

    def work() -> None:
        for _ in range(rounds):
            learner.tell(learner.ask(), 1)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(learner.pulls.values())


def measure() -> list[Measurement]:
    """Measure a round of ask and tell on 6 arms."""
    river, mabwiser = _river(), _mabwiser()
    found = [
        Measurement("river's UCB, a round", river, "µs"),
        Measurement("MABWiser's UCB1, a round", mabwiser, "µs"),
    ]
    for name in ("kl-ucb", "clus-ucb"):
        own = _ours(name)
        found += [
            Measurement(f"{name}, a round of ask and tell", own, "µs"),
            Measurement(f"{name} over river's UCB", own / river, "×", limit=3),
            Measurement(f"{name} over MABWiser's UCB1", own / mabwiser, "×", limit=1),
        ]
        if name == "kl-ucb":
            found.append(
                Measurement("the two locks of a kl-ucb round", 100.0 * _locks() / own, "%", limit=10)
            )
    found.append(
        Measurement("rewards kept of 20,000 from four threads", _shared(4, 5_000), "", 20_000, at_least=True)
    )
    return found
