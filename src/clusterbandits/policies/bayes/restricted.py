r"""An exact draw of the means of a cluster, given that they lie within its width of each other.

The lowest of them, arm j at x, has the joint density  w_j(x) = f_j(x) Π_{k ≠ j} ∫_x^{x+β} f_k.  On a cell
from l to r that is at most  max f_j · Π ∫_l^{r+β} f_k, so a cell and an arm are drawn by that bound, x
uniformly in the cell, and accepted by the ratio; a cell that refuses is halved. The other arms then follow
their own posteriors between x and x + β. Everything is kept as logarithms: data may contradict the width.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.law import BERNOULLI, GAUSSIAN, Law, variance
from clusterbandits.families.posterior import Density, draw_mean, log_density, strength
from clusterbandits.policies.bayes.mass import draw_between, log_mass, scale_at
from clusterbandits.policies.misfit import Group, least_misfit, misfit, span

if TYPE_CHECKING:
    from clusterbandits.policies.layout import Floats, Ints

MOST_CELLS = 256
_PLAIN_TRIES = 8
_FAR = 40.0
_MOST_STEPS = 60


class Cells(NamedTuple):
    """What is kept of every cluster until it changes, and room to work in."""

    #: How many cells a cluster has; 0: they have to be made.
    counts: Ints
    #: Where they begin and end, [cluster, cell].
    edges: Floats
    #: The log of the bound on w_j, and of its integral over the cell, [arm, cell].
    heights: Floats
    areas: Floats
    #: t and t · mode of every arm's posterior exp(−t d(mode, u)).
    force: Floats
    weight: Floats
    masses: Floats


def fresh_cells(clusters: int, arms: int) -> Cells:
    """Return cells that have to be made."""
    return Cells(
        counts=np.zeros(clusters, dtype=np.int64),
        edges=np.zeros((clusters, MOST_CELLS + 1)),
        heights=np.zeros((arms, MOST_CELLS)),
        areas=np.zeros((arms, MOST_CELLS)),
        force=np.zeros(arms),
        weight=np.zeros(arms),
        masses=np.zeros(arms),
    )


class Beliefs(NamedTuple):
    """What is known of the arms of cluster c, as pulls and totals, and by its width."""

    law: Law
    pulls: Floats
    totals: Floats
    group: Group
    c: int


@inner_kernel
def _of(law: Law, cells: Cells, arm: int) -> Density:
    return Density(law, cells.force[arm], cells.weight[arm] / cells.force[arm])


@inner_kernel
def _top(law: Law, x: float) -> float:
    """Return x, or the end of the domain before it."""
    return min(x, 1.0) if law.code == BERNOULLI else x


@kernel
def draw_group(rng: np.random.Generator, known: Beliefs, cells: Cells, draws: Floats) -> None:
    """Draw the means of the arms of a cluster, within its width of each other, into ``draws``."""
    law, group, c = known.law, known.group, known.c
    if _drawn_plainly(rng, known, draws):
        return
    if cells.counts[c] == 0:
        for place in range(group.first, group.beyond):
            arm = group.order[place]
            cells.force[arm] = strength(law, known.pulls[arm])
            cells.weight[arm] = known.totals[arm]
    if group.width == 0.0:
        _draw_pooled(law, rng, group, cells, draws)
        return
    if cells.counts[c] == 0:
        _make_cells(law, group, cells, c)
    lowest, x = _draw_lowest(law, rng, group, cells, c)
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        draws[arm] = x
        if arm != lowest:
            draws[arm] = draw_between(_of(law, cells, arm), rng, x, _top(law, x + group.width))


@kernel
def _drawn_plainly(rng: np.random.Generator, known: Beliefs, draws: Floats) -> bool:
    """Draw all means without regard to the width, a few times; tell whether one draw fits it."""
    group = known.group
    alone = group.width == math.inf or group.beyond - group.first == 1
    for _ in range(1 if alone else _PLAIN_TRIES):
        least, most = math.inf, -math.inf
        for place in range(group.first, group.beyond):
            arm = group.order[place]
            draws[arm] = draw_mean(known.law, rng, known.pulls[arm], known.totals[arm])
            least, most = min(least, draws[arm]), max(most, draws[arm])
            if not alone and most - least > group.width:
                break
        if alone or most - least <= group.width:
            return True
    return False


@kernel
def _draw_pooled(law: Law, rng: np.random.Generator, group: Group, cells: Cells, draws: Floats) -> None:
    """Draw the one mean that all arms share where the width is 0: likelihoods multiply."""
    force, weight = 0.0, 0.0
    for place in range(group.first, group.beyond):
        force += cells.force[group.order[place]]
        weight += cells.weight[group.order[place]]
    low = -math.inf if law.code == GAUSSIAN else 0.0
    mode = weight / force
    pooled = Density(law, force, mode)
    reach = 1e3 * scale_at(pooled, mode)
    x = draw_between(pooled, rng, max(low, mode - reach), _top(law, mode + reach))
    for place in range(group.first, group.beyond):
        draws[group.order[place]] = x


@kernel
def _make_cells(law: Law, group: Group, cells: Cells, c: int) -> None:
    """Lay cells around the values that the lowest mean can have at its most likely, wider further out."""
    least, most = span(cells.force, cells.weight, group)
    left, right = most - group.width, least
    bottom = -math.inf if law.code == GAUSSIAN else 0.0
    if left > right:
        _, left = least_misfit(law, cells.force, cells.weight, group, -math.inf)
        right = left
    left = max(left, bottom)
    scale = max(_finest(law, group, cells, left), 1e-9 * (group.width + right - left))
    edges, count = cells.edges[c], 0
    for i in range(_steps(law, group, cells, left, -scale), 0, -1):
        edges[count] = max(left - _offset(scale, i), bottom)
        count += 1
    edges[count] = left
    half = 0.5 * (right - left)
    inside = 0
    while _offset(scale, inside + 1) < half:
        inside += 1
        edges[count + inside] = left + _offset(scale, inside)
    count += inside
    if half > 0.0:
        edges[count + 1] = left + half
        for i in range(inside, -1, -1):
            edges[count + 2 + inside - i] = right - _offset(scale, i)
        count += 2 + inside
    for i in range(1, _steps(law, group, cells, right, scale) + 1):
        count += 1
        edges[count] = _top(law, right + _offset(scale, i))
    cells.counts[c] = count
    for cell in range(count):
        _bound(law, group, cells, c, cell)


@kernel
def _finest(law: Law, group: Group, cells: Cells, x: float) -> float:
    """Return the smallest scale on which a posterior changes, at its mode or where it is pinned."""
    scale = math.inf
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        of = _of(law, cells, arm)
        scale = min(scale, scale_at(of, of.mode))
        pinned = min(max(of.mode, x), x + group.width)
        if pinned != of.mode and variance(law, pinned) > 0.0:
            scale = min(scale, math.sqrt(variance(law, pinned) / of.force))
    return scale


@inner_kernel
def _offset(scale: float, i: int) -> float:
    return scale * (2.0**i - 1.0)


@kernel
def _steps(law: Law, group: Group, cells: Cells, start: float, scale: float) -> int:
    """Return after how many steps outwards nothing is left of the density, or of the domain."""
    least = misfit(law, cells.force, cells.weight, group, start)
    for i in range(1, _MOST_STEPS):
        x = start + _offset(scale, i)
        if (law.code != GAUSSIAN and x <= 0.0) or (law.code == BERNOULLI and x >= 1.0):
            return i
        if misfit(law, cells.force, cells.weight, group, x) > least + _FAR:
            return i
    return _MOST_STEPS


@kernel
def _bound(law: Law, group: Group, cells: Cells, c: int, cell: int) -> None:
    """Write what the density of every arm being the lowest is at most in a cell."""
    low, high = cells.edges[c, cell], cells.edges[c, cell + 1]
    together = _masses(law, group, cells, low, high + group.width)
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        of = _of(law, cells, arm)
        peak = log_density(of, min(max(of.mode, low), high))
        height = -math.inf
        if high > low and together > -math.inf:
            height = peak + together - cells.masses[arm]
        cells.heights[arm, cell] = height
        cells.areas[arm, cell] = height + math.log(high - low) if height > -math.inf else -math.inf


@kernel
def _masses(law: Law, group: Group, cells: Cells, low: float, high: float) -> float:
    """Write the log of every posterior's mass from low to high; return their sum."""
    together = 0.0
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        cells.masses[arm] = log_mass(_of(law, cells, arm), low, _top(law, high))
        together += cells.masses[arm]
    return together


