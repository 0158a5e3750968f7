"""Piecewise bounds on the density of the lowest mean of a cluster, and draws by rejection under them.

See ``cluster_draw``: w_j(x) is the density of arm j being the lowest, at x.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.calculus import slope
from clusterbandits.families.posterior import Density, log_density
from clusterbandits.families.stream import uniform
from clusterbandits.policies.restricted.mass import log_mass

if TYPE_CHECKING:
    from clusterbandits.families.law import Law
    from clusterbandits.families.stream import Stream
    from clusterbandits.policies.arms import Floats, Ints
    from clusterbandits.policies.width_alarm import Group

#: The largest number of cells, and the largest number of initial cells.
MOST_CELLS, MOST_MADE = 600, 200
#: Indices into ``Cells.sides``.
VALUE, SLOPE, END_VALUE, END_SLOPE = range(4)
#: The number of rejections after which a draw is accepted: bounds are poor if the divergence is not convex,
#: and if data contradict a width by millions of standard deviations, acceptance depends on rounding.
_MOST_REFUSALS = 300


class Cells(NamedTuple):
    """The cells of one cluster in working memory, and the stored initial cells of each cluster.

    Split cells are not stored, so that a draw depends only on posteriors and the random stream, not on
    earlier draws.
    """

    #: The number of cells, and their ends.
    number: Ints
    edges: Floats
    #: [arm of the cluster, cell]: the log of w_j and its slope at both ends of the cell.
    sides: Floats
    #: The same for the initial cells of each cluster; 0 cells if they have to be computed.
    kept_counts: Ints
    kept_edges: Floats
    kept_sides: Floats
    #: t and t · mode of each arm's posterior exp(−t d(mode, u)).
    force: Floats
    weight: Floats
    #: At one x: the log of ∫_x^{x+β} f_k and its slope.
    masses: Floats
    rises: Floats


def fresh_cells(clusters: int, arms: int, largest: int) -> Cells:
    """Return empty cells, for clusters of at most ``largest`` arms."""
    return Cells(
        number=np.zeros(1, dtype=np.int64),
        edges=np.zeros(MOST_CELLS + 1),
        sides=np.zeros((largest, MOST_CELLS, 4)),
        kept_counts=np.zeros(clusters, dtype=np.int64),
        kept_edges=np.zeros((clusters, MOST_MADE + 1)),
        kept_sides=np.zeros((arms, MOST_MADE, 4)),
        force=np.zeros(arms),
        weight=np.zeros(arms),
        masses=np.zeros(arms),
        rises=np.zeros(arms),
    )


@inner_kernel
def density_of(law: Law, cells: Cells, arm: int) -> Density:
    """Return an arm's posterior."""
    return Density(law, cells.force[arm], cells.weight[arm] / cells.force[arm])


@inner_kernel
def top_of(law: Law, x: float) -> float:
    """Return x, or the upper end of the domain if x is beyond it."""
    return min(x, law.highest)


@kernel
def evaluate(law: Law, group: Group, cells: Cells, x: float) -> None:
    """Write the log of each posterior's mass from x to x + β, and its slope in x."""
    top = top_of(law, x + group.width)
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        of = density_of(law, cells, arm)
        mass = log_mass(of, x, top)
        cells.masses[arm], cells.rises[arm] = mass, math.nan
        if mass > -math.inf:
            gained = math.exp(log_density(of, top) - mass) if top == x + group.width else 0.0
            cells.rises[arm] = gained - math.exp(log_density(of, x) - mass)


@kernel
def _density(law: Law, group: Group, cells: Cells, arm: int, x: float) -> float:
    """Return log w_j(x); ``evaluate`` must be called first."""
    value = log_density(density_of(law, cells, arm), x)
    for place in range(group.first, group.beyond):
        if group.order[place] != arm:
            value += cells.masses[group.order[place]]
    return float(value)


@kernel
def write_side(law: Law, group: Group, cells: Cells, cell: int, side: int) -> None:
    """Write log w_j and its slope at one end of a cell, for each arm; ``evaluate`` must be called first.

    If w_j is 0, the slope is NaN, and the tangent at the other end bounds the whole cell. If the divergence
    is not convex, there are no tangents: the value with slope 0 bounds the whole cell.
    """
    low, high = cells.edges[cell], cells.edges[cell + 1]
    x = low if side == VALUE else high
    if not law.convex:
        for place in range(group.first, group.beyond):
            arm = group.order[place]
            cells.masses[arm] = log_mass(density_of(law, cells, arm), low, high + group.width)
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        of = density_of(law, cells, arm)
        if not law.convex:
            cells.sides[place - group.first, cell, side] = _density(
                law, group, cells, arm, min(max(of.mode, low), high)
            )
            cells.sides[place - group.first, cell, side + 1] = 0.0
            continue
        steep = -of.force * slope(law, of.mode, x)
        for other in range(group.first, group.beyond):
            if group.order[other] != arm:
                steep += cells.rises[group.order[other]]
        value = _density(law, group, cells, arm, x)
        cells.sides[place - group.first, cell, side] = value
        cells.sides[place - group.first, cell, side + 1] = (
            steep if value > -math.inf and abs(steep) < math.inf else math.nan
        )


