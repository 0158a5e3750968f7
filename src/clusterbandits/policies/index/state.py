"""The state of an index policy: statistics, what it knows of clusters, and what it remembers to be fast."""

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

#: The last choice and until when it is kept; arms never pulled; the leader's cluster; the arm with a
#: certificate and until when; the cluster whose lines have to be drawn again.
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
    """Everything KL-UCB, Clus-UCB and their kin know. Only ``pulls`` and ``totals`` decide.

    The rest is short-cuts. ``lines``: an upper bound per arm, and a second one for its hedge. ``stale``:
    clusters whose lines no longer hold. ``certificate``: see ``certificate.py``.
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
    lines: NDArray[Any]
    stale: NDArray[np.bool_]
    memory: NDArray[Any]
    certificate: NDArray[Any]
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
