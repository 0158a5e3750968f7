"""Random policies, rewards and clocks, for the fuzzers that use policies online."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core.event import TimingListener, install_listener

import clusterbandits as cb
from clusterbandits.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.random import Generator

MOST_ARMS = 12
FAMILIES = (
    *tuple(cb.families.FAMILIES) * 3,
    *("gaussian:sigma=0.01", "gaussian:sigma=1e-50", "gaussian:sigma=1e50"),
    *("exponential:shape=0.001", "exponential:shape=20", "exponential:shape=1e50"),
    *("bounded:high=50", "bounded:low=-3,high=-1", "bounded:low=-1e50,high=1e50"),
    *("negative-binomial:shape=1e-6", "negative-binomial:shape=20", "negative-binomial:shape=1e6"),
)
VALUES: dict[str, Sequence[object]] = {
    "a": (0.0, 0.5, 5.0, 1e6),
    "alarm": ("warn", "widen", "ignore"),
    "alarm_level": (0.05, 1.0, 1e-300),
    "alpha": (0.0, 1.35, 1e6),
    "c": (1e-300, 0.1, 5.0, 1e6),
    "clock": ("cluster", "round"),
    "epsilon": (0.0, 0.01, 1.0),
    "gamma": (0.0, 0.5, 1e6),
    "gap": (1e-300, 0.1, 1.0, 1e6),
    "hedge": (0.0, 1e-9, 0.5, 1.0),
    "horizon": (1, 1000, 10**15),
    "leader": ("clustered", "plain"),
    "prior": (None, (0.5, 4.0), (0.02, 200.0), (0.5, 1e6)),
    "refresh": (1, 1, 2, 7, 50, 10**9),
    "seed": (0, 1, 2**128 - 1),
    "widths": ("ignored", "respected"),
}
WIDTHS = (0.0, 1e-300, 1e-12, 0.01, 0.1, 0.5, 1.0, 1e99, 1e300, math.inf)
_LABELS = ("a", "b", "", "1", 0, 1, 2, -5, 10**30, "ä", "💡", '\n"\\', "a" * 300)


def pick(rng: Generator, values: Sequence[Any]) -> Any:
    """Return one of several values."""
    return values[int(rng.integers(len(values)))]


def random_clusters(rng: Generator, most: int = MOST_ARMS) -> cb.Clusters:
    """Return at most ``most`` arms in random clusters with random widths."""
    arms = int(rng.integers(1, most + 1))
    groups = rng.integers(0, max(1, int(rng.integers(1, arms + 1))), arms).tolist()
    names: Any = range(arms)
    if rng.random() < 0.5:
        chosen = rng.permutation(len(_LABELS))[:arms].tolist()
        names = [_LABELS[i] for i in chosen]
    return cb.Clusters.from_labels(groups, [pick(rng, WIDTHS) for _ in set(groups)], arms=list(names))


def random_policy(rng: Generator, clusters: cb.Clusters | None = None, family: str | None = None) -> Any:
    """Return a random policy of the registry, with about half of its settings random."""
    clusters = random_clusters(rng) if clusters is None else clusters
    kind = POLICIES[pick(rng, list(POLICIES))]
    settings: dict[str, Any] = {"horizon": 1000} if kind.needs_horizon else {}
    for key in kind.defaults:
        if rng.random() < 0.5:
            settings[key] = _distances(rng, clusters) if key == "distances" else pick(rng, VALUES[key])
    return kind(clusters, family=pick(rng, FAMILIES) if family is None else family, **settings)


def _distances(rng: Generator, clusters: cb.Clusters) -> list[list[float]]:
    arms = len(clusters.arms)
    drawn = np.array([pick(rng, WIDTHS) for _ in range(arms * arms)]).reshape(arms, arms)
    table: list[list[float]] = np.minimum(drawn, drawn.T).tolist()
    for arm in range(arms):
        table[arm][arm] = 0.0
    return table


def random_total(rng: Generator, family: cb.Family, pulls: int, *, extreme: bool) -> float:
    """Return a possible sum of rewards of a family; with ``extreme``, at the ends of the possible range."""
    mean = {"bernoulli": float(rng.random()), "gaussian": float(rng.normal())}.get(
        family.name, float(rng.exponential())
    )
    if family.name == "bounded":
        mean = float(rng.uniform(family.low, family.high))
    if extreme and rng.random() < 0.7:
        edges: dict[str, tuple[float, ...]] = {
            "bernoulli": (0.0, 1.0, 5e-324, 1e-12, 1.0 - 1e-16),
            "gaussian": (0.0, -0.0, 1e100, -1e100, 1e-300, 1.0),
            "poisson": (0.0, 1.0, 1e17, 1e100),
            "exponential": (1e-100, 1e100, 1e-12, 1.0),
            "negative-binomial": (0.0, 1.0, 1e17, 1e100),
            "bounded": (family.low, family.high),
        }
        mean = pick(rng, edges[family.name])
    total = mean * pulls
    if family.counts and family.highest == math.inf:
        return float(np.floor(total))
    if family.name == "bernoulli" and pulls == 1 and rng.random() < 0.7:
        return float(total < rng.random())
    return total


def timed(call: Callable[[], Any], seconds: float) -> Any:
    """Return the result of a call and check its time in this thread, without compilation."""
    with install_listener("numba:compile", TimingListener()) as listener:
        start = time.thread_time()
        found = call()
        spent = time.thread_time() - start
    assert spent < seconds or listener.done, f"took {spent:.1f} s"
    return found


def refused(call: Callable[[], Any]) -> bool:
    """Return whether a call is refused, which must be by one short sentence."""
    try:
        call()
    except cb.InvalidInputError as error:
        sentence = str(error)
        assert 0 < len(sentence) <= 500, sentence
        assert "\n" not in sentence, sentence
        sentence.encode()
        return True
    return False
