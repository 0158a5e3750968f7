"""The arm with the largest index while rewards are outstanding, and among some of the arms.

``ahead`` makes the same choices as ``select``. While rewards are outstanding, many arms have the same index,
so arms with the same statistics are evaluated together here. This search computes other lines than
``race.py``. The lengths of holds depend on lines, and the random draws of simulations on these lengths, so
simulations always use ``race.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.policies.arms import APART, NOBODY, first_unpulled, leader_among, leader_of
from clusterbandits.policies.clus_opt import steered_by
from clusterbandits.policies.clus_ucb import clustered_index, hedge_index
from clusterbandits.policies.index.race import (
    are_twins,
    bound,
    draw_at,
    follow_leader,
    highest_rival,
    lead_by,
    margin_at,
    on_line,
    own_evidence,
    renew,
    solve_for,
    stretch_at,
)
from clusterbandits.policies.kl_ucb import threshold

if TYPE_CHECKING:
    from clusterbandits.policies.arms import Mask
    from clusterbandits.policies.index.state import IndexState

_MOST_TESTS = 30


@kernel
def ahead(state: IndexState, n: int) -> int:
    """Return the first arm without pulls, the arm kept until the next refresh, or the largest index's arm."""
    memory = state.memory[0]
    if memory.unpulled > 0:
        return first_unpulled(state.pulls)
    if n >= memory.until:
        level = threshold(n, state.a)
        follow_leader(state)
        renew(state, level)
        arm = _race(state, level) if state.pulls.size > 1 else 0
        if is_steered(state, arm, level):
            arm = steered_by(state, arm, leader_of(state.pulls, state.totals))
        memory.last, memory.until = arm, n + state.refresh
    return int(memory.last)


@kernel
def among(state: IndexState, n: int, open_arms: Mask) -> int:
    """Return what ``ahead`` returns, among the open arms; rewards of the other arms count too.

    A state must always be used with the same set of open arms.
    """
    memory = state.memory[0]
    if memory.unpulled > 0:
        return first_unpulled(state.pulls)
    if n >= memory.until or not open_arms[memory.last]:
        level, leader = threshold(n, state.a), leader_among(state.pulls, state.totals, open_arms)
        if state.plain_leader or state.steers:
            lead_by(state, leader)
        renew(state, level)
        for arm in range(state.pulls.size):
            if not open_arms[arm]:
                _close(state, arm)
        chosen = _race(state, level)
        if is_steered(state, chosen, level):
            other = steered_by(state, chosen, leader)
            chosen = other if open_arms[other] else chosen
        memory.last, memory.until = chosen, n + state.refresh
    return int(memory.last)


@inner_kernel
def _close(state: IndexState, arm: int) -> None:
    """Set the bound of an arm below all others."""
    for line in range(state.lines.shape[1]):
        bound = state.lines[arm, line]
        bound.anchor, bound.evidence, bound.rate, bound.reach = -math.inf, 0.0, 0.0, math.inf


@inner_kernel
def is_steered(state: IndexState, arm: int, level: float) -> bool:
    """Return whether another arm may be pulled although this one has the largest index."""
    if not state.steers or state.cluster[arm] == state.memory[0].leading or state.pulls.size == 1:
        return False
    if state.hedge == 0.0:
        return True
    hedged = hedge_index(state, arm, level)
    clustered = clustered_index(state, arm, level, state.widths[state.cluster[arm]])
    return not hedged > clustered + state.law.tie * abs(hedged)


@kernel
def _race(state: IndexState, level: float) -> int:
    """Return the arm with the largest index, given lines that are up to date."""
    top = 0
    for _ in range(_MOST_TESTS):
        top, second, has_twins = _top_two(state, level)
        if second >= LARGEST_MEAN or second == -math.inf:
            break
        margin = margin_at(state, top, second)
        q = second + margin
        wins = draw_at(state, top, q) <= level
        first = _share_lines(state, top) if has_twins else top
        if wins:
            state.certificate[0].level = bound(state.lines, top, level) if has_twins else q
            return first
        if bound(state.lines, top, level) > second - 2.0 * margin:
            break
    first = _first_by_hedge(state, level, top) if state.hedge > 0.0 else NOBODY
    return _settle(state, level, top) if first == NOBODY else first


