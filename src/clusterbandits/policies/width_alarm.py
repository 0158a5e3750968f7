r"""The width alarm: an anytime-valid test of whether a declared width is too small.

    Λ_c = min_x Σ_k t_k d(m_k, clip(m_k, x, x + β_c))

is the distance of the data from all means that the width allows. By Ville's inequality for the mixture of all
means, if the widths are true, it stays below log(M/α) + Σ_k pen_k in all M clusters and all rounds with a
probability of at least 1 − α. It is checked on a fixed schedule of rounds, so that skip-ahead simulation
stays exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel, separate_kernel
from clusterbandits.families.law import Law, divergence, unit
from clusterbandits.policies.protocol import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.policies.arms import Floats, Ints, Layout

#: Checks happen every round at first, then about 64 times per doubling of n.
_SCHEDULE = 64
_MOST_STEPS = 60
#: The share of the threshold that is sufficient, to allow for rounding errors.
CLOSE = 1.0 - 1e-9
#: The constants of Kaufmann and Koolen's mixture for exponential families.
_Z, _PEELS = 1.5, math.log(math.pi**2 / 3.0)
_SCAN = 32
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class Alarm(NamedTuple):
    """The watched widths, and the round of each cluster's alarm, 0 if there was none."""

    widens: bool
    order: Ints
    start: Ints
    widths: Floats
    #: The threshold of Λ without the penalties of the arms.
    doubt: Floats
    #: The round of the next check.
    look: Ints
    fired: Ints
    evidence: Floats
    needed: Floats


def fresh_alarm(law: Law, layout: Layout, widths: Sequence[float], response: str, level: float) -> Alarm:
    """Return an alarm before the first round; if it watches no width, it has no checks."""
    sizes = np.diff(layout.start)
    watched = np.isfinite(widths) & (sizes > 1) & (response != "ignore")
    doubt = math.log(max(int(watched.sum()), 1) / level)
    doubts = [doubt if law.beta_likelihood else _any_family(doubt, int(size)) for size in sizes]
    nothing = np.zeros(sizes.size)
    return Alarm(
        widens=response == "widen",
        order=layout.order,
        start=layout.start,
        widths=np.where(watched, widths, math.inf),
        doubt=np.array(doubts),
        look=np.array([1 if watched.any() else FOREVER], dtype=np.int64),
        fired=np.zeros(sizes.size, dtype=np.int64),
        evidence=nothing,
        needed=nothing.copy(),
    )


def _any_family(doubt: float, arms: int) -> float:
    """Return the level that Σ_k t_k d(m_k, μ_k) − 3 log(1 + log t_k) exceeds with probability exp(−doubt)."""
    x = 0.5 * (_inverse(1.0 + doubt / arms) + _PEELS)
    corner = 1.0 / math.log(_Z)
    if x >= corner - math.log(corner):
        root = _inverse(x)
        return 2.0 * arms * math.exp(1.0 / root) * root
    return 2.0 * arms * _Z * (x - math.log(math.log(_Z)))


def _inverse(x: float) -> float:
    """Return u ≥ 1 with u − log u = x."""
    u = x + math.log(x) + 1.0
    for _ in range(_MOST_STEPS):
        u = max(1.0 + 1e-12, u - (u - math.log(u) - x) * u / (u - 1.0)) if u > 1.0 else 1.0 + 1e-12
    return u


@inner_kernel
def look_after(n: int, known: int) -> int:
    """Return the first scheduled round after n, given a scheduled round ``known`` that is not later."""
    while known <= n:
        known += 1 + known // _SCHEDULE
    return known


@inner_kernel
def look(law: Law, pulls: Ints, totals: Floats, alarm: Alarm, n: int) -> bool:
    """Check the widths before round n if a check is due; return whether an alarm is raised now."""
    if n < alarm.look[0]:
        return False
    alarm.look[0] = look_after(n, alarm.look[0])
    found = False
    for c in range(alarm.widths.size):
        if alarm.fired[c] == 0 and alarm.widths[c] < math.inf and _contradicts(law, pulls, totals, alarm, c):
            alarm.fired[c] = n
            found = True
    return found


