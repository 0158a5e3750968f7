r"""How a log is cut into episodes: a fixed number of rows each, in which a fixed number of rounds is matched.

A row of a uniform log over K arms shows the arm a policy chose with a chance of 1/K, whatever it chose and
whatever was paid before. So many rows are laid aside for an episode that they match ``rounds`` rounds but for
one episode in a thousand, P(Binomial(rows, 1/K) < rounds) ≤ 0.001; that one is left out, and as matching
knows nothing of rewards, leaving it out moves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy import stats

from clusterbandits.simulation.statistics import count_text
from clusterbandits.validate import Described, invalid, whole

if TYPE_CHECKING:
    from clusterbandits.studies.columns import Source
    from clusterbandits.studies.replay.survey import Survey

EPISODES = 20
_FEWEST, _MOST = 2, 100_000
#: The share of episodes that may run out of rows.
_UNFINISHED = 1e-3
#: The most rounds whose rows SciPy can count; of far more it ends the process.
_COUNTED = 10**9


@dataclass(frozen=True)
class Episodes:
    """Rounds that a fresh policy plays, and usable rows that it has for them."""

    rounds: int
    rows: int


def rows_for(rounds: int, arms: int) -> int:
    """Return the rows in which so many rounds are matched, but for one time in a thousand.

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
    """Return the most rounds that so many rows match, but for one time in a thousand.

    Examples
    --------
    >>> rounds_in(6551, 6)
    1000
    """
    return int(stats.binom.ppf(_UNFINISHED, rows, 1.0 / arms))


def plan_episodes(source: Source, found: Survey, rounds: object) -> Episodes:
    """Return how to cut the log: by default into about 20 episodes; refuse where it is too short."""
    arms, usable = len(found.arms), int(found.usable)
    if rounds is None:
        return _by_default(source, found)
    wanted = whole("rounds", "replay", rounds, least=1)
    rows = rows_for(wanted, arms)
    if usable < _FEWEST * rows:
        game = count_text(wanted, "round")
        raise source.refuse(
            f"have about {_FEWEST * rows:,} usable rows for {_FEWEST} episodes of {game}", _usable(found)
        )
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
        raise source.refuse(
            f"have about {EPISODES * rows_for(arms, arms):,} usable rows for {EPISODES} episodes of a round "
            f"for every arm, or 'rounds' must be given",
            _usable(found),
        )
    return Episodes(rounds, rows)


def _usable(found: Survey) -> str:
    if found.least is None:
        return f"{found.rows:,}"
    least = float(found.least.min())
    return f"{int(found.usable):,} of {found.rows:,}, as the smallest propensity is {least:.3g},"
