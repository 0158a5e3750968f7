"""Explain an index: the bounds of the arm itself, and the arms of its cluster that keep the index low."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.families.law import lower, upper
from clusterbandits.policies.clus_ucb import index, others_shares
from clusterbandits.policies.explanation import ArmView, Explanation
from clusterbandits.policies.index.race import follow_leader, leading_width
from clusterbandits.policies.kl_ucb import threshold

if TYPE_CHECKING:
    from clusterbandits.clusters import Clusters
    from clusterbandits.partition import Label
    from clusterbandits.policies.index.state import IndexState


def explain(state: IndexState, clusters: Clusters, n: int) -> Explanation:
    """Return the index of each arm in round n and the evidence behind it."""
    level = threshold(n, state.a)
    if not state.memory["unpulled"][0]:
        follow_leader(state)
    arms = tuple(_view(state, clusters, number, level) for number in range(len(clusters.arms)))
    return Explanation(n, level, arms)


def _view(state: IndexState, clusters: Clusters, number: int, level: float) -> ArmView:
    label, cluster = clusters.arms[number], clusters.partition.cluster_names[number]
    pulls = int(state.pulls[number])
    if not pulls:
        return ArmView(label, cluster, 0, index=math.inf)
    mean = float(state.totals[number]) / pulls
    low, high = lower(state.law, mean, level / pulls), upper(state.law, mean, level / pulls)
    if state.memory["unpulled"][0]:
        return ArmView(label, cluster, pulls, mean, low, high)
    value = float(index(state, number, level, leading_width(state, number)))
    others_shares(state, number, value, leading_width(state, number), level)
    shares = state.indices.tolist()
    order = sorted(range(len(shares)), key=lambda k: -shares[k])
    opponents: dict[Label, float] = {clusters.arms[k]: shares[k] for k in order if shares[k] > 0}
    return ArmView(label, cluster, pulls, mean, low, high, value, opponents)
