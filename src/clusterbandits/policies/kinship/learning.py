"""The part of ``Kindred`` that is computed from time to time: explanations and the common precision."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from clusterbandits.compiled import inner_kernel, kernel, separate_kernel
from clusterbandits.families.law import variance
from clusterbandits.families.link import mean_at
from clusterbandits.families.posterior import draw_mean
from clusterbandits.families.stream import restart, uniform
from clusterbandits.policies.kinship.cluster_mean import (
    draw_cell,
    draw_cluster_mean,
    exception_rate,
    log_alone,
    weigh_exception,
    weigh_means,
    worth,
)
from clusterbandits.policies.kinship.prior import prior_of, rebase
from clusterbandits.policies.kinship.tables import (
    BY_WIDTH,
    COLUMNS,
    IN_COMMON,
    NEVER,
    PRECISIONS,
    PULLS,
    TOTAL,
    UNRELATED_BELOW,
    WIDTH,
    WITHIN_BELOW,
    Kinship,
)

if TYPE_CHECKING:
    from clusterbandits.families.law import Law

#: Prior probabilities: that arms are unrelated, for a small cluster and at most (it grows with the number of
#: arms, because ignoring the possibility costs more); otherwise, that they are within a declared width, and
#: then that they have the precision of the width; and that a cluster has the common precision.
_UNRELATED, _UNRELATED_OF_MANY, _WITHIN, _OF_WIDTH, _SHARED = 0.2, 0.5, 0.97, 0.5, 0.8
#: The growth of a cluster's pulls after which its posterior is computed again.
_GROWTH = 0.03
#: The number of pulls of an arm up to which each pull updates the probability that it is an exception.
_FEW_PULLS = 64
#: The number of draws that estimate how often means are within a width: given the rewards, and a priori.
_DRAWS, _DRAWS_BEFORE = 32, 4000
_LEAST_SHARE = 1e-4
_SEEDS = 1_000_003
#: Instead of a grid point: a priori, without rewards.
_BEFOREHAND = -1
#: The tolerance of widths, as a share of a reward's standard deviation.
_TOLERANCE = 2e-3


@kernel
def learn(state: Any, arm: int) -> None:
    """Compute the posterior of a cluster if its pulls have grown enough, else only that of the exception."""
    kin, c = state.kinship, state.cluster[arm]
    few = state.pulls[arm] < _FEW_PULLS
    if kin.observed[c] < kin.due[c] and (few or kin.pulls[arm] >= _FEW_PULLS):
        if few:
            weigh_exception(state, arm)
            kin.lessons[0] += 1.0
        return
    for place in range(state.start[c], state.start[c + 1]):
        one = state.order[place]
        kin.pulls[one], kin.totals[one] = state.pulls[one], state.totals[one]
    if _renew_prior(state):
        learn_all(state)
    else:
        learn_cluster(state, c)
        _count_votes(kin)


@separate_kernel
def learn_all(state: Any) -> None:
    """Compute the posteriors of all clusters from the rewards learned from last."""
    _renew_prior(state)
    for c in range(state.kinship.observed.size):
        learn_cluster(state, c)
    _count_votes(state.kinship)


@kernel
def _renew_prior(state: Any) -> bool:
    """Update the prior from the rewards learned from; return whether it has changed."""
    changed = rebase(state)
    for c in range(state.kinship.observed.size):
        if changed and state.widths[c] < math.inf:
            state.kinship.within_before[c] = _share_within_before(state, c)
    return changed


@separate_kernel
def learn_cluster(state: Any, c: int) -> None:
    """Compute the posterior of a cluster from the rewards learned from last."""
    kin, pulls, unrelated = state.kinship, 0.0, 0.0
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        pulls += kin.pulls[arm]
        kin.alone[arm] = log_alone(state, kin.pulls[arm], kin.totals[arm])
        unrelated += kin.alone[arm]
    kin.unrelated[c] = unrelated
    kin.due[c] = pulls + max(1.0, math.floor(_GROWTH * pulls))
    for v in range(COLUMNS):
        if v < WIDTH or state.widths[c] < math.inf:
            weigh_means(state, c, v)
        else:
            kin.alike[c, v] = NEVER
    any_precision = _weigh_precisions(kin, c)
    if state.widths[c] < math.inf:
        kin.within[c] = _share_within(state, c, any_precision) if pulls > 0.0 else kin.within_before[c]
    _weigh_ways(state, c, any_precision)
    _weigh_new_rewards(state, c)
    kin.lessons[0] += 1.0


@kernel
def _weigh_new_rewards(state: Any, c: int) -> None:
    """Update the probabilities that arms with few pulls are exceptions, from their latest rewards."""
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        if state.kinship.pulls[arm] < state.pulls[arm] < _FEW_PULLS:
            weigh_exception(state, arm)


@kernel
def _weigh_precisions(kin: Kinship, c: int) -> float:
    """Write the cumulative probabilities of a cluster's own precisions; return their total log-likelihood."""
    top, total, prior = NEVER, 0.0, 0.0
    for v in range(PRECISIONS):
        top = max(top, kin.alike[c, v])
    for v in range(PRECISIONS):
        prior += prior_of(kin, v)
        total += prior_of(kin, v) * math.exp(kin.alike[c, v] - top)
        kin.own[c, v] = total
    for v in range(PRECISIONS):
        kin.own[c, v] /= total
    return float(top + math.log(total / prior))


