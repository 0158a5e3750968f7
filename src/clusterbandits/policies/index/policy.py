"""State, kernels and explanations that KL-UCB, Clus-UCB and their variants share.

The formulas are in the files of the policies, which import this module, so this module imports kernels on
use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from clusterbandits.policies.index.state import IndexState, fresh_state
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Assumption
from clusterbandits.policies.saved import KeptChoice

if TYPE_CHECKING:
    from numpy.random import Generator

    from clusterbandits.policies.explanation import Explanation
    from clusterbandits.policies.protocol import Kernels


class IndexPolicy(Policy):
    """Base class of policies that pull the arm with the largest index."""

    saved = KeptChoice()
    has_certificates = True
    relies_on = (
        Assumption.FALLS_WITH_PULLS,
        Assumption.RISES_WITH_TOTALS,
        Assumption.RISES_WITH_ROUNDS,
        Assumption.REWARDS_NOT_NEGATIVE,
    )
    #: Whether to pull the lowest arm alone if that rules out a cluster with the least regret.
    steers: ClassVar[bool] = False

    @property
    def kernels(self) -> Kernels:
        """The compiled functions of the policy."""
        from clusterbandits.policies.index.kernels import KERNELS

        return KERNELS

    def new_state(self, rng: Generator | None) -> IndexState:
        """Return the state before the first round."""
        del rng
        members, widths = self.groups()
        return fresh_state(self.family.law, members, widths, self.settings, steers=self.steers)

    def explain(self) -> Explanation:
        """Return the index of each arm in the next round and the evidence behind it.

        Outstanding rewards do not count. The explanation prints as a table.

        Examples
        --------
        >>> from clusterbandits import ClusUCB, Clusters
        >>> policy = ClusUCB(Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.1))
        >>> policy.tell("a", 40, pulls=100); policy.tell("b", 10, pulls=40); policy.tell("c", 30, pulls=90)
        >>> print(policy.explain())
        Round 231: f(n) = 5.442
        arm  cluster  pulls    mean      low    high   index  limited by
        ───  ───────  ─────  ──────  ───────  ──────  ──────  ──────────
        a    red        100     0.4   0.2496  0.5644  0.5203  b 47 %
        b    red         40    0.25  0.07811  0.5052  0.5051  a 0 %
        c    blue        90  0.3333   0.1869  0.5057  0.5057
        """
        return super().explain()

    def _explain(self) -> Explanation:
        from clusterbandits.policies.index.explain import explain

        return explain(cast("IndexState", self._live), self.clusters, self._next_round)

    def _widen(self, c: int) -> None:
        from clusterbandits.policies.index.kernels import widen

        widen(cast("IndexState", self._live), c)
