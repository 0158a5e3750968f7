"""IMED-Clus: IMED in which mates argue too."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.imed.kernels import ImedState, fresh_state
from clusterbandits.policies.imed.policy import ImedPolicy
from clusterbandits.policies.layout import members_of
from clusterbandits.policies.settings import ALARM

if TYPE_CHECKING:
    from numpy.random import Generator


class IMEDClus(ImedPolicy):
    r"""Pull the arm with the least H, to which its mates' evidence is added.

    .. math:: H_k = t_k\, d(m_k, m^*) + \sum_{j \ne k} t_j\, d^+(m_j, m^* - \beta) + \log t_k

    where j runs over the mates of arm k, and m* is the largest mean so far.

    Parameters
    ----------
    clusters
        Who belongs together, and how far apart.
    hedge
        κ from 0 (none) to 1: an arm's H is at most IMED's over κ.
    alarm, alarm_level
        As for ``ClusUCB``.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = IMEDClus(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Of this project; IMED is that of Honda and Takemura.
    """

    name = "imed-clus"
    uses_widths = True
    defaults: ClassVar = {"hedge": 0.0, **ALARM}
    guarantee = "as Clus-UCB in simulation"
    reference = "this project"

    def fresh_state(self, rng: Generator | None = None) -> ImedState:
        """Return the state before the first round."""
        del rng
        return fresh_state(self.family.law, members_of(self.clusters), self.clusters.widths, self.settings)
