"""``ask`` and ``tell`` compared with two libraries; the cost of outstanding rewards, subsets and threads.

The UCB policies of those libraries compute much simpler indices; their Thompson sampling draws as this one
does.
"""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from river import bandit, proba

from benchmarks.measure import Measurement
from clusterbandits import POLICIES, Clusters, Policy, policy
from clusterbandits.studies.history import table_instance

if TYPE_CHECKING:
    from collections.abc import Callable

_MEANS = [0.41, 0.42, 0.43, 0.43, 0.44, 0.45]
#: The numbers of clusters, of arms per cluster, of rewards per arm, and of outstanding rewards.
_CLUSTERS, _SIZE, _REWARDS, _OUTSTANDING = 30, 20, 100, 1_000
#: Policies whose choices take milliseconds are measured in fewer rounds.
_SLOW, _ROUNDS, _SLOW_ROUNDS, _STRETCHES = {"clus-ts", "ckl-ucb"}, 100, 12, 6


def _microseconds(step: Callable[[float], None], rounds: int) -> float:
    """Return the best time per round of five series."""
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
    """Return the microseconds per round for its two locks."""
    lock = threading.RLock()

    def step(_: float) -> None:
        with lock:
            pass
        with lock:
            pass

    return _microseconds(step, 500_000) - _microseconds(lambda _: None, 500_000)


def _many_arms() -> list[float]:
    """Return the means of 600 arms in 30 clusters."""
    rng = np.random.default_rng(1)
    centres = rng.uniform(0.15, 0.5, _CLUSTERS).repeat(_SIZE)
    return [float(mean) for mean in centres + rng.uniform(-0.1, 0.1, centres.size)]


def _after_rewards(name: str, means: list[float], arms: int) -> Policy:
    """Return a policy for many arms with rewards of the first ones."""
    horizon: dict[str, Any] = {"horizon": 10**6} if POLICIES[name].needs_horizon else {}
    learner = policy(name, Clusters([_SIZE] * _CLUSTERS, widths=0.2), **horizon)
    totals = np.random.default_rng(2).binomial(_REWARDS, means)
    for arm in range(arms):
        learner.tell(arm, float(totals[arm]), pulls=_REWARDS)
    return learner


def _with_none_outstanding(learner: Policy) -> Policy:
    """Return a policy with the same statistics and the arm's mean for each outstanding reward."""
    other = Policy.from_json(learner.to_json())
    pulls, totals = other.pulls, other.totals
    mean = sum(totals.values()) / sum(pulls.values())
    for arm, missing in other.awaited.items():
        other.tell(arm, missing * (totals[arm] / pulls[arm] if pulls[arm] else mean), pulls=missing)
    return other


