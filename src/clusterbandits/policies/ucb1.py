"""UCB1: the empirical mean plus a bonus that decreases with the number of pulls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.compiled import kernel
from clusterbandits.families.law import unit
from clusterbandits.policies.scores import MONOTONE, ScorePolicy

if TYPE_CHECKING:
    from clusterbandits.policies.scores import ScoreState


@kernel
def score(state: ScoreState, _arm: int, pulls: int, total: float, n: int) -> float:
    """Return m + u √(2 log n / t), with u the unit of rewards."""
    return total / pulls + unit(state.law) * math.sqrt(2.0 * math.log(n) / pulls)


class UCB1(ScorePolicy):
    r"""Pull the arm with the largest empirical mean plus bonus.

    .. math:: v_k(n) = m_k + \sqrt{2 \log n / t_k}

    with t pulls and mean m of arm k. The bonus is for rewards from 0 to 1; for bounded rewards it is
    multiplied by high − low.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = UCB1(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Auer, Cesa-Bianchi and Fischer, Finite-time analysis of the multiarmed bandit problem, Machine Learning
    2002.
    """

    name = "ucb1"
    guarantee = "O(log T), above the classical bound"
    reference = "Auer et al. 2002"
    score = score
    relies_on = MONOTONE
