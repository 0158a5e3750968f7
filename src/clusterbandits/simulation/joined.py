"""Several results on one problem as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.simulation.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping


def joined(results: Mapping[str, Result]) -> Result:
    """Return results of one policy each, on one instance and with equal checkpoints and runs, as one result.

    Parameters
    ----------
    results
        The results by the labels they are given here.

    Examples
    --------
    >>> from clusterbandits import Instance, simulate
    >>> instance = Instance([[0.2, 0.7], [0.4]])
    >>> parts = {f"a = {a}": simulate(instance, f"kl-ucb:a={a}", 100, runs=4) for a in (0, 5)}
    >>> joined(parts)
    <Result: a = 0, a = 5, 4 runs of 100 rounds>
    """
    parts = list(results.values())
    first = parts[0]
    return Result(
        first.instance,
        tuple(results),
        first.checkpoints,
        np.concatenate([part.pulls for part in parts]),
        first.runs,
        alarm_rounds=tuple(part.alarm_rounds[0] for part in parts),
        seed=first.seed,
        paired=first.paired,
    )
