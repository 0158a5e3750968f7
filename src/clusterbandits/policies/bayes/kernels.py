"""The kernels of Clus-TS and Hier-TS: draw the means of every cluster together, pull the largest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.policies.alarm import Alarm, fresh_alarm, watch_widths
from clusterbandits.policies.bayes.envelope import Cells, fresh_cells
from clusterbandits.policies.bayes.hierarchy import POINTS, draw_prior
from clusterbandits.policies.bayes.restricted import Beliefs, draw_group
from clusterbandits.policies.gallop import UNPULLED, fresh_memory, take_in
from clusterbandits.policies.layout import Floats, Ints, layout_of
from clusterbandits.policies.leader import first_unpulled
from clusterbandits.policies.misfit import Group
from clusterbandits.policies.protocol import KERNELS, Kernels, one_round

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clusterbandits.families.law import Law


class GroupState(NamedTuple):
    """Statistics, what is known of clusters, and what is drawn from."""

    law: Law
    #: Whether arms of a cluster are taken to be draws from a common law that is learned too.
    hierarchical: bool
    pulls: Ints
    totals: Floats
    cluster: Ints
    order: Ints
    start: Ints
    widths: Floats
    alarm: Alarm
    memory: Ints
    rng: np.random.Generator
    cells: Cells
    #: The pulls and totals that posteriors are made of, what is known beforehand included.
    known_pulls: Floats
    known_totals: Floats
    draws: Floats
    #: [arm, point of the grid]: the log of how likely an arm's rewards are, NaN where it is not up to date.
    likelihood: Floats
    #: [cluster, point]: the weights of the points, added up; those of stale clusters are not up to date.
    grid: Floats
    stale: NDArray[np.bool_]
    #: [cluster]: the means of the grid begin here, NaN where it is not laid yet, and are so far apart.
    lowest: Floats
    spacing: Floats


def fresh_state(
    law: Law,
    members: Sequence[Sequence[int]],
    widths: Sequence[float],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    *,
    hierarchical: bool = False,
) -> GroupState:
    """Return the state before the first round."""
    layout = layout_of(members)
    arms, points = layout.order.size, POINTS if hierarchical else 0
    return GroupState(
        law=law,
        hierarchical=hierarchical,
        pulls=np.zeros(arms, dtype=np.int64),
        totals=np.zeros(arms),
        cluster=layout.cluster,
        order=layout.order,
        start=layout.start,
        widths=np.array(widths, dtype=np.float64),
        alarm=fresh_alarm(law, layout, widths, settings["alarm"], settings["alarm_level"]),
        memory=fresh_memory(arms),
        rng=rng,
        cells=fresh_cells(len(members), arms, max(map(len, members))),
        known_pulls=np.zeros(arms),
        known_totals=np.zeros(arms),
        draws=np.zeros(arms),
        likelihood=np.full((arms, points), math.nan),
        grid=np.zeros((len(members), points)),
        stale=np.ones(len(members), dtype=np.bool_),
        lowest=np.full(len(members), math.nan),
        spacing=np.zeros(len(members)),
    )


@kernel
def select(state: GroupState, _n: int) -> int:
    """Draw all means; return the arm with the largest."""
    if state.memory[UNPULLED] > 0:
        return first_unpulled(state.pulls)
    chosen, best = 0, -math.inf
    for c in range(state.widths.size):
        if state.hierarchical:
            draw_prior(state, c)
        group = Group(state.order, state.start[c], state.start[c + 1], state.widths[c])
        known = Beliefs(state.law, state.known_pulls, state.known_totals, group, c)
        draw_group(state.rng, known, state.cells, state.draws)
        for place in range(group.first, group.beyond):
            arm = state.order[place]
            if state.draws[arm] > best:
                chosen, best = arm, state.draws[arm]
    return int(chosen)


@kernel
def update(state: GroupState, arm: int, pulls: int, total: float) -> None:
    """Add to the arm's statistics; what was kept of its cluster no longer holds."""
    take_in(state, arm, pulls, total)
    state.known_pulls[arm], state.known_totals[arm] = state.pulls[arm], state.totals[arm]
    state.cells.kept_counts[state.cluster[arm]] = 0
    if state.hierarchical:
        state.likelihood[arm, 0] = math.nan
        state.stale[state.cluster[arm]] = True


@kernel
def watch(state: GroupState, n: int) -> int:
    """Look at the widths; cells of another width no longer hold."""
    looked = watch_widths(state, n)
    for c in range(state.widths.size):
        if state.alarm.fired[c] == n:
            state.cells.kept_counts[c] = 0
    return looked


KERNELS[GroupState] = Kernels(select, one_round, update, watch)
