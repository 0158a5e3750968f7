"""IMED-Clus: IMED in which the other arms of a cluster count too."""

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
    """Add up what the arms of every cluster argue against each other's being best."""
    for c in range(state.sums.size):
        state.sums[c] = 0.0
        if state.widths[c] < math.inf and state.start[c + 1] - state.start[c] > 1:
            for place in range(state.start[c], state.start[c + 1]):
                state.sums[c] += argued(state, state.order[place], best, state.widths[c])


@kernel
def clustered_score(state: ImedState, arm: int, best: float) -> float:
    """Return IMED-Clus' H, without a hedge; ``add_up`` goes before."""
    c, mates = state.cluster[arm], 0.0
    if state.sums[c] == math.inf:
        for place in range(state.start[c], state.start[c + 1]):
            if state.order[place] != arm:
                mates += argued(state, state.order[place], best, state.widths[c])
    elif state.sums[c] > 0.0:
        mates = max(state.sums[c] - argued(state, arm, best, state.widths[c]), 0.0)
    return plain_score(state, arm, best) + mates


@kernel
def score(state: ImedState, arm: int, best: float) -> float:
    """Return what arms are compared by."""
    value = clustered_score(state, arm, best)
    return min(value, plain_score(state, arm, best) / state.hedge) if state.hedge > 0.0 else value


class IMEDClus(ImedPolicy):
    r"""Pull the arm with the least H, to which its mates' evidence is added.

    .. math:: H_k = t_k\, d(m_k, m^*) + \sum_{j \ne k} t_j\, d^+(m_j, m^* - \beta) + \log t_k

    where j runs over the mates of arm k, and m* is the largest mean so far.

    Parameters
    ----------
    hedge
        κ from 0 (none) to 1: an arm's H is at most IMED's over κ.

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
    Of this project; IMED is that of Honda and Takemura.
    """

    name = "imed-clus"
    uses_widths = True
    defaults: ClassVar = {"hedge": 0.0, **ALARM}
    guarantee = "as Clus-UCB in simulation"
    reference = "this project"
