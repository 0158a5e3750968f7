r"""The first reading of a log: how often each arm was shown, its rewards, and its propensities.

A row has the weight w = 1/p with its propensity p, and 1 without one. The estimated mean of arm k is

    m_k = Σ w r / Σ w,    with the standard error (Σ w² (r − m_k)²)^½ / Σ w,

over the rows that show it. If the logging policy used features of visitors, arms were shown to different
visitors; the weights correct for that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterbandits.limits import MOST_TABLE_ARMS
from clusterbandits.studies.arm_labels import ArmNumbers
from clusterbandits.studies.columns import Column
from clusterbandits.studies.history_rows import ARM_NAMES, GROUP_NAMES, REWARD_NAMES
from clusterbandits.studies.log_checks import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from clusterbandits.families import Family
    from clusterbandits.studies.columns import Batch, Source

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    #: A function that is called after each batch of rows.
    ReplayListener = Callable[["ReplayProgress"], None]

COLUMNS = (
    Column("time", "text", also=("timestamp", "date", "datetime", "round")),
    Column("arm", "text", also=ARM_NAMES),
    Column("reward", "number", also=(*REWARD_NAMES, "revenue", "amount")),
    Column("propensity", "number", required=False, also=("probability", "propensity_score")),
    Column("group", "text", required=False, also=GROUP_NAMES),
)
#: Smaller propensities are refused: such a row would need more rows than any log has.
LEAST_CHANCE = 1e-12
#: Sums kept of every arm: 1, w, w², w r, w² r, w² r², with rewards counted from the log's first.
_SUMS = 6


class ReplayProgress(NamedTuple):
    """Rows that have been read. A log is read twice; its length is known after the first reading."""

    #: ``"reading"``, then ``"replaying"``.
    doing: str
    rows_done: int
    #: None during the first reading.
    rows: int | None


@dataclass(frozen=True, eq=False)
class Survey:
    """The contents of a log; arms in the order in which they first appear."""

    rows: int
    arms: tuple[str, ...]
    #: The group of each arm, or None if the log has no groups.
    groups: tuple[str, ...] | None
    #: The numbers of arms by name and group.
    numbers: ArmNumbers
    #: Rows that show each arm.
    counts: Ints
    #: The estimated mean of each arm and its standard error, NaN for an arm that was shown once.
    means: Floats
    errors: Floats
    #: The mean reward per row of the log, its standard error, and the skewness of one row's reward.
    mean: float
    error: float
    skewness: float
    #: The smallest propensity of each arm; None for a log without propensities.
    least: Floats | None
    #: Σ 1/p and Σ 1/p² of each arm.
    weights: Floats
    squared_weights: Floats

    @property
    def usable(self) -> float:
        """The expected number of rows of a uniform log drawn from this one."""
        if self.least is None:
            return float(self.rows)
        return float(self.least.min() * self.weights.sum())


def survey(source: Source, family: Family, listener: ReplayListener | None = None) -> Survey:
    """Read a log once, a batch at a time, and refuse invalid rows.

    Examples
    --------
    >>> from clusterbandits import as_family
    >>> from clusterbandits.studies.columns import Source
    >>> log = {"time": [1, 2, 3, 4], "arm": ["a", "b", "a", "b"], "reward": [0, 1, 1, 1]}
    >>> found = survey(Source(log, COLUMNS), as_family("bernoulli"))
    >>> found.arms, found.counts.tolist(), found.means.tolist(), found.mean
    (('a', 'b'), [2, 2], [0.5, 1.0], 0.75)
    """
    reading = _Reading(source, family)
    for batch in source:
        if batch.rows:
            reading.take(batch)
            if listener is not None:
                listener(ReplayProgress("reading", reading.rows, None))
    return reading.result()


class _Reading:
    """The sums so far."""

    def __init__(self, source: Source, family: Family) -> None:
        self._source, self._family = source, family
        self._clock, self._arms = Clock(source), ArmNumbers()
        self._weighed = "propensity" in source.columns
        self._grouped = "group" in source.columns
        self._sums = np.zeros((_SUMS, 0))
        self._least = np.zeros(0)
        self._origin = 0.0
        #: Σ r, Σ r² and Σ r³, with rewards counted from the log's first.
        self._earned = np.zeros(3)
        self.rows = 0

    def take(self, batch: Batch) -> None:
        """Add a batch of rows."""
        self._clock.check(batch)
        rewards = self._rewards(batch)
        arms = self._arms.numbers(batch.text("arm"), batch.text("group") if self._grouped else None)
        self._make_room()
        weights = 1.0 / self._propensities(batch, arms) if self._weighed else np.ones(arms.size)
        if not self.rows:
            self._origin = float(rewards[0])
        shifted = rewards - self._origin
        squares = weights * weights
        parts = (None, weights, squares, weights * shifted, squares * shifted, squares * shifted * shifted)
        for place, part in enumerate(parts):
            self._sums[place] += np.bincount(arms, part, minlength=len(self._arms))
        self._earned += shifted.sum(), (shifted * shifted).sum(), (shifted * shifted * shifted).sum()
        self.rows += arms.size

    def _rewards(self, batch: Batch) -> Floats:
        rewards = batch.numbers("reward")
        wrong = np.flatnonzero(~self._family.supports(rewards, 1))
        if wrong.size:
            place = int(wrong[0])
            raise self._source.refuse_row(batch.first + place, self._allowed(), f"{rewards[place]:g}")
        return rewards

    def _allowed(self) -> str:
        """Return the rewards that the family allows, and how to allow others."""
        title = self._source.title("reward")
        rule = f"column '{title}' must hold {self._family.support}, for {self._family.name} rewards"
        if self._family.highest == math.inf:
            return rule
        return f"{rule}; for others give bounds, as in {self._source.naming.wording.bounds()}"

    def _make_room(self) -> None:
        new = len(self._arms) - self._least.size
        if len(self._arms) > MOST_TABLE_ARMS:
            raise self._source.refuse(f"there can be at most {MOST_TABLE_ARMS:,} arms", "There are more")
        self._sums = np.pad(self._sums, ((0, 0), (0, new)))
        self._least = np.pad(self._least, (0, new), constant_values=math.inf)

    def _propensities(self, batch: Batch, arms: Ints) -> Floats:
        chances = batch.numbers("propensity")
        wrong = np.flatnonzero(~((chances >= LEAST_CHANCE) & (chances <= 1.0)))
        if wrong.size:
            place = int(wrong[0])
            rule = f"hold probabilities from {LEAST_CHANCE:g} to 1"
            raise self._source.refuse_cell(batch.first + place, "propensity", rule, chances[place])
        np.minimum.at(self._least, arms, chances)
        return chances

    def result(self) -> Survey:
        """Return the contents of the log."""
        if len(self._arms) < 2:
            found = f"{len(self._arms)} in {self.rows:,} rows"
            raise self._source.refuse("there must be at least two arms to choose from", f"It shows {found}")
        counts, w, w2, wr, w2r, w2r2 = self._sums
        means = wr / w
        spread = np.maximum(w2r2 - 2.0 * means * w2r + means * means * w2, 0.0)
        factor = np.full(counts.size, math.nan)
        np.divide(counts, counts - 1.0, out=factor, where=counts > 1.0)
        mean, square, cube = self._earned / self.rows
        variance = max(square - mean * mean, 0.0)
        third = cube - 3.0 * mean * variance - mean * mean * mean
        return Survey(
            rows=self.rows,
            arms=self._arms.labels(self._source),
            groups=self._arms.groups if self._grouped else None,
            numbers=self._arms,
            counts=counts.astype(np.int64),
            means=self._origin + means,
            errors=np.sqrt(spread * factor) / w,
            mean=float(self._origin + mean),
            error=math.sqrt(variance / self.rows),
            skewness=float(third / variance**1.5) if variance > 0.0 else 0.0,
            least=self._least if self._weighed else None,
            weights=w.copy(),
            squared_weights=w2.copy(),
        )
