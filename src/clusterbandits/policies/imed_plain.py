"""IMED: the arm that is hardest to rule out as the best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.imed.kernels import ImedState, fresh_state
from clusterbandits.policies.imed.policy import ImedPolicy

if TYPE_CHECKING:
    from numpy.random import Generator


class IMED(ImedPolicy):
    r"""Pull the arm with the least H, the evidence against its being best plus the log of its pulls.

    .. math:: H_k = t_k\, d(m_k, m^*) + \log t_k

    with m* the largest mean so far. No index is solved for. It knows nothing of clusters.

    Parameters
    ----------
    clusters
        The arms; their widths are not used.
    family
        The law of rewards.
    label
        What tables and pictures call it.

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
    uses_widths = False
    defaults: ClassVar = {}
    guarantee = "meets the classical bound"
    reference = "Honda and Takemura 2015"

    def fresh_state(self, rng: Generator | None = None) -> ImedState:
        """Return the state before the first round."""
        del rng
        arms = range(len(self.clusters.arms))
        return fresh_state(self.family.law, [[arm] for arm in arms], [math.inf for _ in arms], self.settings)
