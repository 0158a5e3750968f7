"""The priors of means and precisions, which adapt to the scale of rewards if means have no upper limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.law import divergence, variance
from clusterbandits.families.link import link, link_slope, mean_at, pulls_worth
from clusterbandits.policies.kinship.tables import CENTRE, NORM, PRECISIONS, PULLS, SPREAD, TOTAL, Kinship

if TYPE_CHECKING:
    from clusterbandits.families.law import Law
    from clusterbandits.policies.arms import Floats

#: The precision of the prior of means, if none is given, unless empirical means are further apart.
BASE_PRECISION = 0.5
#: The smallest and the largest precision on the grid, unless empirical means are further apart.
_LEAST_PRECISION, _LARGEST_PRECISION = 0.5, 512.0
#: The prior probability of precision κ is proportional to κ to this power.
_FAVOUR = -0.25
#: The largest spread of empirical means on the scale; the second value is for the log scale, on which a wider
#: prior could not be normalised in practice.
_LARGEST_SPREAD, _LARGEST_LOG_SPREAD = 2.0**60, 4.0
#: The number of steps of the grid on which the prior of means is normalised, and its extent (in standard
#: deviations of a prior whose deviation is below 1).
_STEPS, _FAR = 600, 60.0


@kernel
def rebase(state: Any) -> bool:
    """Set the precisions, and the prior of means if none is given; return whether they have changed.

    If means have a lower and an upper limit, the prior is centred between them. Otherwise it is centred at
    the mean of all rewards and as wide as the spread of the empirical means, both rounded so that they seldom
    change.
    """
    kin, law = state.kinship, state.law
    spread = _spread(law, kin.pulls, kin.totals)
    if state.known > 0.0:
        mean, pulls = state.known_total / state.known, state.known
        place = link(law, mean)
    else:
        place = _middle(law, kin.pulls, kin.totals, spread)
        mean = mean_at(law, place)
        pulls = pulls_worth(law, mean, BASE_PRECISION / (spread * spread))
    if kin.base[PULLS] > 0.0 and kin.base[CENTRE] == place and kin.base[SPREAD] == spread:
        return False
    kin.base[PULLS], kin.base[TOTAL], kin.base[CENTRE], kin.base[NORM] = pulls, pulls * mean, place, 0.0
    kin.base[SPREAD] = spread
    _lay_precisions(kin)
    far = _FAR * min(spread, 1.0 / math.sqrt(prior_precision(law, kin.base)))
    mass, step = 0.0, 2.0 * far / _STEPS
    for i in range(_STEPS):
        mass += step * math.exp(log_prior(law, kin.base, mean_at(law, place - far + (i + 0.5) * step)))
    kin.base[NORM] = math.log(mass)
    return True


@inner_kernel
def prior_of(kin: Kinship, v: int) -> float:
    """Return the prior probability of a precision, up to a factor."""
    return float(kin.precisions[v] ** _FAVOUR)


@kernel
def _lay_precisions(kin: Kinship) -> None:
    """Set the geometric grid of precisions."""
    least, total = _LEAST_PRECISION / (kin.base[SPREAD] * kin.base[SPREAD]), 0.0
    step = 2.0 ** (math.log2(_LARGEST_PRECISION / least) / (PRECISIONS - 1))
    for v in range(PRECISIONS):
        kin.precisions[v] = least * step**v
        total += prior_of(kin, v)
        kin.favoured[v] = total
    for v in range(PRECISIONS):
        kin.favoured[v] /= total


@kernel
def _spread(law: Law, pulls: Floats, totals: Floats) -> float:
    """Return the standard deviation of the means on the scale, rounded to a power of 2, at least 1.

    It is 1 if means have a lower and an upper limit. The noise of the empirical means is subtracted.
    """
    if law.highest < math.inf:
        return 1.0
    arms, sums, squares, noise = 0, 0.0, 0.0, 0.0
    for arm in range(pulls.size):
        if pulls[arm] > 0.0 and totals[arm] > law.lowest * pulls[arm]:
            mean = totals[arm] / pulls[arm]
            place = link(law, mean)
            arms += 1
            # Welford's algorithm for the sum of squared deviations.
            apart = place - sums / max(arms - 1, 1)
            squares += apart * apart * (arms - 1) / arms
            sums += place
            noise += pulls_worth(law, mean, 1.0) / pulls[arm]
    if arms < 2:
        return 1.0
    most = _LARGEST_SPREAD if law.lowest == -math.inf else _LARGEST_LOG_SPREAD
    squared = min(squares / (arms - 1) - noise / arms, most * most)
    return 2.0 ** math.floor(0.5 * math.log2(squared) + 0.5) if squared > 1.0 else 1.0


@kernel
def _middle(law: Law, pulls: Floats, totals: Floats, spread: float) -> float:
    """Return the centre of the prior of means on the scale."""
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


@inner_kernel
def prior_precision(law: Law, base: Floats) -> float:
    """Return the precision of the prior of means, on the scale."""
    return float(base[PULLS] / pulls_worth(law, base[TOTAL] / base[PULLS], 1.0))


@kernel
def log_prior(law: Law, base: Floats, mean: float) -> float:
    """Return the log of the prior density of a cluster mean, on the scale."""
    prior_mean = base[TOTAL] / base[PULLS]
    likely = -base[PULLS] * divergence(law, prior_mean, mean, mean - prior_mean)
    return float(likely - math.log(variance(law, mean) * link_slope(law, mean)) - base[NORM])