@kernel
def _top_two(state: IndexState, level: float) -> tuple[int, float, bool]:
    """Return the arm with the largest bound, the largest bound of arms not its twins, and if it has twins.

    Twins have the same index, so each of their bounds is at least as large as the index of a winning twin.
    """
    top, first, second, has_twins = 0, -math.inf, -math.inf, False
    for arm in range(state.pulls.size):
        q = bound(state.lines, arm, level)
        if q > second:
            if first > -math.inf and are_twins(state, arm, top):
                has_twins = True
                if q > first:
                    top, first = arm, q
            elif q > first:
                top, first, second, has_twins = arm, q, first, False
            else:
                second = q
    return top, second, has_twins


@kernel
def _share_lines(state: IndexState, arm: int) -> int:
    """Copy the lines of an arm to all its open twins; return the first of them."""
    first = NOBODY
    for other in range(state.pulls.size):
        if other == arm or (state.lines[other, 0].anchor > -math.inf and are_twins(state, other, arm)):
            for line in range(state.lines.shape[1]):
                state.lines[other, line] = state.lines[arm, line]
            if first == NOBODY:
                first = other
    return first


@kernel
def _first_by_hedge(state: IndexState, level: float, top: int) -> int:
    """Return the first arm with the same rewards as ``top`` if they win by their hedge, else ``NOBODY``.

    The hedge depends only on an arm's own rewards, so arms of different clusters can tie.
    """
    first, others = NOBODY, -math.inf
    for arm in range(state.pulls.size):
        if state.pulls[arm] == state.pulls[top] and state.totals[arm] == state.totals[top]:
            clustered = on_line(state.lines, arm, 0, level)
            others = max(others, clustered)
            if first == NOBODY and clustered > -math.inf:
                first = arm
        else:
            others = max(others, bound(state.lines, arm, level))
    if not -math.inf < others < LARGEST_MEAN:
        return NOBODY
    q = others + margin_at(state, top, others)
    if own_evidence(state, top, q, stretch_at(state, q))[0] > state.hedge * level:
        return NOBODY
    state.certificate[0].level = on_line(state.lines, top, 1, level)
    return first


@inner_kernel
def _settle(state: IndexState, level: float, first: int) -> int:
    """Return the arm with the largest index, starting with ``first``; ties as in ``race.py``."""
    indices, solved = state.indices, first
    for arm in range(indices.size):
        indices[arm] = math.nan
    best = indices[solved] = solve_for(state, solved, level)
    for arm in range(indices.size):
        if math.isnan(indices[arm]) and _may_reach(state, arm, bound(state.lines, arm, level), best):
            if are_twins(state, arm, solved):
                indices[arm] = indices[solved]
                for line in range(state.lines.shape[1]):
                    state.lines[arm, line] = state.lines[solved, line]
            else:
                indices[arm] = solve_for(state, arm, level)
                solved = arm
            best = max(best, indices[arm])
    chosen, tied, within = NOBODY, 0, state.law.tie * abs(best)
    for arm in range(indices.size):
        if indices[arm] == best or indices[arm] >= best - within:
            tied += 1
            if chosen == NOBODY or state.pulls[arm] < state.pulls[chosen]:
                chosen = arm
    state.certificate[0].level = best if tied > 1 else highest_rival(state.lines, chosen, level)[1]
    return chosen


@inner_kernel
def _may_reach(state: IndexState, arm: int, most: float, best: float) -> bool:
    """Return whether an index of at most ``most`` can equal ``best`` up to the margin of ``margin_at``."""
    pulls = float(state.pulls[arm])
    apart = max(abs(best) * pulls, abs(best * pulls - state.totals[arm]))
    return not (best - most) * pulls > APART * state.law.tie * apart
