"""Online use of a policy as text, to the last bit: for comparing machine code with plain Python."""

from __future__ import annotations

import json
import sys
import warnings
from random import Random
from typing import Any

import clusterbandits as cb
from clusterbandits.machine_code import Missing, if_missing, missed

CLUSTERS = cb.Clusters({"red": list("abc"), "blue": list("de"), "green": ["f"]}, widths=[0.2, 0.1, 0.3])
ROUNDS = 60


def trace(name: str, family: str = "bernoulli") -> list[str]:
    """Use a policy in every way, with rewards that arrive late; return what it says."""
    chance = Random(name + family)
    horizon: dict[str, Any] = {"horizon": 500} if cb.POLICIES[name].needs_horizon else {}
    policy = cb.policy(name, CLUSTERS, family=family, **horizon)
    said, pending = [], []
    for n in range(ROUNDS):
        some = None if n % 7 else chance.sample(CLUSTERS.arms, 4)
        pending += policy.ask(1 + (n % 5 == 0), available=some)
        while len(pending) > chance.randrange(3):
            arm = pending.pop(chance.randrange(len(pending)))
            policy.tell(arm, float(chance.random() < 0.2 + 0.1 * ord(arm) % 3))
    pending += policy.ask(3)
    said += [policy.to_json(), *map(str, policy.ask(2)), repr(policy.explain().to_dict())]
    return [*said, repr(policy.chances(20, seed=3)), repr(policy.alarms())]


def bounds(family: str) -> list[str]:
    """Return the bounds of an instance."""
    found = cb.regret_bound(cb.Instance([[0.31, 0.4], [0.55, 0.6, 0.6]], family=family))
    return [repr(found.to_dict())]


def everything() -> dict[str, list[str]]:
    """Return what all policies say, and some for another family, and bounds."""
    said = {name: trace(name) for name in cb.POLICIES}
    said |= {f"{name}, poisson": trace(name, "poisson") for name in ("kl-ucb", "clus-ucb", "kindred")}
    return said | {f"bounds, {family}": bounds(family) for family in ("bernoulli", "gaussian")}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with if_missing(Missing.AVOID):
        json.dump({"said": everything(), "compiled": missed()}, sys.stdout)
