"""The state of an index policy: statistics, what it knows of clusters, and what it remembers to be fast."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.policies.alarm import Alarm, fresh_alarm
from clusterbandits.policies.layout import NOBODY, Floats, Ints, layout_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clusterbandits.families.law import Law

#: Whole numbers a policy remembers, by their place in ``IndexState.memory``.
LAST, UNTIL, UNPULLED, LEADING, HELD, HELD_UNTIL, CHANGED = range(7)
#: Numbers a policy remembers, by their place in ``IndexState.certificate``.
LEVEL, PULLS, PULLS_A_REWARD, HIGHEST, PULLS_BY_MEAN, PULLS_A_MEAN = range(6)
#: An upper bound on an arm's index, by its place in a row of ``IndexState.lines``.
ANCHOR, EVIDENCE, RATE, REACH = range(4)
LINE = 4

SEVERAL = -2


class IndexState(NamedTuple):
    """Everything KL-UCB, Clus-UCB and their kin know. Only ``pulls`` and ``totals`` decide.

    The rest is short-cuts. ``lines``: index_k ≤ anchor + (f − evidence) · rate, up to ``reach``; a second
    such line a row bounds the hedge. ``stale``: clusters whose lines no longer hold. ``certificate``: see
    ``certainty.py``.
    """

    law: Law
    a: float
    refresh: int
    #: Whether the empirical leader's cluster is judged arm by arm, as KL-UCB does.
    plain_leader: bool
    #: Whether clusters that one arm can refute are left to that arm.
    steers: bool
    #: κ, the share of the threshold at which every arm also has the index it would have by itself; 0: none.
    hedge: float
    pulls: Ints
    totals: Floats
    #: The cluster of every arm; the arms of cluster c are order[start[c] : start[c + 1]].
    cluster: Ints
    order: Ints
    start: Ints
    widths: Floats
    #: How far apart two arms can be, where that is not a matter of clusters; else empty.
    distances: Floats
    alarm: Alarm
    lines: Floats
    stale: NDArray[np.bool_]
    memory: Ints
    certificate: Floats
    #: Room to work in.
    indices: Floats


def fresh_state(
    law: Law,
    members: Sequence[Sequence[int]],
    widths: Sequence[float],
    settings: Mapping[str, Any],
    *,
    steers: bool = False,
) -> IndexState:
    """Return the state before the first round. Types are exact, so that kernels are compiled once."""
    layout = layout_of(members)
    arms, hedge = layout.order.size, float(settings.get("hedge", 0.0))
    lines = np.zeros((arms, 2 * LINE if hedge > 0.0 else LINE))
    lines[:, ANCHOR::LINE] = lines[:, REACH::LINE] = math.inf
    return IndexState(
        law=law,
        a=float(settings["a"]),
        refresh=int(settings["refresh"]),
        plain_leader=settings.get("leader") == "plain",
        steers=steers,
        hedge=hedge,
        pulls=np.zeros(arms, dtype=np.int64),
        totals=np.zeros(arms),
        cluster=layout.cluster,
        order=layout.order,
        start=layout.start,
        widths=np.array(widths, dtype=np.float64),
        distances=np.zeros((0, 0)),
        alarm=fresh_alarm(
            law, layout, widths, settings.get("alarm", "ignore"), settings.get("alarm_level", 1.0)
        ),
        lines=lines,
        stale=np.ones(len(members), dtype=np.bool_),
        memory=np.array([NOBODY, 0, arms, NOBODY, NOBODY, 0, SEVERAL], dtype=np.int64),
        certificate=np.full(6, math.nan),
        indices=np.zeros(arms),
    )


def by_distances(state: IndexState, distances: Floats) -> IndexState:
    """Return the state of a policy that knows how far apart any two arms can be, instead of clusters."""
    arms = state.pulls.size
    one = layout_of([list(range(arms))])
    return state._replace(
        cluster=one.cluster,
        order=one.order,
        start=one.start,
        widths=np.zeros(1),
        distances=distances,
        stale=np.ones(1, dtype=np.bool_),
    )
