r"""Hier-TS: hierarchical Thompson sampling, which learns a common prior for the arms of a cluster.

The prior of an arm is equivalent to ν pulls with reward m₀ each, on top of a flat prior; for rewards 0 or 1
it is a Beta distribution around m₀. The likelihood of t pulls of total s is Z(t + ν, s + ν m₀) / Z(ν, ν m₀),
where Z is the normalising integral of the family. The weight of a grid point (m₀, ν) is the product over the
arms.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from clusterbandits.compiled import inner_kernel, kernel, separate_kernel
from clusterbandits.families.law import variance
from clusterbandits.families.posterior import flat_total, log_evidence
from clusterbandits.families.stream import uniform
from clusterbandits.policies.clus_ts import GroupPolicy
from clusterbandits.policies.settings import ALARM

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The grid: the numbers of cluster means and of concentrations, which form a geometric sequence.
MEANS, STRENGTHS = 16, 8
POINTS = MEANS * STRENGTHS
_LEAST_STRENGTH, _RATIO = 0.25, 4.0
_LEAST_MEAN = 1e-12


@inner_kernel
def _strength(point: int) -> float:
    return float(_LEAST_STRENGTH * _RATIO ** (point // MEANS))


@inner_kernel
def _mean(state: Any, c: int, point: int) -> float:
    return float(state.lowest[c] + (point % MEANS) * state.spacing[c])


@separate_kernel
def draw_prior(state: Any, c: int) -> None:
    """Draw the mean and the concentration of a cluster; set the posteriors of its arms accordingly."""
    if state.stale[c]:
        _weigh(state, c)
        state.stale[c] = False
    at = uniform(state.stream) * state.grid[c, POINTS - 1]
    point = 0
    while point < POINTS - 1 and state.grid[c, point] < at:
        point += 1
    strength, mean = _strength(point), _mean(state, c, point)
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        state.known_pulls[arm] = state.pulls[arm] + state.extra + strength
        state.known_totals[arm] = state.totals[arm] + state.extra_total + strength * mean
    state.cells.kept_counts[c] = 0


@kernel
def _weigh(state: Any, c: int) -> None:
    """Write the cumulative weights of the grid points of a cluster."""
    moved = _lay_grid(state, c)
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        if moved or math.isnan(state.likelihood[arm, 0]):
            _judge(state, c, arm)
    top = -math.inf
    for point in range(POINTS):
        weight = 0.0
        for place in range(state.start[c], state.start[c + 1]):
            weight += state.likelihood[state.order[place], point]
        state.grid[c, point] = weight
        top = max(top, weight)
    total = 0.0
    for point in range(POINTS):
        total += math.exp(state.grid[c, point] - top)
        state.grid[c, point] = total


@kernel
def _lay_grid(state: Any, c: int) -> bool:
    """Set the means of the grid: over the domain if it is bounded, else around the means of the arms."""
    domain = state.law.highest - state.law.lowest
    if domain < math.inf:
        new = math.isnan(state.lowest[c])
        state.lowest[c], state.spacing[c] = state.law.lowest + 0.5 * domain / MEANS, domain / MEANS
        return new
    least, most = math.inf, -math.inf
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        mean = state.totals[arm] / state.pulls[arm]
        apart = math.sqrt(variance(state.law, max(mean, _LEAST_MEAN)) / state.pulls[arm])
        least, most = min(least, mean - apart), max(most, mean + apart)
    if state.law.lowest >= 0.0:
        least = max(least, most / MEANS)
    state.lowest[c], state.spacing[c] = least, (most - least) / (MEANS - 1)
    return True


@kernel
def _judge(state: Any, c: int, arm: int) -> None:
    """Write the log-likelihood of an arm's rewards at each grid point of its cluster."""
    pulls, total = float(state.pulls[arm]), state.totals[arm]
    flat, of_flat = state.law.flat_pulls / state.law.weight, flat_total(state.law)
    for point in range(POINTS):
        strength = _strength(point)
        known, known_total = flat + state.extra + strength, of_flat + state.extra_total
        state.likelihood[arm, point] = log_evidence(
            state.law, pulls, total, known, known_total + strength * _mean(state, c, point)
        )


class HierTS(GroupPolicy):
    r"""Draw the mean and concentration of each cluster, then the means of its arms; pull the largest draw.

    The means of the arms of a cluster are modelled as draws from a Beta distribution (for other rewards, the
    conjugate distribution) whose mean and concentration are learned on a grid. Widths are not needed; with
    ``widths="respected"``, draws are restricted to means at most a width apart, as in ``ClusTS``.

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
    defaults: ClassVar = {"widths": "ignored", "prior": None, "seed": 0, **ALARM}
    guarantee = "Bayesian, if its prior is true"
    reference = "Hong et al. 2022"
    in_common = draw_prior
    points = POINTS

    @property
    def heeds_widths(self) -> bool:
        """Whether draws are restricted by the widths."""
        return bool(self.settings["widths"] == "respected")

    def used_widths(self) -> Sequence[float]:
        """Return the declared widths if they are respected, else infinite widths."""
        return self.clusters.widths if self.heeds_widths else [math.inf] * len(self.clusters.widths)
