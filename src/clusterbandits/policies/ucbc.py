"""UCBC: UCB1 over clusters, then inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.layout import members_of
from clusterbandits.policies.two_level.kernels import TwoLevelState, fresh_state
from clusterbandits.policies.two_level.policy import TwoLevelPolicy

if TYPE_CHECKING:
    from numpy.random import Generator


class UCBC(TwoLevelPolicy):
    r"""Choose a cluster by the UCB1 index of all its pulls together, then an arm in it by its own.

    .. math:: S_c / N_c + \sqrt{2 \log n / N_c}, \quad \text{then} \quad
              m_k + \sqrt{2 \log N_c / t_k}

    with N_c pulls and total S_c of cluster c. The bonus is made for rewards from 0 to 1.

    Parameters
    ----------
    clusters
        The arms and who belongs together; widths are not used.
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
    >>> policy = UCBC(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Bouneffouf, Parthasarathy, Samulowitz and Wistuba, Optimal exploitation of clustering and history
    information in multi-armed bandit, IJCAI 2019.
    """

    name = "ucbc"
    uses_widths = False
    defaults: ClassVar = {"clock": "cluster", "refresh": 1}
    guarantee = "none; ruined by a good arm in a poor cluster"
    reference = "Bouneffouf et al. 2019"

    def fresh_state(self, rng: Generator | None = None) -> TwoLevelState:
        """Return the state before the first round."""
        del rng
        return fresh_state(
            self.family.law, members_of(self.clusters), self.settings, plain_bonus=True, by_best=False
        )
