"""Clus-OPT: Clus-UCB that refutes a cluster by whichever arms do so at the least cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.index.policy import IndexPolicy
from clusterbandits.policies.index.state import IndexState, fresh_state
from clusterbandits.policies.layout import members_of
from clusterbandits.policies.settings import ALARM

if TYPE_CHECKING:
    from numpy.random import Generator


class ClusOPT(IndexPolicy):
    r"""Find the arm that Clus-UCB would pull; pull the arm that refutes its cluster at the least cost.

    Let c be that arm's cluster, a = m* − m, b = d⁺(m, m* − β). Where c holds the empirical leader, or all of
    its arms together refute it no dearer than one (A ≤ B), or the leader has been pulled less often than c,
    the arm itself is pulled. Otherwise an arm of c with fewer than √N_c pulls, or else the one with the least
    a/b. That arm's pulls are then at most about log n / b, the vertex B of the lower bound's linear program.
    In simulation its regret meets the lower bound on both branches, where Clus-UCB pays A.

    Parameters
    ----------
    clusters
        Who belongs together, and how far apart.
    a, refresh, alarm, alarm_level
        As for ``ClusUCB``.
    hedge
        As for ``ClusUCB``; an arm that is chosen by its hedge is pulled itself.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = ClusOPT(Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.1))
    >>> for reward in [0, 0, 1]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    'c'

    References
    ----------
    Of this project; the index is that of Gore and Chaporkar.
    """

    name = "clus-opt"
    uses_widths = True
    defaults: ClassVar = {"a": 0.0, "refresh": 1, "hedge": 0.0, **ALARM}
    guarantee = "meets the lower bound in simulation"
    reference = "this project"

    def fresh_state(self, rng: Generator | None = None) -> IndexState:
        """Return the state before the first round."""
        del rng
        return fresh_state(
            self.family.law, members_of(self.clusters), self.clusters.widths, self.settings, steers=True
        )
