"""The contents of the picture of a history: estimates and intervals of all arms, safe widths of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.report.views import ArmsGroup
from clusterbandits.studies.group_advice import may_be_best

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterbandits.partition import Label
    from clusterbandits.studies.history import History

INTERVAL = 0.95
MOST_GROUPS = 40


def arms_groups(
    history: History, widths: Mapping[Label, float], confidence: float = INTERVAL
) -> tuple[ArmsGroup, ...]:
    """Return the numbers of the picture: the groups with the best arms first, and their best arms first.

    ``confidence`` is that of the widths, and of the set of arms that may be the best.
    """
    lows, highs = history.intervals(INTERVAL).T
    hopeful = may_be_best(history, confidence)
    groups = []
    for part, name in zip(history.partition.members, history.groups, strict=True):
        order = part[np.argsort(-np.nan_to_num(history.means[part], nan=history.family.low), kind="stable")]
        group = ArmsGroup(
            name=str(name),
            labels=tuple(str(history.arms[k]) for k in order),
            means=history.means[order],
            lows=lows[order],
            highs=highs[order],
            hopeful=hopeful[order],
            width=widths[name],
            limits=(history.family.low, history.family.high),
        )
        groups.append(group)
    groups.sort(key=lambda group: -float(np.nan_to_num(group.means[0], nan=history.family.low)))
    return tuple(groups[:MOST_GROUPS])