def _mean_ask(learner: Policy, then: Callable[[Any], None], rounds: int) -> float:
    """Return the mean time of ``ask`` without the slowest 2 %, which other processes interrupt."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        arm = learner.ask()
        taken.append(time.perf_counter() - start)
        then(arm)
    return float(np.mean(np.sort(taken)[: max(1, int(0.98 * rounds))]))


def _ratio(name: str, pairs: list[tuple[Policy, Callable[[Any], None]]]) -> float:
    """Return the ratio of the times of ``ask`` of two policies, each the best of several series."""
    rounds, best = _SLOW_ROUNDS if name in _SLOW else _ROUNDS, [np.inf, np.inf]
    for place, (learner, then) in itertools.chain.from_iterable([enumerate(pairs)] * _STRETCHES):
        best[place] = min(best[place], _mean_ask(learner, then, rounds))
    return best[0] / best[1]


def _late_rewards(name: str, means: list[float]) -> float:
    """Ask and tell alternately: the reward of the oldest or of the newest choice."""
    late, rng = _after_rewards(name, means, len(means)), np.random.default_rng(3)
    waiting = late.ask(_OUTSTANDING)
    soon = _with_none_outstanding(late)

    def tell_first(arm: Any) -> None:
        waiting.append(arm)
        first = waiting.pop(0)
        late.tell(first, rng.random() < means[first])

    return _ratio(name, [(late, tell_first), (soon, lambda arm: soon.tell(arm, rng.random() < means[arm]))])


def _cancelled(name: str, means: list[float]) -> float:
    """Ask and cancel alternately, with and without other outstanding rewards."""
    late = _after_rewards(name, means, len(means))
    late.ask(_OUTSTANDING)
    soon = _with_none_outstanding(late)
    return _ratio(name, [(one, one.cancel) for one in (late, soon)])


def _unknown_arms(name: str, means: list[float]) -> float:
    """Ask and cancel while rewards of other arms arrive; half of the arms have only outstanding rewards."""
    half, rng = len(means) // 2, np.random.default_rng(4)
    late = _after_rewards(name, means, half)
    for arm in range(half, len(means)):
        late.expect(arm, _OUTSTANDING // half)
    soon = _with_none_outstanding(late)

    def go_on(learner: Policy) -> Callable[[Any], None]:
        def then(arm: Any) -> None:
            learner.cancel(arm)
            other = int(rng.integers(half))
            learner.tell(other, rng.random() < means[other])

        return then

    return _ratio(name, [(one, go_on(one)) for one in (late, soon)])


def _outstanding() -> list[Measurement]:
    """Measure the cost of 1,000 outstanding rewards for each policy, in the slowest of three situations."""
    means, found = _many_arms(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in POLICIES:
            ratio = max(call(name, means) for call in (_late_rewards, _cancelled, _unknown_arms))
            claim = f"{name}: ask with 1,000 outstanding rewards over none"
            found.append(Measurement(claim, ratio, "×", limit=2))
    return found


def _sets_of_arms() -> list[Measurement]:
    """Measure ``ask`` for a new subset of 300 of 600 arms, and for a repeated one."""
    means, rng, found = _many_arms(), np.random.default_rng(5), []
    for name in ("kindred", "thompson", "kl-ucb", "clus-ucb", "imed-clus", "tlp-mean", "hier-ts"):
        learner = _after_rewards(name, means, len(means))
        sets = [rng.choice(len(means), len(means) // 2, replace=False).tolist() for _ in range(12)]
        learner.ask(available=sets[0])
        taken = []
        for available in (*sets[1:], *[sets[-1]] * 20):
            start = time.perf_counter()
            learner.ask(available=available)
            taken.append(1e6 * (time.perf_counter() - start))
        found += [
            Measurement(f"{name}, ask among 300 of 600 arms, another set every time", min(taken[:11]), "µs"),
            Measurement(f"{name}, ask among 300 of 600 arms, the same set", min(taken[11:]), "µs"),
        ]
    return found


def _shared(threads: int, rounds: int) -> int:
    """Return the number of rewards in a policy that several threads update."""
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
    """Measure random policies, compared with Thompson sampling of the two libraries."""
    clusters, means = _flights()
    river = _river(bandit.ThompsonSampling(reward_obj=proba.Beta(1, 1), seed=1))
    mabwiser = _mabwiser(LearningPolicy.ThompsonSampling())
    many = _river(bandit.ThompsonSampling(reward_obj=proba.Beta(1, 1), seed=1), means, 2_000)
    found = [
        Measurement("river's Thompson sampling, per round", river, "µs"),
        Measurement("river's Thompson sampling, per round with 183 arms", many, "µs"),
        Measurement("MABWiser's Thompson sampling, per round", mabwiser, "µs"),
    ]
    for name in ("thompson", "tsc", "hier-ts", "kindred"):
        limits = (40, 150) if name == "kindred" else (None, None)
        found += [
            Measurement(f"{name}, ask and tell per round", _ours(name), "µs", limit=limits[0]),
            Measurement(
                f"{name}, ask and tell with 183 arms",
                _ours(name, clusters, means, 10_000),
                "µs",
                limit=limits[1],
            ),
        ]
    return found


def measure() -> list[Measurement]:
    """Measure a round of ``ask`` and ``tell`` on 6 arms, and for random policies also on 183 arms."""
    river, mabwiser = _river(bandit.UCB(delta=1.0, seed=1)), _mabwiser(LearningPolicy.UCB1(alpha=1.0))
    found = [
        Measurement("river's UCB, per round", river, "µs"),
        Measurement("MABWiser's UCB1, per round", mabwiser, "µs"),
    ]
    for name in ("kl-ucb", "clus-ucb"):
        own = _ours(name)
        found += [
            Measurement(f"{name}, ask and tell per round", own, "µs"),
            Measurement(f"{name} over river's UCB", own / river, "×", limit=3),
            Measurement(f"{name} over MABWiser's UCB1", own / mabwiser, "×", limit=1),
        ]
        if name == "kl-ucb":
            found.append(
                Measurement("the two locks of a kl-ucb round", 100.0 * _locks() / own, "%", limit=10)
            )
    found += [*_drawing(), *_outstanding(), *_sets_of_arms()]
    found.append(
        Measurement("rewards kept of 20,000 from four threads", _shared(4, 5_000), "", 20_000, at_least=True)
    )
    return found
