"""Regret bounds for many arms: time, growth, and comparison with plain Python and linear programs."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog

from benchmarks.measure import Measurement, seconds
from clusterbandits import Instance, random_instance, regret_bound

if TYPE_CHECKING:
    from clusterbandits import Clusters

_ARMS_A_CLUSTER = 100


def _problem(arms: int) -> tuple[Instance, Clusters]:
    instance = random_instance("scattered", [_ARMS_A_CLUSTER] * (arms // _ARMS_A_CLUSTER), span=0.05, seed=1)
    return instance, instance.clusters()


def _kl(x: float, y: float) -> float:
    return x * math.log(x / y) + (1 - x) * math.log((1 - x) / (1 - y))


def _evidence(instance: Instance, clusters: Clusters) -> list[tuple[list[float], list[float], list[float]]]:
    """Return a, b and α of each suboptimal cluster, from the textbook formulas."""
    best = instance.best_mean
    found = []
    for members, width in zip(clusters.partition.members, clusters.widths, strict=True):
        means = instance.means[members].tolist()
        if max(means) < best:
            b = [_kl(mean, best - width) if mean < best - width else 0.0 for mean in means]
            alpha = [_kl(mean, best) - drop for mean, drop in zip(means, b, strict=True)]
            found.append(([best - mean for mean in means], b, alpha))
    return found


def _plain_python(instance: Instance, clusters: Clusters) -> float:
    total = 0.0
    for a, b, alpha in _evidence(instance, clusters):
        L = 1 + sum(drop / rest for drop, rest in zip(b, alpha, strict=True))
        A = sum(gap / (rest * L) for gap, rest in zip(a, alpha, strict=True))
        lowest = a.index(max(a))
        total += min(A, a[lowest] / b[lowest] if b[lowest] else math.inf)
    return total


def _linear_programs(instance: Instance, clusters: Clusters) -> float:
    total = 0.0
    for a, b, alpha in _evidence(instance, clusters):
        rows = np.diag(alpha) + np.tile(b, (len(a), 1))
        total += linprog(a, A_ub=-rows, b_ub=-np.ones(len(a)), method="highs").fun
    return total


def measure() -> list[Measurement]:
    """Measure the bounds of 1,000 to 100,000 arms in clusters of 100."""
    times = {}
    for arms in (1_000, 10_000, 100_000):
        instance, clusters = _problem(arms)
        times[arms] = seconds(partial(regret_bound, instance, clusters))
    instance, clusters = _problem(10_000)
    suboptimal = sum(part.lower for part in regret_bound(instance, clusters).clusters if part.A is not None)
    for other in (_plain_python, _linear_programs):
        if not math.isclose(other(instance, clusters), suboptimal, rel_tol=1e-6):
            raise AssertionError(f"{other.__name__} disagrees with regret_bound")
    plain = seconds(lambda: _plain_python(instance, clusters), repeats=3)
    programs = seconds(lambda: _linear_programs(instance, clusters), repeats=3)
    return [
        Measurement("10,000 arms in 100 clusters", 1e3 * times[10_000], "ms", limit=50),
        Measurement("1,000 arms in 10 clusters", 1e3 * times[1_000], "ms"),
        Measurement("100,000 arms in 1,000 clusters", 1e3 * times[100_000], "ms"),
        Measurement("time of 100,000 arms over 10,000", times[100_000] / times[10_000], "×", limit=13),
        Measurement("plain Python loop over regret_bound", plain / times[10_000], "×"),
        Measurement("one linear program per cluster over regret_bound", programs / times[10_000], "×"),
    ]
