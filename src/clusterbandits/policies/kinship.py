r"""How alike the arms of a cluster are: what ``Kindred`` learns from their rewards, from time to time.

A cluster is explained in one of three ways, which are weighed by how likely they make its rewards.

*Alike*. On the scale of ``families.link`` the means of the arms lie around a cluster mean m with a precision
of κ, which is knowledge worth ν(m, κ) pulls of reward m each. κ has a grid of powers of 2. For each κ there
is a grid of means around those that the rewards suggest. Where means have no upper end they may be far
apart, so the grid of κ begins at the spread of the means that were observed. The weight of a point is

.. math:: h(m) \prod_j Z(t_j + \nu, s_j + \nu m) / Z(\nu, \nu m)

with h the prior of cluster means and Z the integral of the family's conjugate densities. Clusters tell each
other about κ: with a probability of ``SHARED`` the κ of a cluster is one that all clusters have in common.

*Within the width*. The same, restricted to means at most a width apart. By Bayes' rule that multiplies the
likelihood by P(within | rewards) / P(within), both counted in draws. One more column of the grid has the
precision at which means mostly keep within the width.

*Unrelated*. Every arm stands for itself, with the prior alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel, separate_kernel
from clusterbandits.families.law import divergence, variance
from clusterbandits.families.link import link, link_slope, mean_at, pulls_worth
from clusterbandits.families.posterior import draw_mean, log_evidence
from clusterbandits.families.stream import Stream, restart, uniform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.families.law import Law
    from clusterbandits.policies.arms import Floats

#: Precisions on the grid, from the least to the largest; the column behind them is the width's.
PRECISIONS, _LEAST_PRECISION, _LARGEST_PRECISION = 11, 0.5, 512.0
WIDTH = PRECISIONS
COLUMNS = PRECISIONS + 1
#: Means on the grid, on both sides so many standard deviations far, and how often it is moved at most.
POINTS, _REACH, _MOVES, _WIDEST = 16, 4.0, 3, 2.5
#: Prior probabilities: that arms are unrelated; else that they keep within a declared width, there with the
#: precision of the width; and that a cluster has the precision that all have in common.
UNRELATED, WITHIN, OF_WIDTH, SHARED = 0.2, 0.97, 0.5, 0.8
#: A precision of κ has a prior probability proportional to κ to this power.
_FAVOUR = -0.25
#: The precision of the prior of means, where none is given and means are not observed to be further apart.
_BASE_PRECISION = 0.5
#: The standard deviation of the width's column, as a share of what makes the range of normal draws the width.
_NARROWER = 0.6
_LEAST_WORTH, _MOST_WORTH = 0.2, 1e7
#: Observed means further apart on the scale count as so far apart; the second is for logs, whose priors would
#: otherwise have no integral to speak of.
_LARGEST_SPREAD, _LARGEST_LOG_SPREAD = 2.0**60, 4.0
#: Draws that tell how often means keep within a width, given the rewards and beforehand.
_DRAWS, _DRAWS_BEFORE = 32, 4000
_LEAST_SHARE = 1e-4
_SEEDS = 1_000_003
#: Means within a width may be wider by this share of a reward's standard deviation.
_TOLERANCE = 2e-3
#: A cluster is learned anew when its pulls have grown by this share.
_GROWTH = 0.03
#: The steps of the grid that the prior of means is normalised on, and how far it reaches (in standard
#: deviations of a prior whose deviation is below 1).
_STEPS, _FAR = 600, 60.0
#: Places in ``Kinship.base``.
PULLS, TOTAL, NORM, CENTRE, SPREAD = range(5)
#: Places in ``Kinship.ways``: the probability of being unrelated, or that or within the width; of the common
#: precision where arms are alike; and of the width's precision where they are within the width.
UNRELATED_BELOW, WITHIN_BELOW, IN_COMMON, BY_WIDTH = range(4)
_NEVER = -math.inf


class Kinship(NamedTuple):
    """What was learned: [c] of clusters, [v] of columns of the grid."""

    #: What is known of every mean beforehand: the pulls it is worth, their total, the log of the integral of
    #: its density on the scale, its mean on the scale, and the spread of observed means, both rounded.
    base: Floats
    #: [arm]: the rewards that were learned from.
    pulls: Floats
    totals: Floats
    #: [c]: the pulls so far, and those at which the cluster is learned anew.
    told: Floats
    due: Floats
    #: [c]: the log-likelihood of unrelated arms.
    unrelated: Floats
    #: [c, v]: the log-likelihood of arms that are alike, and where its grid of means begins, and its steps.
    alike: Floats
    first: Floats
    step: Floats
    #: [c, v, point]: the probabilities of the means, added up.
    means: Floats
    #: [c, v]: the probabilities of precisions of the cluster's own, added up.
    own: Floats
    #: [c]: how often means keep within the width, given the rewards and beforehand.
    within: Floats
    within_before: Floats
    #: [c, v, way]: the probabilities of the ways, for every precision in common.
    ways: Floats
    #: [c, v]: the log of the cluster's likelihood for every precision in common, and [v] what all say of it.
    votes: Floats
    common: Floats
    #: [v]: the precisions, and their prior probabilities, added up.
    precisions: Floats
    favoured: Floats
    #: The stream from which shares are counted: it starts anew every time.
    counting: Stream


def fresh_kinship(sizes: Sequence[int]) -> Kinship:
    """Return what is known before the first reward; ``learn_all`` completes it."""
    clusters, arms = len(sizes), sum(sizes)
    return Kinship(
        base=np.zeros(5),
        pulls=np.zeros(arms),
        totals=np.zeros(arms),
        told=np.zeros(clusters),
        due=np.zeros(clusters),
        unrelated=np.zeros(clusters),
        alike=np.zeros((clusters, COLUMNS)),
        first=np.zeros((clusters, COLUMNS)),
        step=np.zeros((clusters, COLUMNS)),
        means=np.zeros((clusters, COLUMNS, POINTS)),
        own=np.zeros((clusters, PRECISIONS)),
        within=np.ones(clusters),
        within_before=np.ones(clusters),
        ways=np.zeros((clusters, PRECISIONS, 4)),
        votes=np.zeros((clusters, PRECISIONS)),
        common=np.zeros(PRECISIONS),
        precisions=np.zeros(PRECISIONS),
        favoured=np.zeros(PRECISIONS),
        counting=np.zeros(4, dtype=np.uint64),
    )


@inner_kernel
def _prior_of(kin: Kinship, v: int) -> float:
    """Return the prior probability of a precision, up to a factor."""
    return float(kin.precisions[v] ** _FAVOUR)


@kernel
def worth(state: Any, c: int, v: int, mean: float) -> float:
    """Return how many pulls of the cluster mean an arm is known by beforehand, in a column of the grid."""
    if v < WIDTH:
        return pulls_worth(state.law, mean, state.kinship.precisions[v])
    arms = max(state.start[c + 1] - state.start[c], 2)
    deviation = _NARROWER * state.widths[c] / (2.0 * math.sqrt(2.0 * math.log(arms)))
    squared, spread = deviation * deviation, variance(state.law, mean)
    return _MOST_WORTH if spread >= _MOST_WORTH * squared else max(spread / squared, _LEAST_WORTH)


@inner_kernel
def is_within(law: Law, width: float, mean: float, apart: float) -> bool:
    """Tell whether means that are so far apart keep within the width."""
    return apart <= width + _TOLERANCE * math.sqrt(variance(law, mean))


@kernel
def draw_cell(stream: Stream, sums: Floats) -> int:
    """Draw a place by probabilities that are added up."""
    share, place = uniform(stream), 0
    while place < sums.size - 1 and sums[place] <= share:
        place += 1
    return place


@kernel
def draw_cluster_mean(state: Any, stream: Stream, c: int, v: int) -> float:
    """Draw a cluster mean from a column of its grid, anywhere in the cell of its point."""
    kin = state.kinship
    point = draw_cell(stream, kin.means[c, v])
    return mean_at(state.law, kin.first[c, v] + (point + uniform(stream)) * kin.step[c, v])


@kernel
def learn(state: Any, arm: int) -> None:
    """Learn a cluster anew if its pulls have grown enough."""
    kin, c = state.kinship, state.cluster[arm]
    if kin.told[c] < kin.due[c]:
        return
    for place in range(state.start[c], state.start[c + 1]):
        one = state.order[place]
        kin.pulls[one], kin.totals[one] = state.pulls[one], state.totals[one]
    if _rebase(state):
        learn_all(state)
    else:
        learn_cluster(state, c)
        _count_votes(kin)


@separate_kernel
def learn_all(state: Any) -> None:
    """Learn all clusters anew from the rewards that were learned from last."""
    kin = state.kinship
    _rebase(state)
    for c in range(kin.told.size):
        learn_cluster(state, c)
    _count_votes(kin)


@kernel
def _rebase(state: Any) -> bool:
    """Set the precisions, and the prior of means where none is given; tell whether they have changed.

    Between two ends the prior is around the middle, else around the mean of all rewards and as wide as the
    observed means, both rounded on the scale so that they seldom change.
    """
    kin, law = state.kinship, state.law
    spread = _spread(law, kin.pulls, kin.totals)
    if state.known > 0.0:
        mean, pulls = state.known_total / state.known, state.known
        place = link(law, mean)
    else:
        place = _middle(law, kin.pulls, kin.totals, spread)
        mean = mean_at(law, place)
        pulls = pulls_worth(law, mean, _BASE_PRECISION / (spread * spread))
    if kin.base[PULLS] > 0.0 and kin.base[CENTRE] == place and kin.base[SPREAD] == spread:
        return False
    kin.base[PULLS], kin.base[TOTAL], kin.base[CENTRE], kin.base[NORM] = pulls, pulls * mean, place, 0.0
    kin.base[SPREAD] = spread
    _lay_precisions(kin)
    far = _FAR * min(spread, 1.0 / math.sqrt(_prior_precision(law, kin.base)))
    mass, step = 0.0, 2.0 * far / _STEPS
    for i in range(_STEPS):
        mass += step * math.exp(_log_prior(law, kin.base, mean_at(law, place - far + (i + 0.5) * step)))
    kin.base[NORM] = math.log(mass)
    for c in range(kin.told.size):
        if state.widths[c] < math.inf:
            kin.within_before[c] = _share_within_before(state, c)
    return True


@kernel
def _lay_precisions(kin: Kinship) -> None:
    """Lay the grid of precisions, which is geometric."""
    least, total = _LEAST_PRECISION / (kin.base[SPREAD] * kin.base[SPREAD]), 0.0
    step = 2.0 ** (math.log2(_LARGEST_PRECISION / least) / (PRECISIONS - 1))
    for v in range(PRECISIONS):
        kin.precisions[v] = least * step**v
        total += _prior_of(kin, v)
        kin.favoured[v] = total
    for v in range(PRECISIONS):
        kin.favoured[v] /= total


@kernel
def _spread(law: Law, pulls: Floats, totals: Floats) -> float:
    """Return the standard deviation of the means of arms on the scale, a power of 2 from 1 on.

    It is 1 where means have two ends. The noise of observed means is subtracted.
    """
    if law.highest < math.inf:
        return 1.0
    arms, sums, squares, noise = 0, 0.0, 0.0, 0.0
    for arm in range(pulls.size):
        if pulls[arm] > 0.0 and totals[arm] > law.lowest * pulls[arm]:
            mean = totals[arm] / pulls[arm]
            place = link(law, mean)
            arms += 1
            # The sum of squares about the mean so far, as Welford adds it up.
            apart = place - sums / max(arms - 1, 1)
            squares += apart * apart * (arms - 1) / arms
            sums += place
            noise += pulls_worth(law, mean, 1.0) / pulls[arm]
    if arms < 2:
        return 1.0
    most = _LARGEST_SPREAD if law.lowest == -math.inf else _LARGEST_LOG_SPREAD
    squared = min(squares / (arms - 1) - noise / arms, most * most)
    return 2.0 ** math.floor(0.5 * math.log2(squared) + 0.5) if squared > 1.0 else 1.0


@inner_kernel
def _prior_precision(law: Law, base: Floats) -> float:
    """Return the precision of the prior of means, on the scale."""
    return float(base[PULLS] / pulls_worth(law, base[TOTAL] / base[PULLS], 1.0))


@kernel
def _middle(law: Law, pulls: Floats, totals: Floats, spread: float) -> float:
    """Return where the prior of means has its mean on the scale."""
    if law.highest < math.inf:
        return 0.0
    many, total = 0.0, 0.0
    for arm in range(pulls.size):
        many += pulls[arm]
        total += totals[arm]
    mean = total / many if many > 0.0 else 1.0
    if law.lowest > -math.inf and mean <= law.lowest:
        mean = law.lowest + 0.5 / many
    step = 0.5 * spread
    return math.floor(link(law, mean) / step + 0.5) * step


@kernel
def _log_prior(law: Law, base: Floats, mean: float) -> float:
    """Return the log of the prior density of a cluster mean, on the scale."""
    prior_mean = base[TOTAL] / base[PULLS]
    likely = -base[PULLS] * divergence(law, prior_mean, mean, mean - prior_mean)
    return float(likely - math.log(variance(law, mean) * link_slope(law, mean)) - base[NORM])


@separate_kernel
def learn_cluster(state: Any, c: int) -> None:
    """Learn a cluster anew from the rewards that were learned from last."""
    kin, law = state.kinship, state.law
    pulls, unrelated = 0.0, 0.0
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        pulls += kin.pulls[arm]
        if kin.pulls[arm] > 0.0:
            unrelated += log_evidence(law, kin.pulls[arm], kin.totals[arm], kin.base[PULLS], kin.base[TOTAL])
    kin.unrelated[c] = unrelated
    kin.due[c] = pulls + max(1.0, math.floor(_GROWTH * pulls))
    for v in range(COLUMNS):
        if v < WIDTH or state.widths[c] < math.inf:
            _weigh_means(state, c, v)
        else:
            kin.alike[c, v] = _NEVER
    any_precision = _weigh_precisions(kin, c)
    if state.widths[c] < math.inf:
        kin.within[c] = _share_within(state, c, any_precision) if pulls > 0.0 else kin.within_before[c]
    _weigh_ways(state, c, any_precision)


@kernel
def _window(state: Any, c: int, v: int) -> tuple[float, float]:
    """Return the likely cluster mean on the scale, and its standard deviation."""
    kin, law = state.kinship, state.law
    weights, sums, given = 0.0, 0.0, 0.0
    if state.known > 0.0:
        given = _prior_precision(law, kin.base)
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        if kin.pulls[arm] > 0.0:
            pulls = kin.pulls[arm] + 0.5 * kin.base[PULLS]
            mean = (kin.totals[arm] + 0.5 * kin.base[TOTAL]) / pulls
            known = worth(state, c, v, mean)
            weight = 1.0 / (pulls_worth(law, mean, 1.0) * (1.0 / known + 1.0 / pulls))
            weights += weight
            sums += weight * link(law, mean)
    widest, least = _WIDEST * kin.base[SPREAD], _BASE_PRECISION / (kin.base[SPREAD] * kin.base[SPREAD])
    if weights == 0.0:
        return kin.base[CENTRE], widest * min(1.0, math.sqrt(least / max(given, least)))
    weights, sums = weights + given, sums + given * kin.base[CENTRE]
    return sums / weights, min(1.0 / math.sqrt(weights), widest)


@kernel
def _weigh_means(state: Any, c: int, v: int) -> None:
    """Lay a column's grid of cluster means where they are likely, and weigh them."""
    kin = state.kinship
    centre, deviation = _window(state, c, v)
    sums, step = kin.means[c, v], 2.0 * _REACH * deviation / POINTS
    top = 0.0
    for moves in range(_MOVES + 1):
        first, top, best = centre - _REACH * deviation, _NEVER, 0
        for point in range(POINTS):
            sums[point] = _log_weight(state, c, v, mean_at(state.law, first + (point + 0.5) * step))
            if sums[point] > top:
                top, best = sums[point], point
        kin.first[c, v] = first
        if 0 < best < POINTS - 1 or moves == _MOVES:
            break
        centre = first + (best + 0.5) * step
    total = 0.0
    for point in range(POINTS):
        total += math.exp(sums[point] - top)
        sums[point] = total
    for point in range(POINTS):
        sums[point] /= total
    kin.step[c, v], kin.alike[c, v] = step, top + math.log(total * step)


