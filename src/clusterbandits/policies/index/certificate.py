"""Certificates: how many rounds a choice stays the same whatever its rewards, for exact skip-ahead.

For arms that are not pulled, only the threshold f(n) changes. Let w be above the indices of all rivals up to
some round. The held arm keeps the largest index while its own evidence against w, t d(s/t, w), is at most E =
f(n) − (evidence of the other arms of its cluster against w). For any x₀ its own evidence is exactly

    t d(s/t, w) = t h − s Δθ + t d(s/t, x₀),    Δθ = θ(w) − θ(x₀),    h = d(x₀, w) + x₀ Δθ,

which is linear in pulls t and total s except for the last term; that is at most R while s/t stays near x₀. So
the arm keeps the largest index while t ≤ (E − R + s Δθ) / h. Rewards are not negative, so the present total
gives a number of pulls for which that is certain. A certificate is computed once, with x₀ the mean at that
time, and is valid for many holds. An arm with a large lead has a simpler one: its evidence is at most E while
its mean stays above some x < w.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.law import Law, divergence, natural_gap, variance
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.policies.arms import NOBODY
from clusterbandits.policies.clus_opt import outweighs
from clusterbandits.policies.clus_ucb import against, distance, others_against
from clusterbandits.policies.index.race import highest_rival, margin_at, renew, width_of
from clusterbandits.policies.kl_ucb import threshold
from clusterbandits.policies.protocol import FOREVER

if TYPE_CHECKING:
    from clusterbandits.policies.index.state import IndexState

#: The shares of the lead that a certificate reserves for the rise of rivals and for R.
_RISE, _CURVATURE = 1.0 / 16.0, 1.0 / 64.0
#: The largest growth of the logarithm of the round under one certificate.
_LONGEST = 0.1
#: The number of rewards of 0 that a lead must withstand for a certificate to be tried; with fewer, most fail.
_WORTHWHILE = 2.0
_ROUNDING = 1e-12
_MOST_TRIES = 20


class Budget(NamedTuple):
    """The evidence that an arm may have against w, how much of it is left, and the most pulls."""

    evidence: float
    lead: float
    most_pulls: float


@inner_kernel
def is_certain(state: IndexState, n: int) -> bool:
    """Return whether the certificate still proves that the held arm has the largest index in round n."""
    memory = state.memory[0]
    arm = memory.held
    # A choice made while rewards were outstanding may differ.
    held = arm != NOBODY and arm == memory.last and n <= memory.held_until
    return held and spare_rounds(state, arm) >= 0.0


@inner_kernel
def spare_rounds(state: IndexState, arm: int) -> float:
    """Return for how many more rewards of 0 the certificate stays valid."""
    proof, pulls, total = state.certificate[0], float(state.pulls[arm]), state.totals[arm]
    counted = min(total, proof.highest * pulls)
    by_evidence = proof.pulls + proof.per_reward * counted
    by_mean = proof.by_mean + proof.per_total * total
    return float(min(by_evidence, by_mean) - pulls)


@inner_kernel
def certain_rounds(state: IndexState, arm: int, n: int) -> int:
    """Return the number of rounds from n on for which the arm selected in round n is certain."""
    if state.pulls.size == 1:
        return FOREVER
    held = state.memory[0].held == arm and n <= state.memory[0].held_until
    spare = spare_rounds(state, arm) if held else -1.0
    if not spare >= 0.0:
        if not _certify(state, arm, n):
            return 1
        spare = spare_rounds(state, arm)
    return 1 + int(min(spare, float(state.memory[0].held_until - n)))


@inner_kernel
def _certify(state: IndexState, arm: int, n: int) -> bool:
    """Compute a certificate for the arm from round n on; return whether it lasts more than one round."""
    state.memory[0].held = NOBODY
    if state.law.lowest < 0.0 or (
        _follows_leader(state, arm) and state.cluster[arm] != state.memory[0].leading
    ):
        return False
    level, width = threshold(n, state.a), width_of(state, arm)
    mean = state.totals[arm] / state.pulls[arm]
    w = state.certificate[0].level
    own, _ = against(state.law, state.pulls[arm], mean, w, 0.0)
    others, others_slope = others_against(state, arm, w, width, 0.0)
    lead = _budget(state, level, others) - own
    if not (lead > 0.0 and 0.0 < w < LARGEST_MEAN):
        return False
    if mean < w and lead < 0.5 * level and lead < _WORTHWHILE * _price(state.law, mean, w)[0]:
        return False
    renew(state, level)
    rival, _ = highest_rival(state.lines, arm, level)
    rate = state.lines[rival, 0].rate * (1.0 + state.a)
    allowed = _allowed_rise(state, arm, w, lead, others_slope)
    reach = int(n * min(_LONGEST, allowed / rate if rate > 0.0 else _LONGEST))
    while not _certify_until(state, arm, n, n + reach):
        if reach == 0:
            return False
        # Another rival rises faster than the one with the largest index now.
        reach //= 64
    return True


@inner_kernel
def _follows_leader(state: IndexState, arm: int) -> bool:
    """Return whether the index of the arm depends on which cluster leads."""
    return state.plain_leader or (state.steers and not outweighs(state, arm))


@inner_kernel
def _budget(state: IndexState, level: float, others: float) -> float:
    """Return the largest own evidence that an arm may have against w: given the others, or by the hedge."""
    return float(max(level - others, state.hedge * level))


@inner_kernel
def _certify_until(state: IndexState, arm: int, n: int, until: int) -> bool:
    """Compute a certificate up to round ``until``; return whether the arm has a lead then."""
    _, highest = highest_rival(state.lines, arm, threshold(until, state.a))
    w = highest + margin_at(state, arm, highest)
    if not (w < LARGEST_MEAN and variance(state.law, w) > 0.0):
        return False
    others, _ = others_against(state, arm, w, width_of(state, arm), 0.0)
    budget = _budget(state, threshold(n, state.a), others)
    if not _write(state, arm, w, budget, float(state.pulls[arm] + until - n)):
        return False
    if not spare_rounds(state, arm) >= 1.0:
        return False
    state.memory[0].held, state.memory[0].held_until = arm, until
    return True


@kernel
def _allowed_rise(state: IndexState, arm: int, w: float, lead: float, others_slope: float) -> float:
    """Return how far w may rise before that uses up its share of the lead; evidence is quadratic in w."""
    pulls = state.pulls[arm]
    apart = w - state.totals[arm] / pulls
    share = _RISE * lead
    allowed = math.sqrt(max(apart, 0.0) ** 2 + 2.0 * share * max(variance(state.law, w), 0.0) / pulls) - apart
    allowed = max(allowed, 0.0)
    return float(min(allowed, share / others_slope) if others_slope > 0.0 else allowed)


@kernel
def _price(law: Law, mean: float, w: float) -> tuple[float, float]:
    """Return h, the evidence against w that a reward of 0 adds, and Δθ, which a unit of reward subtracts."""
    apart = divergence(law, mean, w, w - mean)
    if mean <= law.lowest:
        return apart, 0.0
    tilt = natural_gap(law, mean, w, w - mean)
    return apart + mean * tilt, tilt


@inner_kernel
def _write(state: IndexState, arm: int, w: float, budget: float, most_pulls: float) -> bool:
    """Write the condition on pulls under which the arm's own evidence against w is within the budget."""
    law, pulls = state.law, float(state.pulls[arm])
    mean = state.totals[arm] / pulls
    lead = budget if mean >= w else budget - pulls * divergence(law, mean, w, w - mean)
    if not lead > 0.0:
        return False
    if lead > 0.5 * budget:
        lowest = _write_by_mean(state, w, budget / most_pulls)
    else:
        lowest = _write_by_evidence(state, mean, w, Budget(budget, lead, most_pulls))
    lowest = max(lowest, _least_mean(state, arm, w))
    state.certificate[0].by_mean = 0.0 if lowest > 0.0 else math.inf
    state.certificate[0].per_total = 1.0 / lowest if lowest > 0.0 else 0.0
    return True


