"""The quality of advice: recommended policies and all others, simulated in environments with known means.

Environments are of five kinds, of which ``advise`` models only the first one exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Measurement
from clusterbandits import POLICIES, Instance, advise, read_history, simulate
from clusterbandits.simulation.statistics import Difference, difference
from clusterbandits.studies.candidates import PLAIN, TRIED

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from clusterbandits.studies.history import History

    Floats = NDArray[np.float64]

_HISTORIES, _HORIZON, _WORLDS, _RUNS = 200, 20_000, 20, 8
#: The limit, in percent, of the additional regret over the best single policy, and of the error of
#: predictions.
_LIMIT = 15.0


def _alike(rng: np.random.Generator, sizes: list[int]) -> list[Floats]:
    """Return means that are distributed around their groups on the scale of log-odds."""
    return [1 / (1 + np.exp(-rng.normal(-1, 0.7) - rng.normal(0, 0.2, size))) for size in sizes]


def _unrelated(rng: np.random.Generator, sizes: list[int]) -> list[Floats]:
    """Return means that do not depend on groups."""
    return [rng.uniform(0.05, 0.6, size) for size in sizes]


def _rare(rng: np.random.Generator, sizes: list[int]) -> list[Floats]:
    """Return click rates of a few per thousand."""
    return [np.exp(rng.uniform(math.log(0.002), math.log(0.03)) + rng.normal(0, 0.3, size)) for size in sizes]


def _misplaced(rng: np.random.Generator, sizes: list[int]) -> list[Floats]:
    """Return means close to those of their groups, with the best arm in the group with the lowest mean."""
    means = [np.clip(rng.uniform(0.2, 0.5) + rng.normal(0, 0.02, size), 0.01, 0.99) for size in sizes]
    poorest = min(means, key=lambda part: float(part.mean()))
    poorest[0] = max(float(part.max()) for part in means) + 0.05
    return means


def _split(rng: np.random.Generator, sizes: list[int]) -> list[Floats]:
    """Return one group far above the others, with small differences between its arms."""
    return [
        (0.6 if place == 0 else rng.uniform(0.2, 0.4)) + rng.uniform(-0.03, 0.03, size)
        for place, size in enumerate(sizes)
    ]


KINDS: dict[str, Callable[[np.random.Generator, list[int]], list[Floats]]] = {
    "alike": _alike,
    "unrelated": _unrelated,
    "rare": _rare,
    "misplaced": _misplaced,
    "split": _split,
}


@dataclass(frozen=True)
class Followed:
    """The results of following advice on histories: regret and its prediction, ``[policy, history]``."""

    kinds: list[str]
    recommended: list[str]
    regret: Floats
    predicted: Floats

    def of(self, regret: Floats, policy: str | None) -> Floats:
        """Return the regret of a policy for each history; by default, of the recommended policy."""
        names = self.recommended if policy is None else [policy] * len(self.kinds)
        return np.array([regret[TRIED.index(name), k] for k, name in enumerate(names)])

    def excess(self, kind: str | None = None) -> float:
        """Return the additional regret of advice over that of the best single policy, in percent."""
        chosen = self._chosen(kind)
        best = self.regret[:, chosen].mean(axis=1).min()
        return float(100 * (self.of(self.regret, None)[chosen].mean() / best - 1))

    def bias(self, policy: str | None = None, kind: str | None = None) -> Difference:
        """Return the excess of predicted over actual regret, in percent of the latter, with its error."""
        chosen = self._chosen(kind)
        came = self.of(self.regret, policy)[chosen]
        apart = difference(self.of(self.predicted, policy)[chosen] - came)
        return Difference(100 * apart.value / came.mean(), 100 * apart.error / came.mean())

    def _chosen(self, kind: str | None) -> NDArray[np.bool_]:
        return np.array([kind is None or one == kind for one in self.kinds])


def follow_advice(histories: int, horizon: int, worlds: int, runs: int, seed: int) -> Followed:
    """Get advice on histories of all kinds, and simulate all candidates with the true means afterwards."""
    kinds = [list(KINDS)[k % len(KINDS)] for k in range(histories)]
    recommended, regret, predicted = [], *np.empty((2, len(TRIED), histories))
    for k, kind in enumerate(kinds):
        rng = np.random.default_rng([seed, k])
        truth, history = _drawn(kind, rng)
        advice = advise(history, horizon=horizon, worlds=worlds, seed=k)
        policies = [POLICIES[name](advice.clusters()) for name in TRIED]
        result = simulate(truth, policies, horizon, runs, seed=k, start=history, checkpoints=[horizon])
        regret[:, k] = [result.regret(number)[:, -1].mean() for number in range(len(TRIED))]
        predicted[:, k] = [one.paid.value for one in advice.candidates]
        recommended.append(advice.recommended)
    return Followed(kinds, recommended, regret, predicted)


def _drawn(kind: str, rng: np.random.Generator) -> tuple[Instance, History]:
    """Return an environment of a kind, and a history of it."""
    sizes = rng.integers(2, 7, size=rng.integers(3, 6)).tolist()
    truth = Instance([part.tolist() for part in KINDS[kind](rng, sizes)])
    return truth, tried_arms(truth, rng)


def tried_arms(truth: Instance, rng: np.random.Generator) -> History:
    """Return a history with 20 to 500 trials per arm."""
    trials = np.exp(rng.uniform(math.log(20), math.log(500), len(truth.arms))).astype(int)
    columns = {
        "arm": list(truth.arms),
        "group": list(truth.partition.cluster_names),
        "trials": trials.tolist(),
        "successes": rng.binomial(trials, truth.means).tolist(),
    }
    return read_history(columns)


def measure() -> list[Measurement]:
    """Follow advice on 200 histories."""
    found = follow_advice(_HISTORIES, _HORIZON, _WORLDS, _RUNS, seed=15)
    measured = [Measurement("advice over the best single policy", found.excess(), "%", limit=_LIMIT)]
    measured += [Measurement(f"the same, {kind} environments", found.excess(kind), "%") for kind in KINDS]
    for name in sorted(set(found.recommended)):
        measured.append(
            Measurement(f"histories that {name} is advised for", found.recommended.count(name), "")
        )
    for place in np.argsort(found.regret.mean(axis=1)):
        measured.append(Measurement(f"mean regret, {TRIED[place]}", float(found.regret[place].mean()), ""))
    bias, excess = found.bias(), "excess of predicted over actual regret"
    return [
        *measured,
        Measurement("mean regret, advice", float(found.of(found.regret, None).mean()), ""),
        Measurement("mean regret, predicted", float(found.of(found.predicted, None).mean()), ""),
        *_predicted(excess, bias),
        Measurement(f"{excess}, in standard errors", abs(bias.value) / bias.error, "", limit=3),
        *_predicted(f"{excess}, {PLAIN}", found.bias(PLAIN)),
        *(
            _percent(f"{excess}, {name or 'advice'}, {kind} environments", found.bias(name, kind))
            for name in (None, PLAIN)
            for kind in KINDS
        ),
    ]


def _predicted(claim: str, bias: Difference) -> list[Measurement]:
    """Return a bias, and its absolute value with the limit."""
    return [_percent(claim, bias), Measurement(f"{claim}, either way", abs(bias.value), "%", limit=_LIMIT)]


def _percent(claim: str, bias: Difference) -> Measurement:
    return Measurement(claim, bias.value, f"%, ± {bias.error:.2g}")
