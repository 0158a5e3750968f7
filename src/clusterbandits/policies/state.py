"""The state of an index policy: statistics, what it knows of clusters, and what it remembers to be fast."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clusterbandits.families.law import Law

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Whole numbers a policy remembers, by their place in ``IndexState.memory``.
LAST, UNTIL, UNPULLED, LEADING, HELD, HELD_UNTIL, CHANGED = range(7)
#: Numbers a policy remembers, by their place in ``IndexState.certificate``.
LEVEL, PULLS, PULLS_A_REWARD, HIGHEST, PULLS_BY_MEAN, PULLS_A_MEAN = range(6)
#: An upper bound on an arm's index, by its place in a row of ``IndexState.lines``.
ANCHOR, EVIDENCE, RATE, REACH = range(4)

NOBODY, SEVERAL = -1, -2


class IndexState(NamedTuple):
    """Everything KL-UCB and Clus-UCB know. Only ``pulls`` and ``totals`` decide; the rest is a short-cut.

    ``lines``: index_k ≤ anchor + (f − evidence) · rate, up to ``reach``. ``stale``: clusters whose lines
    no longer hold. ``certificate``: see ``certainty.py``.
    """

    law: Law
    a: float
    refresh: int
    #: Whether the empirical leader's cluster is judged arm by arm, as KL-UCB does.
    plain_leader: bool
    pulls: Ints
    totals: Floats
    #: The cluster of every arm; the arms of cluster c are order[start[c] : start[c + 1]].
    cluster: Ints
    order: Ints
    start: Ints
    widths: Floats
    lines: Floats
    stale: NDArray[np.bool_]
    memory: Ints
    certificate: Floats
    #: Room to work in.
    indices: Floats


def fresh_state(
    law: Law, members: Sequence[Sequence[int]], widths: Sequence[float], settings: Mapping[str, Any]
) -> IndexState:
    """Return the state before the first round. Types are exact, so that kernels are compiled once."""
    order = np.concatenate([np.asarray(part, dtype=np.int64) for part in members])
    sizes = [len(part) for part in members]
    cluster = np.empty(order.size, dtype=np.int64)
    cluster[order] = np.repeat(np.arange(len(sizes)), sizes)
    lines = np.zeros((order.size, 4))
    lines[:, ANCHOR] = lines[:, REACH] = math.inf
    return IndexState(
        law=Law(int(law.code), float(law.weight)),
        a=float(settings["a"]),
        refresh=int(settings["refresh"]),
        plain_leader=settings.get("leader") == "plain",
        pulls=np.zeros(order.size, dtype=np.int64),
        totals=np.zeros(order.size),
        cluster=cluster,
        order=order,
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        widths=np.array(widths, dtype=np.float64),
        lines=lines,
        stale=np.ones(len(sizes), dtype=np.bool_),
        memory=np.array([NOBODY, 0, order.size, NOBODY, NOBODY, 0, SEVERAL], dtype=np.int64),
        certificate=np.full(6, math.nan),
        indices=np.zeros(order.size),
    )
