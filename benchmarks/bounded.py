"""The regret of policies that know only the bounds of rewards, and of policies with a closer family."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

import clusterbandits as cb
from benchmarks.measure import Measurement

_HIGH, _HORIZON, _RUNS = 50.0, 100_000, 64
_BOUNDED = f"bounded:low=0,high={_HIGH:g}"
#: The quantile levels that approximate a continuous distribution.
_POINTS = (np.arange(2000) + 0.5) / 2000


class Case(NamedTuple):
    """An instance, and the family closest to its rewards."""

    name: str
    arms: list[cb.Distribution]
    parametric: str


def measure() -> list[Measurement]:
    """Measure the mean regret of KL-UCB and Thompson sampling with both families, and the ratio."""
    return [one for case in cases() for one in _measured(case)]


def cases() -> list[Case]:
    """Return revenue per visitor (92 to 97 % zeros), amounts per order, and steady rewards."""
    amounts = np.minimum(stats.lognorm(1.0, scale=math.exp(2.0)).ppf(_POINTS), _HIGH)
    sale, none = cb.Empirical(amounts), cb.Empirical([0.0])
    visitors: list[cb.Distribution] = [
        cb.Mixture([sale, none], weights=[share, 1.0 - share]) for share in (0.03, 0.04, 0.05, 0.06, 0.08)
    ]
    # The standard deviation of the best arm, which a Gaussian policy would have to be given.
    spread = math.sqrt(0.08 * float((amounts**2).mean()) - visitors[-1].mean ** 2)
    orders: list[cb.Distribution] = [
        cb.Empirical(np.minimum(stats.expon(scale=scale).ppf(_POINTS), _HIGH)) for scale in (4, 5, 6, 7, 8)
    ]
    steady: list[cb.Distribution] = [
        cb.TruncatedGaussian(centre, 1.0, 0.0, _HIGH) for centre in (24.0, 24.25, 24.5, 24.75, 25.0)
    ]
    return [
        Case("visitors", visitors, f"gaussian:sigma={spread:.3g}"),
        Case("orders", orders, "exponential"),
        Case("steady", steady, "gaussian:sigma=1"),
    ]


def _measured(case: Case) -> list[Measurement]:
    found = []
    for name in ("kl-ucb", "thompson"):
        for family in (_BOUNDED, case.parametric):
            instance = cb.Instance(case.arms, family=family)
            result = cb.simulate(instance, name, _HORIZON, runs=_RUNS, seed=1, checkpoints=[_HORIZON])
            regret = result.regret(name)[:, -1]
            error = regret.std(ddof=1) / math.sqrt(_RUNS)
            claim = f"{case.name}, {name}: {family}"
            found.append(Measurement(claim, float(regret.mean()), f"regret, ± {error:.2g}"))
        ratio = found[-2].value / found[-1].value
        found.append(Measurement(f"{case.name}, {name}: bounded over the other", ratio, "times"))
    return found
