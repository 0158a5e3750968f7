"""Clus-UCB: arms argue for and against their mates."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.index.policy import IndexPolicy
from clusterbandits.policies.index.state import IndexState, fresh_state
from clusterbandits.policies.layout import members_of
from clusterbandits.policies.settings import ALARM

if TYPE_CHECKING:
    from numpy.random import Generator


class ClusUCB(IndexPolicy):
    r"""Pull the arm with the largest mean that neither its own rewards nor its mates' refute.

    .. math:: v_k(n) = \sup\{q : t_k\, d^+(m_k, q) + \sum_{j \ne k} t_j\, d^+(m_j, q - \beta)
              \le \log n + a \log \log n\}

    where j runs over the mates of arm k, whose means can be at most β below its own. Its regret meets
    Theorem 2 of the paper: A for every cluster without a best arm.

    Parameters
    ----------
    clusters
        Who belongs together, and how far apart.
    a
        The weight of log log n, which is taken as 0 below n = e. 0 works best in practice, 5 is the paper's.
    refresh
        Choose anew every so many rounds and keep the arm in between; the paper has 50. Larger than 1 it is
        another policy: where a width is too small it can turn a small regret into a linear one.
    leader
        ``"clustered"`` gives every arm this index. ``"plain"``, another reading of the paper, gives the arms
        of the cluster that holds the largest empirical mean their KL-UCB index.
    hedge
        κ from 0 (none) to 1: an arm's index is never below its KL-UCB index at κ f(n). Regret is then at most
        of the order of T^(1−κ) whatever the widths.
    alarm
        What to do when the data contradict a width: ``"warn"``, ``"widen"`` (that cluster's width becomes
        infinite) or ``"ignore"``.
    alarm_level
        The chance, at most, of a false alarm, over all rounds and clusters together.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = ClusUCB(Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.1))
    >>> for reward in [0, 0, 1]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    'c'

    References
    ----------
    Gore and Chaporkar, Clus-UCB: A Near-Optimal Algorithm for Clustered Bandits.
    """

    name = "clus-ucb"
    uses_widths = True
    defaults: ClassVar = {"a": 0.0, "refresh": 1, "leader": "clustered", "hedge": 0.0, **ALARM}
    guarantee = "meets Theorem 2 where widths are true"
    reference = "Gore and Chaporkar"

    def fresh_state(self, rng: Generator | None = None) -> IndexState:
        """Return the state before the first round."""
        del rng
        return fresh_state(self.family.law, members_of(self.clusters), self.clusters.widths, self.settings)
