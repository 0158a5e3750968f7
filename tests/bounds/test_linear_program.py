"""min(A, B) is the value of the linear program: an independent solver on thousands of random clusters."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from clusterbandits import Clusters, Family, Instance, regret_bound
from tests.families import exact

Floats = NDArray[np.float64]
CLUSTERS_EACH = 250


def random_cluster(rng: np.random.Generator, family: Family) -> tuple[Floats, float, float]:
    """Means, the best mean, a width: from tight to loose, from true to false."""
    size = int(rng.integers(1, 51))
    top = min(0.97 * family.high, 3.0)
    best = float(rng.uniform(0.2, top))
    gap = float(10 ** rng.uniform(-6, np.log10(best / 2)))
    spread = float(rng.uniform(0, best - gap - 0.02)) if best - gap > 0.02 else 0.0
    means = best - gap - spread * rng.uniform(size=size)
    kinds = [0.0, float(rng.uniform(0, 1)), float(np.ptp(means)), float(10 ** rng.uniform(-4, 0)), 1.0]
    return means, best, kinds[int(rng.choice(5, p=[0.05, 0.3, 0.3, 0.3, 0.05]))]


def value_of_program(family: Family, means: Floats, best: float, width: float) -> float:
    """Solve min aᵀc, α_i c_i + Σ b_k c_k ≥ 1, with coefficients from 60-digit arithmetic."""
    a = np.array([float(mpmath.mpf(best) - mpmath.mpf(mean)) for mean in means])
    alpha = np.array([float(exact.rise(family, mean, best, width)) for mean in means])
    D = np.array([float(exact.divergence(family, mean, best)) for mean in means])
    classical = float(np.sum(a / D))
    # In units of the classical cost of each arm, so that the solver's absolute tolerances are relative ones.
    rows = classical * (np.diag(alpha / a) + np.tile((D - alpha) / a, (means.size, 1)))
    options: dict[str, Any] = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(
        np.ones(means.size), A_ub=-rows, b_ub=-np.ones(means.size), method="highs-ds", options=options
    )
    assert found.status == 0, found.message
    return classical * float(found.fun)


@pytest.mark.parametrize("family", exact.FAMILIES, ids=lambda family: family.spec)
def test_closed_form_is_the_optimum(family: Family) -> None:
    rng = np.random.default_rng(20)
    branches = {"A": 0, "B": 0}
    sizes = set()
    for _ in range(CLUSTERS_EACH):
        means, best, width = random_cluster(rng, family)
        bound = regret_bound(
            Instance([means, [best]], family=family), Clusters([means.size, 1], [width, 0.0])
        )
        cluster = bound.clusters[0]
        wanted = value_of_program(family, means, best, width)
        assert bound.lower == pytest.approx(wanted, rel=1e-9), (means, best, width)
        assert cluster.gaps @ cluster.allocation == pytest.approx(bound.lower, rel=1e-12)
        assert np.all(cluster.alpha * cluster.allocation + cluster.b @ cluster.allocation >= 1 - 1e-9)
        branches[cluster.branch] += 1
        sizes.add(means.size)
    assert min(branches.values()) > CLUSTERS_EACH // 20, branches
    assert {1, 50} <= sizes
