"""TSC: choose a cluster by Thompson sampling, then an arm by Thompson sampling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.policies.draws import DrawPolicy, drawn_mean

if TYPE_CHECKING:
    from clusterbandits.policies.draws import DrawState


@kernel
def choose(state: DrawState, _n: int) -> int:
    """Return the arm with the largest draw, in the cluster with the largest draw."""
    c = _drawn_cluster(state)
    first, beyond = state.start[c], state.start[c + 1]
    chosen, best = state.order[first], -math.inf
    if beyond - first > 1:
        for place in range(first, beyond):
            arm = state.order[place]
            value = drawn_mean(state, state.pulls[arm], state.totals[arm])
            if value > best:
                chosen, best = arm, value
    return int(chosen)


@kernel
def _drawn_cluster(state: DrawState) -> int:
    """Return the cluster with the largest draw from the posterior of its pooled rewards."""
    chosen, best = 0, -math.inf
    for c in range(state.start.size - 1):
        pulls, total = 0, 0.0
        for place in range(state.start[c], state.start[c + 1]):
            pulls += state.pulls[state.order[place]]
            total += state.totals[state.order[place]]
        value = drawn_mean(state, pulls, total)
        if value > best:
            chosen, best = c, value
    return chosen


class TSC(DrawPolicy):
    r"""Choose the cluster with the largest draw from its pooled rewards, then the arm with the largest draw.

    It learns quickly if the pooled mean of a cluster indicates its best arm, and has linear regret if the
    best arm is in a cluster with a low pooled mean.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = TSC(Clusters([2, 1], widths=0.1))
    >>> policy.ask(3)
    [0, 1, 2]

    References
    ----------
    Carlsson, Dubhashi and Johansson, Thompson sampling for bandits with clustered arms, IJCAI 2021.
    """

    name = "tsc"
    defaults: ClassVar = {"prior": None, "seed": 0}
    needs_posterior = True
    guarantee = "none; can miss a good arm in a poor cluster"
    reference = "Carlsson et al. 2021"
    clustered = True
    choose = choose
