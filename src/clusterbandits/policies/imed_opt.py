"""IMED-OPT: IMED-Clus that refutes a cluster by whichever arms do so at the least cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.imed.kernels import ImedState, fresh_state
from clusterbandits.policies.imed.policy import ImedPolicy
from clusterbandits.policies.layout import members_of
from clusterbandits.policies.settings import ALARM

if TYPE_CHECKING:
    from numpy.random import Generator


class IMEDOPT(ImedPolicy):
    r"""Find the arm IMED-Clus would pull; pull the arm that refutes its cluster at the least cost.

    The steps after IMED-Clus' choice are those of ``ClusOPT``: where the lowest arm alone refutes the cluster
    cheaper than all of them (B < A), that one is pulled.

    Parameters
    ----------
    clusters
        Who belongs together, and how far apart.
    hedge
        κ from 0 (none) to 1: an arm's H is at most IMED's over κ. An arm that is chosen by
        its hedge is pulled itself.
    alarm, alarm_level
        As for ``ClusUCB``.
    family
        The law of rewards.
    label
        What tables and pictures call it.

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

    def fresh_state(self, rng: Generator | None = None) -> ImedState:
        """Return the state before the first round."""
        del rng
        return fresh_state(
            self.family.law, members_of(self.clusters), self.clusters.widths, self.settings, steers=True
        )