@inner_kernel
def _contradicts(law: Law, pulls: Ints, totals: Floats, alarm: Alarm, c: int) -> bool:
    group = Group(alarm.order, alarm.start[c], alarm.start[c + 1], alarm.widths[c])
    for place in range(group.first, group.beyond):
        if pulls[group.order[place]] == 0:
            return False
    least, most = span(pulls, totals, group)
    needed = alarm.doubt[c]
    if most - least <= group.width or misfit(law, pulls, totals, group, least) < needed:
        return False
    for place in range(group.first, group.beyond):
        needed += _penalty(law, pulls[group.order[place]], totals[group.order[place]])
    enough = needed * CLOSE
    evidence, _ = least_misfit(law, pulls, totals, group, enough)
    if not evidence >= enough:
        return False
    alarm.evidence[c], alarm.needed[c] = evidence, needed
    return True


@inner_kernel
def _penalty(law: Law, pulls: int, total: float) -> float:
    """Return the largest log-likelihood ratio of the best mean to the mixture."""
    if not law.beta_likelihood:
        return 3.0 * math.log(1.0 + math.log(pulls))
    # Bounded rewards count as fractions of successes; rounding can move a long sum outside its range.
    successes = min(max((total - law.lowest * pulls) / unit(law), 0.0), float(pulls))
    failures, share = pulls - successes, successes / pulls
    entropy = 0.0
    # The share of the smallest totals is 0.
    if share > 0.0 and failures > 0.0:
        entropy = -(successes * math.log(share) + failures * math.log(failures / pulls))
    mixture = math.lgamma(pulls + 2.0) - math.lgamma(successes + 1.0) - math.lgamma(failures + 1.0)
    return max(mixture - entropy, 0.0)


@kernel
def watch_widths(state: Any, n: int) -> int:
    """Check the widths, and ignore those in alarm if so set; return the round of the next check."""
    if look(state.law, state.pulls, state.totals, state.alarm, n) and state.alarm.widens:
        for c in range(state.alarm.fired.size):
            if state.alarm.fired[c] == n:
                state.widths[c] = math.inf
    return int(state.alarm.look[0])


class Group(NamedTuple):
    """The arms of one cluster, order[first : beyond], and its width."""

    order: Ints
    first: int
    beyond: int
    width: float


@kernel
def misfit(law: Law, pulls: Any, totals: Floats, group: Group, x: float) -> float:
    """Return the distance of the data from means between x and x + β."""
    far, top = 0.0, x + group.width
    for place in range(group.first, group.beyond):
        arm = group.order[place]
        mean = totals[arm] / pulls[arm]
        if mean < x:
            far += pulls[arm] * divergence(law, mean, x, x - mean)
        elif mean > top:
            far += pulls[arm] * divergence(law, mean, top, top - mean)
    return far


@kernel
def span(pulls: Any, totals: Floats, group: Group) -> tuple[float, float]:
    """Return the smallest and the largest empirical mean of a cluster."""
    least, most = math.inf, -math.inf
    for place in range(group.first, group.beyond):
        mean = totals[group.order[place]] / pulls[group.order[place]]
        least, most = min(least, mean), max(most, mean)
    return least, most


@separate_kernel
def least_misfit(law: Law, pulls: Any, totals: Floats, group: Group, enough: float) -> tuple[float, float]:
    """Return the least misfit and its x by golden-section search; stop at a misfit below ``enough``."""
    low, high = span(pulls, totals, group)
    high -= group.width
    if high <= low:
        return 0.0, high
    if not law.convex:
        # There can be several local minima, so first find the cell of the global one.
        step, best, at = (high - low) / _SCAN, math.inf, low
        for i in range(_SCAN + 1):
            value = misfit(law, pulls, totals, group, low + i * step)
            if value < best:
                best, at = value, low + i * step
        low, high = max(low, at - step), min(high, at + step)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left = misfit(law, pulls, totals, group, left)
    at_right = misfit(law, pulls, totals, group, right)
    for _ in range(_MOST_STEPS):
        if min(at_left, at_right) < enough:
            break
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = misfit(law, pulls, totals, group, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = misfit(law, pulls, totals, group, right)
    return (at_left, left) if at_left <= at_right else (at_right, right)
