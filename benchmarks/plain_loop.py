"""The honest baseline: a compiled loop that solves for every index in every round, with the same solver."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.compiled import kernel
from clusterbandits.families.law import total
from clusterbandits.policies.index.evidence import index, threshold

if TYPE_CHECKING:
    from clusterbandits.policies.index.state import IndexState
    from clusterbandits.simulation.loop import Rewards


@kernel
def play_plainly(state: IndexState, rewards: Rewards, horizon: int) -> None:
    """Play KL-UCB or Clus-UCB without holding, bounds, or anything remembered between rounds."""
    arms = state.pulls.size
    for n in range(1, horizon + 1):
        arm = n - 1
        if n > arms:
            level, arm, best = threshold(n, state.a), 0, -math.inf
            for one in range(arms):
                value = index(state, one, level, state.widths[state.cluster[one]])
                if value > best or (value == best and state.pulls[one] < state.pulls[arm]):
                    arm, best = one, value
        state.pulls[arm] += 1
        state.totals[arm] += total(rewards.law, rewards.rng, rewards.means[arm], 1)
