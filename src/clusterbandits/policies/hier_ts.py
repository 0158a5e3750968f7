"""Hier-TS: Thompson sampling that learns what the arms of a cluster have in common."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.limits import MOST_TABLE_ARMS
from clusterbandits.policies.bayes.kernels import GroupState, fresh_state
from clusterbandits.policies.bayes.policy import RandomPolicy
from clusterbandits.policies.layout import members_of
from clusterbandits.policies.settings import ALARM

if TYPE_CHECKING:
    from numpy.random import Generator


class HierTS(RandomPolicy):
    r"""Draw every cluster's mean and concentration, then its arms' means around them; pull the largest.

    Arms of a cluster are taken to be draws from a Beta (a conjugate law, for other rewards) whose mean and
    concentration are learned on a grid. It needs no widths; told to respect them, it draws the arms' means
    within their width of each other, as ``ClusTS`` does.

    Parameters
    ----------
    clusters
        Who belongs together, and how far apart.
    widths
        ``"ignored"`` or ``"respected"``.
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
    >>> policy = HierTS(Clusters([2, 1], widths=0.1))
    >>> policy.ask(3)
    [0, 1, 2]

    References
    ----------
    Hong, Kveton, Zaheer and Ghavamzadeh, Hierarchical Bayesian bandits, AISTATS 2022.
    """

    name = "hier-ts"
    needs_posterior = True
    uses_widths = True
    defaults: ClassVar = {"widths": "ignored", "seed": 0, **ALARM}
    guarantee = "Bayesian, where its prior is true"
    reference = "Hong et al. 2022"
    #: It keeps hundreds of numbers for every arm.
    most_arms = MOST_TABLE_ARMS

    @property
    def heeds_widths(self) -> bool:
        """Whether it was asked to respect widths."""
        return bool(self.settings["widths"] == "respected")

    def fresh_state(self, rng: Generator | None = None) -> GroupState:
        """Return the state before the first round."""
        widths = self.clusters.widths if self.heeds_widths else [math.inf] * len(self.clusters.widths)
        return fresh_state(
            self.family.law,
            members_of(self.clusters),
            widths,
            self.settings,
            self._generator(rng),
            hierarchical=True,
        )
