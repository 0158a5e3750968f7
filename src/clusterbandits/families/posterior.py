"""Posteriors of means, for families whose file defines ``draw_mean`` and ``log_evidence``.

Posteriors are conjugate: each is equivalent to a number of pulls and their total, the prior included, and its
mean is total / pulls. Rewards add to both numbers. The flat prior is equivalent to ``flat_pulls`` / weight
pulls with a total of ``flat_total``, or, for bounded rewards, to one reward at each end; if the likelihood of
one pull cannot be normalised, it is only nearly flat.
As a function of the mean u, the density is proportional to exp(−t d(mode, u)). With a flat prior, t is the
number of pulls plus prior_weight / weight pulls with reward 0.
"""

import math
from typing import NamedTuple

from clusterbandits.compiled import inner_kernel, separate_kernel
from clusterbandits.families.law import Law, divergence, of_family
from clusterbandits.families.stream import Stream


@inner_kernel
def strength(law: Law, pulls: float) -> float:
    """Return t such that the posterior after ``pulls`` pulls is proportional to exp(−t d(mode, u))."""
    return pulls + law.prior_weight / law.weight


class Density(NamedTuple):
    """A posterior density proportional to exp(−t d(mode, u)), with t in ``force``."""

    law: Law
    force: float
    mode: float


@inner_kernel
def log_density(of: Density, u: float) -> float:
    """Return −t d(mode, u), the log of the density relative to its maximum."""
    return -of.force * divergence(of.law, of.mode, u, u - of.mode)


@inner_kernel
def draw_mean(law: Law, stream: Stream, pulls: float, total: float) -> float:
    """Draw a mean from the posterior equivalent to ``pulls`` pulls of total ``total``."""
    return float(of_family("draw_mean", law, stream, pulls, total))


@inner_kernel
def flat_total(law: Law) -> float:
    """Return the total of the pulls that the flat prior is equivalent to."""
    return law.lowest + law.highest if law.highest < math.inf else law.flat_total


def flat_prior(law: Law) -> tuple[float, float]:
    """Return the number of pulls that the flat prior is equivalent to, and their total."""
    return law.flat_pulls / law.weight, flat_total(law)


@inner_kernel
def draw_flat(law: Law, stream: Stream, pulls: float, total: float) -> float:
    """Draw a mean from the posterior after ``pulls`` pulls of total ``total``, given a flat prior."""
    return draw_mean(law, stream, pulls + law.flat_pulls / law.weight, total + flat_total(law))


@separate_kernel
def log_evidence(law: Law, pulls: float, total: float, known: float, known_total: float) -> float:
    """Return the log-likelihood of pulls and their total, given a prior equivalent to ``known`` pulls.

    Terms that do not depend on the prior are omitted.
    """
    return float(of_family("log_evidence", law, pulls, total, known, known_total))
