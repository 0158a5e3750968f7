"""The baseline: a compiled loop that solves for all indices in every round, with the same solver."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.compiled import allocating_kernel, kernel
from clusterbandits.families.law import total
from clusterbandits.policies.clus_ucb import index
from clusterbandits.policies.kl_ucb import threshold

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clusterbandits.policies.index.state import IndexState
    from clusterbandits.simulation.loop import Rewards


@kernel
def play_plainly(state: IndexState, rewards: Rewards, horizon: int) -> None:
    """Simulate KL-UCB or Clus-UCB without holds, bounds, or cached values."""
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


@allocating_kernel
def sample_plainly(
    rewards: Rewards, pulls: NDArray[np.int64], totals: NDArray[np.float64], rounds: int
) -> None:
    """Simulate Thompson sampling on rewards 0 or 1 in a plain loop."""
    for n in range(rounds):
        chosen, best = n, math.inf
        if n >= pulls.size:
            best = -math.inf
            for arm in range(pulls.size):
                value = rewards.rng.beta(totals[arm] + 1.0, pulls[arm] - totals[arm] + 1.0)
                if value > best:
                    chosen, best = arm, value
        pulls[chosen] += 1
        totals[chosen] += 1.0 if rewards.rng.random() < rewards.means[chosen] else 0.0
