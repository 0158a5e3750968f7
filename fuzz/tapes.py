"""Random policies on fixed rewards: skip-ahead, round by round and plain Python choose the same arms."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import clusterbandits as cb
from tests.exactness.rivals import RIVALS, Rival, Seen
from tests.exactness.steering import STEERED
from tests.exactness.twolevel import TWO_LEVEL

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SHORT = 60

REFERENCES = RIVALS | TWO_LEVEL | STEERED
#: The largest number of rounds of a plain reference, which takes milliseconds per round.
_PLAIN_ROUNDS = 60
#: The relative difference of scores below which a choice depends on rounding.
_ROUNDING = 1e-11

FAMILIES = {
    "bernoulli": ("bernoulli",),
    "gaussian": ("gaussian", "gaussian:sigma=1e-3", "gaussian:sigma=50"),
    "poisson": ("poisson",),
    "exponential": tuple(f"exponential:shape={shape}" for shape in (1, 1, 0.001, 0.05, 0.2, 3, 1e4)),
    "negative-binomial": tuple(f"negative-binomial:shape={shape}" for shape in (1, 1, 0.001, 0.2, 3, 1e4)),
    "bounded": ("bounded:low=-1,high=3",),
}
SETTINGS: dict[str, tuple[Any, ...]] = {
    "a": (0.0, 0.0, 0.5, 5.0, 50.0),
    "alarm": ("warn", "widen", "ignore"),
    "alarm_level": (0.05, 0.5, 1.0),
    "alpha": (0.0, 1.35, 20.0),
    "c": (0.1, 5.0),
    "clock": ("cluster", "round"),
    "epsilon": (0.0, 0.01, 0.3),
    "gamma": (0.0, 1.0),
    "gap": (0.05, 1.0),
    "hedge": (0.0, 0.0, 0.25, 0.5, 1.0),
    "leader": ("clustered", "plain"),
    "refresh": (1, 1, 1, 2, 7, 50),
    "seed": (0, 1),
    "widths": ("ignored", "respected"),
}
#: Rewards that are likely to tie, extreme, or at the ends of the support of a family.
VALUES = {
    "bernoulli": (0.0, 1.0, 0.5, 1e-9, 1.0 - 1e-9, 0.3),
    "gaussian": (0.0, -1.0, 1.0, 1e-9, 1e6, -1e6, 0.3),
    "poisson": (0.0, 1.0, 2.0, 7.0, 1e6),
    "exponential": (1e-4, 0.1, 1.0, 1e-9, 1e-90, 1e90, 3.0),
    "negative-binomial": (0.0, 1.0, 2.0, 7.0, 1e6),
    "bounded": (-1.0, 3.0, 0.0, 1e-9, 3.0 - 1e-9, 0.3),
}


@dataclass(frozen=True)
class Case:
    """A policy and its fixed rewards."""

    policy: cb.Policy
    tape: Floats

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return int(self.tape.shape[1])

    def __str__(self) -> str:
        return f"{self.policy!r} on a tape of shape {self.tape.shape}"


def attempt(rng: Generator, _folder: Path) -> Counter[str]:
    """Run one policy on one tape in all ways."""
    case = random_case(rng)
    with warnings.catch_warnings(action="error"):
        stepwise = cb.play(case.policy, case.tape, stepwise=True)
        skipping = cb.play(case.policy, case.tape)
    arms = len(case.policy.clusters.arms)
    assert ((stepwise >= 0) & (stepwise < arms)).all(), f"an arm that there is not: {case}"
    different = np.flatnonzero(skipping != stepwise)
    assert not different.size, f"skip-ahead differs from round {different[0] + 1} on: {case}"
    tried = Counter({"tapes": 1, "rounds": case.rounds})
    if case.policy.name in REFERENCES and _has_reference(case.policy):
        tried.update(_compare_with_reference(case, stepwise))
    return tried


def random_case(rng: Generator) -> Case:
    """Return a random policy of the registry with random settings, and rewards for it."""
    kind = str(rng.choice(list(FAMILIES)))
    family = str(rng.choice(FAMILIES[kind]))
    arms = int(rng.choice([1, 2, 3, 5, int(rng.integers(1, 41))]))
    most = 200 if arms > 12 else 2000
    tape = random_tape(rng, kind, arms, int(math.exp(rng.uniform(0.0, math.log(most)))))
    clusters = random_clusters(rng, tape)
    name = str(rng.choice(list(cb.POLICIES)))
    return Case(cb.policy(name, clusters, family=family, **random_settings(rng, name, tape)), tape)


def random_settings(rng: Generator, name: str, tape: Floats) -> dict[str, Any]:
    """Return values for some of a policy's settings."""
    chosen = [key for key in cb.POLICIES[name].defaults if key in SETTINGS and rng.random() < 0.6]
    settings = {key: SETTINGS[key][rng.integers(len(SETTINGS[key]))] for key in chosen}
    if "distances" in cb.POLICIES[name].defaults and rng.random() < 0.5:
        near = rng.choice([0.0, 0.05, 0.3, math.inf], (tape.shape[0],) * 2)
        half = np.triu(np.where(near < math.inf, near * np.median(np.abs(tape)), near), 1)
        settings["distances"] = (half + half.T).tolist()
    return settings


