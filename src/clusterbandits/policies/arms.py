"""Arms and clusters as arrays for kernels: layout, empirical leader, and the arm that wins a tie."""

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
#: [arm]: whether something is true of it.
Mask = NDArray[np.bool_]

NOBODY = -1
#: Pure numbers this close, relative to the best, are tied; ``law.tie`` is for scores in the unit of rewards.
TIE = 1e-13
#: Scores further apart than this many ties certainly differ.
APART = 10.0


class Layout(NamedTuple):
    """The cluster of every arm; the arms of cluster c are order[start[c] : start[c + 1]]."""

    cluster: Ints
    order: Ints
    start: Ints


def layout_of(members: Sequence[Sequence[int]]) -> Layout:
    """Return the arrays of a partition. Types are exact, so that kernels are compiled once."""
    order = np.concatenate([np.asarray(part, dtype=np.int64) for part in members])
    sizes = [len(part) for part in members]
    cluster = np.empty(order.size, dtype=np.int64)
    cluster[order] = np.repeat(np.arange(len(sizes)), sizes)
    return Layout(cluster, order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def members_of(clusters: Any) -> list[list[int]]:
    """Return the arms of every cluster by number."""
    return [part.tolist() for part in clusters.partition.members]


def alone(arms: int) -> tuple[list[list[int]], list[float]]:
    """Return every arm as a cluster of its own, and the widths of those clusters."""
    return [[arm] for arm in range(arms)], [math.inf] * arms


@kernel
def first_unpulled(pulls: Ints) -> int:
    """Return the first arm that was never pulled; there must be one."""
    arm = 0
    while pulls[arm] > 0:
        arm += 1
    return arm


@kernel
def leader_of(pulls: Ints, totals: Floats) -> int:
    """Return the arm with the largest mean so far; of equals the least pulled, then the lowest number."""
    leader, best = 0, -math.inf
    for arm in range(pulls.size):
        mean = totals[arm] / pulls[arm]
        if mean > best or (mean == best and pulls[arm] < pulls[leader]):
            leader, best = arm, mean
    return leader


@kernel
def leader_among(pulls: Ints, totals: Floats, open_arms: Mask) -> int:
    """Return the leader of the arms that are open, as ``leader_of`` does of all."""
    leader, best = NOBODY, -math.inf
    for arm in range(pulls.size):
        if open_arms[arm]:
            mean = totals[arm] / pulls[arm]
            if leader == NOBODY or mean > best or (mean == best and pulls[arm] < pulls[leader]):
                leader, best = arm, mean
    return leader


@inner_kernel
def slack(best: float) -> float:
    """Return by how much a pure number may miss the best one and still tie with it."""
    return TIE * max(abs(best), 1.0)


@kernel
def largest(law: Law, scores: Floats, pulls: Ints) -> int:
    """Return the arm with the largest score; of those that tie the least pulled, then the lowest number."""
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
    """Return the arm with the smallest score, a pure number; ties as in ``largest``."""
    best = math.inf
    for arm in range(scores.size):
        best = min(best, scores[arm])
    chosen, within = NOBODY, slack(best)
    for arm in range(scores.size):
        tied = scores[arm] == best or scores[arm] <= best + within
        if tied and (chosen == NOBODY or pulls[arm] < pulls[chosen]):
            chosen = arm
    return chosen
