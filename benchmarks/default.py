"""The default policy on drawn instances, and beside others on the bundled tables.

Instances are drawn from six priors of means. Constants of the default were chosen with a look at
``misplaced``, and at no other. All policies start without data and know the true spans.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.advice import KINDS
from benchmarks.measure import Measurement
from clusterbandits import Instance, random_instance, simulate
from clusterbandits.policies.policy import DEFAULT
from clusterbandits.simulation.statistics import Difference, difference
from clusterbandits.studies.candidates import TRIED
from clusterbandits.studies.history import TABLES, table_instance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clusterbandits.simulation.results import Result

    Floats = NDArray[np.float64]

_INSTANCES, _RUNS, _HORIZON, _SEED = 12, 4, 10**5, 1517
_SCATTERED = "scattered"
_KINDS = (*KINDS, _SCATTERED)
_FAMILIES = ("gaussian:sigma=0.5", "poisson", "exponential")
#: Policies that the default is compared with one by one, on so many runs of a table.
USUAL = ("thompson", "kl-ucb", "clus-ucb")
_TABLE_RUNS = {"admissions": 400, "flights-by-origin": 100, "flights-by-destination": 40}


def _simulate(instance: Instance, policies: Sequence[str], runs: int, seed: int) -> Result:
    clusters = instance.clusters(instance.spans)
    return simulate(
        instance, list(policies), _HORIZON, runs, seed=seed, clusters=clusters, checkpoints=[_HORIZON]
    )


def _instances(kind: str, family: str = "bernoulli") -> Iterator[Instance]:
    """Draw instances of a kind, with 6 to 96 arms."""
    for number in range(_INSTANCES):
        rng = np.random.default_rng([_SEED, _KINDS.index(kind), number])
        sizes = rng.integers(2, 13, size=rng.integers(3, 9)).tolist()
        if kind == _SCATTERED:
            yield random_instance("scattered", sizes, rng.uniform(0.01, 0.2, len(sizes)).tolist(), rng)
        else:
            yield Instance([part.tolist() for part in KINDS[kind](rng, sizes)], family=family)


def _regrets(kind: str, policies: Sequence[str] = TRIED, family: str = "bernoulli") -> dict[str, Floats]:
    """Return the mean regret of every policy on each of the instances of a kind."""
    found = []
    for number, instance in enumerate(_instances(kind, family)):
        result = _simulate(instance, policies, _RUNS, seed=number)
        found.append([result.regret(name)[:, -1].mean() for name in policies])
    return dict(zip(policies, np.array(found).T, strict=True))


def _over(own: Floats, other: Floats) -> Difference:
    """Return how many times the mean of the other one's regret is, with its standard error."""
    more = difference(own - other)
    return Difference(1 + more.value / other.mean(), more.error / other.mean())


def _on_drawn_instances() -> list[Measurement]:
    """Compare the default with the best policy of each kind, and with Thompson sampling."""
    found, ratios = [], []
    for kind in _KINDS:
        regrets = _regrets(kind)
        best = min(regrets, key=lambda name: float(regrets[name].mean()))
        found.append(
            Measurement(f"{kind}: mean regret, {DEFAULT}", float(regrets[DEFAULT].mean()), "rewards")
        )
        for claim, other in ((f"the best, {best}", best), ("thompson", "thompson")):
            over = _over(regrets[DEFAULT], regrets[other])
            found.append(Measurement(f"{kind}: {DEFAULT} over {claim}", over.value, f"×, ± {over.error:.2g}"))
        ratios.append(_over(regrets[DEFAULT], regrets[best]).value)
    mean = math.exp(np.log(ratios).mean())
    return [
        *found,
        Measurement(f"{DEFAULT} over the best, geometric mean", mean, "×"),
        Measurement(f"{DEFAULT} over the best, worst", max(ratios), "×"),
    ]


def _on_other_families() -> list[Measurement]:
    """Compare the default with Thompson sampling on rewards that are not 0 or 1."""
    found = []
    for family in _FAMILIES:
        for kind in ("alike", "misplaced"):
            regrets = _regrets(kind, (DEFAULT, "thompson"), family)
            over = _over(regrets[DEFAULT], regrets["thompson"])
            claim = f"{family}, {kind}: {DEFAULT} over thompson"
            found.append(Measurement(claim, over.value, f"×, ± {over.error:.2g}"))
    return found


def _on_tables() -> list[Measurement]:
    """Compare the default with usual policies on every bundled table."""
    found = []
    for table in TABLES:
        result = _simulate(table_instance(table), (DEFAULT, *USUAL), _TABLE_RUNS[table], seed=15)
        regrets = {name: difference(result.regret(name)[:, -1]) for name in (DEFAULT, *USUAL)}
        for name, regret in regrets.items():
            found += [
                Measurement(f"{table}: mean regret, {name}", regret.value, f"± {regret.error:.2g}"),
            ]
        for name in USUAL:
            less = regrets[name].value - regrets[DEFAULT].value
            error = math.hypot(regrets[name].error, regrets[DEFAULT].error)
            claim = f"{table}: {DEFAULT} below {name}"
            found.append(Measurement(claim, less / error, "s.e.", limit=2, at_least=True))
    return found


def measure() -> list[Measurement]:
    """Measure all of it."""
    return [*_on_tables(), *_on_drawn_instances(), *_on_other_families()]
