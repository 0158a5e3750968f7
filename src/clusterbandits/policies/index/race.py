"""Find the arm with the largest index without solving for all indices.

Each arm has an upper bound on its index, a tangent to its evidence: F is convex, so one evaluation at any q
bounds the index in all later rounds. The evidence of the arm with the largest bound is evaluated just above
the second largest bound: if it is below the threshold, the arm has the largest index; otherwise the
evaluation is a Newton step that lowers its bound. Indices are solved for only if two are too close to compare
by bounds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.policies.arms import APART, NOBODY, leader_of
from clusterbandits.policies.clus_ucb import against, index, others_against
from clusterbandits.policies.index.state import SEVERAL, IndexState

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_TESTS = 30
_ROUNDING = 1e-14
#: The length of a line relative to q, if F is not convex.
_STRETCH = 0.05


@inner_kernel
def choose(state: IndexState, level: float) -> int:
    """Return the arm with the largest index at threshold ``level``."""
    if state.pulls.size == 1:
        return 0
    follow_leader(state)
    renew(state, level)
    for _ in range(_MOST_TESTS):
        top, second = top_two(state.lines, level)
        if second >= LARGEST_MEAN:
            break
        margin = margin_at(state, top, second)
        q = second + margin
        if draw_at(state, top, q) <= level:
            state.certificate[0].level = q
            return top
        if bound(state.lines, top, level) > second - 2.0 * margin:
            break
    return _settle(state, level)


@kernel
def draw_at(state: IndexState, arm: int, q: float) -> float:
    """Set the arm's lines at q; return the evidence against mean q."""
    own, own_slope = own_evidence(state, arm, q, stretch_at(state, q))
    others, slope = others_against(state, arm, q, width_of(state, arm), stretch_at(state, q))
    draw_lines(state, arm, q, (own, own_slope), (own + others, own_slope + slope))
    return min(own + others, own / state.hedge) if state.hedge > 0.0 else own + others


@inner_kernel
def width_of(state: IndexState, arm: int) -> float:
    """Return the width of the arm's cluster that is in use at the moment."""
    cluster = state.cluster[arm]
    if state.plain_leader and cluster == state.memory[0].leading:
        return math.inf
    return float(state.widths[cluster])


@kernel
def leading_width(state: IndexState, arm: int) -> float:
    """Return ``width_of`` for callers outside kernels."""
    return width_of(state, arm)


@inner_kernel
def margin_at(state: IndexState, arm: int, q: float) -> float:
    """Return the difference below which two indices near q are compared by solving for them."""
    mean = state.totals[arm] / state.pulls[arm]
    return float(APART * state.law.tie * max(abs(q), abs(q - mean)))


@inner_kernel
def bound(lines: NDArray[Any], arm: int, level: float) -> float:
    """Return an upper bound on the arm's index at threshold ``level``."""
    q = on_line(lines, arm, 0, level)
    return max(q, on_line(lines, arm, 1, level)) if lines.shape[1] > 1 else q


@inner_kernel
def on_line(lines: NDArray[Any], arm: int, line: int, level: float) -> float:
    """Return the upper bound that one line of an arm gives at threshold ``level``."""
    bound = lines[arm, line]
    excess = level - bound.evidence
    if bound.reach < math.inf and excess < 0.0:
        return float(bound.anchor)
    q = float(bound.anchor + excess * bound.rate)
    return q if q <= bound.reach else math.inf


@kernel
def top_two(lines: NDArray[Any], level: float) -> tuple[int, float]:
    """Return the arm with the largest bound, and the largest bound of the other arms."""
    top, first, second = 0, -math.inf, -math.inf
    for arm in range(lines.shape[0]):
        q = bound(lines, arm, level)
        if q > first:
            top, first, second = arm, q, first
        elif q > second:
            second = q
    return top, second


@inner_kernel
def stretch_at(state: IndexState, q: float) -> float:
    """Return the length of a line from q on: 0 if F is convex, so that a tangent is a bound everywhere."""
    return 0.0 if state.law.convex else _STRETCH * q


@kernel
def draw_lines(
    state: IndexState, arm: int, q: float, own: tuple[float, float], whole: tuple[float, float]
) -> None:
    """Set the bound on the arm's index from the evidence at q, and on its hedge from its own evidence."""
    _draw_line(state, arm, 0, q, whole[0], whole[1])
    if state.hedge > 0.0:
        _draw_line(state, arm, 1, q, own[0] / state.hedge, own[1] / state.hedge)


@inner_kernel
def _draw_line(state: IndexState, arm: int, line: int, q: float, evidence: float, slope: float) -> None:
    bound, stretch = state.lines[arm, line], stretch_at(state, q)
    if evidence < math.inf and 0.0 < slope < math.inf:
        bound.anchor, bound.evidence, bound.rate = q, evidence, 1.0 / slope
        bound.reach = q + stretch if stretch > 0.0 else math.inf
    else:
        # A flat line is no bound; infinite evidence means that the index stays below q.
        bound.anchor = q if evidence == math.inf else math.inf
        bound.evidence, bound.rate, bound.reach = 0.0, 0.0, math.inf


@kernel
def solve_for(state: IndexState, arm: int, level: float) -> float:
    """Return the arm's index and set its lines there."""
    q = index(state, arm, level, width_of(state, arm))
    if draw_at(state, arm, q) <= level:
        # A line is flat at the index only at the top of the domain: no later index is larger.
        for line in range(state.lines.shape[1]):
            if state.lines[arm, line].anchor == math.inf:
                state.lines[arm, line].anchor = q
    return q


