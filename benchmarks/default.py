"""The default policy on random instances, and compared with others on the bundled tables.

Instances are drawn from six priors of means. The constants of the default were chosen on other instances of
``misplaced``, and on no other prior. All policies start without data and know the true spans.
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

_HORIZON, _SEED = 10**5, 2615
#: The numbers of instances and of runs per instance: for all candidates, and for Thompson sampling only.
_ALL, _PAIR = (12, 4), (40, 8)
#: The limit of the regret of the default relative to that of Thompson sampling.
_LIMIT = 1.2
_SCATTERED = "scattered"
_KINDS = (*KINDS, _SCATTERED)
_FAMILIES = ("gaussian:sigma=0.5", "poisson", "exponential")
#: The policies that the default is compared with, and the number of runs per table.
USUAL = ("thompson", "kl-ucb", "clus-ucb")
_TABLE_RUNS = {"admissions": 400, "flights-by-origin": 100, "flights-by-destination": 40}


def _simulate(instance: Instance, policies: Sequence[str], runs: int, seed: int) -> Result:
    clusters = instance.clusters(instance.spans)
    return simulate(
        instance, list(policies), _HORIZON, runs, seed=seed, clusters=clusters, checkpoints=[_HORIZON]
    )


def _instances(kind: str, family: str, count: int) -> Iterator[Instance]:
    """Draw instances of a kind, with 6 to 96 arms."""
    for number in range(count):
        rng = np.random.default_rng([_SEED, _KINDS.index(kind), number])
        sizes = rng.integers(2, 13, size=rng.integers(3, 9)).tolist()
        if kind == _SCATTERED:
            yield random_instance("scattered", sizes, rng.uniform(0.01, 0.2, len(sizes)).tolist(), rng)
        else:
            yield Instance([part.tolist() for part in KINDS[kind](rng, sizes)], family=family)


def _regrets(kind: str, family: str, policies: Sequence[str], size: tuple[int, int]) -> dict[str, Floats]:
    """Return the mean regret of each policy on each instance of a kind."""
    instances, runs = size
    found = []
    for number, instance in enumerate(_instances(kind, family, instances)):
        result = _simulate(instance, policies, runs, seed=number)
        found.append([result.regret(name)[:, -1].mean() for name in policies])
    return dict(zip(policies, np.array(found).T, strict=True))


def _over(own: Floats, other: Floats) -> Difference:
    """Return the ratio of two mean regrets on the same instances, with its standard error."""
    ratio = own.mean() / other.mean()
    return Difference(ratio, difference(own - ratio * other).error / other.mean())


def _ratio(claim: str, over: Difference, limit: float | None = None) -> Measurement:
    return Measurement(claim, over.value, f"×, ± {over.error:.2g}", limit=limit)


def _beside_the_best() -> list[Measurement]:
    """Compare the default with the best policy of each kind of instances."""
    found, ratios = [], []
    for kind in _KINDS:
        regrets = _regrets(kind, "bernoulli", TRIED, _ALL)
        best = min(regrets, key=lambda name: float(regrets[name].mean()))
        over = _over(regrets[DEFAULT], regrets[best])
        mean = float(regrets[DEFAULT].mean())
        found += [
            Measurement(f"{kind}: mean regret, {DEFAULT}", mean, "rewards"),
            _ratio(f"{kind}: {DEFAULT} over the best, {best}", over),
        ]
        ratios.append(over.value)
    return [
        *found,
        Measurement(f"{DEFAULT} over the best, geometric mean", math.exp(np.log(ratios).mean()), "×"),
        Measurement(f"{DEFAULT} over the best, worst", max(ratios), "×"),
    ]


def pairs() -> list[tuple[str, str, str]]:
    """Return the claims on the default and Thompson sampling, each with its kind and family."""
    drawn = [(kind, "bernoulli") for kind in _KINDS]
    drawn += [(kind, family) for family in _FAMILIES for kind in ("alike", "misplaced")]
    return [(f"{kind}, {family}: {DEFAULT} over thompson", kind, family) for kind, family in drawn]


def _beside_thompson() -> list[Measurement]:
    """Compare the default with Thompson sampling on rewards of all kinds."""
    found = []
    for claim, kind, family in pairs():
        regrets = _regrets(kind, family, (DEFAULT, "thompson"), _PAIR)
        found.append(_ratio(claim, _over(regrets[DEFAULT], regrets["thompson"]), _LIMIT))
    return found


def _on_tables() -> list[Measurement]:
    """Compare the default with common policies on each bundled table."""
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
    """Run all comparisons."""
    return [*_on_tables(), *_beside_the_best(), *_beside_thompson()]
