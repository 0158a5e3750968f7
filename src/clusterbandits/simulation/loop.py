"""The simulation loop of all policies: select an arm, hold it, draw the rewards of the hold in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel, loop_kernel, specialise
from clusterbandits.families.law import Law, total
from clusterbandits.policies.protocol import KERNELS, hold, learn, select, update, watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

#: Indices into a cursor: the next round, the next checkpoint, the arm already selected for the next round or
#: -1, and the first round, which a history may precede.
ROUND, CHECKPOINT, SELECTED, FIRST = range(4)
#: The reasons why ``advance`` returns.
DONE, PAUSED, OUT_OF_TAPE = range(3)
#: The number of choices per call: tens of milliseconds of work.
STEPS = 100_000


class Rewards(NamedTuple):
    """The rewards of all arms: read from a tape up to its end, then drawn from a distribution.

    ``tape[k, i]`` is the reward of pull number ``first[k] + i`` of arm k, counting pulls from 0.
    """

    law: Law
    means: NDArray[np.float64]
    rng: np.random.Generator
    tape: NDArray[np.float64]
    first: NDArray[np.int64]


class Record(NamedTuple):
    """The record of a run: pulls at checkpoints and, if ``path`` is not empty, the arm of each round.

    Checkpoints count rounds from the first one of the cursor; pulls include those of the initial state.
    """

    checkpoints: NDArray[np.int64]
    pulls: NDArray[np.int64]
    path: NDArray[np.int64]


class Rules(NamedTuple):
    """The last round, whether to choose in every round, and whether to draw rewards beyond a tape."""

    horizon: int
    stepwise: bool
    endless: bool = False


@loop_kernel
def advance(
    state: Any, rewards: Rewards, record: Record, cursor: NDArray[np.int64], rules: Rules, steps: int
) -> int:
    """Simulate from the cursor on for at most ``steps`` choices; return the reason for stopping.

    References are counted once per call: without that, a kernel would never release its generator, and in the
    loop it would take most of the time.
    """
    return _advance(state, rewards, record, cursor, rules, steps)


@kernel
def _advance(
    state: Any, rewards: Rewards, record: Record, cursor: NDArray[np.int64], rules: Rules, steps: int
) -> int:
    if not state.pulls.size == rewards.means.size == record.pulls.shape[1]:
        raise IndexError("a policy has other arms than its rewards")
    for _ in range(steps):
        n = cursor[ROUND]
        if n > rules.horizon:
            return DONE
        beyond = min(watch(state, n), rules.horizon + 1)
        arm = cursor[SELECTED] if cursor[SELECTED] >= 0 else select(state, n)
        cursor[SELECTED] = -1
        if not 0 <= arm < state.pulls.size:
            raise IndexError("a policy selected an arm that does not exist")
        # Nothing is recorded after the horizon, even if a policy returns a longer hold.
        rounds = 1 if rules.stepwise else max(1, min(hold(state, arm, n, beyond - n), beyond - n))
        left = rewards.first[arm] + rewards.tape.shape[1] - state.pulls[arm]
        if left > 0:
            rounds = min(rounds, left)
        elif rewards.tape.shape[1] > 0 and not rules.endless:
            # A random policy must not draw again for this round.
            cursor[SELECTED] = arm
            return OUT_OF_TAPE
        _write(state.pulls, record, cursor, arm, rounds)
        _give(state, rewards, arm, rounds)
        learn(state, arm)
        cursor[ROUND] = n + rounds
    return DONE if cursor[ROUND] > rules.horizon else PAUSED


@inner_kernel
def _write(
    pulls: NDArray[np.int64], record: Record, cursor: NDArray[np.int64], arm: int, rounds: int
) -> None:
    """Record the pulls at each checkpoint in these rounds, which are known before the rewards."""
    done = cursor[ROUND] - cursor[FIRST]
    while cursor[CHECKPOINT] < record.checkpoints.size:
        place = cursor[CHECKPOINT]
        into = record.checkpoints[place] - done
        if into > rounds:
            break
        for one in range(pulls.size):
            record.pulls[place, one] = pulls[one]
        record.pulls[place, arm] += into
        cursor[CHECKPOINT] += 1
    if record.path.size > 0:
        for place in range(done, done + rounds):
            record.path[place] = arm


@inner_kernel
def _give(state: Any, rewards: Rewards, arm: int, rounds: int) -> None:
    """Pass the rewards of the rounds to the policy; those of a tape one by one, to keep the order of sums."""
    if state.pulls[arm] - rewards.first[arm] >= rewards.tape.shape[1]:
        _draw(state, rewards, arm, rounds)
        return
    for _ in range(rounds):
        update(state, arm, 1, rewards.tape[arm, state.pulls[arm] - rewards.first[arm]])


def _draw(state: Any, rewards: Rewards, arm: int, rounds: int) -> None:
    """Draw the rewards of the rounds and pass them to the policy: their sum, or each one if it needs them."""
    (_draw_each if KERNELS[type(state)].wants_each else _draw_sum)(state, rewards, arm, rounds)


@specialise(_draw)
def _pick_draw(state: Any, *_: Any) -> Callable[..., None]:
    return _draw_each if KERNELS[state.instance_class].wants_each else _draw_sum


def _draw_sum(state: Any, rewards: Rewards, arm: int, rounds: int) -> None:
    update(state, arm, rounds, total(rewards.law, rewards.rng, rewards.means[arm], rounds))


def _draw_each(state: Any, rewards: Rewards, arm: int, rounds: int) -> None:
    for _ in range(rounds):
        update(state, arm, 1, total(rewards.law, rewards.rng, rewards.means[arm], 1))


def new_cursor(first: int = 1) -> NDArray[np.int64]:
    """Return a cursor before the first round, which has the number ``first``."""
    return np.array([first, 0, -1, first], dtype=np.int64)