@kernel
def _log_weight(state: Any, c: int, v: int, mean: float) -> float:
    """Return the log of the weight of a point of the grid."""
    kin, law = state.kinship, state.law
    known = worth(state, c, v, mean)
    weight = _log_prior(law, kin.base, mean)
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        if kin.pulls[arm] > 0.0:
            weight += log_evidence(law, kin.pulls[arm], kin.totals[arm], known, known * mean)
    return weight


@kernel
def _weigh_precisions(kin: Kinship, c: int) -> float:
    """Add up the probabilities of a cluster's own precisions; return the log-likelihood of any of them."""
    top, total, prior = _NEVER, 0.0, 0.0
    for v in range(PRECISIONS):
        top = max(top, kin.alike[c, v])
    for v in range(PRECISIONS):
        prior += _prior_of(kin, v)
        total += _prior_of(kin, v) * math.exp(kin.alike[c, v] - top)
        kin.own[c, v] = total
    for v in range(PRECISIONS):
        kin.own[c, v] /= total
    return float(top + math.log(total / prior))


@kernel
def _share_within(state: Any, c: int, any_precision: float) -> float:
    """Return the share of draws, given the rewards, in which the arms keep within their width."""
    kin, stream = state.kinship, state.kinship.counting
    restart(stream, int(kin.due[c]) * _SEEDS + c)
    odds = math.exp(min(kin.alike[c, WIDTH] - any_precision, 700.0)) * OF_WIDTH / (1.0 - OF_WIDTH)
    by_width, kept = odds / (1.0 + odds), 0
    for _ in range(_DRAWS):
        v = WIDTH if uniform(stream) < by_width else draw_cell(stream, kin.own[c])
        mean = draw_cluster_mean(state, stream, c, v)
        kept += _keeps_within(state, c, mean, worth(state, c, v, mean), 1.0)
    return max(kept / _DRAWS, _LEAST_SHARE)