@kernel
def _share_within(state: Any, c: int, any_precision: float) -> float:
    """Return the share of posterior draws in which the arms are within their width."""
    kin, stream = state.kinship, state.kinship.counting
    restart(stream, int(kin.due[c]) * _SEEDS + c)
    odds = math.exp(min(kin.alike[c, WIDTH] - any_precision, 700.0)) * _OF_WIDTH / (1.0 - _OF_WIDTH)
    by_width, kept = odds / (1.0 + odds), 0
    for _ in range(_DRAWS):
        v = WIDTH if uniform(stream) < by_width else draw_cell(stream, kin.own[c])
        mean, point = draw_cluster_mean(state, stream, c, v)
        kept += _keeps_within(state, c, v, mean, point)
    return max(kept / _DRAWS, _LEAST_SHARE)


@kernel
def _share_within_before(state: Any, c: int) -> float:
    """Return the share of prior draws in which the arms are within their width."""
    kin, law, stream = state.kinship, state.law, state.kinship.counting
    restart(stream, c)
    kept = 0
    for _ in range(_DRAWS_BEFORE):
        v = WIDTH if uniform(stream) < _OF_WIDTH else draw_cell(stream, kin.favoured)
        drawn = draw_mean(law, stream, kin.base[PULLS], kin.base[TOTAL])
        mean = min(max(drawn, mean_at(law, -math.inf)), mean_at(law, math.inf))
        kept += _keeps_within(state, c, v, mean, _BEFOREHAND)
    return max(kept, 1) / _DRAWS_BEFORE


@kernel
def _keeps_within(state: Any, c: int, v: int, mean: float, point: int) -> int:
    """Draw the means of a cluster given the cluster mean; return 1 if they are within the width."""
    kin, known, rate = state.kinship, worth(state, c, v, mean), exception_rate(state, c)
    counts = 0.0 if point == _BEFOREHAND else 1.0
    least, most = math.inf, -math.inf
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        pulls, total = known, known * mean
        if uniform(kin.counting) < (rate if point == _BEFOREHAND else kin.exceptions[v, point, arm]):
            pulls, total = kin.base[PULLS], kin.base[TOTAL]
        pulls, total = pulls + counts * kin.pulls[arm], total + counts * kin.totals[arm]
        drawn = draw_mean(state.law, kin.counting, pulls, total)
        least, most = min(least, drawn), max(most, drawn)
        if not is_within(state.law, state.widths[c], mean, most - least):
            return 0
    return 1


@inner_kernel
def is_within(law: Law, width: float, mean: float, apart: float) -> bool:
    """Return whether means at distance ``apart`` are within the width."""
    return apart <= width + _TOLERANCE * math.sqrt(variance(law, mean))


@kernel
def _weigh_ways(state: Any, c: int, any_precision: float) -> None:
    """Compute the weights of the three explanations of a cluster, for each possible common precision."""
    kin, limited = state.kinship, state.widths[c] < math.inf
    top = max(any_precision, kin.unrelated[c], kin.alike[c, WIDTH])
    for v in range(PRECISIONS):
        top = max(top, kin.alike[c, v])
    by_width = _OF_WIDTH * math.exp(kin.alike[c, WIDTH] - top)
    apart = min(_UNRELATED, _UNRELATED_OF_MANY / (state.start[c + 1] - state.start[c]))
    unrelated = apart * math.exp(kin.unrelated[c] - top)
    fits = kin.within[c] / kin.within_before[c]
    for v in range(PRECISIONS):
        shared = _SHARED * math.exp(kin.alike[c, v] - top)
        alike = shared + (1.0 - _SHARED) * math.exp(any_precision - top)
        kept = by_width + (1.0 - _OF_WIDTH) * alike
        within = (1.0 - apart) * _WITHIN * fits * kept if limited else 0.0
        free = (1.0 - apart) * (1.0 - _WITHIN if limited else 1.0) * alike
        total = unrelated + within + free
        ways = kin.ways[c, v]
        ways[UNRELATED_BELOW], ways[WITHIN_BELOW] = unrelated / total, (unrelated + within) / total
        ways[IN_COMMON] = shared / alike if alike > 0.0 else 1.0
        ways[BY_WIDTH] = by_width / kept if kept > 0.0 else 1.0
        kin.votes[c, v] = math.log(total)


@kernel
def _count_votes(kin: Kinship) -> None:
    """Write the cumulative probabilities of the common precision."""
    top, total = NEVER, 0.0
    for v in range(PRECISIONS):
        votes = 0.0
        for c in range(kin.observed.size):
            votes += kin.votes[c, v]
        kin.common[v] = votes
        top = max(top, votes)
    for v in range(PRECISIONS):
        total += prior_of(kin, v) * math.exp(kin.common[v] - top)
        kin.common[v] = total
    for v in range(PRECISIONS):
        kin.common[v] /= total
