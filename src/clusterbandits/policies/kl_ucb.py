"""KL-UCB: an upper confidence bound per arm, without clusters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.families.law import upper
from clusterbandits.policies.index.policy import IndexPolicy

if TYPE_CHECKING:
    from clusterbandits.families.law import Law


@kernel
def threshold(n: int, a: float) -> float:
    """Return f(n) = log n + a log max(log n, 1)."""
    known = math.log(n)
    return known + a * math.log(known) if known > 1.0 else known


@kernel
def kl_index(law: Law, pulls: int, total: float, level: float) -> float:
    """Return sup{q : t d(m, q) ≤ level}, the upper confidence bound from the arm's own rewards."""
    return upper(law, total / pulls, level / pulls)


class KLUCB(IndexPolicy):
    r"""Pull the arm with the largest upper confidence bound from its own rewards.

    .. math:: v_k(n) = \sup\{q : t_k\, d(m_k, q) \le \log n + a \log \log n\}

    with t pulls and mean m of arm k. Clusters are ignored; the regret meets the classical lower bound.

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
    defaults: ClassVar = {"a": 0.0, "refresh": 1}
    guarantee = "meets the classical bound"
    reference = "Garivier and Cappé 2011"
