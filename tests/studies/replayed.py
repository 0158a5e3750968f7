"""Logs drawn from known means, and the true rewards of policies on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import clusterbandits as cb

ARMS = np.array(["a", "b", "c", "d"])
GROUP_OF = np.array(["red", "red", "blue", "blue"])
WIDTHS = {"red": 0.1, "blue": 0.2}
#: What arms pay visitors of either type, who come equally often and do not say which they are.
PAY = np.array([[0.15, 0.2, 0.35, 0.3], [0.55, 0.6, 0.65, 0.9]])
#: How a logging that knows the type shows them. All arms are shown equally often, "a" mostly to those who
#: like everything: without its propensities such a log looks like a uniform one.
CHANCES = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
MEANS = PAY.mean(axis=0)


def uniform_log(rng: np.random.Generator, rows: int) -> dict[str, NDArray[Any]]:
    """Return a log that shows arms uniformly to visitors of both types."""
    shown = rng.integers(0, ARMS.size, rows)
    return _log(rng, rng.integers(0, 2, rows), shown)


def targeted_log(rng: np.random.Generator, rows: int) -> dict[str, NDArray[Any]]:
    """Return a log that shows arms by the type of the visitor, with the propensities it had."""
    kinds = rng.integers(0, 2, rows)
    edges = CHANCES.cumsum(axis=1)[kinds]
    shown = (rng.random((rows, 1)) >= edges).sum(axis=1).clip(0, ARMS.size - 1)
    return _log(rng, kinds, shown) | {"propensity": CHANCES[kinds, shown]}


def _log(
    rng: np.random.Generator, kinds: NDArray[np.int64], shown: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    paid = (rng.random(shown.size) < PAY[kinds, shown]).astype(np.int64)
    times = np.arange(shown.size)
    return {"time": times, "arm": ARMS[shown], "reward": paid, "group": GROUP_OF[shown]}


def true_value(spec: str, rounds: int, runs: int = 10_000) -> float:
    """Return the reward a round that a policy earns on these means, simulated."""
    instance = cb.Instance([MEANS[:2].tolist(), MEANS[2:].tolist()])
    declared = instance.clusters(list(WIDTHS.values()))
    result = cb.simulate(instance, spec, rounds, runs=runs, seed=20, clusters=declared, checkpoints=[rounds])
    return instance.best_mean - float(result.mean(0)[-1]) / rounds