@kernel
def _write_by_mean(state: IndexState, w: float, per_pull: float) -> float:
    """Write the condition d(mean, w) ≤ ``per_pull``; return the lowest mean that satisfies it."""
    proof = state.certificate[0]
    proof.pulls, proof.per_reward, proof.highest = math.inf, 0.0, math.inf
    below = min(math.sqrt(2.0 * per_pull * variance(state.law, w)), w)
    for _ in range(_MOST_TRIES):
        lowest = max(w - below, 0.0)
        if lowest < w and divergence(state.law, lowest, w, below) <= per_pull * (1.0 - _ROUNDING):
            return lowest
        below *= 0.9
    return w


@kernel
def _write_by_evidence(state: IndexState, mean: float, w: float, budget: Budget) -> float:
    """Write the linear condition with x₀ the mean; return the lowest mean for which it is valid."""
    proof, law, left, lowest = state.certificate[0], state.law, budget.evidence, 0.0
    per_pull, tilt = _price(law, mean, w)
    proof.highest = math.inf
    if mean > 0.0:
        aside = math.sqrt(2.0 * _CURVATURE * budget.lead * variance(law, mean) / budget.most_pulls)
        aside = min(aside, 0.5 * mean, w - mean)
        lowest, proof.highest = mean - aside, mean + aside
        below = divergence(law, lowest, mean, aside)
        above = divergence(law, proof.highest, mean, -aside)
        left -= budget.most_pulls * max(below, above)
    left -= _ROUNDING * (left + per_pull * budget.most_pulls)
    proof.pulls, proof.per_reward = left / per_pull, tilt / per_pull
    return lowest


@kernel
def _least_mean(state: IndexState, arm: int, w: float) -> float:
    """Return the mean down to which the arm can fall without a change of the rivals' bounds.

    The bounds of the other arms of its cluster assume that it has no evidence against w, and the treatment of
    the leader's cluster assumes that it still leads.
    """
    cluster, width = state.cluster[arm], width_of(state, arm)
    least = 0.0
    if width < math.inf:
        for place in range(state.start[cluster], state.start[cluster + 1]):
            if state.order[place] != arm:
                least = max(least, w - distance(state, arm, state.order[place], width))
    if _follows_leader(state, arm):
        best_inside, best_outside = -math.inf, -math.inf
        for other in range(state.pulls.size):
            mean = state.totals[other] / state.pulls[other]
            if state.cluster[other] != cluster:
                best_outside = max(best_outside, mean)
            elif other != arm:
                best_inside = max(best_inside, mean)
        if best_inside <= best_outside:
            # An arm that ties for the lead has it only while its pulls are the fewest.
            leads = state.totals[arm] / state.pulls[arm] > best_outside
            least = max(least, best_outside * (1.0 + _ROUNDING)) if leads else math.inf
    return least
