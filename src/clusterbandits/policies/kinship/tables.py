"""The tables that ``Kindred`` learns, and constants that the modules of this package share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.families.stream import Stream
    from clusterbandits.policies.arms import Floats

#: The number of precisions on the grid; one more column is that of the width.
PRECISIONS = 11
WIDTH = PRECISIONS
COLUMNS = PRECISIONS + 1
#: The number of cluster means per column of the grid.
POINTS = 16
#: Indices into ``Kinship.base``.
PULLS, TOTAL, NORM, CENTRE, SPREAD = range(5)
#: Indices into ``Kinship.ways``: the probability of being unrelated; of being unrelated or within the width;
#: of the common precision if arms are similar; and of the width's precision if they are within the width.
UNRELATED_BELOW, WITHIN_BELOW, IN_COMMON, BY_WIDTH = range(4)
NEVER = -math.inf


class Kinship(NamedTuple):
    """The learned tables, indexed by cluster [c] and column of the grid [v]."""

    #: The prior of a mean: the equivalent number of pulls, their total, the log of the integral of its
    #: density on the scale, its mean on the scale, and the spread of the empirical means, both rounded.
    base: Floats
    #: [arm]: the rewards learned from.
    pulls: Floats
    totals: Floats
    #: [c]: the pulls so far, and the pulls at which the cluster is due to be learned again.
    observed: Floats
    due: Floats
    #: The number of times that any table was computed.
    lessons: Floats
    #: [arm]: the log-likelihood of its rewards if its mean is independent of the cluster.
    alone: Floats
    #: [v, point, arm]: the probability that an arm is an exception in its cluster.
    exceptions: Floats
    #: [c]: the log-likelihood that arms are unrelated.
    unrelated: Floats
    #: [c, v]: the log-likelihood that arms are similar, and the first mean of the grid and its steps.
    alike: Floats
    first: Floats
    step: Floats
    #: [c, v, point]: the cumulative probabilities of the means.
    means: Floats
    #: [c, v]: the cumulative probabilities of the cluster's own precisions.
    own: Floats
    #: [c]: the share of draws within the width, given the rewards and a priori.
    within: Floats
    within_before: Floats
    #: [c, v, way]: the probabilities of the explanations, for each common precision.
    ways: Floats
    #: [c, v]: the log-likelihood of the cluster for each common precision, and [v] of all clusters together.
    votes: Floats
    common: Floats
    #: [v]: the precisions, and their cumulative prior probabilities.
    precisions: Floats
    favoured: Floats
    #: The random stream for estimating shares; it is seeded again each time.
    counting: Stream


def fresh_kinship(sizes: Sequence[int]) -> Kinship:
    """Return the tables before the first reward; ``learn_all`` completes them."""
    clusters, arms = len(sizes), sum(sizes)
    return Kinship(
        base=np.zeros(5),
        pulls=np.zeros(arms),
        totals=np.zeros(arms),
        observed=np.zeros(clusters),
        due=np.zeros(clusters),
        lessons=np.zeros(1),
        alone=np.zeros(arms),
        exceptions=np.zeros((COLUMNS, POINTS, arms)),
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
