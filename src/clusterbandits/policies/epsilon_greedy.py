"""ε-greedy: the empirical leader, or a random arm with a decreasing probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.families.stream import uniform
from clusterbandits.policies.arms import leader_of
from clusterbandits.policies.draws import DrawPolicy

if TYPE_CHECKING:
    from clusterbandits.policies.draws import DrawState


@kernel
def choose(state: DrawState, n: int) -> int:
    """Return a random arm with probability c K / (g² n), else the leader; the parameter is c K / g²."""
    if uniform(state.stream) * n < state.parameter:
        return min(int(uniform(state.stream) * state.pulls.size), state.pulls.size - 1)
    return leader_of(state.pulls, state.totals)


class EpsilonGreedy(DrawPolicy):
    r"""Pull a random arm with a probability that decreases as 1/n, else the empirical leader.

    .. math:: \varepsilon_n = \min(1, c K / (g^2 n))

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
    defaults: ClassVar = {"c": 0.15, "gap": 0.1, "seed": 0}
    guarantee = "O(log T) if c and gap suit, else linear"
    reference = "Auer et al. 2002"
    choose = choose

    def parameter(self) -> float:
        """Return c K / g²."""
        return float(
            self.settings["c"] * len(self.clusters.arms) / self.settings["gap"] / self.settings["gap"]
        )
