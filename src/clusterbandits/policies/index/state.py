"""The state of an index policy: statistics, clusters and widths, and cached bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import records
from clusterbandits.policies.arms import NOBODY, Floats, Ints, layout_of
from clusterbandits.policies.width_alarm import Alarm, fresh_alarm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clusterbandits.families.law import Law

#: The last choice and the round until which it is kept; the number of arms without pulls; the leader's
#: cluster; the arm with a certificate and its last round; the cluster whose lines are out of date.
_MEMORY = np.dtype(
    [(name, np.int64) for name in ("last", "until", "unpulled", "leading", "held", "held_until", "changed")]
)
#: See ``certificate.py``.
_CERTIFICATE = np.dtype(
    [(name, np.float64) for name in ("level", "pulls", "per_reward", "highest", "by_mean", "per_total")]
)
#: An upper bound on an arm's index: index ≤ anchor + (f − evidence) · rate, up to ``reach``.
_LINE = np.dtype([(name, np.float64) for name in ("anchor", "evidence", "rate", "reach")])

SEVERAL = -2


class IndexState(NamedTuple):
    """The state of KL-UCB, Clus-UCB and their variants. Choices depend only on ``pulls`` and ``totals``.

    All else is cached: ``lines`` has an upper bound per arm and another one for its hedge, ``stale`` marks
    clusters whose lines are out of date, and ``certificate`` is explained in ``certificate.py``.
    """

    law: Law
    a: float
    refresh: int
    #: Whether the arms of the empirical leader's cluster have KL-UCB indices.
    plain_leader: bool
    #: Whether to pull the lowest arm alone if that rules out a cluster with the least regret.
    steers: bool
    #: κ: each index is at least the KL-UCB index at this share of the threshold; 0 for no hedge.
    hedge: float
    pulls: Ints
    totals: Floats
    #: The cluster of each arm; the arms of cluster c are order[start[c] : start[c + 1]].
    cluster: Ints
    order: Ints
    start: Ints
    widths: Floats
    #: The largest distances between pairs of arms; empty if clusters and widths define them.
    distances: Floats
    alarm: Alarm
    lines: NDArray[Any]
    stale: NDArray[np.bool_]
    memory: NDArray[Any]
    certificate: NDArray[Any]
    #: Working memory.
    indices: Floats


def fresh_state(
    law: Law,
    members: Sequence[Sequence[int]],
    widths: Sequence[float],
    settings: Mapping[str, Any],
    *,
    steers: bool = False,
) -> IndexState:
    """Return the state before the first round, with exact types so that kernels are compiled only once."""
    layout = layout_of(members)
    arms, hedge = layout.order.size, float(settings.get("hedge", 0.0))
    lines = records(_LINE, arms, 2 if hedge > 0.0 else 1)
    lines["anchor"] = lines["reach"] = math.inf
    memory, certificate = records(_MEMORY, 1), records(_CERTIFICATE, 1)
    memory[0] = (NOBODY, 0, arms, NOBODY, NOBODY, 0, SEVERAL)
    certificate[0] = (math.nan,) * len(_CERTIFICATE.names or ())
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
        memory=memory,
        certificate=certificate,
        indices=np.zeros(arms),
    )


def by_distances(state: IndexState, distances: Floats) -> IndexState:
    """Return the state of a policy with given distances between pairs of arms instead of clusters."""
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