@kernel
def _share_within_before(state: Any, c: int) -> float:
    """Return the share of draws, before any reward, in which the arms keep within their width."""
    kin, law, stream = state.kinship, state.law, state.kinship.counting
    restart(stream, c)
    kept = 0
    for _ in range(_DRAWS_BEFORE):
        v = WIDTH if uniform(stream) < OF_WIDTH else draw_cell(stream, kin.favoured)
        drawn = draw_mean(law, stream, kin.base[PULLS], kin.base[TOTAL])
        mean = min(max(drawn, mean_at(law, -math.inf)), mean_at(law, math.inf))
        kept += _keeps_within(state, c, mean, worth(state, c, v, mean), 0.0)
    return max(kept, 1) / _DRAWS_BEFORE


@kernel
def _keeps_within(state: Any, c: int, mean: float, known: float, rewards: float) -> int:
    """Draw the arms of a cluster given its mean; return 1 if they keep within the width, else 0.

    ``rewards`` is 1 if their rewards count, else 0.
    """
    kin, least, most = state.kinship, math.inf, -math.inf
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        pulls, total = known + rewards * kin.pulls[arm], known * mean + rewards * kin.totals[arm]
        drawn = draw_mean(state.law, kin.counting, pulls, total)
        least, most = min(least, drawn), max(most, drawn)
        if not is_within(state.law, state.widths[c], mean, most - least):
            return 0
    return 1