@kernel
def _meeting(cells: Cells, place: int, cell: int) -> float:
    """Return the point at which the tangents at the two ends of a cell meet."""
    low, high, side = cells.edges[cell], cells.edges[cell + 1], cells.sides[place, cell]
    if math.isnan(side[SLOPE]):
        return float(low)
    if math.isnan(side[END_SLOPE]):
        return float(high)
    bend = side[SLOPE] - side[END_SLOPE]
    if not bend > 0.0:
        return float(0.5 * (low + high))
    at = low + (side[END_VALUE] - side[VALUE] - side[END_SLOPE] * (high - low)) / bend
    return float(min(max(at, low), high))


@kernel
def _area(value: float, steep: float, length: float) -> float:
    """Return the log of ∫ exp(value + steep · u) du for u from 0 to ``length``."""
    if not length > 0.0 or math.isnan(steep):
        return -math.inf
    fall = abs(steep) * length
    flat = fall < 1e-9
    return max(value, value + steep * length) + math.log(length if flat else -math.expm1(-fall) / abs(steep))


@kernel
def _draw_under(stream: Stream, steep: float, length: float) -> float:
    """Draw u from 0 to ``length`` with density ∝ exp(steep · u)."""
    fall = abs(steep) * length
    share = uniform(stream)
    if fall < 1e-9:
        return share * length
    down = -math.log1p(share * math.expm1(-fall)) / abs(steep)
    return down if steep < 0.0 else length - down


@inner_kernel
def draw_lowest(law: Law, stream: Stream, group: Group, cells: Cells) -> tuple[int, float]:
    """Draw the arm with the lowest mean, and this mean."""
    refused = 0
    while True:
        place, cell, part = _draw_piece(stream, group, cells)
        arm, low, high = group.order[group.first + place], cells.edges[cell], cells.edges[cell + 1]
        middle, side = _meeting(cells, place, cell), cells.sides[place, cell]
        if part == VALUE:
            x = low + _draw_under(stream, side[SLOPE], middle - low)
            bound = side[VALUE] + side[SLOPE] * (x - low)
        else:
            x = high - _draw_under(stream, -side[END_SLOPE], high - middle)
            bound = side[END_VALUE] + side[END_SLOPE] * (x - high)
        evaluate(law, group, cells, x)
        if uniform(stream) < math.exp(min(_density(law, group, cells, arm, x) - bound, 0.0)):
            return arm, x
        refused += 1
        if refused == _MOST_REFUSALS:
            return arm, x
        if not law.convex:
            x = 0.5 * (low + high)
        if cells.number[0] < MOST_CELLS and low < x < high:
            _split(law, group, cells, cell, x)


@kernel
def _draw_piece(stream: Stream, group: Group, cells: Cells) -> tuple[int, int, int]:
    """Draw an arm (its index in the cluster), a cell and one of its tangents, by the areas under them."""
    pieces, many = 2 * cells.number[0], group.beyond - group.first
    top, total = -math.inf, 0.0
    for i in range(many * pieces):
        top = max(top, _piece(cells, i // pieces, i % pieces))
    for i in range(many * pieces):
        total += math.exp(_piece(cells, i // pieces, i % pieces) - top)
    left, chosen = uniform(stream) * total, 0
    for i in range(many * pieces):
        area = _piece(cells, i // pieces, i % pieces)
        if area > -math.inf and left >= 0.0:
            chosen = i
            left -= math.exp(area - top)
    return chosen // pieces, (chosen % pieces) // 2, END_VALUE if chosen % 2 else VALUE


@kernel
def _piece(cells: Cells, place: int, piece: int) -> float:
    """Return the log of the area under one of the two tangents of a cell."""
    cell = piece // 2
    middle, side = _meeting(cells, place, cell), cells.sides[place, cell]
    if piece % 2:
        return _area(side[END_VALUE], -side[END_SLOPE], cells.edges[cell + 1] - middle)
    return _area(side[VALUE], side[SLOPE], middle - cells.edges[cell])


@inner_kernel
def _split(law: Law, group: Group, cells: Cells, cell: int, x: float) -> None:
    """Split a cell at x; ``evaluate`` at x must be called first."""
    count = cells.number[0]
    for i in range(count, cell, -1):
        cells.edges[i + 1] = cells.edges[i]
    cells.edges[cell + 1] = x
    for arm in range(group.beyond - group.first):
        for i in range(count, cell, -1):
            for part in range(4):
                cells.sides[arm, i, part] = cells.sides[arm, i - 1, part]
    cells.number[0] = count + 1
    write_side(law, group, cells, cell, END_VALUE)
    write_side(law, group, cells, cell + 1, VALUE)
    if not law.convex:
        write_side(law, group, cells, cell, VALUE)
        write_side(law, group, cells, cell + 1, END_VALUE)
