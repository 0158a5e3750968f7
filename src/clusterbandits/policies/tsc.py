"""TSC: Thompson sampling over clusters, then inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.bayes.draws import TSC as KIND
from clusterbandits.policies.bayes.draws import DrawState, fresh_state
from clusterbandits.policies.bayes.policy import RandomPolicy
from clusterbandits.policies.layout import members_of

if TYPE_CHECKING:
    from numpy.random import Generator


class TSC(RandomPolicy):
    r"""Draw every cluster's mean from all its pulls together, then every arm's in the cluster that won.

    It is quick where a cluster's mean tells where its best arm stands, and ruined where the best arm hides in
    a poor cluster.

    Parameters
    ----------
    clusters
        The arms and who belongs together; widths are not used.
    seed
        Decides all chance online; simulations use their own.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = TSC(Clusters([2, 1], widths=0.1))
    >>> policy.ask(3)
    [0, 1, 2]

    References
    ----------
    Carlsson, Dubhashi and Johansson, Thompson sampling for bandits with clustered arms, IJCAI 2021.
    """

    name = "tsc"
    needs_posterior = True
    uses_widths = False
    defaults: ClassVar = {"seed": 0}
    guarantee = "none; ruined by a good arm in a poor cluster"
    reference = "Carlsson et al. 2021"

    def fresh_state(self, rng: Generator | None = None) -> DrawState:
        """Return the state before the first round."""
        return fresh_state(self.family.law, KIND, 0.0, members_of(self.clusters), self._generator(rng))
