"""Results of one policy each, put together: as if they had been played together."""

from __future__ import annotations

import numpy as np

import clusterbandits as cb
from clusterbandits.simulation.results import joined

INSTANCE = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
NAMES = ["kl-ucb", "clus-ucb", "moss"]


def test_joined_is_played_together() -> None:
    together = cb.simulate(INSTANCE, NAMES, 300, runs=5, seed=4, paired=True)
    parts = {name: cb.simulate(INSTANCE, name, 300, runs=5, seed=4, paired=True) for name in NAMES}
    one = joined(parts)
    assert np.array_equal(one.pulls, together.pulls)
    assert (one.labels, one.seed, one.paired, one.instance) == (tuple(NAMES), 4, True, INSTANCE)
    assert np.array_equal(one.checkpoints, together.checkpoints)
    assert np.array_equal(one.runs, together.runs)
    for mine, wanted in zip(one.alarm_rounds, together.alarm_rounds, strict=True):
        assert np.array_equal(mine, wanted)
    assert str(one) == str(together)


def test_labels_are_those_given_in_their_order() -> None:
    declared = {f"width {width:g}": INSTANCE.clusters(width) for width in (1.0, 0.1)}
    parts = {
        label: cb.simulate(INSTANCE, "clus-ucb", 200, runs=3, clusters=clusters)
        for label, clusters in declared.items()
    }
    one = joined(parts)
    assert one.labels == ("width 1", "width 0.1")
    for label, part in parts.items():
        assert np.array_equal(one.regret(label), part.regret("clus-ucb"))
    assert np.array_equal(joined(dict(reversed(parts.items()))).pulls, one.pulls[::-1])
