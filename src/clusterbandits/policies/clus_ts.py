"""Clus-TS: Thompson sampling that uses the declared widths."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.posterior import flat_prior
from clusterbandits.families.stream import Stream, fresh_stream
from clusterbandits.limits import MOST_TABLE_ARMS
from clusterbandits.policies.arms import NOBODY, Floats, Ints, Mask, first_unpulled, members_of
from clusterbandits.policies.hold_search import fresh_memory, take_in
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Kernels, by_formula
from clusterbandits.policies.restricted.cluster_draw import Beliefs, draw_group
from clusterbandits.policies.restricted.envelope import Cells, fresh_cells
from clusterbandits.policies.saved import StreamPlace
from clusterbandits.policies.settings import ALARM
from clusterbandits.policies.width_alarm import Alarm, Group, watch_widths
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    from clusterbandits.families.law import Law


class GroupState(NamedTuple):
    """Statistics, clusters and widths, and the posterior to draw from."""

    law: Law
    #: The index of the prior in ``PRIORS``.
    formula: int
    pulls: Ints
    totals: Floats
    cluster: Ints
    order: Ints
    start: Ints
    widths: Floats
    alarm: Alarm
    memory: NDArray[Any]
    stream: Stream
    cells: Cells
    #: The prior of an arm, beyond the flat prior, as an equivalent number of pulls and their total.
    extra: float
    extra_total: float
    #: The pulls and totals that define the posteriors, the prior included.
    known_pulls: Floats
    known_totals: Floats
    draws: Floats
    #: [arm, grid point]: the log-likelihood of the arm's rewards; NaN if it is out of date.
    likelihood: Floats
    #: [cluster, grid point]: the cumulative weights of the points; out of date for stale clusters.
    grid: Floats
    stale: NDArray[np.bool_]
    #: [cluster]: the first mean of the grid, NaN if there is no grid yet, and the distance between means.
    lowest: Floats
    spacing: Floats


#: The priors of all group policies.
PRIORS: list[Callable[..., None]] = []


#: ``draw_prior(state, c)``: set the posteriors of the arms of a cluster.
draw_prior = by_formula(lambda _: PRIORS)


@kernel
def nothing_in_common(_state: GroupState, _c: int) -> None:
    """Keep the posterior of each arm from its own rewards."""


@kernel
def select(state: GroupState, _n: int) -> int:
    """Draw all means; return the arm with the largest draw."""
    if state.memory[0].unpulled > 0:
        return first_unpulled(state.pulls)
    chosen, best = 0, -math.inf
    for c in range(state.widths.size):
        _draw_cluster(state, c)
        for place in range(state.start[c], state.start[c + 1]):
            arm = state.order[place]
            if state.draws[arm] > best:
                chosen, best = arm, state.draws[arm]
    return int(chosen)


@kernel
def among(state: GroupState, _n: int, open_arms: Mask) -> int:
    """Draw all means of clusters with open arms; return the open arm with the largest draw."""
    if state.memory[0].unpulled > 0:
        return first_unpulled(state.pulls)
    chosen, best = NOBODY, -math.inf
    for c in range(state.widths.size):
        drawn = False
        for place in range(state.start[c], state.start[c + 1]):
            arm = state.order[place]
            if open_arms[arm]:
                if not drawn:
                    _draw_cluster(state, c)
                    drawn = True
                if chosen == NOBODY or state.draws[arm] > best:
                    chosen, best = arm, state.draws[arm]
    return int(chosen)


@inner_kernel
def _draw_cluster(state: GroupState, c: int) -> None:
    """Draw the means of the arms of a cluster."""
    draw_prior(state, c)
    group = Group(state.order, state.start[c], state.start[c + 1], state.widths[c])
    known = Beliefs(state.law, state.known_pulls, state.known_totals, group, c)
    draw_group(state.stream, known, state.cells, state.draws)


@kernel
def update(state: GroupState, arm: int, pulls: int, total: float) -> None:
    """Update the statistics of the arm; invalidate what was computed for its cluster."""
    take_in(state, arm, pulls, total)
    state.known_pulls[arm] = state.pulls[arm] + state.extra
    state.known_totals[arm] = state.totals[arm] + state.extra_total
    state.cells.kept_counts[state.cluster[arm]] = 0
    state.stale[state.cluster[arm]] = True
    if state.likelihood.shape[1] > 0:
        state.likelihood[arm, 0] = math.nan


@kernel
def watch(state: GroupState, n: int) -> int:
    """Check the widths; invalidate cells that were computed for another width."""
    looked = watch_widths(state, n)
    for c in range(state.widths.size):
        if state.alarm.fired[c] == n:
            state.cells.kept_counts[c] = 0
    return looked


class GroupPolicy(Policy):
    """Base class of policies that draw the means of each cluster jointly and pull the largest draw.

    A subclass sets ``in_common`` to a kernel ``in_common(state, c)`` that writes ``known_pulls`` and
    ``known_totals``.
    """

    in_common: ClassVar[Callable[..., None]] = nothing_in_common
    #: The number of grid points on which a prior is learned.
    points: ClassVar[int] = 0
    uses_widths = True
    randomised = True
    needs_posterior = True
    saved = StreamPlace()
    kernels = Kernels(select, update, watch=watch, among=among)
    #: Limited because it stores hundreds of numbers per arm.
    most_arms = MOST_TABLE_ARMS
    _formula: ClassVar[int]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._formula = len(PRIORS)
        PRIORS.append(cls.in_common)
        cls.in_common = staticmethod(cls.in_common)

    def _check(self) -> None:
        pulls, total = self._beyond_flat()
        if not pulls * self.family.low <= total <= pulls * self.family.high:
            allowed = "worth more pulls: at least as many as a flat prior"
            raise invalid("prior", type(self).__name__, allowed, self.settings["prior"])

    def _beyond_flat(self) -> tuple[float, float]:
        """Return the pulls and the total that the prior is equivalent to beyond the flat prior."""
        (pulls, total), (flat, flat_total) = self.prior(), flat_prior(self.family.law)
        return pulls - flat, total - flat_total

    def used_widths(self) -> Sequence[float]:
        """Return the widths to which draws are restricted."""
        return self.clusters.widths

    def new_state(self, rng: Generator | None) -> GroupState:
        """Return the state before the first round."""
        assert rng is not None
        members, arms = members_of(self.clusters), len(self.clusters.arms)
        extra, extra_total = self._beyond_flat()
        return GroupState(
            **self.clustered_fields(members, self.used_widths()),
            formula=self._formula,
            memory=fresh_memory(arms),
            stream=fresh_stream(rng),
            cells=fresh_cells(len(members), arms, max(map(len, members))),
            extra=extra,
            extra_total=extra_total,
            known_pulls=np.zeros(arms),
            known_totals=np.zeros(arms),
            draws=np.zeros(arms),
            likelihood=np.full((arms, self.points), math.nan),
            grid=np.zeros((len(members), self.points)),
            stale=np.ones(len(members), dtype=np.bool_),
            lowest=np.full(len(members), math.nan),
            spacing=np.zeros(len(members)),
        )


class ClusTS(GroupPolicy):
    r"""Draw all means from the posterior given rewards and widths; pull the arm with the largest draw.

    The posterior of each cluster is that of ``Thompson`` restricted to means at most β apart. Draws from it
    are exact.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = ClusTS(Clusters([2, 1], widths=0.1))
    >>> policy.ask(3)
    [0, 1, 2]

    References
    ----------
    New in this project; Thompson, On the likelihood that one unknown probability exceeds another in view of
    the evidence of two samples, Biometrika 1933.
    """

    name = "clus-ts"
    defaults: ClassVar = {"prior": None, "seed": 0, **ALARM}
    guarantee = "none proven"
    reference = "this project"