@inner_kernel
def _settle(state: IndexState, level: float) -> int:
    """Solve for the largest indices; ties go to the fewest pulls, then the lowest number."""
    indices = state.indices
    for arm in range(indices.size):
        indices[arm] = math.nan
    solved, _ = top_two(state.lines, level)
    best = indices[solved] = solve_for(state, solved, level)
    for arm in range(indices.size):
        if math.isnan(indices[arm]) and not bound(state.lines, arm, level) < best - margin_at(
            state, arm, best
        ):
            if are_twins(state, arm, solved):
                indices[arm] = indices[solved]
                for line in range(state.lines.shape[1]):
                    state.lines[arm, line] = state.lines[solved, line]
            else:
                indices[arm] = solve_for(state, arm, level)
                solved = arm
            best = max(best, indices[arm])
    chosen = _fewest_pulls_among(state, best)
    state.certificate[0].level = highest_rival(state.lines, chosen, level)[1]
    return chosen


@inner_kernel
def are_twins(state: IndexState, arm: int, other: int) -> bool:
    """Return whether two arms must have the same index: same statistics, and same cluster or no widths."""
    if state.distances.size > 0:
        return False
    same = state.pulls[arm] == state.pulls[other] and state.totals[arm] == state.totals[other]
    alone = width_of(state, arm) == math.inf and width_of(state, other) == math.inf
    return same and (alone or state.cluster[arm] == state.cluster[other])


@inner_kernel
def _fewest_pulls_among(state: IndexState, best: float) -> int:
    """Return the arm that wins the tie between arms whose indices differ from the best by rounding only."""
    chosen, within = NOBODY, state.law.tie * abs(best)
    for arm in range(state.indices.size):
        tied = state.indices[arm] == best or state.indices[arm] >= best - within
        if tied and (chosen == NOBODY or state.pulls[arm] < state.pulls[chosen]):
            chosen = arm
    return chosen


@kernel
def highest_rival(lines: NDArray[Any], chosen: int, level: float) -> tuple[int, float]:
    """Return the arm other than ``chosen`` with the largest bound, and that bound."""
    rival, highest = NOBODY, -math.inf
    for arm in range(lines.shape[0]):
        q = bound(lines, arm, level)
        if q > highest and arm != chosen:
            rival, highest = arm, q
    return rival, highest


@kernel
def follow_leader(state: IndexState) -> None:
    """Update the cluster of the empirical leader, if the policy treats that cluster differently."""
    if not (state.plain_leader or state.steers):
        return
    lead_by(state, leader_of(state.pulls, state.totals))


@inner_kernel
def lead_by(state: IndexState, leader: int) -> None:
    """Set the empirical leader."""
    before, now = state.memory[0].leading, state.cluster[leader]
    if before != now:
        state.memory[0].leading = now
        if not state.plain_leader:
            return
        mark_stale(state, now)
        if before != NOBODY:
            mark_stale(state, before)


@inner_kernel
def mark_stale(state: IndexState, cluster: int) -> None:
    """Record that a cluster has changed; if it is the only one, its number is stored too."""
    state.stale[cluster] = True
    if state.memory[0].changed != cluster:
        state.memory[0].changed = cluster if state.memory[0].changed == NOBODY else SEVERAL


@kernel
def renew(state: IndexState, level: float) -> None:
    """Set new lines for each cluster that has changed."""
    changed = state.memory[0].changed
    state.memory[0].changed = NOBODY
    first, beyond = (changed, changed + 1) if changed >= 0 else (0, state.stale.size)
    if changed == NOBODY:
        return
    for cluster in range(first, beyond):
        if state.stale[cluster]:
            state.stale[cluster] = False
            if math.isnan(state.certificate[0].level):
                for place in range(state.start[cluster], state.start[cluster + 1]):
                    solve_for(state, state.order[place], level)
            else:
                _renew_cluster(state, cluster, state.certificate[0].level)


@inner_kernel
def _renew_cluster(state: IndexState, cluster: int, q: float) -> None:
    """Set the lines of all arms of a cluster at q; the evidence is summed once for all of them."""
    first, beyond = state.start[cluster], state.start[cluster + 1]
    width = width_of(state, state.order[first])
    stretch = stretch_at(state, q)
    if state.distances.size > 0:
        for place in range(first, beyond):
            draw_at(state, state.order[place], q)
        return
    everyone, everyone_slope = 0.0, 0.0
    shared = width < math.inf and beyond - first > 1
    if shared:
        for place in range(first, beyond):
            part, slope = own_evidence(state, state.order[place], q - width, stretch)
            everyone += part
            everyone_slope += slope
    for place in range(first, beyond):
        arm = state.order[place]
        own, own_slope = own_evidence(state, arm, q, stretch)
        evidence, steep = own, own_slope
        if shared:
            part, slope = own_evidence(state, arm, q - width, stretch)
            # The arm's own evidence at q is at least that at q − β, so there is no cancellation.
            evidence = everyone + (own - part)
            steep += max(everyone_slope - slope - _ROUNDING * everyone_slope, 0.0)
        draw_lines(state, arm, q, (own, own_slope), (evidence, steep))


@kernel
def own_evidence(state: IndexState, arm: int, q: float, stretch: float) -> tuple[float, float]:
    """Return the evidence of an arm's own rewards against mean q, and its smallest slope."""
    return against(state.law, state.pulls[arm], state.totals[arm] / state.pulls[arm], q, stretch)
