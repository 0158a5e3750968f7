"""Ask and tell, beside two libraries, and what sharing a policy costs.

The UCB policies of those libraries compute far simpler indices; their Thompson sampling draws as ours does.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from river import bandit, proba

from benchmarks.measure import Measurement
from clusterbandits import Clusters, policy
from clusterbandits.studies.history import table_instance

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


def _flights() -> tuple[Clusters, list[float]]:
    """Return 183 arms in 11 clusters, numbered, and their means."""
    instance = table_instance("flights-by-destination")
    sizes = [len(part) for part in instance.partition.members]
    order = np.concatenate(instance.partition.members)
    return Clusters(sizes, widths=instance.spans), instance.means[order].tolist()


def _ours(
    name: str, clusters: Clusters | None = None, means: list[float] = _MEANS, rounds: int = 50_000
) -> float:
    learner = policy(name, clusters or Clusters([3, 3], widths=[0.03, 0.04]))

    def step(uniform: float) -> None:
        arm = learner.ask()
        learner.tell(arm, uniform < means[arm])

    return _microseconds(step, rounds)


def _river(learner: Any, means: list[float] = _MEANS, rounds: int = 50_000) -> float:
    arms = list(range(len(means)))

    def step(uniform: float) -> None:
        arm = learner.pull(arms)
        learner.update(arm, uniform < means[arm])

    return _microseconds(step, rounds)


def _mabwiser(learning_policy: Any) -> float:
    learner: Any = MAB(arms=list(range(6)), learning_policy=learning_policy)
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


def _drawing() -> list[Measurement]:
    """Measure policies that draw, beside Thompson sampling of the two libraries."""
    clusters, means = _flights()
    river = _river(bandit.ThompsonSampling(reward_obj=proba.Beta(1, 1), seed=1))
    mabwiser = _mabwiser(LearningPolicy.ThompsonSampling())
    many = _river(bandit.ThompsonSampling(reward_obj=proba.Beta(1, 1), seed=1), means, 2_000)
    found = [
        Measurement("river's Thompson sampling, a round", river, "µs"),
        Measurement("river's Thompson sampling, a round with 183 arms", many, "µs"),
        Measurement("MABWiser's Thompson sampling, a round", mabwiser, "µs"),
    ]
    for name in ("thompson", "tsc", "hier-ts", "kindred"):
        limits = (40, 150) if name == "kindred" else (None, None)
        found += [
            Measurement(f"{name}, a round of ask and tell", _ours(name), "µs", limit=limits[0]),
            Measurement(
                f"{name}, ask and tell with 183 arms",
                _ours(name, clusters, means, 10_000),
                "µs",
                limit=limits[1],
            ),
        ]
    return found


def _median_ask(learner: Any, *, cancels: bool) -> float:
    """Return the median microseconds of an ``ask``, each followed by its reward, or cancelled."""
    spent = []
    for _ in range(300):
        start = time.perf_counter()
        arm = learner.ask()
        spent.append(time.perf_counter() - start)
        if cancels:
            learner.cancel(arm)
        else:
            learner.tell(arm, 0.0)
    return 1e6 * float(np.median(spent[20:]))


def _outstanding() -> list[Measurement]:
    """Measure ``ask`` on 600 arms with 1,000 outstanding rewards over ``ask`` with none."""
    found, rng = [], np.random.default_rng(1)
    totals = rng.binomial(20, rng.random(600)).tolist()
    for name in ("kl-ucb", "clus-ucb", "thompson", "clus-ts", "hier-ts", "kindred"):
        ratios = []
        for cancels in (False, True):
            times = []
            for awaited in (0, 1000):
                learner = policy(name, Clusters([50] * 12, widths=1.0))
                for arm, total in enumerate(totals):
                    learner.tell(arm, total, 20)
                if awaited:
                    learner.ask(awaited)
                times.append(_median_ask(learner, cancels=cancels))
            ratios.append(times[1] / times[0])
        claim = f"{name}: ask with 1,000 outstanding rewards over none"
        # Clus-UCB remembers bounds of its indices, which awaited pulls put out of date.
        found.append(Measurement(claim, max(ratios), "×", limit=None if name == "clus-ucb" else 2))
    return found


def measure() -> list[Measurement]:
    """Measure a round of ask and tell on 6 arms, and of policies that draw also on 183."""
    river, mabwiser = _river(bandit.UCB(delta=1.0, seed=1)), _mabwiser(LearningPolicy.UCB1(alpha=1.0))
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
    found += _drawing()
    found += _outstanding()
    found.append(
        Measurement("rewards kept of 20,000 from four threads", _shared(4, 5_000), "", 20_000, at_least=True)
    )
    return found
