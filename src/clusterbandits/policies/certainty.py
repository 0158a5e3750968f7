"""For how long a choice is certain whatever it pays: the certificate behind exact simulation.

Nothing about an arm that is not played changes but the threshold f(n). Let w be above the indices of all
rivals up to some round. The arm held stays ahead while its own evidence against w, t d(s/t, w), is at most
E = f(n) − (what its mates argue against w). For any x₀ that evidence is, exactly,

    t d(s/t, w) = t h − s Δθ + t d(s/t, x₀),    Δθ = θ(w) − θ(x₀),    h = d(x₀, w) + x₀ Δθ,

linear in pulls t and total s but for a last term, which is at most R while s/t stays near x₀. So the arm is
ahead as long as t ≤ (E − R + s Δθ) / h. No reward is below 0, so the total of today bounds the pulls up to
which that is certain: a certificate is made once, with x₀ the mean at that time, and serves many holds.
"""

from __future__ import annotations

import math

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.law import GAUSSIAN, Law, divergence, natural_gap, variance
from clusterbandits.policies.evidence import against, mates_against, threshold
from clusterbandits.policies.race import highest_rival, margin_at, renew, width_of
from clusterbandits.policies.state import (
    HELD,
    HELD_UNTIL,
    HIGHEST,
    LEADING,
    NOBODY,
    PULLS,
    PULLS_A_MEAN,
    PULLS_A_REWARD,
    PULLS_BY_MEAN,
    RATE,
    IndexState,
)

#: Longer than any horizon.
FOREVER = 10**15
#: The shares of the lead that a certificate gives away to be simple: to the rise of rivals, and to R.
_RISE, _CURVATURE = 1.0 / 16.0, 1.0 / 64.0
#: The most by which the logarithm of the round may grow under one certificate.
_LONGEST = 0.1
_ROUNDING = 1e-12


@inner_kernel
def is_certain(state: IndexState, n: int) -> bool:
    """Tell whether the certificate still says that the arm held has the largest index in round n."""
    arm = state.memory[HELD]
    return arm != NOBODY and n <= state.memory[HELD_UNTIL] and spare_rounds(state, arm) >= 0.0


@inner_kernel
def spare_rounds(state: IndexState, arm: int) -> float:
    """Return how many more rounds could pay nothing before the certificate says nothing any more."""
    paper, pulls, total = state.certificate, float(state.pulls[arm]), state.totals[arm]
    counted = min(total, paper[HIGHEST] * pulls)
    by_evidence = paper[PULLS] + paper[PULLS_A_REWARD] * counted
    by_mean = paper[PULLS_BY_MEAN] + paper[PULLS_A_MEAN] * total
    return float(min(by_evidence, by_mean) - pulls)


@inner_kernel
def certain_rounds(state: IndexState, arm: int, n: int) -> int:
    """Return for how many rounds from n on the arm, which is selected in round n, is certain."""
    if state.pulls.size == 1:
        return FOREVER
    if not is_certain(state, n) and not _certify(state, arm, n):
        return 1
    return 1 + min(int(spare_rounds(state, arm)), int(state.memory[HELD_UNTIL]) - n)


