"""The picture of an advice: every arm with its interval, every group with its safe width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.report.arms_panel import ArmsGroup, arms_figure, arms_panel
from clusterbandits.report.picture import check_picture_file, save_figure
from clusterbandits.simulation.statistics import count_text
from clusterbandits.studies.advice.groups import may_be_best
from clusterbandits.studies.advice.spans import lower_bounds, upper_bounds

if TYPE_CHECKING:
    import os

    from clusterbandits.report.picture import Picture
    from clusterbandits.studies.advice.advice import Advice

#: Outside an interval of 95 %, on each side.
_TAIL = 0.025
_MOST_GROUPS = 40


def arms_picture(advice: Advice, name: str = "arms") -> Picture:
    """Return the picture for a page."""
    return arms_panel(drawn_groups(advice), name=name, title=_title(advice))


def save_arms_picture(advice: Advice, file: str | os.PathLike[str]) -> None:
    """Write the picture of an advice as PNG, SVG or PDF; the file is whole or not there.

    Parameters
    ----------
    advice
        What ``advise`` returned.
    file
        Where to; the suffix says the format.
    """
    path = check_picture_file(file, "file", "save_arms_picture")
    save_figure(arms_figure(drawn_groups(advice), _title(advice)), path)


def drawn_groups(advice: Advice) -> tuple[ArmsGroup, ...]:
    """Return the numbers of the picture: the groups with the best arms first, and their best arms first."""
    history = advice.history
    trials, successes = history.trials.astype(float), history.successes.astype(float)
    lows, highs = lower_bounds(trials, successes, _TAIL), upper_bounds(trials, successes, _TAIL)
    hopeful = may_be_best(history, advice.confidence)
    groups = []
    for part, one in zip(history.partition.members, advice.groups, strict=True):
        order = part[np.argsort(-np.nan_to_num(history.means[part]), kind="stable")]
        group = ArmsGroup(
            name=str(one.name),
            labels=tuple(str(history.arms[k]) for k in order),
            means=history.means[order],
            lows=lows[order],
            highs=highs[order],
            hopeful=hopeful[order],
            width=one.width,
        )
        groups.append(group)
    groups.sort(key=lambda group: -float(np.nan_to_num(group.means[0])))
    return tuple(groups[:_MOST_GROUPS])


def _title(advice: Advice) -> str:
    arms, groups = len(advice.history.arms), len(advice.groups)
    shown = f", the best {_MOST_GROUPS} of them" if groups > _MOST_GROUPS else ""
    return f"{count_text(arms, 'arm')} in {count_text(groups, 'group')}{shown}"
