"""MOSS: a bonus that vanishes once an arm has its share of pulls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.families.law import unit
from clusterbandits.policies.scores import MONOTONE, ScorePolicy

if TYPE_CHECKING:
    from clusterbandits.policies.scores import ScoreState


@kernel
def score(state: ScoreState, _arm: int, pulls: int, total: float, n: int) -> float:
    """Return m + u √((1 + α)/2 · log⁺(n / (K t)) / t), with u the unit of rewards; α is the parameter."""
    share = n / (state.pulls.size * pulls)
    bonus = 0.5 * (1.0 + state.parameter) * math.log(share) / pulls if share > 1.0 else 0.0
    return total / pulls + unit(state.law) * math.sqrt(bonus)


class MOSS(ScorePolicy):
    r"""Pull the arm with the largest mean plus a bonus that is 0 from n/K pulls on (the anytime version).

    .. math:: v_k(n) = m_k + \sqrt{\tfrac{1+\alpha}{2}\, \log^+(n / (K t_k)) / t_k}

    with t pulls and mean m of arm k, of K arms. The bonus is for rewards from 0 to 1; for bounded rewards it
    is multiplied by high − low.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = MOSS(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Degenne and Perchet, Anytime optimal algorithms in stochastic multi-armed bandits, ICML 2016.
    """

    name = "moss"
    defaults: ClassVar = {"alpha": 1.35}
    guarantee = "O(√(KT)) in the worst case"
    reference = "Degenne and Perchet 2016"
    score = score
    parameter = "alpha"
    relies_on = MONOTONE
