"""Run a policy on rewards that are fixed in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.policies import Policy
from clusterbandits.policies.protocol import select, update
from clusterbandits.simulation.loop import (
    OUT_OF_TAPE,
    PAUSED,
    ROUND,
    SELECTED,
    STEPS,
    Record,
    Rewards,
    Rules,
    advance,
    new_cursor,
)
from clusterbandits.simulation.start import Start, read_start
from clusterbandits.validate import Described, invalid, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from clusterbandits.policies.policy import Past


def play(
    policy: Policy,
    tape: ArrayLike,
    horizon: int | None = None,
    stepwise: bool = False,
    *,
    start: Past | None = None,
) -> NDArray[np.int64]:
    """Return the number of the arm that a policy pulls in each round, given fixed rewards.

    The policy starts from its first round; its online state is neither used nor changed.

    Parameters
    ----------
    policy
        Policy to run.
    tape
        ``tape[k, i]`` is the reward of pull i of arm k, both counted from 0.
    horizon
        Number of rounds; by default the number of columns of the tape.
    stepwise
        Whether to choose in every round instead of holding an arm while the choice is certain; by default
        not. The arms are the same, but it takes longer.
    start
        History that the policy starts from, as for ``simulate``; by default none. The tape and the horizon
        count the rounds after it.

    Examples
    --------
    >>> from clusterbandits import Clusters, KLUCB
    >>> play(KLUCB(Clusters([2], widths=1)), [[0, 1, 0, 0], [1, 1, 0, 1]]).tolist()
    [0, 1, 1, 1]
    """
    if not isinstance(policy, Policy):
        raise invalid("policy", "play", "a policy", policy)
    fixed = _read_tape(policy, tape)
    rounds = fixed.shape[1] if horizon is None else whole("horizon", "play", horizon, least=1)
    if rounds > fixed.size:
        given = Described(f"{fixed.size} rewards")
        raise invalid("tape", "play", f"long enough for {rounds} rounds", given)
    arms, past = fixed.shape[0], read_start(start, policy.clusters.arms, "play")
    past.check_horizon(rounds, "play")
    past.check_policy(policy, "play")
    learner = policy.for_horizon(past.trials + rounds)
    if not learner.compiled:
        return _play_in_python(learner, past, fixed, rounds)
    state, cursor = past.state(learner), new_cursor(past.trials + 1)
    nothing = np.zeros(arms)
    rewards = Rewards(policy.family.law, nothing, np.random.default_rng(0), fixed, past.pulls(arms))
    path = np.zeros(rounds, dtype=np.int64)
    record = Record(np.zeros(0, dtype=np.int64), np.zeros((0, arms), dtype=np.int64), path)
    ended, rules = PAUSED, Rules(past.trials + rounds, bool(stepwise))
    while ended == PAUSED:
        ended = advance(state, rewards, record, cursor, rules, STEPS)
    if ended == OUT_OF_TAPE:
        raise _too_short(policy, fixed, int(cursor[SELECTED]), int(cursor[ROUND]) - past.trials, rounds)
    return path


def _play_in_python(
    policy: Policy, start: Start, rewards: NDArray[np.float64], rounds: int
) -> NDArray[np.int64]:
    state, before, past = start.state(policy), start.trials, start.pulls(rewards.shape[0])
    path = np.zeros(rounds, dtype=np.int64)
    for n in range(1, rounds + 1):
        arm = path[n - 1] = select(state, before + n)
        pull = state.pulls[arm] - past[arm]
        if pull == rewards.shape[1]:
            raise _too_short(policy, rewards, arm, n, rounds)
        update(state, arm, 1, float(rewards[arm, pull]))
    return path


def _too_short(policy: Policy, rewards: NDArray[np.float64], arm: int, n: int, rounds: int) -> Exception:
    short = policy.clusters.arms[arm]
    given = Described(f"{rewards.shape[1]} rewards of arm {short!r}, all used by round {n},")
    return invalid("tape", "play", f"long enough for {rounds} rounds", given)


def _read_tape(policy: Policy, tape: ArrayLike) -> NDArray[np.float64]:
    arms = len(policy.clusters.arms)
    allowed = f"a table of numbers with a row for each of {arms} arms and at least one column"
    try:
        given = np.asarray(tape)
    except ValueError:
        raise invalid("tape", "play", allowed, tape) from None
    if given.dtype.kind not in "biuf":
        raise invalid("tape", "play", allowed, tape)
    rewards = np.array(given, dtype=np.float64, order="C")
    if rewards.ndim != 2 or rewards.shape[0] != arms or not rewards.shape[1]:
        raise invalid("tape", "play", allowed, Described(f"shape {rewards.shape}"))
    refused = rewards[~policy.family.supports(rewards, 1)]
    if refused.size:
        policy.family.read_total(float(refused[0]), 1, "play")
    return rewards
