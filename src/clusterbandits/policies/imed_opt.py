"""IMED-OPT: IMED-Clus that rules out each suboptimal cluster by the pulls that incur the least regret."""

from __future__ import annotations

from typing import ClassVar

from clusterbandits.policies.imed_state import ImedPolicy
from clusterbandits.policies.settings import ALARM


class IMEDOPT(ImedPolicy):
    r"""Find the arm of IMED-Clus; pull the arm that rules out its cluster with the least regret.

    The steps after the choice of IMED-Clus are those of ``ClusOPT``: if pulls of the lowest arm alone rule
    out the cluster with less regret than pulls of all its arms (B < A), the lowest arm is pulled.

    Parameters
    ----------
    hedge
        κ from 0 (the default, no hedge) to 1: the H of an arm is at most its IMED value divided by κ.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = IMEDOPT(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    New in this project; IMED is that of Honda and Takemura.
    """

    name = "imed-opt"
    uses_widths = True
    defaults: ClassVar = {"hedge": 0.0, **ALARM}
    guarantee = "meets the lower bound in simulation"
    reference = "this project"
    steers = True
