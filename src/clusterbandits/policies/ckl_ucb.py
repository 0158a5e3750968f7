"""CKL-UCB: a largest possible distance between the means of each pair of arms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from clusterbandits.limits import MOST_TABLE_ARMS
from clusterbandits.policies.index.policy import IndexPolicy
from clusterbandits.policies.index.state import IndexState, by_distances, fresh_state
from clusterbandits.policies.settings import ALARM
from clusterbandits.validate import Described, invalid

if TYPE_CHECKING:
    from numpy.random import Generator

    from clusterbandits.clusters import Clusters
    from clusterbandits.partition import Label
    from clusterbandits.policies.arms import Ints


class CKLUCB(IndexPolicy):
    r"""Pull the arm with the largest Clus-UCB index, given a distance per pair of arms instead of widths.

    .. math:: v_k(n) = \sup\{q : t_k\, d^+(m_k, q) + \sum_{j \ne k} t_j\, d^+(m_j, q - \delta_{kj})
              \le \log n + a \log \log n\}

    If the distances are the widths inside clusters and infinite between clusters, it is Clus-UCB.

    Parameters
    ----------
    alarm
        As for ``ClusUCB``; it checks widths, not given distances.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> doses = [[0, 0.1, 0.2], [0.1, 0, 0.1], [0.2, 0.1, 0]]
    >>> policy = CKLUCB(Clusters([3], widths=1), distances=doses)
    >>> for reward in [0, 0, 1]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    2

    References
    ----------
    Magureanu, Combes and Proutière, Lipschitz bandits: regret lower bounds and optimal algorithms, COLT 2014.
    """

    name = "ckl-ucb"
    uses_widths = True
    defaults: ClassVar = {"distances": None, "a": 0.0, "refresh": 1, "hedge": 0.0, **ALARM}
    guarantee = "as Clus-UCB if distances are widths"
    reference = "Magureanu et al. 2014"
    #: Limited because it stores a distance per pair of arms.
    most_arms = MOST_TABLE_ARMS

    @property
    def heeds_widths(self) -> bool:
        """Whether the distances follow from the widths."""
        return self.settings["distances"] is None

    def _check(self) -> None:
        given, arms = self.settings["distances"], len(self.clusters.arms)
        if given is not None and len(given) != arms:
            raise invalid(
                "distances",
                "CKLUCB",
                f"a table of {arms} by {arms}",
                Described(f"{len(given)} by {len(given)}"),
            )

    def new_state(self, rng: Generator | None) -> IndexState:
        """Return the state before the first round."""
        del rng
        given = self.settings["distances"]
        settings = self.settings if given is None else self.settings | {"alarm": "ignore"}
        state = fresh_state(self.family.law, *self.groups(), settings)
        return by_distances(state, self._by_width() if given is None else np.array(given, dtype=np.float64))

    def _by_width(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        members = np.array(self.clusters.partition.membership)
        inside = np.array(self.clusters.widths)[members]
        return np.where(members[:, None] == members[None, :], inside[:, None], math.inf)

    def resized(self, clusters: Clusters, arms: Ints) -> Self:
        """Return a new policy with the same settings for some of the arms and their distances."""
        settings, table = dict(self.settings), self.settings["distances"]
        if table is not None:
            settings["distances"] = [[table[row][column] for column in arms] for row in arms]
        return self.make(clusters, settings, family=self.family, label=self.label)

    def add_arm(self, arm: Label, cluster: Label) -> None:
        """Add a new arm; refused if distances were given, since those of the new arm are unknown."""
        with self._lock:
            if self.settings["distances"] is not None:
                given = Described("a table without the new arm")
                raise invalid("distances", "CKLUCB.add_arm", "left out if arms are added", given)
            super().add_arm(arm, cluster)

    def remove_arm(self, arm: Label) -> None:
        """Remove an arm and its distances."""
        with self._lock:
            gone, table = self._number(arm, "CKLUCB.remove_arm"), self.settings["distances"]
            self._check_left(gone, "CKLUCB.remove_arm")
            if table is not None:
                kept = [row for number, row in enumerate(table) if number != gone]
                self.settings["distances"] = [row[:gone] + row[gone + 1 :] for row in kept]
            try:
                super().remove_arm(arm)
            except BaseException:
                self.settings["distances"] = table
                raise
