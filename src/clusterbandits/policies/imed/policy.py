"""What IMED and its clustered kin share: the H of every arm is its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from clusterbandits.policies.imed.kernels import add_up, score
from clusterbandits.policies.leader import leader_of
from clusterbandits.policies.policy import Policy

if TYPE_CHECKING:
    from clusterbandits.policies.imed.kernels import ImedState


class ImedPolicy(Policy):
    """A policy that pulls the arm with the smallest H."""

    def _scores(self) -> list[float]:
        state = cast("ImedState", self._live)
        leader = leader_of(state.pulls, state.totals)
        best = float(state.totals[leader]) / int(state.pulls[leader])
        add_up(state, best)
        return [float(score(state, arm, best)) for arm in range(state.pulls.size)]
