"""The theorems, seen at last: regret per log n between 10^8 and 10^10 rounds."""

from __future__ import annotations

import pytest

import clusterbandits as cb
from clusterbandits.paper.figures import FIGURES


@pytest.mark.statistical
def test_slopes_meet_the_theorems_on_figure_8() -> None:
    instance = FIGURES[-1].instance
    clusters = instance.clusters([0.1, 0.7])
    bound = cb.regret_bound(instance, clusters)
    result = cb.simulate(
        instance, ["kl-ucb", "clus-ucb"], 10**10, runs=100, seed=8, clusters=clusters, checkpoints=[10**8]
    )
    plain, clustered = (result.slope(name, 10**8, 10**10) for name in result.labels)
    assert abs(plain.value - bound.classical) <= 3 * plain.error
    assert abs(clustered.value - bound.clus_ucb) <= 3 * clustered.error
    # Enough runs to tell the two apart.
    assert plain.value - clustered.value > 3 * (plain.error**2 + clustered.error**2) ** 0.5
