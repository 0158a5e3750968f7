r"""The second reading of a log: its rows are thinned to a uniform log and cut into episodes.

A row of a uniform log over K arms shows the arm that a policy chose with probability 1/K, whatever it chose
and whatever the rewards before. An episode gets enough rows to match ``rounds`` rounds in 999 of 1000
episodes, P(Binomial(rows, 1/K) < rounds) ≤ 0.001. Episodes that run out of rows are omitted. Matching does
not depend on rewards, so this causes no bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

from clusterbandits.simulation.loop import ROUND, new_cursor
from clusterbandits.simulation.replaying import Rows, replay_in_python, replay_rows
from clusterbandits.simulation.rewards import label_number
from clusterbandits.simulation.start import NO_HISTORY, Start
from clusterbandits.simulation.statistics import count_text
from clusterbandits.studies.log_checks import Order
from clusterbandits.studies.log_survey import ReplayProgress
from clusterbandits.validate import Described, invalid, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from clusterbandits.policies import Policy
    from clusterbandits.studies.columns import Source
    from clusterbandits.studies.log_survey import ReplayListener, Survey

    Floats = NDArray[np.float64]

EPISODES = 20
_FEWEST, _MOST = 2, 100_000
_UNCHANGED = "the log must not change while it is read"
#: The share of episodes that may run out of rows.
_UNFINISHED = 1e-3
#: For more rounds a normal approximation is used; for many more, SciPy's quantile crashes.
_COUNTED = 10**9
#: The purpose of a random stream, the first word of its key.
_THINNING, _CHOICE = range(2)


@dataclass(frozen=True)
class Episodes:
    """The rounds of an episode, and the usable rows that it gets."""

    rounds: int
    rows: int


def rows_for(rounds: int, arms: int) -> int:
    """Return the number of rows that match this many rounds in 999 of 1000 episodes.

    Examples
    --------
    >>> rows_for(1000, 6)
    6551
    """
    if rounds > _COUNTED:
        spread = math.sqrt(float(rounds) * arms * (arms - 1))
        return rounds * arms + int(stats.norm.isf(_UNFINISHED) * spread)
    return rounds + int(stats.nbinom.isf(_UNFINISHED, rounds, 1.0 / arms))


def rounds_in(rows: int, arms: int) -> int:
    """Return the largest number of rounds that this many rows match in 999 of 1000 episodes.

    Examples
    --------
    >>> rounds_in(6551, 6)
    1000
    """
    return int(stats.binom.ppf(_UNFINISHED, rows, 1.0 / arms))


def plan_episodes(source: Source, found: Survey, rounds: object) -> Episodes:
    """Return the episodes of a log, by default about 20; refuse a log that is too short."""
    arms, usable = len(found.arms), int(found.usable)
    if rounds is None:
        return _by_default(source, found)
    wanted = whole("rounds", "replay", rounds, least=1)
    rows = rows_for(wanted, arms)
    if usable < _FEWEST * rows:
        length = count_text(wanted, "round")
        rule = f"{_FEWEST} episodes of {length} need about {_FEWEST * rows:,} usable rows"
        raise source.refuse(rule, _usable(found))
    if usable > _MOST * rows:
        least = rounds_in(usable // _MOST, arms) + 1
        allowed = f"at least {least} for a log of {usable:,} usable rows"
        raise invalid("rounds", "replay", allowed, Described(f"{wanted}, or {usable // rows:,} episodes"))
    return Episodes(wanted, rows)


def _by_default(source: Source, found: Survey) -> Episodes:
    arms = len(found.arms)
    rows = int(found.usable) // EPISODES
    rounds = rounds_in(rows, arms) if rows else 0
    if rounds < arms:
        rounds_option = source.naming.wording.parameter("rounds")
        rule = f"{EPISODES} episodes with one round per arm need about "
        rule += f"{EPISODES * rows_for(arms, arms):,} usable rows; {rounds_option} sets shorter episodes"
        raise source.refuse(rule, _usable(found))
    return Episodes(rounds, rows)


def _usable(found: Survey) -> str:
    if found.least is None:
        return f"There are {found.rows:,}"
    least = float(found.least.min())
    usable = f"There are {int(found.usable):,} of {found.rows:,}"
    return f"{usable}, because the smallest propensity is {least:.3g}"


class Learner(NamedTuple):
    """A policy, its number for each arm of the log, and the history that it starts from."""

    policy: Policy
    numbers: NDArray[np.int64]
    start: Start = NO_HISTORY


class Played(NamedTuple):
    """The outcome of all episodes."""

    #: ``[policy, episode]``: mean reward per round; NaN where too few rows of an episode matched.
    means: Floats
    #: ``[policy]``: episodes in which rewards contradicted a declared width.
    alarmed: tuple[int, ...]
    #: Rows of the uniform log.
    usable: int


def replay_episodes(
    source: Source,
    found: Survey,
    learners: list[Learner],
    episodes: Episodes,
    seed: int,
    listener: ReplayListener | None = None,
) -> Played:
    """Replay the log to all policies at once, a batch of rows at a time."""
    replayed = [_Replayed(learner, episodes.rounds, seed) for learner in learners]
    order = Order(len(found.arms))
    for rows in _uniform_rows(source, found, seed, listener):
        before = order.rows
        order.take(rows.arms)
        for part, ends in _parts(before, rows.arms.size, episodes.rows):
            for one in replayed:
                one.see(Rows(rows.arms[part], rows.rewards[part], rows.usable[part]))
                if ends:
                    one.end()
    order.check(source)
    means = np.array([one.means for one in replayed])
    return Played(means, tuple(one.alarmed for one in replayed), order.rows)


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random generator for one seed and purpose."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def chance_of(seed: int, label: str, episode: int) -> np.random.Generator:
    """Return the random generator of a randomised policy in one episode."""
    return stream(seed, _CHOICE, label_number(label), episode)


def _uniform_rows(
    source: Source, found: Survey, seed: int, listener: ReplayListener | None
) -> Iterator[Rows]:
    """Return the rows that are kept, each with probability p_min/p, so that all arms are equally likely."""
    coin, done = stream(seed, _THINNING), 0
    least = None if found.least is None else float(found.least.min())
    for batch in source:
        # A log that is still being written may have grown: only the rows of the first reading count.
        size = min(batch.rows, found.rows - done)
        groups = None if found.groups is None else batch.text("group")[:size]
        arms = found.numbers.numbers(batch.text("arm")[:size], groups)
        if len(found.numbers) > len(found.arms):
            raise source.refuse(_UNCHANGED, "A new arm appeared")
        # Numba would compile the loop again for read-only arrays.
        rewards = np.require(batch.numbers("reward")[:size], requirements="W")
        if least is not None:
            kept = coin.random(size) <= least / batch.numbers("propensity")[:size]
            arms, rewards = arms[kept], rewards[kept]
        yield Rows(arms, rewards, np.ones(arms.size, dtype=np.bool_))
        done += size
        if listener is not None:
            listener(ReplayProgress("replaying", done, found.rows))
        if done == found.rows:
            return
    raise source.refuse(_UNCHANGED, f"It had {found.rows:,} rows, and then {done:,}")


def _parts(before: int, size: int, episode: int) -> Iterator[tuple[slice, bool]]:
    """Return rows cut where episodes end, and whether one ends there."""
    start = 0
    while start < size:
        stop = min(size, start + episode - (before + start) % episode)
        yield slice(start, stop), (before + stop) % episode == 0
        start = stop


class _Replayed:
    """A policy and its results in the episodes so far."""

    def __init__(self, learner: Learner, rounds: int, seed: int) -> None:
        self._start = learner.start
        self._policy: Policy = learner.policy.for_horizon(self._start.trials + rounds)
        numbers = learner.numbers
        self._numbers = None if np.array_equal(numbers, np.arange(numbers.size)) else numbers
        self._rounds, self._seed = rounds, seed
        self.means: list[float] = []
        self.alarmed = 0
        self._begin()

    def _begin(self) -> None:
        policy = self._policy
        chance = chance_of(self._seed, policy.label, len(self.means)) if policy.randomised else None
        self._state: Any = self._start.state(policy, chance)
        self._cursor, self._earned = new_cursor(self._start.trials + 1), np.zeros(1)

    @property
    def _last_round(self) -> int:
        return self._start.trials + self._rounds

    @property
    def _done(self) -> bool:
        return bool(self._cursor[ROUND] > self._last_round)

    def see(self, rows: Rows) -> None:
        """Replay some rows of the current episode."""
        if self._done:
            return
        shown = rows if self._numbers is None else rows._replace(arms=self._numbers[rows.arms])
        replay = replay_rows if self._policy.compiled else replay_in_python
        replay(self._state, shown, 0, self._cursor, self._earned, self._last_round)

    def end(self) -> None:
        """Store the result of the episode and begin the next one."""
        self.means.append(float(self._earned[0]) / self._rounds if self._done else np.nan)
        alarm = getattr(self._state, "alarm", None)
        self.alarmed += bool(self._done and alarm is not None and alarm.fired.any())
        self._begin()
