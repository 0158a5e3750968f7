r"""Draw the means of a cluster exactly from the posterior restricted to a range of at most its width.

That arm j has the lowest mean, at x, has the joint density  w_j(x) = f_j(x) Π_{k ≠ j} ∫_x^{x+β} f_k.  If the
divergence is convex, its logarithm is concave in x for each arm, so tangents at the ends of a cell bound it.
A cell and an arm are drawn by these bounds, x is drawn under the two exponentials, and it is accepted with
the ratio of density and bound; a rejected x splits the cell in two. The other arms are then drawn from their
own posteriors between x and x + β. All values are logarithms, because the data can contradict the width.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.law import Law, variance
from clusterbandits.families.posterior import draw_flat, strength
from clusterbandits.policies.restricted.envelope import (
    END_VALUE,
    VALUE,
    Cells,
    density_of,
    draw_lowest,
    evaluate,
    top_of,
    write_side,
)
from clusterbandits.policies.restricted.mass import draw_between, scale_at
from clusterbandits.policies.width_alarm import Group, least_misfit, misfit, span

if TYPE_CHECKING:
    from clusterbandits.families.stream import Stream
    from clusterbandits.policies.arms import Floats

_PLAIN_TRIES = 8
#: The relative width below which a width counts as 0, since floats cannot resolve it.
_RESOLVED = 1e-13
_FAR = 40.0
_MOST_STEPS = 60


class Beliefs(NamedTuple):
    """The posteriors of the arms of cluster c, as pulls and totals, and its width."""

    law: Law
    pulls: Floats
    totals: Floats
    group: Group
    c: int


@inner_kernel
def draw_group(stream: Stream, known: Beliefs, cells: Cells, draws: Floats) -> None:
    """Write to ``draws`` means of the arms of a cluster that are within its width of each other."""
    law, group, c = known.law, known.group, known.c
    if _drawn_plainly(stream, known, draws):
        return
    new = cells.kept_counts[c] == 0
    if new:
        for place in range(group.first, group.beyond):
            arm = group.order[place]
            cells.force[arm] = strength(law, known.pulls[arm])
            cells.weight[arm] = known.totals[arm]
    if group.width <= _RESOLVED * _largest_mode(group, cells):
        _draw_pooled(stream, known, draws)
        return
    if new:
        _make_cells(law, group, cells)
    _keep(group, cells, c, new)
    lowest, x = draw_lowest(law, stream, group, cells)
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        draws[arm] = x
        if arm != lowest:
            draws[arm] = draw_between(density_of(law, cells, arm), stream, x, top_of(law, x + group.width))


@kernel
def _drawn_plainly(stream: Stream, known: Beliefs, draws: Floats) -> bool:
    """Try a few draws that ignore the width; return whether one of them is within it."""
    group = known.group
    alone = group.width == math.inf or group.beyond - group.first == 1
    for _ in range(1 if alone else _PLAIN_TRIES):
        least, most = math.inf, -math.inf
        for place in range(group.first, group.beyond):
            arm = group.order[place]
            draws[arm] = draw_flat(known.law, stream, known.pulls[arm], known.totals[arm])
            least, most = min(least, draws[arm]), max(most, draws[arm])
            if not alone and most - least > group.width:
                break
        if alone or most - least <= group.width:
            return True
    return False


@kernel
def _largest_mode(group: Group, cells: Cells) -> float:
    largest = 0.0
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        largest = max(largest, abs(cells.weight[arm] / cells.force[arm]))
    return largest


@kernel
def _draw_pooled(stream: Stream, known: Beliefs, draws: Floats) -> None:
    """Draw the common mean of all arms for a width of 0, from the product of their posteriors."""
    group, pulls, total = known.group, 0.0, 0.0
    for place in range(group.first, group.beyond):
        pulls += known.pulls[group.order[place]]
        total += known.totals[group.order[place]]
    # Each arm has its own prior.
    pulls += (group.beyond - group.first - 1) * known.law.prior_weight / known.law.weight
    x = draw_flat(known.law, stream, pulls, total)
    for place in range(group.first, group.beyond):
        draws[group.order[place]] = x


@kernel
def _make_cells(law: Law, group: Group, cells: Cells) -> None:
    """Set cells around the likely values of the lowest mean; cells further out are wider."""
    least, most = span(cells.force, cells.weight, group)
    left, right = most - group.width, least
    if left > right:
        _, left = least_misfit(law, cells.force, cells.weight, group, -math.inf)
        right = left
    left = max(left, law.lowest)
    scale = max(_finest(law, group, cells, left), 1e-9 * (group.width + right - left))
    edges, count = cells.edges, 0
    for i in range(_steps(law, group, cells, left, -scale), 0, -1):
        edges[count] = max(left - _offset(scale, i), law.lowest)
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
        edges[count] = top_of(law, right + _offset(scale, i))
    cells.number[0] = count
    _bound_all(law, group, cells)


@kernel
def _bound_all(law: Law, group: Group, cells: Cells) -> None:
    for edge in range(cells.number[0] + 1):
        evaluate(law, group, cells, cells.edges[edge])
        if edge < cells.number[0]:
            write_side(law, group, cells, edge, VALUE)
        if edge > 0:
            write_side(law, group, cells, edge - 1, END_VALUE)


@kernel
def _keep(group: Group, cells: Cells, c: int, new: bool) -> None:
    """Store the new cells, or restore the stored ones."""
    if new:
        cells.kept_counts[c] = cells.number[0]
    cells.number[0] = cells.kept_counts[c]
    for cell in range(cells.number[0] + 1):
        if new:
            cells.kept_edges[c, cell] = cells.edges[cell]
        cells.edges[cell] = cells.kept_edges[c, cell]
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        for cell in range(cells.number[0]):
            for part in range(4):
                if new:
                    cells.kept_sides[arm, cell, part] = cells.sides[place - group.first, cell, part]
                cells.sides[place - group.first, cell, part] = cells.kept_sides[arm, cell, part]


@kernel
def _finest(law: Law, group: Group, cells: Cells, x: float) -> float:
    """Return the smallest scale on which a posterior changes, at its mode, also clipped to [x, x + β]."""
    scale = math.inf
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        of = density_of(law, cells, arm)
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
    """Return the number of outward steps after which the density is negligible or the domain ends."""
    least = misfit(law, cells.force, cells.weight, group, start)
    for i in range(1, _MOST_STEPS):
        x = start + _offset(scale, i)
        if not law.lowest < x < law.highest:
            return i
        if misfit(law, cells.force, cells.weight, group, x) > least + _FAR:
            return i
    return _MOST_STEPS
