"""Regret of arms that are added to a running experiment, with and without their groups."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import Measurement
from clusterbandits import Clusters, Kindred, Thompson

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from clusterbandits import Policy

    Floats = NDArray[np.float64]

GROUPS, ARMS, NEW = 4, 5, 10
ROUNDS = 20_000
_RUNS = 100
#: The logits of the groups' click rates, and the standard deviation of arms within a group.
_CENTRES, _SPREAD = np.array([-4.0, -3.6, -3.2, -2.8]), 0.3
#: The names of the compared policies.
KNOWN, ALONE, THOMPSON = "kindred, groups known", "kindred, new arms alone", "thompson"


def _rates(rng: Generator, groups: Any) -> Floats:
    """Draw the rates of arms of these groups."""
    logits = _CENTRES[groups] + _SPREAD * rng.standard_normal(len(groups))
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))


def _regret(policy: Policy, rates: Floats, rounds: int, seed: int) -> float:
    """Run a policy with ``ask`` and ``tell``; return the regret."""
    uniform = np.random.default_rng(seed).random(rounds).tolist()
    chances, lost = rates.tolist(), 0.0
    best = max(chances)
    for number in uniform:
        arm = policy.ask()
        policy.tell(arm, number < chances[arm])
        lost += best - chances[arm]
    return lost


def one_run(seed: int, rounds: int = ROUNDS) -> dict[str, float]:
    """Return the regret of the rounds after arms were added, for the three policies."""
    rng = np.random.default_rng(seed)
    groups, joining = np.repeat(np.arange(GROUPS), ARMS), rng.integers(GROUPS, size=NEW)
    rates = _rates(rng, np.concatenate([groups, joining]))
    clusters, old = Clusters([ARMS] * GROUPS, widths=math.inf), GROUPS * ARMS
    kindred, thompson = Kindred(clusters, seed=seed), Thompson(clusters, seed=seed)
    for policy in (kindred, thompson):
        _regret(policy, rates[:old], rounds, seed + 1)
    known = copy.deepcopy(kindred)
    for number, group in enumerate(joining.tolist()):
        known.add_arm(old + number, group)
        thompson.add_arm(old + number, group)
    alone = Kindred(Clusters([ARMS] * GROUPS + [1] * NEW, widths=math.inf), seed=seed)
    for arm, pulls in kindred.pulls.items():
        if pulls:
            alone.tell(arm, kindred.totals[arm], pulls=pulls)
    compared = {KNOWN: known, ALONE: alone, THOMPSON: thompson}
    return {name: _regret(policy, rates, rounds, seed + 2) for name, policy in compared.items()}


def measure() -> list[Measurement]:
    """Measure the regret of 20,000 rounds after 10 arms joined 20 others."""
    runs = [one_run(10 * run) for run in range(_RUNS)]
    found = []
    for name in (KNOWN, ALONE, THOMPSON):
        regrets = np.array([run[name] for run in runs])
        found += [
            Measurement(f"{name}: mean regret over {_RUNS} runs", float(regrets.mean()), "rewards"),
            Measurement(f"{name}: standard error", float(regrets.std(ddof=1) / math.sqrt(_RUNS)), "rewards"),
        ]
    for name in (ALONE, THOMPSON):
        saved = np.array([run[name] - run[KNOWN] for run in runs])
        error = float(saved.std(ddof=1) / math.sqrt(_RUNS))
        found.append(
            Measurement(
                f"{name}: excess over known groups, standard errors",
                float(saved.mean()) / error,
                "",
                limit=2,
                at_least=True,
            )
        )
    return found