@kernel
def _certify(state: IndexState, arm: int, n: int) -> bool:
    """Make a certificate for the arm from round n on, if there is one for more than that round."""
    state.memory[HELD] = NOBODY
    if state.law.code == GAUSSIAN or (state.plain_leader and state.cluster[arm] != state.memory[LEADING]):
        return False
    level = threshold(n, state.a)
    renew(state, level)
    rival, w = _just_above_rivals(state, arm, level)
    width = width_of(state, arm)
    mean = state.totals[arm] / state.pulls[arm]
    own, own_slope = against(state.law, state.pulls[arm], mean, w, 0.0)
    mates, mates_slope = mates_against(state, arm, w, width, 0.0)
    lead = level - own - mates
    if not (lead > 0.0 and 0.0 < w < math.inf):
        return False
    if mean < w and lead < _price(state.law, mean, w)[0]:
        return False
    rise = state.lines[rival, RATE] * (own_slope + mates_slope) * (1.0 + state.a)
    until = n + int(n * min(_LONGEST, _RISE * lead / rise if rise > 0.0 else _LONGEST))
    _, w = _just_above_rivals(state, arm, threshold(until, state.a))
    budget = level - mates_against(state, arm, w, width, 0.0)[0]
    if not (w < math.inf and _write(state, arm, w, budget, float(state.pulls[arm] + until - n))):
        return False
    state.memory[HELD], state.memory[HELD_UNTIL] = arm, until
    return spare_rounds(state, arm) >= 1.0


@kernel
def _just_above_rivals(state: IndexState, arm: int, level: float) -> tuple[int, float]:
    rival, highest = highest_rival(state.lines, arm, level)
    return rival, highest + margin_at(state, arm, highest)


@kernel
def _price(law: Law, mean: float, w: float) -> tuple[float, float]:
    """Return h, the evidence against w that a reward of 0 adds, and Δθ, what a unit of reward takes off."""
    apart = divergence(law, mean, w, w - mean)
    if mean == 0.0:
        return apart, 0.0
    tilt = natural_gap(law, w, w - mean)
    return apart + mean * tilt, tilt


@kernel
def _write(state: IndexState, arm: int, w: float, budget: float, most_pulls: float) -> bool:
    """Write down up to which number of pulls the arm's own evidence against w is within budget."""
    paper, law = state.certificate, state.law
    pulls = float(state.pulls[arm])
    mean = state.totals[arm] / pulls
    paper[HIGHEST] = math.inf
    lowest = _least_mean(state, arm, w)
    if mean >= w:
        # No evidence at all as long as the mean stays above w.
        paper[PULLS], paper[PULLS_A_REWARD] = -_ROUNDING * most_pulls, 1.0 / w
    else:
        per_pull, tilt = _price(law, mean, w)
        lead = budget - pulls * divergence(law, mean, w, w - mean)
        if not lead > 0.0:
            return False
        if mean > 0.0:
            aside = math.sqrt(2.0 * _CURVATURE * lead * variance(law, mean) / most_pulls)
            aside = min(aside, 0.5 * mean, w - mean)
            low, high = mean - aside, mean + aside
            below, above = divergence(law, low, mean, aside), divergence(law, high, mean, -aside)
            budget -= most_pulls * max(below, above)
            paper[HIGHEST] = high
            lowest = max(lowest, low)
        budget -= _ROUNDING * (budget + per_pull * most_pulls)
        paper[PULLS], paper[PULLS_A_REWARD] = budget / per_pull, tilt / per_pull
    paper[PULLS_BY_MEAN] = 0.0 if lowest > 0.0 else math.inf
    paper[PULLS_A_MEAN] = 1.0 / lowest if lowest > 0.0 else 0.0
    return True


@kernel
def _least_mean(state: IndexState, arm: int, w: float) -> float:
    """Return the mean down to which the arm's fall changes nothing that rivals are judged by.

    Its mates' bounds assume that it argues nothing against w; the leader's cluster, that it still leads.
    """
    cluster, width = state.cluster[arm], width_of(state, arm)
    least = 0.0
    if width < math.inf and state.start[cluster + 1] - state.start[cluster] > 1:
        least = w - width
    if state.plain_leader:
        best_mate, best_stranger = -math.inf, -math.inf
        for other in range(state.pulls.size):
            mean = state.totals[other] / state.pulls[other]
            if state.cluster[other] != cluster:
                best_stranger = max(best_stranger, mean)
            elif other != arm:
                best_mate = max(best_mate, mean)
        if best_mate <= best_stranger:
            least = max(least, best_stranger * (1.0 + _ROUNDING))
    return least
