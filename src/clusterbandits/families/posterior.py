r"""What rewards say about a mean, to a Bayesian who had no opinion.

Likelihoods of these families are exp(−t d(m, u)) in the mean u, up to a factor, for t pulls of mean m. With
a flat prior that is the posterior too: a Beta, a normal, a Gamma. Exponential rewards get the prior 1/u,
without which one pull would say too little to be normalised; that only adds 1/shape pulls of 0 to the data.
"""

import math
from typing import NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.law import BERNOULLI, EXPONENTIAL, GAUSSIAN, POISSON, Law, divergence


@inner_kernel
def strength(law: Law, pulls: float) -> float:
    """Return t such that the posterior after so many pulls is exp(−t d(mode, u)), up to a factor."""
    return pulls + law.prior_weight / law.weight


class Density(NamedTuple):
    """A posterior exp(−t d(mode, u)), up to a factor, with force t."""

    law: Law
    force: float
    mode: float


@inner_kernel
def log_density(of: Density, u: float) -> float:
    """Return −t d(mode, u), the log of the density over its largest."""
    return -of.force * divergence(of.law, of.mode, u, u - of.mode)


@inner_kernel
def draw_mean(law: Law, rng: np.random.Generator, pulls: float, total: float) -> float:
    """Draw a mean from the posterior."""
    if law.code == BERNOULLI:
        return float(rng.beta(total + 1.0, pulls - total + 1.0))
    if law.code == GAUSSIAN:
        return float(rng.normal(total / pulls, 1.0 / math.sqrt(law.weight * pulls)))
    if law.code == POISSON:
        return float(rng.gamma(total + 1.0, 1.0 / pulls))
    if law.code == EXPONENTIAL:
        return law.weight * total / max(float(rng.standard_gamma(law.weight * pulls)), 1e-300)
    return math.nan


@kernel
def log_likelihood(law: Law, pulls: float, total: float, known: float, mean: float) -> float:
    """Return the log of how likely pulls of that total are, from an arm known as if from so many of a mean.

    Up to what does not depend on what was known.
    """
    if law.code == GAUSSIAN:
        both = pulls + known
        apart = total / pulls - mean
        return 0.5 * math.log(known / both) - 0.5 * law.weight * pulls * known / both * apart * apart
    told = _log_integral(law, pulls + known, total + known * mean)
    return told - _log_integral(law, known, known * mean)


@kernel
def _log_integral(law: Law, pulls: float, total: float) -> float:
    """Return the log of ∫ exp(s θ(u) − t b(u)) du over all means u, for t pulls of total s."""
    if law.code == BERNOULLI:
        return math.lgamma(total + 1.0) + math.lgamma(pulls - total + 1.0) - math.lgamma(pulls + 2.0)
    if law.code == POISSON:
        return math.lgamma(total + 1.0) - (total + 1.0) * math.log(pulls)
    if law.code == EXPONENTIAL:
        shape = law.weight * pulls
        return math.lgamma(shape) - shape * math.log(law.weight * total)
    return math.nan
