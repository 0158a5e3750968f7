"""What the two-level policies share: an arm's reason is its score among its mates."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from clusterbandits.policies.gallop import KEPT
from clusterbandits.policies.index.evidence import threshold
from clusterbandits.policies.refreshing import RefreshingPolicy
from clusterbandits.policies.two_level.kernels import CHOSEN, UNTIL, score

if TYPE_CHECKING:
    from clusterbandits.policies.two_level.kernels import TwoLevelState


class TwoLevelPolicy(RefreshingPolicy):
    """A policy that chooses a cluster, then an arm in it."""

    places = (CHOSEN, UNTIL, KEPT)

    def _scores(self) -> list[float]:
        state = cast("TwoLevelState", self._live)
        clocks = state.cluster_pulls if state.own_clock else [self._next_round] * state.cluster_pulls.size
        return [
            float(
                score(state, float(total) / int(pulls), int(pulls), threshold(int(clocks[int(c)]), state.a))
            )
            for total, pulls, c in zip(state.totals, state.pulls, state.cluster, strict=True)
        ]
