"""TLP-MEAN: KL-UCB over clusters by their pooled means, then inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.layout import members_of
from clusterbandits.policies.two_level.kernels import TwoLevelState, fresh_state
from clusterbandits.policies.two_level.policy import TwoLevelPolicy

if TYPE_CHECKING:
    from numpy.random import Generator


class TLPMean(TwoLevelPolicy):
    r"""Choose a cluster by the KL-UCB index of all its pulls together, then an arm in it by its own.

    .. math:: \sup\{q : N_c\, d(S_c / N_c, q) \le f(n)\}, \quad \text{then} \quad
              \sup\{q : t_k\, d(m_k, q) \le f(N_c)\}

    with N_c pulls and total S_c of cluster c.

    Parameters
    ----------
    clusters
        The arms and who belongs together; widths are not used.
    a
        The weight of log log n, which is taken as 0 below n = e.
    clock
        What arms inside a cluster are judged by: ``"cluster"``, its own pulls so far, or ``"round"``, all.
    refresh
        Choose anew every so many rounds and keep the arm in between; the paper has 50.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = TLPMean(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Pandey, Chakrabarti and Agarwal, Multi-armed bandit problems with dependent arms, ICML 2007.
    """

    name = "tlp-mean"
    uses_widths = False
    defaults: ClassVar = {"a": 0.0, "clock": "cluster", "refresh": 1}
    guarantee = "none; ruined by a good arm in a poor cluster"
    reference = "Pandey et al. 2007"

    def fresh_state(self, rng: Generator | None = None) -> TwoLevelState:
        """Return the state before the first round."""
        del rng
        return fresh_state(
            self.family.law, members_of(self.clusters), self.settings, plain_bonus=False, by_best=False
        )
