"""UCB1: the mean and a bonus for arms that were seldom pulled."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.scored.kernels import UCB1 as KIND
from clusterbandits.policies.scored.kernels import ScoreState, fresh_state
from clusterbandits.policies.scored.policy import ScoredPolicy

if TYPE_CHECKING:
    from numpy.random import Generator


class UCB1(ScoredPolicy):
    r"""Pull the arm with the largest mean plus bonus.

    .. math:: v_k(n) = m_k + \sqrt{2 \log n / t_k}

    The bonus is made for rewards from 0 to 1. It knows nothing of clusters.

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
    uses_widths = False
    defaults: ClassVar = {}
    guarantee = "O(log T), above the classical bound"
    reference = "Auer et al. 2002"

    def fresh_state(self, rng: Generator | None = None) -> ScoreState:
        """Return the state before the first round."""
        del rng
        return fresh_state(self.family.law, KIND, 0.0, len(self.clusters.arms))
