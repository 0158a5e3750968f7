"""Problems for testing claims: figures, random problems, grids of means, and increasing widths."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from clusterbandits.bounds import ClusterBound, RegretBound, regret_bound
from clusterbandits.generators import random_instance
from clusterbandits.instance import Instance
from clusterbandits.paper.audit.claim import Verdict, by_cases
from clusterbandits.paper.figures import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: One cluster with increasing widths.
Ladder: TypeAlias = tuple[ClusterBound, ...]

#: Smaller relative differences are rounding errors.
ROUNDING = 1e-9
_PROBLEMS = 500
_SEED = 2025
_GRID = np.linspace(0.05, 0.95, 10)


def bernoulli(x: ArrayLike, y: ArrayLike) -> Floats:
    """Return d(x, y) for means inside (0, 1), computed from the definition."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    result: Floats = x * np.log(x / y) + (1 - x) * np.log((1 - x) / (1 - y))
    return result


def share(results: Iterable[bool], *, universal: bool = False) -> Verdict:
    """Return the verdict on cases that are true or false; inconclusive if there are none."""
    cases = list(results)
    none = [] if cases else ["none"]
    failing = ["false"] * (len(cases) - sum(cases))
    return by_cases(["true"] * sum(cases), failing, none, universal=universal)


@functools.cache
def paper_bounds() -> tuple[RegretBound, ...]:
    """Return the bounds of all settings of the figures."""
    return tuple(one.bound for one in settings())


@functools.cache
def random_bounds(widths: Literal["exact", "wide"]) -> tuple[RegretBound, ...]:
    """Return the bounds of random problems whose widths equal the spans, or are up to 4 times as large."""
    factors = np.random.default_rng(_SEED + 1).uniform(1, 4, size=(_PROBLEMS, 3))
    return tuple(
        regret_bound(
            instance, instance.clusters(instance.spans if widths == "exact" else _times(factor, instance))
        )
        for factor, instance in zip(factors, _instances(), strict=True)
    )


@functools.cache
def _instances() -> tuple[Instance, ...]:
    rng = np.random.default_rng(_SEED)
    sizes = [rng.integers(1, 5, size=rng.integers(2, 4)).tolist() for _ in range(_PROBLEMS)]
    return tuple(random_instance("scattered", s, rng.uniform(0, 0.3, len(s)).tolist(), rng) for s in sizes)


def _times(factors: Floats, instance: Instance) -> list[float]:
    return [float(factor) * span for factor, span in zip(factors, instance.spans, strict=False)]


def suboptimal(bounds: Iterable[RegretBound]) -> list[ClusterBound]:
    """Return the clusters without a best arm."""
    return [part for bound in bounds for part in bound.clusters if part.branch != "classical"]


def different(parts: Iterable[ClusterBound], count: int) -> list[ClusterBound]:
    """Return the first clusters with a positive span, one for each list of means."""
    kinds = {tuple(part.means): part for part in parts if part.span > 0}
    return list(kinds.values())[:count]


def beside(groups: Sequence[Sequence[float]], best: float, widths: Sequence[float]) -> Ladder:
    """Return the bounds of clusters beside a single best arm."""
    instance = Instance([*map(list, groups), [best]])
    return regret_bound(instance, instance.clusters([*widths, 1.0])).clusters[:-1]


def ladder(part: ClusterBound, steps: int = 40) -> Ladder:
    """Return a cluster with widths from 0 to more than its largest gap, including its span."""
    widths = sorted({*np.linspace(0, 1.1 * part.gaps.max(), steps).tolist(), part.span})
    return beside([part.means.tolist()] * len(widths), best_beside(part), widths)


def best_beside(part: ClusterBound) -> float:
    """Return the best mean of the problem of a cluster."""
    return float(part.means[0] + part.gaps[0])


def everything() -> list[RegretBound]:
    """Return the bounds of all figures and random problems."""
    return [*paper_bounds(), *random_bounds("exact"), *random_bounds("wide")]


def programs() -> list[ClusterBound]:
    """Return the clusters whose linear programs are solved: those of the figures and 200 random ones."""
    return [*suboptimal(paper_bounds()), *suboptimal(random_bounds("exact"))[:200]]


@functools.cache
def ladders() -> tuple[Ladder, ...]:
    """Return the figures' clusters and 50 random ones, each with increasing widths."""
    own, random = (different(suboptimal(bounds), 50) for bounds in (paper_bounds(), random_bounds("exact")))
    return tuple(map(ladder, [*own, *random]))


def grids(width: float, *, equal: bool) -> list[ClusterBound]:
    """Return clusters with means on a grid, all equal or in all combinations, for best means on the grid."""
    parts: list[ClusterBound] = []
    for best in _GRID[3::3]:
        below = [float(mean) for mean in _GRID if mean < best]
        alike = [[mean] * size for mean in below for size in range(1, 5)]
        mixed = [list(group) for size in range(1, 4) for group in itertools.combinations(below, size)]
        groups = alike if equal else mixed
        parts += beside(groups, float(best), [width] * len(groups))
    return parts
