r"""The first reading of a log: who was shown how often, what it paid, and with what propensities.

A row weighs w = 1/p with its propensity p, and 1 where there is none. What arm k pays is

    m_k = Σ w r / Σ w,    with the standard error (Σ w² (r − m_k)²)^½ / Σ w,

over the rows that show it: where the logging looked at the visitor, arms were shown to different visitors,
and the weights put that right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.limits import MOST_TABLE_ARMS
from clusterbandits.studies.columns import Column
from clusterbandits.studies.log_checks import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from clusterbandits.families import Family
    from clusterbandits.studies.columns import Batch, Source

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    #: Called after every batch of rows.
    ReplayListener = Callable[["ReplayProgress"], None]

COLUMNS = (
    Column("time", "text", also=("timestamp", "date")),
    Column("arm", "text", also=("action",)),
    Column("reward", "number"),
    Column("propensity", "number", required=False, also=("probability",)),
    Column("group", "text", required=False, also=("cluster",)),
)
#: A log in which anything rarer happened has more rows than anybody keeps.
LEAST_CHANCE = 1e-12
#: Sums kept of every arm: 1, w, w², w r, w² r, w² r², with rewards counted from the log's first.
_SUMS = 6


class ReplayProgress(NamedTuple):
    """Rows that have been read; a log is read twice, and its length is known after the first reading."""

    #: ``"reading"``, then ``"replaying"``.
    doing: str
    rows_done: int
    #: None while it is not known.
    rows: int | None


class Names:
    """Numbers for names, 0, 1, … in the order in which they are first met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @classmethod
    def of(cls, names: tuple[str, ...]) -> Names:
        """Return these names with their places for numbers."""
        known = cls()
        known._numbers = {name: number for number, name in enumerate(names)}
        return known

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the order of their numbers."""
        return tuple(self._numbers)

    def numbers(self, text: Any) -> NDArray[np.int64]:
        """Return the number of every name of a column.

        Examples
        --------
        >>> import pyarrow
        >>> Names().numbers(pyarrow.array(["b", "a", "b"])).tolist()
        [0, 1, 0]
        """
        encoded = text.dictionary_encode()
        known = self._numbers
        found = [known.setdefault(name, len(known)) for name in encoded.dictionary.to_pylist()]
        numbers: NDArray[np.int64] = np.array(found, dtype=np.int64)[encoded.indices.to_numpy()]
        return numbers


@dataclass(frozen=True, eq=False)
class Survey:
    """What a log consists of; arms in the order in which they first appear."""

    rows: int
    arms: tuple[str, ...]
    #: The group of every arm, or None where the log does not say.
    groups: tuple[str, ...] | None
    #: Rows that show each arm.
    counts: Ints
    #: What each arm pays, and the standard error of that; NaN for an arm shown once.
    means: Floats
    errors: Floats
    #: What the log's own choices earned per row, the standard error, and the skewness of one row's reward.
    mean: float
    error: float
    skewness: float
    #: The smallest propensity of each arm; None where there are none.
    least: Floats | None
    #: Σ 1/p and Σ 1/p² of each arm.
    weights: Floats
    squared_weights: Floats

    @property
    def usable(self) -> float:
        """How many rows a uniform log drawn from this one will have, on average."""
        if self.least is None:
            return float(self.rows)
        return float(self.least.min() * self.weights.sum())


def survey(source: Source, family: Family, listener: ReplayListener | None = None) -> Survey:
    """Read a log once, a batch at a time, and refuse rows that no log can have.

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
        self._clock, self._arms, self._groups = Clock(source), Names(), Names()
        self._weighed = "propensity" in source.columns
        self._grouped = "group" in source.columns
        self._sums = np.zeros((_SUMS, 0))
        self._least = np.zeros(0)
        self._group_of = np.zeros(0, dtype=np.int64)
        self._origin = 0.0
        #: Σ r, Σ r² and Σ r³, with rewards counted from the log's first.
        self._earned = np.zeros(3)
        self.rows = 0

    def take(self, batch: Batch) -> None:
        """Take in some rows."""
        self._clock.check(batch)
        rewards = self._rewards(batch)
        arms = self._arms.numbers(batch.text("arm"))
        self._make_room()
        if self._grouped:
            self._check_groups(batch, arms)
        weights = 1.0 / self._propensities(batch, arms) if self._weighed else np.ones(arms.size)
        if not self.rows:
            self._origin = float(rewards[0])
        paid = rewards - self._origin
        squares = weights * weights
        parts = (None, weights, squares, weights * paid, squares * paid, squares * paid * paid)
        for place, part in enumerate(parts):
            self._sums[place] += np.bincount(arms, part, minlength=len(self._arms))
        self._earned += paid.sum(), (paid * paid).sum(), (paid * paid * paid).sum()
        self.rows += arms.size

    def _rewards(self, batch: Batch) -> Floats:
        rewards = batch.numbers("reward")
        wrong = np.flatnonzero(~self._family.supports(rewards, 1))
        if wrong.size:
            raise self._source.refuse(
                self._allowed(), f"{rewards[wrong[0]]:g} in row {batch.first + wrong[0]}"
            )
        return rewards

    def _allowed(self) -> str:
        """Return which rewards the family allows, and how to allow others."""
        known = f"have {self._family.support} in its column 'reward', for {self._family.name} rewards"
        other = ", or be read with other bounds (--low 0 --high 50, in Python family='bounded:low=0,high=50')"
        return known + other * (self._family.highest < math.inf)

    def _make_room(self) -> None:
        new = len(self._arms) - self._least.size
        if len(self._arms) > MOST_TABLE_ARMS:
            raise self._source.refuse(f"show at most {MOST_TABLE_ARMS:,} arms", "more")
        self._sums = np.pad(self._sums, ((0, 0), (0, new)))
        self._least = np.pad(self._least, (0, new), constant_values=math.inf)
        self._group_of = np.pad(self._group_of, (0, new), constant_values=-1)

    def _check_groups(self, batch: Batch, arms: Ints) -> None:
        groups = self._groups.numbers(batch.text("group"))
        new = np.flatnonzero(self._group_of[arms] < 0)[::-1]
        self._group_of[arms[new]] = groups[new]
        wrong = np.flatnonzero(self._group_of[arms] != groups)
        if wrong.size:
            place = int(wrong[0])
            arm, group = self._arms.names[arms[place]], self._groups.names[self._group_of[arms[place]]]
            allowed = f"one group for every arm, {group!r} for {arm!r},"
            given = self._groups.names[groups[place]]
            raise self._source.refuse_row(batch.first + place, "group", allowed, given)

    def _propensities(self, batch: Batch, arms: Ints) -> Floats:
        chances = batch.numbers("propensity")
        wrong = np.flatnonzero(~((chances >= LEAST_CHANCE) & (chances <= 1.0)))
        if wrong.size:
            place = int(wrong[0])
            raise self._source.refuse_row(
                batch.first + place, "propensity", f"numbers from {LEAST_CHANCE:g} to 1", chances[place]
            )
        np.minimum.at(self._least, arms, chances)
        return chances

    def result(self) -> Survey:
        """Return what the sums say."""
        if len(self._arms) < 2:
            given = f"{len(self._arms)} in {self.rows:,} rows"
            raise self._source.refuse("show at least two arms to choose from", given)
        counts, w, w2, wr, w2r, w2r2 = self._sums
        means = wr / w
        spread = np.maximum(w2r2 - 2.0 * means * w2r + means * means * w2, 0.0)
        factor = np.full(counts.size, math.nan)
        np.divide(counts, counts - 1.0, out=factor, where=counts > 1.0)
        mean, square, cube = self._earned / self.rows
        variance = max(square - mean * mean, 0.0)
        third = cube - 3.0 * mean * variance - mean * mean * mean
        names = self._groups.names
        return Survey(
            rows=self.rows,
            arms=self._arms.names,
            groups=tuple(names[number] for number in self._group_of) if self._grouped else None,
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
