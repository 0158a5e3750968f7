"""UCBC: choose a cluster by UCB1, then an arm by UCB1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.families.law import unit
from clusterbandits.policies.tlp_mean import pooled_mean
from clusterbandits.policies.two_level import TwoLevelPolicy

if TYPE_CHECKING:
    from clusterbandits.policies.two_level_scores import TwoLevelState


@kernel
def score(state: TwoLevelState, mean: float, pulls: int, level: float) -> float:
    """Return m + u √(2 f / t), with u the unit of rewards."""
    return mean + unit(state.law) * math.sqrt(2.0 * level / pulls)


class UCBC(TwoLevelPolicy):
    r"""Choose a cluster by the UCB1 index of its pooled rewards, then an arm by its own UCB1 index.

    .. math:: S_c / N_c + \sqrt{2 \log n / N_c}, \quad \text{then} \quad
              m_k + \sqrt{2 \log N_c / t_k}

    with N_c pulls and total S_c of cluster c. The bonus is for rewards from 0 to 1; for bounded rewards it is
    multiplied by high − low.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = UCBC(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Bouneffouf, Parthasarathy, Samulowitz and Wistuba, Optimal exploitation of clustering and history
    information in multi-armed bandit, IJCAI 2019.
    """

    name = "ucbc"
    defaults: ClassVar = {"clock": "cluster", "refresh": 1}
    guarantee = "none; can miss a good arm in a poor cluster"
    reference = "Bouneffouf et al. 2019"
    score = score
    standing = pooled_mean
    plain_bonus = True
