"""What is known of a mean, for families whose file defines ``draw_mean`` and ``log_evidence``.

Knowledge is conjugate: it is worth so many pulls with that total, what was known beforehand included, and
its mean is total / pulls. Rewards add to both numbers. The flat prior is worth ``flat_pulls`` / weight pulls
with a total of ``flat_total``, or for bounded rewards one of either end; where the likelihood of one pull
cannot be normalised, it is only nearly flat.
As a function of the mean u such a density is exp(−t d(mode, u)), up to a factor, where with a flat prior t
is the number of pulls, and prior_weight / weight more with reward 0.
"""

import math
from typing import NamedTuple

from clusterbandits.compiled import inner_kernel, separate_kernel
from clusterbandits.families.law import Law, divergence, of_family
from clusterbandits.families.stream import Stream


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
def draw_mean(law: Law, stream: Stream, pulls: float, total: float) -> float:
    """Draw a mean from knowledge worth so many pulls with that total."""
    return float(of_family("draw_mean", law, stream, pulls, total))


@inner_kernel
def flat_total(law: Law) -> float:
    """Return the total of the pulls that the flat prior is worth."""
    return law.lowest + law.highest if law.highest < math.inf else law.flat_total


def flat_prior(law: Law) -> tuple[float, float]:
    """Return the pulls that the flat prior is worth, and their total."""
    return law.flat_pulls / law.weight, flat_total(law)


@inner_kernel
def draw_flat(law: Law, stream: Stream, pulls: float, total: float) -> float:
    """Draw a mean after so many pulls with that total; beforehand nothing was known."""
    return draw_mean(law, stream, pulls + law.flat_pulls / law.weight, total + flat_total(law))


@separate_kernel
def log_evidence(law: Law, pulls: float, total: float, known: float, known_total: float) -> float:
    """Return the log-likelihood of pulls with that total, given knowledge worth so many others.

    Terms that do not depend on what was known are left out.
    """
    return float(of_family("log_evidence", law, pulls, total, known, known_total))
