"""IMED-Clus: IMED with the evidence of the other arms of a cluster."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.policies.imed import argued, plain_score
from clusterbandits.policies.imed_state import ImedPolicy
from clusterbandits.policies.settings import ALARM

if TYPE_CHECKING:
    from clusterbandits.policies.imed_state import ImedState


@kernel
def add_up(state: ImedState, best: float) -> None:
    """Sum, for each cluster, the evidence of its arms against each other's being best."""
    for c in range(state.sums.size):
        state.sums[c] = 0.0
        if state.widths[c] < math.inf and state.start[c + 1] - state.start[c] > 1:
            for place in range(state.start[c], state.start[c + 1]):
                state.sums[c] += argued(state, state.order[place], best, state.widths[c])


@kernel
def clustered_score(state: ImedState, arm: int, best: float) -> float:
    """Return the H of IMED-Clus without a hedge; ``add_up`` must be called first."""
    c, others = state.cluster[arm], 0.0
    if state.sums[c] == math.inf:
        for place in range(state.start[c], state.start[c + 1]):
            if state.order[place] != arm:
                others += argued(state, state.order[place], best, state.widths[c])
    elif state.sums[c] > 0.0:
        others = max(state.sums[c] - argued(state, arm, best, state.widths[c]), 0.0)
    return plain_score(state, arm, best) + others


@kernel
def score(state: ImedState, arm: int, best: float) -> float:
    """Return H, with the hedge if there is one."""
    value = clustered_score(state, arm, best)
    return min(value, plain_score(state, arm, best) / state.hedge) if state.hedge > 0.0 else value


class IMEDClus(ImedPolicy):
    r"""Pull the arm with the smallest H, which includes the evidence of the other arms of its cluster.

    .. math:: H_k = t_k\, d(m_k, m^*) + \sum_{j \ne k} t_j\, d^+(m_j, m^* - \beta) + \log t_k

    where j runs over the other arms of the cluster of arm k, and m* is the largest empirical mean.

    Parameters
    ----------
    hedge
        κ from 0 (the default, no hedge) to 1: the H of an arm is at most its IMED value divided by κ.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = IMEDClus(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    New in this project; IMED is that of Honda and Takemura.
    """

    name = "imed-clus"
    uses_widths = True
    defaults: ClassVar = {"hedge": 0.0, **ALARM}
    guarantee = "as Clus-UCB in simulation"
    reference = "this project"
