"""Whether advice is good: on histories of known truths, what it recommends is played beside all others.

Truths are of five kinds, of which ``advise`` models only the first as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Measurement
from clusterbandits import POLICIES, Instance, advise, read_history, simulate
from clusterbandits.simulation.statistics import Difference, difference
from clusterbandits.studies.candidates import TRIED

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from clusterbandits.studies.history import History

    Floats = NDArray[np.float64]

_HISTORIES, _HORIZON, _WORLDS, _RUNS = 200, 20_000, 20, 8
#: The most that following advice may cost over the best single policy.
_LIMIT = 15.0


def _alike(rng: np.random.Generator, sizes: list[int]) -> list[Floats]:
    """Arms spread around their groups, as on a scale of log-odds."""
    return [1 / (1 + np.exp(-rng.normal(-1, 0.7) - rng.normal(0, 0.2, size))) for size in sizes]


def _unrelated(rng: np.random.Generator, sizes: list[int]) -> list[Floats]:
    """Arms anywhere, whatever their group."""
    return [rng.uniform(0.05, 0.6, size) for size in sizes]


def _rare(rng: np.random.Generator, sizes: list[int]) -> list[Floats]:
    """Click rates of a few in a thousand."""
    return [np.exp(rng.uniform(math.log(0.002), math.log(0.03)) + rng.normal(0, 0.3, size)) for size in sizes]


def _misplaced(rng: np.random.Generator, sizes: list[int]) -> list[Floats]:
    """Arms close to their groups, but the best arm in the poorest of them."""
    means = [np.clip(rng.uniform(0.2, 0.5) + rng.normal(0, 0.02, size), 0.01, 0.99) for size in sizes]
    poorest = min(means, key=lambda part: float(part.mean()))
    poorest[0] = max(float(part.max()) for part in means) + 0.05
    return means


def _split(rng: np.random.Generator, sizes: list[int]) -> list[Floats]:
    """One group far above the others, with arms that hardly differ."""
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
    """What came of following advice on histories; ``paid`` by every candidate, ``[policy, history]``."""

    kinds: list[str]
    recommended: list[str]
    paid: Floats
    foretold: Floats

    @property
    def followed(self) -> Floats:
        """The regret of the policy that was recommended."""
        return np.array([self.paid[TRIED.index(name), k] for k, name in enumerate(self.recommended)])

    def excess(self, kind: str | None = None) -> float:
        """Return how much more it is than that of the best single policy, in percent."""
        chosen = self._chosen(kind)
        best = self.paid[:, chosen].mean(axis=1).min()
        return float(100 * (self.followed[chosen].mean() / best - 1))

    def bias(self, kind: str | None = None) -> Difference:
        """Return how much more was foretold than came, in percent of what came, with its standard error."""
        chosen = self._chosen(kind)
        apart = difference(self.foretold[chosen] - self.followed[chosen])
        percent = 100 / self.followed[chosen].mean()
        return Difference(percent * apart.value, percent * apart.error)

    def _chosen(self, kind: str | None) -> NDArray[np.bool_]:
        return np.array([kind is None or one == kind for one in self.kinds])


def follow_advice(histories: int, horizon: int, worlds: int, runs: int, seed: int) -> Followed:
    """Ask for advice on histories of all kinds in turn, and play all candidates at the truth after them."""
    kinds = [list(KINDS)[k % len(KINDS)] for k in range(histories)]
    recommended, paid, foretold = [], np.empty((len(TRIED), histories)), np.empty(histories)
    for k, kind in enumerate(kinds):
        rng = np.random.default_rng([seed, k])
        truth, history = _drawn(kind, rng)
        advice = advise(history, horizon=horizon, worlds=worlds, seed=k)
        policies = [POLICIES[name](advice.clusters()) for name in TRIED]
        result = simulate(truth, policies, horizon, runs, seed=k, start=history, checkpoints=[horizon])
        paid[:, k] = [result.regret(number)[:, -1].mean() for number in range(len(TRIED))]
        foretold[k] = next(one.paid.value for one in advice.candidates if one.policy == advice.recommended)
        recommended.append(advice.recommended)
    return Followed(kinds, recommended, paid, foretold)


def _drawn(kind: str, rng: np.random.Generator) -> tuple[Instance, History]:
    """Return a truth of a kind, and a history of it."""
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
    measured += [Measurement(f"the same, {kind} truths", found.excess(kind), "%") for kind in KINDS]
    for name in sorted(set(found.recommended)):
        measured.append(
            Measurement(f"histories that {name} is advised for", found.recommended.count(name), "")
        )
    for place in np.argsort(found.paid.mean(axis=1)):
        measured.append(Measurement(f"mean regret, {TRIED[place]}", float(found.paid[place].mean()), ""))
    return [
        *measured,
        Measurement("mean regret, advice", float(found.followed.mean()), ""),
        Measurement("mean regret, foretold", float(found.foretold.mean()), ""),
        *_foretold("foretold over what came", found.bias()),
        *(
            one
            for kind in KINDS
            for one in _foretold(f"foretold over what came, {kind} truths", found.bias(kind), limited=False)
        ),
    ]


def _foretold(claim: str, bias: Difference, *, limited: bool = True) -> list[Measurement]:
    """Return a bias and its standard error; it is limited as an effect, not only as a test."""
    return [
        Measurement(claim, bias.value, f"%, ± {bias.error:.2g}"),
        *(
            [
                Measurement(f"{claim}, in standard errors", abs(bias.value) / bias.error, "", limit=3),
                Measurement(f"{claim}, either way", abs(bias.value), "%", limit=15),
            ]
            if limited
            else []
        ),
    ]
