"""IMED: indexed minimum empirical divergence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.families.calculus import divergence_above
from clusterbandits.policies.imed_state import ImedPolicy

if TYPE_CHECKING:
    from clusterbandits.policies.imed_state import ImedState


@kernel
def argued(state: ImedState, arm: int, best: float, width: float) -> float:
    """Return t d⁺(m, best − width): the evidence of an arm against another arm of its cluster being best."""
    mean = state.totals[arm] / state.pulls[arm]
    return float(state.pulls[arm] * divergence_above(state.law, mean, best, width))


@kernel
def plain_score(state: ImedState, arm: int, best: float) -> float:
    """Return the H of IMED, which uses the arm's own rewards only."""
    return argued(state, arm, best, 0.0) + math.log(state.pulls[arm])


class IMED(ImedPolicy):
    r"""Pull the arm with the smallest H: the evidence against its being best, plus the log of its pulls.

    .. math:: H_k = t_k\, d(m_k, m^*) + \log t_k

    with m* the largest empirical mean. No equation has to be solved. Clusters are ignored.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = IMED(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Honda and Takemura, Non-asymptotic analysis of a new bandit algorithm for semi-bounded rewards, JMLR 2015.
    """

    name = "imed"
    defaults: ClassVar = {}
    guarantee = "meets the classical bound"
    reference = "Honda and Takemura 2015"
