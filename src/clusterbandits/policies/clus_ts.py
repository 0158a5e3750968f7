"""Clus-TS: Thompson sampling that believes the widths."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.limits import MOST_TABLE_ARMS
from clusterbandits.policies.bayes.kernels import GroupState, fresh_state
from clusterbandits.policies.bayes.policy import RandomPolicy
from clusterbandits.policies.layout import members_of
from clusterbandits.policies.settings import ALARM

if TYPE_CHECKING:
    from numpy.random import Generator


class ClusTS(RandomPolicy):
    r"""Draw all means from what rewards and widths say together; pull the arm with the largest draw.

    The posterior of every cluster is that of ``Thompson``, restricted to means at most β apart, and the draw
    from it is exact.

    Parameters
    ----------
    clusters
        Who belongs together, and how far apart.
    alarm, alarm_level
        As for ``ClusUCB``.
    seed
        Decides all chance online; simulations use their own.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = ClusTS(Clusters([2, 1], widths=0.1))
    >>> policy.ask(3)
    [0, 1, 2]

    References
    ----------
    Of this project; Thompson, On the likelihood that one unknown probability exceeds another in view of the
    evidence of two samples, Biometrika 1933.
    """

    name = "clus-ts"
    needs_posterior = True
    uses_widths = True
    defaults: ClassVar = {"seed": 0, **ALARM}
    guarantee = "none proven"
    reference = "this project"
    #: It keeps hundreds of numbers for every arm.
    most_arms = MOST_TABLE_ARMS

    def fresh_state(self, rng: Generator | None = None) -> GroupState:
        """Return the state before the first round."""
        widths = self.clusters.widths
        return fresh_state(
            self.family.law, members_of(self.clusters), widths, self.settings, self._generator(rng)
        )
