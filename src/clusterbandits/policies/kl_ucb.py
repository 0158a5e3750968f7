"""KL-UCB: every arm by itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.index.policy import IndexPolicy
from clusterbandits.policies.index.state import IndexState, fresh_state

if TYPE_CHECKING:
    from numpy.random import Generator


class KLUCB(IndexPolicy):
    r"""Pull the arm with the largest mean that its own rewards do not refute.

    .. math:: v_k(n) = \sup\{q : t_k\, d(m_k, q) \le \log n + a \log \log n\}

    with t pulls and mean m of arm k. It knows nothing of clusters; its regret meets the classical bound.

    Parameters
    ----------
    clusters
        The arms; their widths are not used.
    a
        The weight of log log n, which is taken as 0 below n = e. 0 works best in practice.
    refresh
        Choose anew every so many rounds and keep the arm in between.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = KLUCB(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 1]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Garivier and Cappé, The KL-UCB algorithm for bounded stochastic bandits and beyond, COLT 2011.
    """

    name = "kl-ucb"
    uses_widths = False
    defaults: ClassVar = {"a": 0.0, "refresh": 1}
    guarantee = "meets the classical bound"
    reference = "Garivier and Cappé 2011"

    def fresh_state(self, rng: Generator | None = None) -> IndexState:
        """Return the state before the first round: every arm a cluster of its own."""
        del rng
        arms = range(len(self.clusters.arms))
        return fresh_state(self.family.law, [[arm] for arm in arms], [math.inf for _ in arms], self.settings)
