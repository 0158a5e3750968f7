"""ε-greedy: the leader, and now and then any arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.bayes.draws import EPSILON_GREEDY, DrawState, fresh_state
from clusterbandits.policies.bayes.policy import RandomPolicy

if TYPE_CHECKING:
    from numpy.random import Generator


class EpsilonGreedy(RandomPolicy):
    r"""Pull any arm with a chance that falls as 1/n, else the leader.

    .. math:: \varepsilon_n = \min(1, c K / (g^2 n))

    Parameters
    ----------
    clusters
        The arms; their widths are not used.
    c
        How much to explore; the proof wants more than 5, practice far less.
    gap
        g, at most the gap between the best arm and the second best, where that is known.
    seed
        Decides all chance online; simulations use their own.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = EpsilonGreedy(Clusters([2, 1], widths=0.1))
    >>> policy.ask(3)
    [0, 1, 2]

    References
    ----------
    Auer, Cesa-Bianchi and Fischer, Finite-time analysis of the multiarmed bandit problem, Machine Learning
    2002.
    """

    name = "epsilon-greedy"
    uses_widths = False
    defaults: ClassVar = {"c": 0.15, "gap": 0.1, "seed": 0}
    guarantee = "O(log T) if c and gap suit, else linear"
    reference = "Auer et al. 2002"

    def fresh_state(self, rng: Generator | None = None) -> DrawState:
        """Return the state before the first round."""
        members = [list(range(len(self.clusters.arms)))]
        explore = self.settings["c"] * len(members[0]) / self.settings["gap"] / self.settings["gap"]
        return fresh_state(self.family.law, EPSILON_GREEDY, explore, members, self._generator(rng))
