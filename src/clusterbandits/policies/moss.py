"""MOSS: a bonus that vanishes for arms that had their share of pulls."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.scored.kernels import MOSS as KIND
from clusterbandits.policies.scored.kernels import ScoreState, fresh_state
from clusterbandits.policies.scored.policy import ScoredPolicy

if TYPE_CHECKING:
    from numpy.random import Generator


class MOSS(ScoredPolicy):
    r"""Pull the arm with the largest mean plus a bonus that ends at n/K pulls; at any time.

    .. math:: v_k(n) = m_k + \sqrt{\tfrac{1+\alpha}{2}\, \log^+(n / (K t_k)) / t_k}

    The bonus is made for rewards from 0 to 1. It knows nothing of clusters.

    Parameters
    ----------
    clusters
        The arms; their widths are not used.
    alpha
        α, how much wider than MOSS's with a known horizon.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = MOSS(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Degenne and Perchet, Anytime optimal algorithms in stochastic multi-armed bandits, ICML 2016.
    """

    name = "moss"
    uses_widths = False
    defaults: ClassVar = {"alpha": 1.35}
    guarantee = "O(√(KT)) in the worst case"
    reference = "Degenne and Perchet 2016"

    def fresh_state(self, rng: Generator | None = None) -> ScoreState:
        """Return the state before the first round."""
        del rng
        return fresh_state(self.family.law, KIND, self.settings["alpha"], len(self.clusters.arms))
