"""One run of one policy, from its own random streams: the same result on every computer and worker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.policies.protocol import select, update
from clusterbandits.simulation.loop import (
    CHECKPOINT,
    DONE,
    OUT_OF_TAPE,
    PAUSED,
    ROUND,
    SELECTED,
    Record,
    Rules,
    advance,
    new_cursor,
)
from clusterbandits.simulation.plan import Block, Plan, Played, plan_of_json
from clusterbandits.simulation.rewards import Refill, choice_stream, reward_iterators, run_rewards

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from clusterbandits.policies import Policy

    Ints = NDArray[np.int64]
    #: A function that receives the number of further rounds simulated, and may raise to stop.
    Watch = Callable[[int], None]

#: The number of choices in the first call of a kernel, the largest number, and the target duration in
#: seconds.
_FIRST_STEPS, _MOST_STEPS, _LOOK_UP = 2**14, 2**20, 0.02
#: The number of rounds in Python between two progress reports.
_PYTHON_STEPS = 1000


def play_block(plan_text: str, block: Block) -> Played:
    """Simulate a block of a plan given as text; executors send this call to their workers."""
    plan = plan_of_json(plan_text)
    plan.check_sources()
    return play_runs(plan, Block(*block), lambda _: None)


def play_alone(plan: Plan, block: Block, sources: tuple[str, ...]) -> Played:
    """Simulate a block in another process, if the code from outside the package is the same there."""
    plan.check_sources(sources)
    return play_runs(plan, block, lambda _: None)


def play_runs(plan: Plan, block: Block, watch: Watch) -> Played:
    """Simulate the runs of a block and return their results."""
    play = _play_compiled if plan.policies[block.policy].compiled else _play_in_python
    runs = range(block.first, block.first + block.runs)
    pulls, alarms = zip(*(play(plan, plan.policies[block.policy], run, watch) for run in runs), strict=True)
    return Played(np.stack(pulls), np.stack(alarms))


def _play_compiled(plan: Plan, policy: Policy, run: int, watch: Watch) -> tuple[Ints, Ints]:
    arms = len(plan.instance.arms)
    before, past = plan.start.trials, plan.start.pulls(arms)
    state, cursor = plan.start.state(policy, choice_stream(plan, run, policy)), new_cursor(before + 1)
    checkpoints = np.array(plan.checkpoints, dtype=np.int64)
    record = Record(
        checkpoints, np.zeros((checkpoints.size, arms), dtype=np.int64), np.zeros(0, dtype=np.int64)
    )
    rewards, distributed = run_rewards(plan, run, policy), plan.instance.rewards is not None
    refill = Refill(plan, run, policy) if distributed else None
    rules = Rules(before + plan.horizon, plan.stepwise, endless=not distributed)
    ended, seen, steps = PAUSED, before + 1, max(1, _FIRST_STEPS // arms)
    while ended != DONE:
        start = time.monotonic()
        ended = advance(state, rewards, record, cursor, rules, steps)
        if time.monotonic() - start > _LOOK_UP:
            steps = max(1, steps // 2)
        elif ended == PAUSED:
            steps = min(2 * steps, max(1, _MOST_STEPS // arms))
        if ended == OUT_OF_TAPE and refill is not None:
            arm = int(cursor[SELECTED])
            refill.refill(rewards, arm, int(state.pulls[arm]))
        watch(int(cursor[ROUND]) - seen)
        seen = int(cursor[ROUND])
    if cursor[CHECKPOINT] != checkpoints.size:
        raise AssertionError("a run ended before its last checkpoint")
    alarm = getattr(state, "alarm", None)
    quiet = np.zeros(len(policy.clusters.widths), dtype=np.int64)
    fired = quiet if alarm is None or alarm.fired.size != quiet.size else alarm.fired
    return record.pulls - past, _new_rounds(fired, before)


def _new_rounds(fired: Ints, before: int) -> Ints:
    """Return the rounds of alarms, counted after the history; alarms by the history itself are in round 1."""
    return np.where(fired > 0, np.maximum(fired - before, 1), 0)


def _play_in_python(plan: Plan, policy: Policy, run: int, watch: Watch) -> tuple[Ints, Ints]:
    state = plan.start.state(policy, choice_stream(plan, run, policy))
    rewards = reward_iterators(plan, run, policy)
    before, past = plan.start.trials, plan.start.pulls(len(rewards))
    pulls: Ints = np.zeros((len(plan.checkpoints), len(rewards)), dtype=np.int64)
    n = 1
    for place, checkpoint in enumerate(plan.checkpoints):
        while n <= checkpoint:
            until = min(checkpoint + 1, n + _PYTHON_STEPS)
            watch(until - n)
            while n < until:
                arm = select(state, before + n)
                update(state, arm, 1, next(rewards[arm]))
                n += 1
        pulls[place] = state.pulls - past
    return pulls, np.zeros(len(policy.clusters.widths), dtype=np.int64)
