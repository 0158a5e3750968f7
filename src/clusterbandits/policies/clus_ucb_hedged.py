"""Hedged Clus-UCB, whose regret is sublinear even with wrong widths."""

from __future__ import annotations

from typing import ClassVar

from clusterbandits.policies.clus_ucb import ClusUCB


class ClusUCBHedged(ClusUCB):
    r"""Pull the arm with the largest Clus-UCB index, at least its KL-UCB index at half the threshold.

    .. math:: v_k(n) = \max\{\text{Clus-UCB}_k \text{ at } f(n),\ \text{KL-UCB}_k \text{ at } \kappa f(n)\}

    If the widths are true, the first term is almost always the larger one, and the choices are those of
    Clus-UCB. If the width of the best arm's cluster is too small, the other arms of that cluster keep the
    first term low. The second term still gives the best arm enough pulls, so that regret is at most of order
    T^(1−κ).

    Parameters
    ----------
    hedge
        κ, by default ½.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> ClusUCBHedged(Clusters([2, 1], widths=0.1)).ask()
    0

    References
    ----------
    New in this project; the index that it hedges is that of Gore and Chaporkar.
    """

    name = "clus-ucb-hedged"
    defaults: ClassVar = ClusUCB.defaults | {"hedge": 0.5}
    guarantee = "as Clus-UCB; O(T^(1-κ)) under any widths"
    reference = "this project"
