"""The posterior of a mean, for families whose file defines ``draw_mean`` and ``log_likelihood``.

Likelihoods of these families are exp(−t d(m, u)) in the mean u, up to a factor, for t pulls of mean m. With
a flat prior that is the posterior too. Where the likelihood of one pull cannot be normalised, the prior is
not flat: it counts as prior_weight / weight more pulls with reward 0.
"""

from typing import NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.law import Law, divergence, of_family


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
    """Draw a mean from the posterior after so many pulls with that total."""
    return float(of_family("draw_mean", law, rng, pulls, total))


@kernel
def log_likelihood(law: Law, pulls: float, total: float, known: float, mean: float) -> float:
    """Return the log-likelihood of pulls with that total, from an arm known as if from so many of a mean.

    Terms that do not depend on what was known are left out.
    """
    return float(of_family("log_likelihood", law, pulls, total, known, mean))
