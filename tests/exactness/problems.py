"""Paths to compare: problems with fixed rewards, and the three ways to play them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import clusterbandits as cb
from clusterbandits.paper.figures import FIGURES
from tests.exactness.reference import Reference

Floats = NDArray[np.float64]
KINDS = ("kl-ucb", "clus-ucb", "clus-ucb:leader=plain")


@dataclass(frozen=True)
class Problem:
    """An instance, the clusters given to policies, and a name."""

    name: str
    instance: cb.Instance
    clusters: cb.Clusters

    def tape(self, seed: int, rounds: int) -> Floats:
        """Return rewards, one by one, from NumPy's own samplers."""
        rng = np.random.default_rng(seed)
        return np.array([self.instance.family.draw(float(mean), rounds, rng) for mean in self.instance.means])

    def policy(self, kind: str, **settings: Any) -> cb.Policy:
        return cb.policy(kind, self.clusters, family=self.instance.family, **settings)

    def reference(self, kind: str, a: float = 0.0, refresh: int = 1) -> Reference:
        return Reference(
            family=self.instance.family.name,
            clusters=[part.tolist() for part in self.clusters.partition.members],
            widths=None if kind == "kl-ucb" else self.clusters.widths,
            a=a,
            refresh=refresh,
            leader="plain" if "plain" in kind else "clustered",
            weight=self.instance.family.law.weight,
        )


PAPER = [
    Problem(f"figure {figure.number} {widths}", figure.instance, figure.instance.clusters(widths))
    for figure in FIGURES
    for widths in figure.widths
]


def random_problem(seed: int, family: str = "bernoulli") -> Problem:
    """Return 1 to 40 arms in random clusters, whose arms need not stand side by side, with any widths."""
    rng = np.random.default_rng(seed)
    arms = int(rng.integers(1, 41))
    labels = rng.integers(0, rng.integers(1, max(2, arms // 2 + 1)), arms)
    top = 1.0 if family == "bernoulli" else 4.0
    means = top * rng.uniform(0.02, 0.98, arms)
    means[rng.uniform(size=arms) < 0.2] = means[0]
    instance = cb.Instance(means, labels=labels.tolist(), family=family)
    spans = np.array(instance.spans)
    widths = spans * rng.choice([0.0, 0.3, 1.0, 1.5], spans.size, p=[0.1, 0.25, 0.45, 0.2])
    widths[rng.uniform(size=spans.size) < 0.1] = np.inf
    return Problem(f"{family} {seed}", instance, instance.clusters(widths))
