"""Thompson sampling: pull each arm with the posterior probability that it is the best one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.policies.arms import NOBODY
from clusterbandits.policies.draws import DrawPolicy, drawn_mean

if TYPE_CHECKING:
    from clusterbandits.policies.arms import Mask
    from clusterbandits.policies.draws import DrawState


@kernel
def choose(state: DrawState, _n: int) -> int:
    """Draw the mean of each arm from its posterior; return the arm with the largest draw."""
    chosen, best = 0, -math.inf
    if state.pulls.size > 1:
        for arm in range(state.pulls.size):
            value = drawn_mean(state, state.pulls[arm], state.totals[arm])
            if value > best:
                chosen, best = arm, value
    return chosen


@kernel
def among(state: DrawState, _n: int, open_arms: Mask) -> int:
    """Return the first open arm without pulls; if there is none, the one with the largest draw."""
    chosen, best = NOBODY, -math.inf
    if state.memory[0].unpulled > 0:
        for arm in range(state.pulls.size):
            if open_arms[arm] and state.pulls[arm] == 0:
                return arm
    for arm in range(state.pulls.size):
        if open_arms[arm]:
            value = drawn_mean(state, state.pulls[arm], state.totals[arm])
            if chosen == NOBODY or value > best:
                chosen, best = arm, value
    return chosen


class Thompson(DrawPolicy):
    r"""Draw the mean of each arm from its posterior; pull the arm with the largest draw.

    With s successes in t pulls, the draw is from Beta(s + 1, t − s + 1). Other families have conjugate
    posteriors too, with a flat prior unless the family defines another; a family without a posterior is
    refused. ``prior=(m, ν)`` replaces the flat prior; for rewards 0 or 1, by Beta(ν m, ν (1 − m)).

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = Thompson(Clusters([2, 1], widths=0.1))
    >>> policy.ask(3)
    [0, 1, 2]

    References
    ----------
    Thompson, On the likelihood that one unknown probability exceeds another in view of the evidence of two
    samples, Biometrika 1933; Kaufmann, Korda and Munos, Thompson sampling: an asymptotically optimal
    finite-time analysis, ALT 2012.
    """

    name = "thompson"
    defaults: ClassVar = {"prior": None, "seed": 0}
    needs_posterior = True
    guarantee = "meets the classical bound"
    reference = "Thompson 1933"
    choose = choose
    kernels = DrawPolicy.kernels._replace(among=among, among_any=True)
