"""One run of one policy, from its own random streams: the same bits wherever and whenever it is played."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.simulation.loop import (
    CHECKPOINT,
    DONE,
    PAUSED,
    ROUND,
    Record,
    Rewards,
    Rules,
    advance,
    new_cursor,
)
from clusterbandits.simulation.plan import Block, Plan, Played, plan_of_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    #: Told how many more rounds have been played; may raise to stop.
    Watch = Callable[[int], None]

#: What a random stream is for, the second word of its key; the first is the run.
_OWN, _COMMON, _CHOICE = range(3)
#: Choices made at first, and seconds after which, before a kernel looks up to see whether to stop.
_FIRST_STEPS, _MOST_STEPS, _LOOK_UP = 2**14, 2**20, 0.02
#: Rewards of an arm that policies share where they are paired, and of all arms together.
COMMON, _MOST_AHEAD = 2**16, 2**20


def play_block(plan_text: str, block: Block) -> Played:
    """Play a block of a plan written as text: what executors send to their workers."""
    return play_runs(plan_of_json(plan_text), Block(*block), lambda _: None)


def play_runs(plan: Plan, block: Block, watch: Watch) -> Played:
    """Return what the block's runs leave behind."""
    runs = range(block.first, block.first + block.runs)
    pulls, alarms = zip(*(_play_run(plan, block.policy, run, watch) for run in runs), strict=True)
    return Played(np.stack(pulls), np.stack(alarms))


def _play_run(plan: Plan, place: int, run: int, watch: Watch) -> tuple[Ints, Ints]:
    policy = plan.policies[place]
    arms = len(plan.instance.arms)
    chance = _stream(plan, run, _CHOICE, label_number(policy.label)) if policy.randomised else None
    state, cursor = policy.fresh_state(chance), new_cursor()
    checkpoints = np.array(plan.checkpoints, dtype=np.int64)
    record = Record(
        checkpoints, np.zeros((checkpoints.size, arms), dtype=np.int64), np.zeros(0, dtype=np.int64)
    )
    rewards = (_common_rewards if plan.paired else _own_rewards)(plan, run, policy.label)
    rules = Rules(plan.horizon, plan.stepwise, endless=True)
    ended, before, steps = PAUSED, 1, max(1, _FIRST_STEPS // arms)
    while ended != DONE:
        start = time.monotonic()
        ended = advance(state, rewards, record, cursor, rules, steps)
        if time.monotonic() - start > _LOOK_UP:
            steps = max(1, steps // 2)
        elif ended == PAUSED:
            steps = min(2 * steps, max(1, _MOST_STEPS // arms))
        watch(int(cursor[ROUND]) - before)
        before = int(cursor[ROUND])
    if cursor[CHECKPOINT] != checkpoints.size:
        raise AssertionError("a run ended before its last checkpoint")
    alarm = getattr(state, "alarm", None)
    quiet = np.zeros(len(policy.clusters.widths), dtype=np.int64)
    return record.pulls, quiet if alarm is None or alarm.fired.size != quiet.size else alarm.fired


def _stream(plan: Plan, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=key))


def _own_rewards(plan: Plan, run: int, label: str) -> Rewards:
    """Return rewards of the policy's own: named by its label, so that they do not depend on its rivals."""
    arms = len(plan.instance.arms)
    means = np.array(plan.instance.means)
    nothing = np.zeros((arms, 0))
    law = plan.instance.family.law
    own = _stream(plan, run, _OWN, label_number(label))
    return Rewards(law, means, own, nothing, np.zeros(arms, dtype=np.int64))


def label_number(label: str) -> int:
    """Return the number that a policy's label has in the keys of random streams."""
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "little")


def _common_rewards(plan: Plan, run: int, label: str) -> Rewards:
    """Return rewards whose beginning every policy meets alike; the rest is the policy's own."""
    instance = plan.instance
    arms = len(instance.arms)
    ahead = max(16, min(COMMON, _MOST_AHEAD // arms, plan.horizon))
    streams = [_stream(plan, run, _COMMON, arm) for arm in range(arms)]
    means = zip(instance.means.tolist(), streams, strict=True)
    tape = np.stack([instance.family.draw(mean, ahead, stream) for mean, stream in means])
    return _own_rewards(plan, run, label)._replace(tape=tape)
