"""The arm with the largest index, found without solving for indices.

Every arm carries an upper bound on its index, a tangent to its evidence: F is convex, so one evaluation at
any q bounds the index for all rounds to come. The arm with the largest bound is tested just above the
second largest: either the evidence there is still below the threshold and it has won, or the evaluation is a
Newton step that lowers its bound. Only where two indices are too close to call are they solved for.
"""

from __future__ import annotations

import math

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.law import EXPONENTIAL
from clusterbandits.policies.evidence import against, evidence_against, index
from clusterbandits.policies.state import (
    ANCHOR,
    CHANGED,
    EVIDENCE,
    LEADING,
    LEVEL,
    NOBODY,
    RATE,
    REACH,
    SEVERAL,
    Floats,
    IndexState,
)

#: Indices this close, relative to their size, are tied; far below what one reward moves them by.
TIE = 1e-13
#: Bounds this close are not compared but solved; far above the rounding of either.
_MARGIN = 1e-12
_MOST_TESTS = 30
_ROUNDING = 1e-14
#: How far, relative to q, a line reaches where F is not convex.
_STRETCH = 0.05


@kernel
def choose(state: IndexState, level: float) -> int:
    """Return the arm with the largest index at threshold ``level``."""
    if state.pulls.size == 1:
        return 0
    follow_leader(state)
    renew(state, level)
    for _ in range(_MOST_TESTS):
        top, second = top_two(state.lines, level)
        if second == math.inf:
            break
        margin = margin_at(state, top, second)
        q = second + margin
        evidence, slope = evidence_against(state, top, q, width_of(state, top), stretch_at(state, q))
        if evidence <= level:
            state.certificate[LEVEL] = q
            return top
        draw_line(state, top, q, evidence, slope)
        if bound(state.lines, top, level) > second - 2.0 * margin:
            break
    return _settle(state, level)


@inner_kernel
def width_of(state: IndexState, arm: int) -> float:
    """Return the width that the arm's cluster is judged by at the moment."""
    cluster = state.cluster[arm]
    return math.inf if cluster == state.memory[LEADING] else float(state.widths[cluster])


@kernel
def leading_width(state: IndexState, arm: int) -> float:
    """Return ``width_of`` for callers outside kernels."""
    return width_of(state, arm)


@inner_kernel
def margin_at(state: IndexState, arm: int, q: float) -> float:
    """Return the difference below which two indices near q are too close to call."""
    mean = state.totals[arm] / state.pulls[arm]
    return float(_MARGIN * max(abs(q), abs(q - mean)))


@inner_kernel
def bound(lines: Floats, arm: int, level: float) -> float:
    """Return an upper bound on the arm's index at threshold ``level``."""
    excess = level - lines[arm, EVIDENCE]
    if lines[arm, REACH] < math.inf and excess < 0.0:
        return float(lines[arm, ANCHOR])
    q = float(lines[arm, ANCHOR] + excess * lines[arm, RATE])
    return q if q <= lines[arm, REACH] else math.inf


@kernel
def top_two(lines: Floats, level: float) -> tuple[int, float]:
    """Return the arm with the largest bound, and the largest bound of the others."""
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
    """Return how far from q on a line must hold: 0 where F is convex and a tangent holds everywhere."""
    return _STRETCH * q if state.law.code == EXPONENTIAL else 0.0


@inner_kernel
def draw_line(state: IndexState, arm: int, q: float, evidence: float, slope: float) -> None:
    """Bound the arm's index by the line through its evidence at q; no bound where that is flat or a wall."""
    lines, stretch = state.lines, stretch_at(state, q)
    if evidence < math.inf and 0.0 < slope < math.inf:
        lines[arm, ANCHOR], lines[arm, EVIDENCE], lines[arm, RATE] = q, evidence, 1.0 / slope
        lines[arm, REACH] = q + stretch if stretch > 0.0 else math.inf
    else:
        lines[arm, ANCHOR], lines[arm, EVIDENCE], lines[arm, RATE] = math.inf, 0.0, 0.0
        lines[arm, REACH] = math.inf


@kernel
def _solve(state: IndexState, arm: int, level: float) -> float:
    """Return the arm's index and draw its line there."""
    width = width_of(state, arm)
    q = index(state, arm, level, width)
    evidence, slope = evidence_against(state, arm, q, width, stretch_at(state, q))
    draw_line(state, arm, q, evidence, slope)
    if state.lines[arm, ANCHOR] == math.inf and evidence <= level:
        # The top of the domain: no later index is larger.
        state.lines[arm, ANCHOR] = q
    return q


