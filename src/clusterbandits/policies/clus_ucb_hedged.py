"""Clus-UCB that no width can ruin."""

from __future__ import annotations

from typing import ClassVar

from clusterbandits.policies.clus_ucb import ClusUCB


class ClusUCBHedged(ClusUCB):
    r"""Clus-UCB whose every index is at least the arm's own KL-UCB index at half the threshold.

    .. math:: v_k(n) = \max\{\text{Clus-UCB}_k \text{ at } f(n),\ \text{KL-UCB}_k \text{ at } \kappa f(n)\}

    Where widths are true the first is almost always the larger, and it plays as Clus-UCB does. Where the best
    arm's width is too small its mates hold its first index down; the second lets it be tried all the same, so
    that regret is at most of the order of T^(1−κ).

    Parameters
    ----------
    hedge
        κ; ½ by default.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> ClusUCBHedged(Clusters([2, 1], widths=0.1)).ask()
    0

    References
    ----------
    Of this project; the index it guards is that of Gore and Chaporkar.
    """

    name = "clus-ucb-hedged"
    defaults: ClassVar = ClusUCB.defaults | {"hedge": 0.5}
    guarantee = "as Clus-UCB; O(T^(1-κ)) under any widths"
    reference = "this project"
