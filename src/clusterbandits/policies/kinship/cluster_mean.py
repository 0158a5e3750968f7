"""The grid of cluster means, and the probabilities that arms are exceptions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from clusterbandits.compiled import inner_kernel, kernel, separate_kernel
from clusterbandits.families.law import variance
from clusterbandits.families.link import link, mean_at, pulls_worth
from clusterbandits.families.posterior import log_evidence
from clusterbandits.families.stream import Stream, uniform
from clusterbandits.policies.kinship.prior import BASE_PRECISION, log_prior, prior_precision
from clusterbandits.policies.kinship.tables import CENTRE, COLUMNS, NEVER, POINTS, PULLS, SPREAD, TOTAL, WIDTH

if TYPE_CHECKING:
    from clusterbandits.policies.arms import Floats

#: The expected number of exceptions in a cluster: if means have a lower and an upper limit, and otherwise, as
#: the mean of an exception may then be arbitrarily large.
_EXCEPTIONS, _EXCEPTIONS_WITHOUT_END = 0.12, 0.3
#: The grid: its extent in standard deviations on both sides, and the largest number of moves.
_REACH, _MOVES, _WIDEST = 4.0, 3, 2.5
#: The number of passes that compute the centre of the grid, and the distance, in standard deviations, at
#: which an arm counts half.
_PASSES, _OFF = 5, 3.0
#: The standard deviation in the width's column, relative to that at which the range of normal draws is the
#: width.
_NARROWER = 0.6
_LEAST_WORTH, _MOST_WORTH = 0.2, 1e7


@kernel
def worth(state: Any, c: int, v: int, mean: float) -> float:
    """Return the number of pulls that the prior of an arm is equivalent to, in a column of the grid."""
    if v < WIDTH:
        return pulls_worth(state.law, mean, state.kinship.precisions[v])
    arms = max(state.start[c + 1] - state.start[c], 2)
    deviation = _NARROWER * state.widths[c] / (2.0 * math.sqrt(2.0 * math.log(arms)))
    squared, spread = deviation * deviation, variance(state.law, mean)
    return _MOST_WORTH if spread >= _MOST_WORTH * squared else max(spread / squared, _LEAST_WORTH)


@kernel
def weigh_means(state: Any, c: int, v: int) -> None:
    """Set a column's grid of cluster means where they are likely, and compute their weights."""
    kin = state.kinship
    centre, deviation = _window(state, c, v)
    sums, step = kin.means[c, v], 2.0 * _REACH * deviation / POINTS
    top = 0.0
    for moves in range(_MOVES + 1):
        first, top, best = centre - _REACH * deviation, NEVER, 0
        for point in range(POINTS):
            sums[point] = _log_weight(state, c, v, point, mean_at(state.law, first + (point + 0.5) * step))
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
def _window(state: Any, c: int, v: int) -> tuple[float, float]:
    """Return a robust estimate of the cluster mean on the scale, and its standard deviation."""
    kin = state.kinship
    given = prior_precision(state.law, kin.base) if state.known > 0.0 else 0.0
    centre, weights = _weighted_mean(state, c, v, 0.0, math.inf)
    for _ in range(_PASSES - 1):
        centre, weights = _weighted_mean(state, c, v, centre, _OFF)
    widest, least = _WIDEST * kin.base[SPREAD], BASE_PRECISION / (kin.base[SPREAD] * kin.base[SPREAD])
    if weights == 0.0:
        return kin.base[CENTRE], widest * min(1.0, math.sqrt(least / max(given, least)))
    centre, weights = (weights * centre + given * kin.base[CENTRE]) / (weights + given), weights + given
    return centre, min(1.0 / math.sqrt(weights), widest)


