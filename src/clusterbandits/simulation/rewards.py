"""The rewards of a run and their random streams, which are the same on every computer and worker."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.distributions import drawn_rewards
from clusterbandits.simulation.loop import Rewards

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from clusterbandits.policies import Policy
    from clusterbandits.simulation.plan import Plan

    Floats = NDArray[np.float64]

#: The purpose of a random stream, the second word of its key; the first word is the run.
_OWN, _COMMON, _CHOICE = range(3)
#: The number of rewards that paired policies share: per arm, and of all arms together.
COMMON, _MOST_AHEAD = 2**16, 2**20
#: The number of rewards that a user's sampler draws at a time.
_CHUNK = 2**12


def _stream(plan: Plan, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=key))


def label_number(label: str) -> int:
    """Return the number of a policy's label in the keys of random streams."""
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "little")


def choice_stream(plan: Plan, run: int, policy: Policy) -> np.random.Generator | None:
    """Return the random generator of a policy's choices, or None for a deterministic policy."""
    return _stream(plan, run, _CHOICE, label_number(policy.label)) if policy.randomised else None


def run_rewards(plan: Plan, run: int, policy: Policy) -> Rewards:
    """Return the rewards of a run, for kernels; ``Refill`` adds those that distributions draw."""
    arms = len(plan.instance.arms)
    own = _stream(plan, run, _OWN, label_number(policy.label))
    # Pull 0 of an arm is its first pull after the history.
    means, first = np.array(plan.instance.means), plan.start.pulls(arms)
    rewards = Rewards(plan.instance.family.law, means, own, np.zeros((arms, 0)), first)
    if plan.instance.rewards is not None:
        tape = np.zeros((arms, max(1, min(_CHUNK, _MOST_AHEAD // arms, plan.horizon))))
        # Before the first pull there is nothing to read.
        return rewards._replace(tape=tape, first=first - tape.shape[1])
    return rewards._replace(tape=_common_tape(plan, run)) if plan.paired else rewards


def _common_tape(plan: Plan, run: int) -> Floats:
    """Return the first rewards of each arm, which all policies of a run share; later ones are per policy."""
    instance = plan.instance
    arms = len(instance.arms)
    ahead = max(16, min(COMMON, _MOST_AHEAD // arms, plan.horizon))
    streams = [_stream(plan, run, _COMMON, arm) for arm in range(arms)]
    means = zip(instance.means.tolist(), streams, strict=True)
    return np.stack([instance.family.draw(mean, ahead, stream) for mean, stream in means])


class Refill:
    """Draw rewards in chunks from the distributions of an instance.

    Each arm has its own random stream, which policies share if they are paired.
    """

    def __init__(self, plan: Plan, run: int, policy: Policy) -> None:
        self._distributions, self._family = plan.instance.rewards, policy.family
        key = (_COMMON,) if plan.paired else (_OWN, label_number(policy.label))
        self._streams = [_stream(plan, run, *key, arm) for arm in range(len(plan.instance.arms))]

    def chunk(self, arm: int, count: int) -> Floats:
        """Return the next rewards of an arm."""
        assert self._distributions is not None
        return drawn_rewards(self._distributions[arm], count, self._streams[arm], self._family)

    def refill(self, rewards: Rewards, arm: int, pulls: int) -> None:
        """Write the next rewards of an arm with ``pulls`` pulls."""
        rewards.tape[arm] = self.chunk(arm, rewards.tape.shape[1])
        rewards.first[arm] = pulls


def reward_iterators(plan: Plan, run: int, policy: Policy) -> list[Iterator[float]]:
    """Return an iterator over the rewards of each arm, for policies in plain Python."""
    return [_rewards_of(plan, run, policy, arm) for arm in range(len(plan.instance.arms))]


def _rewards_of(plan: Plan, run: int, policy: Policy, arm: int) -> Iterator[float]:
    instance, size = plan.instance, min(_CHUNK, plan.horizon)
    if instance.rewards is not None:
        refill = Refill(plan, run, policy)
        while True:
            yield from refill.chunk(arm, size).tolist()
    family, mean = instance.family, float(instance.means[arm])
    if plan.paired:
        arms = len(instance.arms)
        ahead = max(16, min(COMMON, _MOST_AHEAD // arms, plan.horizon))
        yield from family.draw(mean, ahead, _stream(plan, run, _COMMON, arm)).tolist()
    own = _stream(plan, run, _OWN, label_number(policy.label), arm)
    while True:
        yield from family.draw(mean, size, own).tolist()
