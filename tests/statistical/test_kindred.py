"""What ``Kindred`` is made for: small click rates, widths that may be wrong, and arms that are added."""

from __future__ import annotations

import math

import numpy as np
import pytest

import clusterbandits as cb
from benchmarks.cold import ALONE, KNOWN, THOMPSON, one_run

#: Click rates around 0.001: four groups of five arms, with a standard deviation of 15 % inside a group.
RATES = cb.Instance(
    [
        [0.00060, 0.00074, 0.00072, 0.00056, 0.00057],
        [0.00083, 0.00098, 0.00089, 0.00101, 0.00068],
        [0.00164, 0.00128, 0.00144, 0.00127, 0.00123],
        [0.00214, 0.00226, 0.00194, 0.00195, 0.00222],
    ]
)
#: The best arm is far above its cluster.
HIDDEN = cb.Instance([[0.2, 0.5, 0.22, 0.18], [0.4, 0.42, 0.38, 0.41]])


@pytest.mark.statistical
@pytest.mark.parametrize("width", [math.inf, 1e-5])
def test_small_click_rates_are_learned_from_groups(width: float) -> None:
    """Also with a width of a fiftieth of the true one."""
    clusters = RATES.clusters(width)
    result = cb.simulate(RATES, ["kindred:alarm=ignore", "thompson"], 200_000, 12, seed=4, clusters=clusters)
    less, error = result.difference("kindred:alarm=ignore", "thompson")
    assert less < -5 * error
    assert less < -0.3 * float(result.mean("thompson")[-1])


@pytest.mark.statistical
def test_a_wrong_width_does_not_hide_the_best_arm() -> None:
    """A policy that trusts the width pulls the other cluster throughout, and has a regret of 1,600."""
    trusting = HIDDEN.gaps[4:].min() * 20_000
    result = cb.simulate(HIDDEN, "kindred:alarm=ignore", 20_000, 60, seed=3, clusters=HIDDEN.clusters(0.02))
    assert float(result.mean(0)[-1]) + 4 * float(result.standard_error(0)[-1]) < 0.3 * trusting
    assert np.median(result.regret(0)[:, -1]) < 0.1 * trusting


@pytest.mark.statistical
def test_added_arms_are_judged_by_their_group() -> None:
    runs = [one_run(7 + 10 * run, 3000) for run in range(10)]
    for other in (ALONE, THOMPSON):
        saved = np.array([run[other] - run[KNOWN] for run in runs])
        assert saved.mean() > 2.5 * saved.std(ddof=1) / math.sqrt(len(runs)), other
