r"""Hier-TS: Thompson sampling that learns what the arms of a cluster have in common.

Beforehand an arm of the cluster is known as if from ν pulls that paid m₀ each, on top of a flat prior: a Beta
around m₀ for rewards 0 or 1. How likely its t pulls of total s are, is Z(t + ν, s + ν m₀) / Z(ν, ν m₀) with Z
an integral of the family's. The grid's points are weighed by the product over the arms.
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

#: Points of the grid: cluster means, and concentrations from the least on, each so many times the last.
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
    """Draw the mean and the concentration of a cluster; let its arms be known by them and their rewards."""
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
    """Write the weights of all points of a cluster's grid, added up."""
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
    """Lay the means of the grid: over a bounded domain, or else around the means of the arms."""
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
    """Write how likely an arm's rewards are at every point of its cluster's grid."""
    pulls, total = float(state.pulls[arm]), state.totals[arm]
    flat, of_flat = state.law.flat_pulls / state.law.weight, flat_total(state.law)
    for point in range(POINTS):
        strength = _strength(point)
        known, known_total = flat + state.extra + strength, of_flat + state.extra_total
        state.likelihood[arm, point] = log_evidence(
            state.law, pulls, total, known, known_total + strength * _mean(state, c, point)
        )


class HierTS(GroupPolicy):
    r"""Draw every cluster's mean and concentration, then its arms' means around them; pull the largest.

    Arms of a cluster are modelled as draws from a Beta distribution (a conjugate one, for other rewards)
    whose mean and concentration are learned on a grid. It needs no widths; with ``widths="respected"`` it
    draws the arms' means within their width of each other, as ``ClusTS`` does.

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
    guarantee = "Bayesian, where its prior is true"
    reference = "Hong et al. 2022"
    in_common = draw_prior
    points = POINTS

    @property
    def heeds_widths(self) -> bool:
        """Whether it was asked to respect widths."""
        return bool(self.settings["widths"] == "respected")

    def used_widths(self) -> Sequence[float]:
        """Return the declared widths if they are respected, else infinite ones."""
        return self.clusters.widths if self.heeds_widths else [math.inf] * len(self.clusters.widths)
