"""State, kernels and explanations that IMED and its clustered variants share.

The formulas are in the files of the policies, which import this module, so this module imports kernels on
use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from clusterbandits.policies.arms import Floats, Ints, leader_of
from clusterbandits.policies.hold_search import fresh_memory, fresh_reach
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Assumption

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from clusterbandits.families.law import Law
    from clusterbandits.policies.protocol import Kernels
    from clusterbandits.policies.width_alarm import Alarm


class ImedState(NamedTuple):
    """Statistics, clusters and widths, and the variant."""

    law: Law
    hedge: float
    steers: bool
    pulls: Ints
    totals: Floats
    cluster: Ints
    order: Ints
    start: Ints
    widths: Floats
    alarm: Alarm
    memory: NDArray[Any]
    reach: Ints
    #: H of each arm, and the summed evidence of the arms of each cluster.
    scores: Floats
    sums: Floats


class ImedPolicy(Policy):
    """Base class of policies that pull the arm with the smallest H."""

    relies_on = (Assumption.REWARDS_NOT_NEGATIVE,)
    #: Whether to pull the lowest arm alone if that rules out a cluster with the least regret.
    steers: ClassVar[bool] = False

    @property
    def kernels(self) -> Kernels:
        """The compiled functions of the policy."""
        from clusterbandits.policies.imed_kernels import KERNELS

        return KERNELS

    def new_state(self, rng: Generator | None) -> ImedState:
        """Return the state before the first round."""
        del rng
        members, widths = self.groups()
        arms = len(self.clusters.arms)
        return ImedState(
            **self.clustered_fields(members, widths),
            hedge=float(self.settings.get("hedge", 0.0)),
            steers=self.steers,
            memory=fresh_memory(arms),
            reach=fresh_reach(arms),
            scores=np.zeros(arms),
            sums=np.zeros(len(members)),
        )

    def _scores(self) -> list[float]:
        from clusterbandits.policies.imed_clus import add_up, score

        state = cast("ImedState", self._live)
        leader = leader_of(state.pulls, state.totals)
        best = float(state.totals[leader]) / int(state.pulls[leader])
        add_up(state, best)
        return [float(score(state, arm, best)) for arm in range(state.pulls.size)]
