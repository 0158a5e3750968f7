"""TLP-MAX: choose a cluster by KL-UCB on the mean of its best arm, then an arm by KL-UCB."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.policies.tlp_mean import kl_score
from clusterbandits.policies.two_level import TwoLevelPolicy

if TYPE_CHECKING:
    from clusterbandits.policies.two_level_scores import TwoLevelState


@kernel
def best_mean(state: TwoLevelState, c: int, spent: int, held: int) -> float:
    """Return the largest empirical mean of the arms of a cluster."""
    best = -math.inf
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        best = max(best, state.totals[arm] / (state.pulls[arm] + (spent if arm == held else 0)))
    return best


class TLPMax(TwoLevelPolicy):
    r"""Choose a cluster by the KL-UCB index of its best arm's mean with all its pulls, then an arm by KL-UCB.

    .. math:: \sup\{q : N_c\, d(\max_k m_k, q) \le f(n)\}, \quad \text{then} \quad
              \sup\{q : t_k\, d(m_k, q) \le f(N_c)\}

    with N_c pulls of cluster c.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = TLPMax(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Pandey, Chakrabarti and Agarwal, Multi-armed bandit problems with dependent arms, ICML 2007.
    """

    name = "tlp-max"
    defaults: ClassVar = {"a": 0.0, "clock": "cluster", "refresh": 1}
    guarantee = "none; can miss a good arm in a poor cluster"
    reference = "Pandey et al. 2007"
    score = kl_score
    standing = best_mean
