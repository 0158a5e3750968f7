"""The second reading: rows become a uniform log, cut into episodes that every policy plays anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.simulation.loop import ROUND, new_cursor
from clusterbandits.simulation.replaying import Rows, replay_rows
from clusterbandits.simulation.rewards import label_number
from clusterbandits.studies.replay.progress import ReplayProgress
from clusterbandits.studies.replay.rows import Names
from clusterbandits.studies.replay.trust import Order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from clusterbandits.policies import Policy
    from clusterbandits.studies.columns import Source
    from clusterbandits.studies.replay.episodes import Episodes
    from clusterbandits.studies.replay.learners import Learner
    from clusterbandits.studies.replay.progress import ReplayListener
    from clusterbandits.studies.replay.survey import Survey

    Floats = NDArray[np.float64]

#: What a random stream is for, the first word of its key.
_THINNING, _CHOICE = range(2)


class Played(NamedTuple):
    """What a replay leaves behind."""

    #: ``[policy, episode]``: reward a round; NaN where the rows of an episode did not match enough rounds.
    means: Floats
    #: ``[policy]``: episodes in which rewards contradicted a declared width.
    alarmed: tuple[int, ...]
    #: Rows of the uniform log.
    usable: int


def play(
    source: Source,
    found: Survey,
    learners: list[Learner],
    episodes: Episodes,
    seed: int,
    listener: ReplayListener | None = None,
) -> Played:
    """Replay the log to all policies at once, a batch of rows at a time."""
    seats = [_Seat(learner, episodes.rounds, seed) for learner in learners]
    order = Order(len(found.arms))
    for rows in _uniform_rows(source, found, seed, listener):
        before = order.rows
        order.take(rows.arms)
        for part, ends in _parts(before, rows.arms.size, episodes.rows):
            for seat in seats:
                seat.see(Rows(rows.arms[part], rows.rewards[part], rows.usable[part]))
                if ends:
                    seat.end()
    order.check(source)
    return Played(np.array([seat.means for seat in seats]), tuple(seat.alarmed for seat in seats), order.rows)


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the generator of one seed, purpose and place."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def chance_of(seed: int, label: str, episode: int) -> np.random.Generator:
    """Return what a policy that draws draws from in one episode."""
    return stream(seed, _CHOICE, label_number(label), episode)


def _uniform_rows(
    source: Source, found: Survey, seed: int, listener: ReplayListener | None
) -> Iterator[Rows]:
    """Return the rows that are kept: each with the chance p_min/p, which leaves every arm the same."""
    names, coin, done = Names.of(found.arms), stream(seed, _THINNING), 0
    least = None if found.least is None else float(found.least.min())
    for batch in source:
        # A log that is still being written has grown since; what it was is what is replayed.
        size = min(batch.rows, found.rows - done)
        arms = names.numbers(batch.text("arm")[:size])
        if len(names) > len(found.arms):
            raise source.refuse("stay as it is while it is read", f"a new arm, {names.names[-1]!r},")
        rewards = batch.numbers("reward")[:size]
        if least is not None:
            kept = coin.random(size) <= least / batch.numbers("propensity")[:size]
            arms, rewards = arms[kept], rewards[kept]
        yield Rows(arms, rewards, np.ones(arms.size, dtype=np.bool_))
        done += size
        if listener is not None:
            listener(ReplayProgress("replaying", done, found.rows))
        if done == found.rows:
            return
    raise source.refuse("stay as it is while it is read", f"{done:,} rows after {found.rows:,}")


def _parts(before: int, size: int, episode: int) -> Iterator[tuple[slice, bool]]:
    """Return rows cut where episodes end, and whether one ends there."""
    start = 0
    while start < size:
        stop = min(size, start + episode - (before + start) % episode)
        yield slice(start, stop), (before + stop) % episode == 0
        start = stop


class _Seat:
    """A policy at its place before the passing rows."""

    def __init__(self, learner: Learner, rounds: int, seed: int) -> None:
        self._policy: Policy = learner.policy.for_horizon(rounds)
        numbers = learner.numbers
        self._numbers = None if np.array_equal(numbers, np.arange(numbers.size)) else numbers
        self._rounds, self._seed = rounds, seed
        self.means: list[float] = []
        self.alarmed = 0
        self._begin()

    def _begin(self) -> None:
        policy = self._policy
        chance = chance_of(self._seed, policy.label, len(self.means)) if policy.randomised else None
        self._state: Any = policy.fresh_state(chance)
        self._cursor, self._earned = new_cursor(), np.zeros(1)

    @property
    def _done(self) -> bool:
        return bool(self._cursor[ROUND] > self._rounds)

    def see(self, rows: Rows) -> None:
        """Let rows of one episode pass."""
        if self._done:
            return
        shown = rows if self._numbers is None else rows._replace(arms=self._numbers[rows.arms])
        replay_rows(self._state, shown, 0, self._cursor, self._earned, self._rounds)

    def end(self) -> None:
        """Write down the episode and begin the next one."""
        self.means.append(float(self._earned[0]) / self._rounds if self._done else np.nan)
        alarm = getattr(self._state, "alarm", None)
        self.alarmed += bool(self._done and alarm is not None and alarm.fired.any())
        self._begin()
