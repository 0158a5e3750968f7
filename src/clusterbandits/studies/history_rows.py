"""The rows of a history: events or arms, in rewards 0 or 1 or between bounds, added up arm by arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from clusterbandits.families import Bernoulli, Bounded
from clusterbandits.limits import MOST_ROUNDS, MOST_TABLE_ARMS
from clusterbandits.studies.columns import Column
from clusterbandits.studies.mean_bounds import ROUNDING
from clusterbandits.validate import Described

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.studies.columns import Batch, Source

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

COLUMNS = (
    Column("arm", "text"),
    Column("group", "text", also=("cluster",)),
    Column("trials", "number", required=False, also=("pulls",)),
    Column("successes", "number", required=False),
    Column("total", "number", required=False, also=("sum",)),
    Column("squares", "number", required=False, also=("sum_of_squares",)),
    Column("reward", "number", required=False, also=("success", "click", "outcome")),
    Column("revenue", "number", required=False, also=("amount",)),
)
#: The columns with what an event, and what an arm, paid in rewards 0 or 1 and in others: the first there is.
_PAID = {
    "bernoulli": (("reward", "revenue"), ("successes",)),
    "bounded": (("revenue", "reward"), ("total", "revenue")),
}
_BOUNDS = "bounds for other rewards, as in family='bounded:low=0,high=50'"


class HistoryRows(NamedTuple):
    """What the rows of a table add up to: see ``History``."""

    arms: tuple[str, ...]
    groups: tuple[str, ...]
    trials: Ints
    totals: Floats
    squares: Floats | None
    rewards: tuple[Floats, ...] | None


def read_rows(source: Source, family: Bernoulli | Bounded, *, hint: bool) -> HistoryRows:
    """Read a table, a batch at a time, and refuse rows that the family does not allow.

    With ``hint`` nobody named the family: a refusal of other rewards than 0 or 1 says how to give bounds.
    """
    ledger = _Ledger(source, family, hint=hint)
    for batch in source:
        ledger.add(batch)
    return ledger.result()


class _Ledger:
    """Sums as they are read."""

    def __init__(self, source: Source, family: Bernoulli | Bounded, *, hint: bool) -> None:
        self._source, self._family, self._hint = source, family, hint
        self._events, self._column = self._layout()
        self._number: dict[str, int] = {}
        self._group: list[str] = []
        self._row: list[int] = []
        self._trials = np.zeros(MOST_TABLE_ARMS, dtype=np.int64)
        self._totals, self._squares = np.zeros(MOST_TABLE_ARMS), np.zeros(MOST_TABLE_ARMS)
        #: The numbers of arms, and rewards, of every batch of events.
        self._rewards: list[tuple[Ints, Floats]] = []
        #: The first reward that is neither 0 nor 1 and its row, and the range of all.
        self._strange: tuple[float, int] | None = None
        self._range = (np.inf, -np.inf)

    def _layout(self) -> tuple[bool, str]:
        """Return whether rows are events, and the column that says what they paid."""
        has = self._source.columns
        events, arms = _PAID[self._family.name]
        counted = {"trials", "successes", "total"} & has
        wanted = f"'trials' and '{arms[0]}'"
        if "reward" in has and counted:
            given = " and ".join(f"'{name}'" for name in sorted(counted | {"reward"}))
            raise self._source.refuse(f"have either {wanted}, or 'reward'", given)
        found = [name for name in (arms if counted else events) if name in has]
        if found and ("trials" in has or not counted):
            return not counted, found[0]
        if self._hint and {"trials", "total"} <= has | ({"total"} if "revenue" in has else set()):
            raise self._source.refuse(f"have the columns {wanted}, or {_BOUNDS}", "totals without bounds")
        allowed = f"have the columns {wanted} (one row per arm) or '{events[0]}' (one row per event)"
        named = " and ".join(f"'{name}'" for name in sorted(counted))
        raise self._source.refuse(allowed, f"{named} alone" if counted else "none of them")

    def add(self, batch: Batch) -> None:
        """Take in some rows."""
        (self._add_events if self._events else self._add_arms)(batch)

    def _add_arms(self, batch: Batch) -> None:
        trials = self._whole(batch, "trials")
        bernoulli = isinstance(self._family, Bernoulli)
        totals = self._whole(batch, "successes") if bernoulli else batch.numbers(self._column)
        squares = batch.numbers("squares") if "squares" in self._source.columns else None
        both = zip(batch.text("arm").to_pylist(), batch.text("group").to_pylist(), strict=True)
        for k, (arm, group) in enumerate(both):
            row = batch.first + k
            self._check_sums(int(trials[k]), float(totals[k]), None if squares is None else squares[k], row)
            if arm in self._number:
                rows = f"{arm!r} in rows {self._row[self._number[arm]]} and {row}"
                raise self._source.refuse("have every arm once, in one row", rows)
            number = self._new(arm, group, row)
            self._trials[number], self._totals[number] = trials[k], totals[k]
            if squares is not None:
                self._squares[number] = squares[k]

    def _check_sums(self, trials: int, total: float, squares: float | None, row: int) -> None:
        """Refuse sums that no rewards of the family have."""
        if isinstance(self._family, Bernoulli):
            if total > trials:
                given = Described(f"{total:.0f} of {trials} trials")
                raise self._source.refuse_row(row, "successes", "at most the trials", given)
            return
        low, high = self._family.low, self._family.high
        room = ROUNDING * trials * max(abs(low), abs(high))
        if not trials * low - room <= total <= trials * high + room:
            allowed = f"a sum of as many rewards as trials, each {self._family.support},"
            given = Described(f"{total:g} of {trials} trials")
            raise self._source.refuse_row(row, self._column, allowed, given)
        if squares is not None:
            # (x − low)(high − x) ≥ 0 for every reward, and no sum of squares is below that of equal rewards.
            least = total * total / trials if trials else 0.0
            most = (low + high) * total - trials * low * high
            # Squares of rewards far from 0 need more digits: what matters is how far rewards are apart.
            blur = trials * (ROUNDING * (high - low) ** 2 + 1e-12 * max(low * low, high * high))
            if not least - blur <= squares <= most + blur:
                allowed = f"the sum of the squared rewards, here from {least:g} to {most:g},"
                raise self._source.refuse_row(row, "squares", allowed, Described(f"{squares:g}"))

    def _add_events(self, batch: Batch) -> None:
        rewards = batch.numbers(self._column)
        self._check_rewards(batch, rewards)
        arms, groups = (pc.dictionary_encode(batch.text(name)) for name in ("arm", "group"))
        codes = arms.indices.to_numpy().astype(np.int64)
        pairs = codes * len(groups.dictionary) + groups.indices.to_numpy()
        _, firsts = np.unique(pairs, return_index=True)
        names, called = arms.dictionary.to_pylist(), groups.dictionary.to_pylist()
        for k in np.sort(firsts).tolist():
            arm, group = names[codes[k]], called[groups.indices[k].as_py()]
            number = self._number.get(arm)
            if number is None:
                self._new(arm, group, batch.first + k)
            elif self._group[number] != group:
                given = f"{arm!r} in {self._group[number]!r} and, in row {batch.first + k}, in {group!r}"
                raise self._source.refuse("have every arm in one group", given)
        numbers = np.array([self._number[name] for name in names], dtype=np.int64)[codes]
        self._trials += np.bincount(numbers, minlength=MOST_TABLE_ARMS)
        self._totals += np.bincount(numbers, rewards, minlength=MOST_TABLE_ARMS)
        if not isinstance(self._family, Bernoulli):
            self._squares += np.bincount(numbers, rewards * rewards, minlength=MOST_TABLE_ARMS)
            self._rewards.append((numbers, rewards))

    def _check_rewards(self, batch: Batch, rewards: Floats) -> None:
        """Refuse rewards that the family never has; without bounds, after all rows, to say what they need."""
        bernoulli = isinstance(self._family, Bernoulli)
        fits = (rewards == 0) | (rewards == 1) if bernoulli else self._family.supports(rewards, 1)
        wrong = np.flatnonzero(~fits)
        if wrong.size:
            k = int(wrong[0])
            if not self._hint:
                allowed = "0 or 1" if bernoulli else f"{self._family.support}, for {self._family.spec},"
                given = Described(f"{rewards[k]:g}")
                raise self._source.refuse_row(batch.first + k, self._column, allowed, given)
            self._strange = self._strange or (float(rewards[k]), batch.first + k)
        if rewards.size:
            low, high = self._range
            self._range = min(low, float(rewards.min())), max(high, float(rewards.max()))

    def result(self) -> HistoryRows:
        """Return what the sums say."""
        if self._strange is not None:
            value, row = self._strange
            allowed = f"have 0 or 1 in its column '{self._column}', or {_BOUNDS}"
            low, high = self._range
            raise self._source.refuse(allowed, f"{value:g} in row {row}, and {low:g} to {high:g} in all,")
        if not self._number:
            raise self._source.refuse("have at least one row", "none")
        size = len(self._number)
        trials, totals, squares = (
            _frozen(sums[:size].copy()) for sums in (self._trials, self._totals, self._squares)
        )
        if int(trials.sum()) > MOST_ROUNDS:
            raise self._source.refuse(f"have at most {MOST_ROUNDS:g} trials in all", f"{trials.sum():g}")
        bounded = isinstance(self._family, Bounded)
        known = bounded and (self._events or "squares" in self._source.columns)
        rewards = self._rewards_by_arm(size) if bounded and self._events else None
        return HistoryRows(
            tuple(self._number), tuple(self._group), trials, totals, squares if known else None, rewards
        )

    def _rewards_by_arm(self, arms: int) -> tuple[Floats, ...]:
        numbers, rewards = (np.concatenate(part) for part in zip(*self._rewards, strict=True))
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=arms))[:-1]
        return tuple(_frozen(part) for part in np.split(rewards[order], ends))

    def _new(self, arm: str, group: str, row: int) -> int:
        if len(self._number) == MOST_TABLE_ARMS:
            raise self._source.refuse(f"have at most {MOST_TABLE_ARMS:,} arms", f"one more in row {row}")
        self._number[arm] = len(self._group)
        self._group.append(group)
        self._row.append(row)
        return self._number[arm]

    def _whole(self, batch: Batch, name: str) -> Ints:
        values = batch.numbers(name)
        wrong = np.flatnonzero((values < 0) | (values > MOST_ROUNDS) | (values != np.floor(values)))
        if wrong.size:
            k = int(wrong[0])
            allowed, given = "a whole number, 0 or more,", Described(f"{values[k]:g}")
            raise self._source.refuse_row(batch.first + k, name, allowed, given)
        return values.astype(np.int64)


def _frozen(values: Any) -> Any:
    values.setflags(write=False)
    return values