def random_clusters(rng: Generator, tape: Floats) -> cb.Clusters:
    """Return arms in clusters, with widths that fit the means, are too small, 0 or infinite."""
    labels = rng.integers(0, rng.integers(1, tape.shape[0] + 1), tape.shape[0]).tolist()
    groups: dict[int, list[int]] = {}
    for arm, label in enumerate(labels):
        groups.setdefault(label, []).append(arm)
    means = tape.mean(axis=1)
    factors = rng.choice([0.0, 0.0, 1e-12, 0.3, 1.0, 2.0, math.inf], len(groups)).tolist()
    spans = [float(np.ptp(means[group])) for group in groups.values()]
    widths = [f * span if f < math.inf else f for f, span in zip(factors, spans, strict=True)]
    return cb.Clusters(list(groups.values()), widths=widths)


def random_tape(rng: Generator, kind: str, arms: int, rounds: int) -> Floats:
    """Return rewards of one of several kinds: drawn, constant, tied, sorted, alternating, extreme."""
    values = np.array(VALUES[kind])
    if rng.random() < 0.4:
        values = rng.choice(values, 2)
    shape = (arms, rounds)
    pattern = rng.integers(6)
    if pattern == 0:
        return _drawn(rng, kind, shape)
    if pattern == 1:
        return np.full(shape, rng.choice(values))
    if pattern == 2:
        return np.repeat(rng.choice(values, (arms, 1)), rounds, axis=1)
    tape = rng.choice(values, shape)
    if pattern == 3:
        return np.sort(tape, axis=1)[:, :: int(rng.choice([-1, 1]))].copy()
    if pattern == 4:
        return np.tile(rng.choice(values, 2), (arms, rounds))[:, :rounds].copy()
    return tape


def _drawn(rng: Generator, kind: str, shape: tuple[int, int]) -> Floats:
    family = cb.as_family(kind)
    scale = family.high if family.highest < math.inf else float(rng.choice([1e-3, 1.0, 50.0]))
    means = scale * rng.uniform(0.01, 0.99, shape[0])
    means[rng.random(shape[0]) < 0.3] = means[0]
    return np.array([family.draw(float(mean), shape[1], rng) for mean in means])


def _has_reference(policy: cb.Policy) -> bool:
    """Return whether the plain references support these settings.

    They support alarms only for rewards 0 or 1, negative binomial rewards only of shape 1, and no bounded
    rewards.
    """
    if policy.family.name == "bounded":
        return False
    if policy.family.name == "negative-binomial" and policy.family.law.weight != 1.0:
        return False
    return policy.settings.get("alarm") != "widen" or policy.family.name == "bernoulli"


def _compare_with_reference(case: Case, played: NDArray[np.int64]) -> Counter[str]:
    rounds, rewards = min(case.rounds, _PLAIN_ROUNDS), case.tape.tolist()
    for n, (reference, pulls, totals, arm) in enumerate(reference_of(case).rounds(rewards, rounds), 1):
        if played[n - 1] != arm:
            scores = reference.scores(Seen(pulls, totals, n))
            close = _too_close_to_call(scores, int(played[n - 1]), arm)
            assert close, f"the reference plays {arm} in round {n}, not {played[n - 1]}: {case}\n{scores}"
            return Counter({"compared with plain Python": 1, "left to rounding": 1})
    return Counter({"compared with plain Python": 1})


def reference_of(case: Case) -> Rival:
    """Return the policy in plain Python."""
    policy = case.policy
    known = {key: value for key, value in policy.settings.items() if key != "horizon"}
    filled = {"horizon": case.rounds} if policy.needs_horizon else {}
    return REFERENCES[policy.name](
        family=policy.family.name,
        clusters=[part.tolist() for part in policy.clusters.partition.members],
        widths=policy.clusters.widths,
        weight=policy.family.law.weight,
        **known | filled,
    )


def _too_close_to_call(scores: dict[str, list[float]], one: int, other: int) -> bool:
    """Return whether the scores of two arms differ by rounding only."""
    pairs = [(values[one], values[other], max(map(abs, values))) for values in scores.values()]
    return any(abs(a - b) <= _ROUNDING * scale for a, b, scale in pairs if math.isfinite(scale))
