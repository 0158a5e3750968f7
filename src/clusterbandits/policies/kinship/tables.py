"""The tables that ``Kindred`` learns, and what the modules of this package agree on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.families.stream import Stream
    from clusterbandits.policies.arms import Floats

#: How many precisions the grid has; the column behind them is the width's.
PRECISIONS = 11
WIDTH = PRECISIONS
COLUMNS = PRECISIONS + 1
#: How many cluster means a column of the grid has.
POINTS = 16
#: Places in ``Kinship.base``.
PULLS, TOTAL, NORM, CENTRE, SPREAD = range(5)
#: Places in ``Kinship.ways``: the probability of being unrelated, or that or within the width; of the common
#: precision where arms are alike; and of the width's precision where they are within the width.
UNRELATED_BELOW, WITHIN_BELOW, IN_COMMON, BY_WIDTH = range(4)
NEVER = -math.inf


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
    #: How often any of it was learned.
    lessons: Floats
    #: [arm]: the log-likelihood of its rewards if it stands for itself.
    alone: Floats
    #: [v, point, arm]: the probability that an arm is an exception from its cluster.
    exceptions: Floats
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
