"""A policy played against rewards that are fixed beforehand."""

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
    """Return the number of the arm played in every round against fixed rewards.

    The policy is played from its first round on; what it was told online is left alone.

    Parameters
    ----------
    policy
        The policy to play.
    tape
        ``tape[k, i]`` is what pull i of arm k pays, both counted from 0.
    horizon
        How many rounds; by default as many as the tape has columns.
    stepwise
        Choose anew in every round instead of holding an arm while the choice is certain. The arms are the
        same; it only takes longer.
    start
        A history that the policy knows before the first round, as for ``simulate``; by default none. The tape
        and the horizon are those of the rounds after it.

    Examples
    --------
    >>> from clusterbandits import Clusters, KLUCB
    >>> play(KLUCB(Clusters([2], widths=1)), [[0, 1, 0, 0], [1, 1, 0, 1]]).tolist()
    [0, 1, 1, 1]
    """
    if not isinstance(policy, Policy):
        raise invalid("policy", "play", "a policy", policy)
    paid = _read_tape(policy, tape)
    rounds = paid.shape[1] if horizon is None else whole("horizon", "play", horizon, least=1)
    if rounds > paid.size:
        given = Described(f"{paid.size} rewards")
        raise invalid("tape", "play", f"long enough for {rounds} rounds", given)
    arms, past = paid.shape[0], read_start(start, policy.clusters.arms, "play")
    past.check_horizon(rounds, "play")
    past.check_policy(policy, "play")
    learner = policy.for_horizon(past.trials + rounds)
    if not learner.compiled:
        return _play_in_python(learner, past, paid, rounds)
    state, cursor = past.state(learner), new_cursor(past.trials + 1)
    nothing = np.zeros(arms)
    rewards = Rewards(policy.family.law, nothing, np.random.default_rng(0), paid, past.pulls(arms))
    path = np.zeros(rounds, dtype=np.int64)
    record = Record(np.zeros(0, dtype=np.int64), np.zeros((0, arms), dtype=np.int64), path)
    ended, rules = PAUSED, Rules(past.trials + rounds, bool(stepwise))
    while ended == PAUSED:
        ended = advance(state, rewards, record, cursor, rules, STEPS)
    if ended == OUT_OF_TAPE:
        raise _too_short(policy, paid, int(cursor[SELECTED]), int(cursor[ROUND]) - past.trials, rounds)
    return path


def _play_in_python(
    policy: Policy, start: Start, paid: NDArray[np.float64], rounds: int
) -> NDArray[np.int64]:
    state, before, past = start.state(policy), start.trials, start.pulls(paid.shape[0])
    path = np.zeros(rounds, dtype=np.int64)
    for n in range(1, rounds + 1):
        arm = path[n - 1] = select(state, before + n)
        pull = state.pulls[arm] - past[arm]
        if pull == paid.shape[1]:
            raise _too_short(policy, paid, arm, n, rounds)
        update(state, arm, 1, float(paid[arm, pull]))
    return path


def _too_short(policy: Policy, paid: NDArray[np.float64], arm: int, n: int, rounds: int) -> Exception:
    short = policy.clusters.arms[arm]
    given = Described(f"{paid.shape[1]} rewards of arm {short!r}, all used by round {n},")
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
    paid = np.array(given, dtype=np.float64, order="C")
    if paid.ndim != 2 or paid.shape[0] != arms or not paid.shape[1]:
        raise invalid("tape", "play", allowed, Described(f"shape {paid.shape}"))
    refused = paid[~policy.family.supports(paid, 1)]
    if refused.size:
        policy.family.read_total(float(refused[0]), 1, "play")
    return paid
