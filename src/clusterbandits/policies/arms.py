"""Arms and clusters as arrays for kernels: cluster layout, empirical leader and tie-breaking."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clusterbandits.compiled import inner_kernel, kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.families.law import Law

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: [arm]: a condition.
Mask = NDArray[np.bool_]

NOBODY = -1
#: The relative difference below which dimensionless scores are tied; for scores in the unit of rewards,
#: ``law.tie``.
TIE = 1e-13
#: Scores that differ by more than this multiple of a tie are different.
APART = 10.0


class Layout(NamedTuple):
    """The cluster of each arm; the arms of cluster c are order[start[c] : start[c + 1]]."""

    cluster: Ints
    order: Ints
    start: Ints


def layout_of(members: Sequence[Sequence[int]]) -> Layout:
    """Return the arrays of a partition, with exact types so that kernels are compiled only once."""
    order = np.concatenate([np.asarray(part, dtype=np.int64) for part in members])
    sizes = [len(part) for part in members]
    cluster = np.empty(order.size, dtype=np.int64)
    cluster[order] = np.repeat(np.arange(len(sizes)), sizes)
    return Layout(cluster, order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def members_of(clusters: Any) -> list[list[int]]:
    """Return the numbers of the arms of each cluster."""
    return [part.tolist() for part in clusters.partition.members]


def alone(arms: int) -> tuple[list[list[int]], list[float]]:
    """Return single-arm clusters and their widths."""
    return [[arm] for arm in range(arms)], [math.inf] * arms


@kernel
def first_unpulled(pulls: Ints) -> int:
    """Return the first arm without pulls; there must be one."""
    arm = 0
    while pulls[arm] > 0:
        arm += 1
    return arm


@kernel
def leader_of(pulls: Ints, totals: Floats) -> int:
    """Return the arm with the largest empirical mean; ties go to the fewest pulls, then the lowest number."""
    leader, best = 0, -math.inf
    for arm in range(pulls.size):
        mean = totals[arm] / pulls[arm]
        if mean > best or (mean == best and pulls[arm] < pulls[leader]):
            leader, best = arm, mean
    return leader


@kernel
def leader_among(pulls: Ints, totals: Floats, open_arms: Mask) -> int:
    """Return the arm with the largest empirical mean among ``open_arms``; ties as in ``leader_of``."""
    leader, best = NOBODY, -math.inf
    for arm in range(pulls.size):
        if open_arms[arm]:
            mean = totals[arm] / pulls[arm]
            if leader == NOBODY or mean > best or (mean == best and pulls[arm] < pulls[leader]):
                leader, best = arm, mean
    return leader


@inner_kernel
def slack(best: float) -> float:
    """Return the largest difference at which a dimensionless score ties with the best one."""
    return TIE * max(abs(best), 1.0)


@kernel
def largest(law: Law, scores: Floats, pulls: Ints) -> int:
    """Return the arm with the largest score; ties go to the fewest pulls, then the lowest number."""
    best = -math.inf
    for arm in range(scores.size):
        best = max(best, scores[arm])
    chosen, within = NOBODY, law.tie * abs(best)
    for arm in range(scores.size):
        tied = scores[arm] == best or scores[arm] >= best - within
        if tied and (chosen == NOBODY or pulls[arm] < pulls[chosen]):
            chosen = arm
    return chosen


@kernel
def smallest(scores: Floats, pulls: Ints) -> int:
    """Return the arm with the smallest dimensionless score; ties as in ``largest``."""
    best = math.inf
    for arm in range(scores.size):
        best = min(best, scores[arm])
    chosen, within = NOBODY, slack(best)
    for arm in range(scores.size):
        tied = scores[arm] == best or scores[arm] <= best + within
        if tied and (chosen == NOBODY or pulls[arm] < pulls[chosen]):
            chosen = arm
    return chosen