@kernel
def _settle(state: IndexState, level: float) -> int:
    """Solve for the largest indices, then break ties: fewest pulls, then lowest number."""
    indices = state.indices
    for arm in range(indices.size):
        indices[arm] = math.nan
    solved, _ = top_two(state.lines, level)
    best = indices[solved] = _solve(state, solved, level)
    for arm in range(indices.size):
        if math.isnan(indices[arm]) and not bound(state.lines, arm, level) < best - margin_at(
            state, arm, best
        ):
            if _are_twins(state, arm, solved):
                indices[arm] = indices[solved]
                for part in range(state.lines.shape[1]):
                    state.lines[arm, part] = state.lines[solved, part]
            else:
                indices[arm] = _solve(state, arm, level)
                solved = arm
            best = max(best, indices[arm])
    chosen = _fewest_pulls_among(state, best)
    state.certificate[LEVEL] = highest_rival(state.lines, chosen, level)[1]
    return chosen


@kernel
def _are_twins(state: IndexState, arm: int, other: int) -> bool:
    """Tell whether two arms have the same index because all it is made of is the same."""
    same = state.pulls[arm] == state.pulls[other] and state.totals[arm] == state.totals[other]
    alone = width_of(state, arm) == math.inf and width_of(state, other) == math.inf
    return same and (alone or state.cluster[arm] == state.cluster[other])


@kernel
def _fewest_pulls_among(state: IndexState, best: float) -> int:
    """Return the arm that wins the tie of those whose indices are the best one but for rounding."""
    chosen = NOBODY
    for arm in range(state.indices.size):
        tied = state.indices[arm] == best or state.indices[arm] >= best - TIE * abs(best)
        if tied and (chosen == NOBODY or state.pulls[arm] < state.pulls[chosen]):
            chosen = arm
    return chosen


@kernel
def highest_rival(lines: Floats, chosen: int, level: float) -> tuple[int, float]:
    """Return the arm with the largest bound of all but one, and that bound."""
    rival, highest = NOBODY, -math.inf
    for arm in range(lines.shape[0]):
        q = bound(lines, arm, level)
        if q > highest and arm != chosen:
            rival, highest = arm, q
    return rival, highest


@kernel
def follow_leader(state: IndexState) -> None:
    """Find the cluster of the empirical leader, where the policy judges that one as KL-UCB does."""
    if not state.plain_leader:
        return
    leader, best = 0, -math.inf
    for arm in range(state.pulls.size):
        mean = state.totals[arm] / state.pulls[arm]
        if mean > best or (mean == best and state.pulls[arm] < state.pulls[leader]):
            leader, best = arm, mean
    before, now = state.memory[LEADING], state.cluster[leader]
    if before != now:
        state.memory[LEADING] = now
        mark_stale(state, now)
        if before != NOBODY:
            mark_stale(state, before)


@inner_kernel
def mark_stale(state: IndexState, cluster: int) -> None:
    """Remember that a cluster has changed; as long as it is the only one, nobody has to look for it."""
    state.stale[cluster] = True
    if state.memory[CHANGED] != cluster:
        state.memory[CHANGED] = cluster if state.memory[CHANGED] == NOBODY else SEVERAL


@kernel
def renew(state: IndexState, level: float) -> None:
    """Draw new lines for every cluster that has changed."""
    changed = state.memory[CHANGED]
    state.memory[CHANGED] = NOBODY
    if changed >= 0:
        _renew_one(state, changed, level)
    elif changed == SEVERAL:
        for cluster in range(state.stale.size):
            if state.stale[cluster]:
                _renew_one(state, cluster, level)


@kernel
def _renew_one(state: IndexState, cluster: int, level: float) -> None:
    state.stale[cluster] = False
    if math.isnan(state.certificate[LEVEL]):
        for place in range(state.start[cluster], state.start[cluster + 1]):
            _solve(state, state.order[place], level)
    else:
        _renew_cluster(state, cluster, state.certificate[LEVEL])


@kernel
def _renew_cluster(state: IndexState, cluster: int, q: float) -> None:
    """Draw the lines of all arms of a cluster at q; what mates argue is added up once for all of them."""
    first, beyond = state.start[cluster], state.start[cluster + 1]
    width = width_of(state, state.order[first])
    stretch = stretch_at(state, q)
    everyone, everyone_slope = 0.0, 0.0
    shared = width < math.inf and beyond - first > 1
    if shared:
        for place in range(first, beyond):
            part, slope = _part(state, state.order[place], q - width, stretch)
            everyone += part
            everyone_slope += slope
    for place in range(first, beyond):
        arm = state.order[place]
        own, own_slope = _part(state, arm, q, stretch)
        if shared:
            part, slope = _part(state, arm, q - width, stretch)
            # The arm's own evidence at q is never less than at q − β: nothing large cancels.
            own = everyone + (own - part)
            own_slope += max(everyone_slope - slope - _ROUNDING * everyone_slope, 0.0)
        draw_line(state, arm, q, own, own_slope)


@kernel
def _part(state: IndexState, arm: int, q: float, stretch: float) -> tuple[float, float]:
    return against(state.law, state.pulls[arm], state.totals[arm] / state.pulls[arm], q, stretch)
