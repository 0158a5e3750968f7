"""IMED-OPT: IMED-Clus that refutes a cluster with whichever arms do so at the least cost."""

from __future__ import annotations

from typing import ClassVar

from clusterbandits.policies.imed_state import ImedPolicy
from clusterbandits.policies.settings import ALARM


class IMEDOPT(ImedPolicy):
    r"""Find the arm IMED-Clus would pull; pull the arm that refutes its cluster at the least cost.

    The steps after IMED-Clus' choice are those of ``ClusOPT``: where the lowest arm alone refutes the cluster
    cheaper than all of them (B < A), that one is pulled.

    Parameters
    ----------
    hedge
        κ from 0 (none) to 1: an arm's H is at most IMED's over κ.

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
    Of this project; IMED is that of Honda and Takemura.
    """

    name = "imed-opt"
    uses_widths = True
    defaults: ClassVar = {"hedge": 0.0, **ALARM}
    guarantee = "meets the lower bound in simulation"
    reference = "this project"
    steers = True