@kernel
def _draw_lowest(law: Law, rng: np.random.Generator, group: Group, cells: Cells, c: int) -> tuple[int, float]:
    """Draw which arm is the lowest, and its mean."""
    while True:
        arm, cell = _draw_cell(rng, group, cells, c)
        low, high = cells.edges[c, cell], cells.edges[c, cell + 1]
        x = low + rng.random() * (high - low)
        together = _masses(law, group, cells, x, x + group.width)
        density = log_density(_of(law, cells, arm), x) + together - cells.masses[arm]
        if rng.random() < math.exp(min(density - cells.heights[arm, cell], 0.0)):
            return arm, x
        if cells.counts[c] < MOST_CELLS:
            _halve(law, group, cells, c, cell)


@kernel
def _draw_cell(rng: np.random.Generator, group: Group, cells: Cells, c: int) -> tuple[int, int]:
    top, total = -math.inf, 0.0
    for place in range(group.first, group.beyond):
        for cell in range(cells.counts[c]):
            top = max(top, cells.areas[group.order[place], cell])
    for place in range(group.first, group.beyond):
        for cell in range(cells.counts[c]):
            total += math.exp(cells.areas[group.order[place], cell] - top)
    left = rng.random() * total
    chosen, chosen_cell = group.order[group.first], 0
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        for cell in range(cells.counts[c]):
            share = math.exp(cells.areas[arm, cell] - top)
            if share > 0.0:
                chosen, chosen_cell = arm, cell
            left -= share
            if left < 0.0:
                return chosen, chosen_cell
    return chosen, chosen_cell


@kernel
def _halve(law: Law, group: Group, cells: Cells, c: int, cell: int) -> None:
    count = cells.counts[c]
    for i in range(count, cell, -1):
        cells.edges[c, i + 1] = cells.edges[c, i]
    cells.edges[c, cell + 1] = 0.5 * (cells.edges[c, cell] + cells.edges[c, cell + 2])
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        for i in range(count, cell + 1, -1):
            cells.heights[arm, i] = cells.heights[arm, i - 1]
            cells.areas[arm, i] = cells.areas[arm, i - 1]
    cells.counts[c] = count + 1
    _bound(law, group, cells, c, cell)
    _bound(law, group, cells, c, cell + 1)
