"""The loop every policy is played by: select, hold, draw what the hold pays in one go, go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.compiled import allocating_kernel, inner_kernel, kernel, specialise
from clusterbandits.families.law import Law, total
from clusterbandits.policies.protocol import KERNELS, hold, learn, select, update, watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

#: Places in a cursor: the round about to be played, the first checkpoint not yet passed, the arm that is
#: selected for that round already, -1 where none is, and the first round, which a history may precede.
ROUND, CHECKPOINT, SELECTED, FIRST = range(4)
#: Why ``advance`` returned.
DONE, PAUSED, OUT_OF_TAPE = range(3)
#: Choices to make before looking up: tens of milliseconds of work.
STEPS = 100_000


class Rewards(NamedTuple):
    """What arms pay: read from a tape as far as that goes, drawn from a law beyond.

    ``tape[k, i]`` is what pull number ``first[k] + i`` of arm k pays, counting pulls from 0.
    """

    law: Law
    means: NDArray[np.float64]
    rng: np.random.Generator
    tape: NDArray[np.float64]
    first: NDArray[np.int64]


class Record(NamedTuple):
    """What is written down: pulls at checkpoints and, where it has room, the arm of every round.

    Checkpoints count rounds from the first one of the cursor; pulls include those that the state began with.
    """

    checkpoints: NDArray[np.int64]
    pulls: NDArray[np.int64]
    path: NDArray[np.int64]


class Rules(NamedTuple):
    """The last round, whether to choose anew in every round, and whether rewards go on beyond a tape."""

    horizon: int
    stepwise: bool
    endless: bool = False


@allocating_kernel
def advance(
    state: Any, rewards: Rewards, record: Record, cursor: NDArray[np.int64], rules: Rules, steps: int
) -> int:
    """Play on from the cursor for at most so many choices; return why it stopped.

    It counts references, once a call: a kernel that does not would keep every generator it is handed, and a
    loop that does would spend most of its time on it.
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
        # Whatever a policy answers, nothing is written past the horizon.
        rounds = 1 if rules.stepwise else max(1, min(hold(state, arm, n, beyond - n), beyond - n))
        left = rewards.first[arm] + rewards.tape.shape[1] - state.pulls[arm]
        if left > 0:
            rounds = min(rounds, left)
        elif rewards.tape.shape[1] > 0 and not rules.endless:
            # A policy that draws must not draw again for this round.
            cursor[SELECTED] = arm
            return OUT_OF_TAPE
        _write(state.pulls, record, cursor, arm, rounds)
        _pay(state, rewards, arm, rounds)
        learn(state, arm)
        cursor[ROUND] = n + rounds
    return DONE if cursor[ROUND] > rules.horizon else PAUSED


@inner_kernel
def _write(
    pulls: NDArray[np.int64], record: Record, cursor: NDArray[np.int64], arm: int, rounds: int
) -> None:
    """Write down the pulls at every checkpoint that these rounds pass: known before they are paid."""
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
def _pay(state: Any, rewards: Rewards, arm: int, rounds: int) -> None:
    """Tell the policy what the rounds paid; a tape one by one, as sums of floats depend on order."""
    if state.pulls[arm] - rewards.first[arm] >= rewards.tape.shape[1]:
        _draw(state, rewards, arm, rounds)
        return
    for _ in range(rounds):
        update(state, arm, 1, rewards.tape[arm, state.pulls[arm] - rewards.first[arm]])


def _draw(state: Any, rewards: Rewards, arm: int, rounds: int) -> None:
    """Draw what the rounds pay and tell the policy: the sum, or every reward to a policy that needs it."""
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
    """Return a cursor before the first round, whose number is ``first``."""
    return np.array([first, 0, -1, first], dtype=np.int64)
