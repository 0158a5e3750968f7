"""What KL-UCB, Clus-UCB and their kin share: state, kernels and explanations.

The formulas are in the files of the policies, which import this one; so this one imports kernels on use.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, cast

from clusterbandits.families.law import lower, upper
from clusterbandits.policies.arms import members_of
from clusterbandits.policies.explanation import ArmView, Explanation
from clusterbandits.policies.index.state import IndexState, fresh_state
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Assumption
from clusterbandits.policies.saved import KeptChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from clusterbandits.partition import Label
    from clusterbandits.policies.protocol import Kernels


class IndexPolicy(Policy):
    """A policy that pulls the arm with the largest index."""

    saved = KeptChoice()
    has_certificates = True
    relies_on = (
        Assumption.FALLS_WITH_PULLS,
        Assumption.RISES_WITH_TOTALS,
        Assumption.RISES_WITH_ROUNDS,
        Assumption.REWARDS_NOT_NEGATIVE,
    )
    #: Whether clusters that one arm can refute are left to that arm.
    steers: ClassVar[bool] = False

    @property
    def kernels(self) -> Kernels:
        """The compiled functions."""
        from clusterbandits.policies.index.kernels import KERNELS

        return KERNELS

    def groups(self) -> tuple[list[list[int]], Sequence[float]]:
        """Return the arms of every cluster by number, and the widths."""
        return members_of(self.clusters), self.clusters.widths

    def new_state(self, rng: Generator | None) -> IndexState:
        """Make a state before the first round."""
        del rng
        members, widths = self.groups()
        return fresh_state(self.family.law, members, widths, self.settings, steers=self.steers)

    def explain(self) -> Explanation:
        """Return, for every arm, its index in the next round and what it is made of.

        Only rewards that were told count. Prints as a table.

        Examples
        --------
        >>> from clusterbandits import ClusUCB, Clusters
        >>> policy = ClusUCB(Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.1))
        >>> policy.tell("a", 40, pulls=100); policy.tell("b", 10, pulls=40); policy.tell("c", 30, pulls=90)
        >>> print(policy.explain())
        Round 231: f(n) = 5.442
        arm  cluster  pulls    mean      low    high   index  held down by
        ───  ───────  ─────  ──────  ───────  ──────  ──────  ────────────
        a    red        100     0.4   0.2496  0.5644  0.5203  b 47 %
        b    red         40    0.25  0.07811  0.5052  0.5051  a 0 %
        c    blue        90  0.3333   0.1869  0.5057  0.5057
        """
        return super().explain()

    def _explain(self) -> Explanation:
        from clusterbandits.policies.index.race import follow_leader
        from clusterbandits.policies.kl_ucb import threshold

        state = cast("IndexState", self._live)
        level = threshold(self._next_round, state.a)
        if not state.memory["unpulled"][0]:
            follow_leader(state)
        names = self.clusters.partition.cluster_names
        arms = tuple(self._view(state, number, names[number], level) for number in range(len(names)))
        return Explanation(self._next_round, level, arms)

    def _view(self, state: IndexState, number: int, cluster: Label, level: float) -> ArmView:
        label, pulls = self.clusters.arms[number], int(state.pulls[number])
        if not pulls:
            return ArmView(label, cluster, 0, index=math.inf)
        mean = float(state.totals[number]) / pulls
        low, high = lower(state.law, mean, level / pulls), upper(state.law, mean, level / pulls)
        if state.memory["unpulled"][0]:
            return ArmView(label, cluster, pulls, mean, low, high)
        from clusterbandits.policies.clus_ucb import index
        from clusterbandits.policies.index.race import leading_width

        value = float(index(state, number, level, leading_width(state, number)))
        return ArmView(
            label, cluster, pulls, mean, low, high, value, self._opponents(state, number, value, level)
        )

    def _opponents(self, state: IndexState, number: int, value: float, level: float) -> dict[Label, float]:
        """Return which mates argue against the arm's index, strongest first, each with its share of f(n)."""
        from clusterbandits.policies.clus_ucb import mates_shares
        from clusterbandits.policies.index.race import leading_width

        mates_shares(state, number, value, leading_width(state, number), level)
        shares, arms = state.indices.tolist(), self.clusters.arms
        order = sorted(range(len(arms)), key=lambda k: -shares[k])
        return {arms[k]: shares[k] for k in order if shares[k] > 0}

    def _widen(self, c: int) -> None:
        from clusterbandits.policies.index.kernels import widen

        widen(cast("IndexState", self._live), c)