@kernel
def _weigh_ways(state: Any, c: int, any_precision: float) -> None:
    """Weigh the three ways to explain a cluster, for every precision that clusters may have in common."""
    kin, limited = state.kinship, state.widths[c] < math.inf
    top = max(any_precision, kin.unrelated[c], kin.alike[c, WIDTH])
    for v in range(PRECISIONS):
        top = max(top, kin.alike[c, v])
    by_width = OF_WIDTH * math.exp(kin.alike[c, WIDTH] - top)
    unrelated = UNRELATED * math.exp(kin.unrelated[c] - top)
    fits = kin.within[c] / kin.within_before[c]
    for v in range(PRECISIONS):
        shared = SHARED * math.exp(kin.alike[c, v] - top)
        alike = shared + (1.0 - SHARED) * math.exp(any_precision - top)
        kept = by_width + (1.0 - OF_WIDTH) * alike
        within = (1.0 - UNRELATED) * WITHIN * fits * kept if limited else 0.0
        free = (1.0 - UNRELATED) * (1.0 - WITHIN if limited else 1.0) * alike
        total = unrelated + within + free
        ways = kin.ways[c, v]
        ways[UNRELATED_BELOW], ways[WITHIN_BELOW] = unrelated / total, (unrelated + within) / total
        ways[IN_COMMON] = shared / alike if alike > 0.0 else 1.0
        ways[BY_WIDTH] = by_width / kept if kept > 0.0 else 1.0
        kin.votes[c, v] = math.log(total)


@kernel
def _count_votes(kin: Kinship) -> None:
    """Add up the probabilities of the precision that clusters have in common."""
    top, total = _NEVER, 0.0
    for v in range(PRECISIONS):
        votes = 0.0
        for c in range(kin.told.size):
            votes += kin.votes[c, v]
        kin.common[v] = votes
        top = max(top, votes)
    for v in range(PRECISIONS):
        total += _prior_of(kin, v) * math.exp(kin.common[v] - top)
        kin.common[v] = total
    for v in range(PRECISIONS):
        kin.common[v] /= total