@kernel
def _weighted_mean(state: Any, c: int, v: int, around: float, off: float) -> tuple[float, float]:
    """Return the precision-weighted mean of the empirical means of a cluster on the scale, and its precision.

    An arm at ``off`` standard deviations from ``around`` counts half, and less beyond.
    """
    kin, law, weights, sums = state.kinship, state.law, 0.0, 0.0
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        if kin.pulls[arm] > 0.0:
            pulls = kin.pulls[arm] + 0.5 * kin.base[PULLS]
            mean = (kin.totals[arm] + 0.5 * kin.base[TOTAL]) / pulls
            at, known = link(law, mean), worth(state, c, v, mean)
            weight = 1.0 / (pulls_worth(law, mean, 1.0) * (1.0 / known + 1.0 / pulls))
            if off < math.inf:
                weight /= 1.0 + weight * (at - around) * (at - around) / (off * off)
            weights += weight
            sums += weight * at
    return (sums / weights if weights > 0.0 else around), weights


@kernel
def _log_weight(state: Any, c: int, v: int, point: int, mean: float) -> float:
    """Return the log weight of a grid point; store the probabilities that arms are exceptions there."""
    kin, law = state.kinship, state.law
    known, rate = worth(state, c, v, mean), exception_rate(state, c)
    weight = log_prior(law, kin.base, mean)
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        if kin.pulls[arm] > 0.0:
            alike = log_evidence(law, kin.pulls[arm], kin.totals[arm], known, known * mean)
            likely, kin.exceptions[v, point, arm] = _with_exception(rate, alike, kin.alone[arm])
            weight += likely
        else:
            kin.exceptions[v, point, arm] = rate
    return weight


@inner_kernel
def exception_rate(state: Any, c: int) -> float:
    """Return the prior probability that an arm of a cluster is an exception."""
    expected = _EXCEPTIONS if state.law.highest < math.inf else _EXCEPTIONS_WITHOUT_END
    return float(expected / max(state.start[c + 1] - state.start[c], 2))


@inner_kernel
def log_alone(state: Any, pulls: float, total: float) -> float:
    """Return the log-likelihood of an arm's rewards if its mean is independent of the cluster."""
    base = state.kinship.base
    return log_evidence(state.law, pulls, total, base[PULLS], base[TOTAL]) if pulls > 0.0 else 0.0


@inner_kernel
def _with_exception(rate: float, alike: float, alone: float) -> tuple[float, float]:
    """Return the log-likelihood of an arm's rewards, and the probability that it is an exception."""
    if alone > alike:
        likely = rate + (1.0 - rate) * math.exp(alike - alone)
        return alone + math.log(likely), rate / likely
    odds = rate * math.exp(alone - alike)
    likely = odds + 1.0 - rate
    return alike + math.log(likely), odds / likely


@separate_kernel
def weigh_exception(state: Any, arm: int) -> None:
    """Compute from all rewards of an arm the probabilities that it is an exception."""
    kin, law, c = state.kinship, state.law, state.cluster[arm]
    pulls, total, rate = float(state.pulls[arm]), state.totals[arm], exception_rate(state, c)
    alone = log_alone(state, pulls, total)
    for v in range(COLUMNS if state.widths[c] < math.inf else WIDTH):
        for point in range(POINTS):
            mean = mean_at(law, kin.first[c, v] + (point + 0.5) * kin.step[c, v])
            known = worth(state, c, v, mean)
            alike = log_evidence(law, pulls, total, known, known * mean)
            kin.exceptions[v, point, arm] = _with_exception(rate, alike, alone)[1]


@kernel
def draw_cell(stream: Stream, sums: Floats) -> int:
    """Draw an index, given cumulative probabilities."""
    share, place = uniform(stream), 0
    while place < sums.size - 1 and sums[place] <= share:
        place += 1
    return place


@kernel
def draw_cluster_mean(state: Any, stream: Stream, c: int, v: int) -> tuple[float, int]:
    """Draw a cluster mean from a column of the grid, uniformly in the cell of a point; return both."""
    kin = state.kinship
    point = draw_cell(stream, kin.means[c, v])
    return mean_at(state.law, kin.first[c, v] + (point + uniform(stream)) * kin.step[c, v]), point
