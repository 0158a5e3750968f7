"""The rows of a history, events or counts, added up by arm; rewards are 0 or 1, or between bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.families import Bernoulli, Bounded
from clusterbandits.limits import MOST_ROUNDS, MOST_TABLE_ARMS
from clusterbandits.studies.arm_labels import ArmNumbers
from clusterbandits.studies.columns import Column
from clusterbandits.studies.mean_bounds import ROUNDING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.errors import ClusterBanditsError
    from clusterbandits.studies.columns import Batch, Source

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

#: Other names of the columns of arms and groups, in histories and in logs.
ARM_NAMES = ("action", "ad", "ad_id", "ad_name", "variant", "option", "creative", "item")
GROUP_NAMES = ("cluster", "campaign", "campaign_id", "campaign_name", "ad_group", "category")
REWARD_NAMES = ("success", "click", "clicked", "converted", "outcome")
COLUMNS = (
    Column("arm", "text", also=ARM_NAMES),
    Column("group", "text", also=GROUP_NAMES),
    Column(
        "trials",
        "number",
        required=False,
        also=("pulls", "impressions", "views", "shown", "displays", "visits", "visitors", "sessions"),
        whole=True,
    ),
    Column(
        "successes",
        "number",
        required=False,
        also=("clicks", "conversions", "orders", "purchases", "signups"),
        whole=True,
    ),
    Column("total", "number", required=False, also=("sum", "total_reward")),
    Column("squares", "number", required=False, also=("sum_of_squares",)),
    Column("reward", "number", required=False, also=REWARD_NAMES),
    Column("revenue", "number", required=False, also=("amount",)),
)
#: Columns with the reward of an event, and with the sum of an arm's rewards; the first existing one is used.
_REWARDS = {
    "bernoulli": (("reward", "revenue"), ("successes",)),
    "bounded": (("revenue", "reward"), ("total", "revenue")),
}


class HistoryRows(NamedTuple):
    """The sums of the rows of a table: see ``History``."""

    arms: tuple[str, ...]
    groups: tuple[str, ...]
    trials: Ints
    totals: Floats
    squares: Floats | None
    rewards: tuple[Floats, ...] | None
    unit: str


def read_rows(source: Source, family: Bernoulli | Bounded, *, hint: bool) -> HistoryRows:
    """Read a table, a batch at a time, and refuse rows that the family does not allow.

    ``hint`` means that the user gave no family: an error about rewards other than 0 or 1 then explains how.
    """
    ledger = _Ledger(source, family, hint=hint)
    for batch in source:
        ledger.add(batch)
    return ledger.result()


class _Ledger:
    """The sums so far."""

    def __init__(self, source: Source, family: Bernoulli | Bounded, *, hint: bool) -> None:
        self._source, self._family, self._hint = source, family, hint
        self._events, self._column = self._layout()
        self._arms = ArmNumbers()
        self._trials = np.zeros(MOST_TABLE_ARMS)
        self._totals, self._squares = np.zeros(MOST_TABLE_ARMS), np.zeros(MOST_TABLE_ARMS)
        #: The numbers of arms, and rewards, of every batch of events.
        self._rewards: list[tuple[Ints, Floats]] = []
        #: The first reward that is neither 0 nor 1 with its row, and the range of all rewards.
        self._strange: tuple[float, int] | None = None
        self._range = (np.inf, -np.inf)

    def _layout(self) -> tuple[bool, str]:
        """Return whether rows are events, and the column with their rewards."""
        has = self._source.columns
        events, arms = _REWARDS[self._family.name]
        self._source.settle(("trials", *arms, *events, "squares"))
        counted = {"trials", "successes", "total"} & has
        wanted = f"'trials' and '{arms[0]}'"
        if "reward" in has and counted:
            *some, last = map(self._role, sorted(counted | {"reward"}))
            found = f"There are {', '.join(some)} and {last}"
            raise self._source.refuse(f"there must be either {wanted}, or 'reward'", found)
        found_columns = [name for name in (arms if counted else events) if name in has]
        if found_columns and ("trials" in has or not counted):
            return not counted, found_columns[0]
        if self._hint and "trials" in has and has & {"total", "revenue"}:
            rule = f"sums of rewards that are not 0 or 1 need bounds, as in {self._bounds()}"
            raise self._source.refuse(rule, "The table has sums without bounds")
        rule = f"there must be columns {wanted} (counts) or '{events[0]}' (one row per event)"
        option = self._source.naming.column_option
        which = " and ".join(option(name) for name in ("trials", arms[0]) if name not in has)
        if not counted:
            which = f"{which}, or with {option(events[0])}"
        named = " and ".join(f"'{self._source.title(name)}'" for name in sorted(counted))
        found = f"There {'is' if len(counted) == 1 else 'are'} only {named}" if counted else "There are none"
        raise self._source.refuse(rule, f"{found}: name columns with {which}")

    def _role(self, name: str) -> str:
        """Return a column by its content, and its title if that is different."""
        title = self._source.title(name)
        return f"'{name}'" if title == name else f"'{name}' (column '{title}')"

    def _bounds(self) -> str:
        return self._source.naming.wording.bounds()

    def add(self, batch: Batch) -> None:
        """Add a batch of rows."""
        if not batch.rows:
            return
        numbers = self._arms.numbers(batch.text("arm"), batch.text("group"))
        if len(self._arms) > MOST_TABLE_ARMS:
            first = batch.first + int(np.argmax(numbers >= MOST_TABLE_ARMS))
            found = f"One more is in {self._source.at(first)}"
            raise self._source.refuse(f"there can be at most {MOST_TABLE_ARMS:,} arms", found)
        (self._add_events if self._events else self._add_counts)(batch, numbers)

    def _add_counts(self, batch: Batch, numbers: Ints) -> None:
        trials = self._whole(batch, "trials")
        bernoulli = isinstance(self._family, Bernoulli)
        totals = self._whole(batch, "successes") if bernoulli else batch.numbers(self._column)
        squares = batch.numbers("squares") if "squares" in self._source.columns else None
        if bernoulli:
            self._check_successes(batch.first, trials, totals)
        else:
            self._check_sums(batch.first, trials, totals, squares)
        self._trials += np.bincount(numbers, trials, minlength=MOST_TABLE_ARMS)
        self._totals += np.bincount(numbers, totals, minlength=MOST_TABLE_ARMS)
        if squares is not None:
            self._squares += np.bincount(numbers, squares, minlength=MOST_TABLE_ARMS)
        if self._trials.sum() > MOST_ROUNDS:
            found = f"There are {self._trials.sum():g}, up to {self._source.at(batch.first + batch.rows - 1)}"
            raise self._source.refuse(f"there can be at most {MOST_ROUNDS:g} trials in all", found)

    def _check_successes(self, first: int, trials: Floats, successes: Floats) -> None:
        wrong = np.flatnonzero(successes > trials)
        if wrong.size:
            k = int(wrong[0])
            tried, won = self._source.title("trials"), self._source.title("successes")
            rule = f"successes (column '{won}') must not exceed trials (column '{tried}')"
            found = f"{successes[k]:.0f} successes in {trials[k]:.0f} trials"
            raise self._source.refuse_row(first + k, rule, found)

    def _check_sums(self, first: int, trials: Floats, totals: Floats, squares: Floats | None) -> None:
        """Refuse sums that are impossible for rewards between the bounds."""
        low, high = self._family.low, self._family.high
        room = ROUNDING * trials * max(abs(low), abs(high))
        wrong = np.flatnonzero((totals < trials * low - room) | (totals > trials * high + room))
        if wrong.size:
            k = int(wrong[0])
            title = self._source.title(self._column)
            rule = f"column '{title}' must hold sums of rewards, each {self._family.support}"
            raise self._source.refuse_row(first + k, rule, f"{totals[k]:g} in {trials[k]:.0f} trials")
        if squares is None:
            return
        # (x − low)(high − x) ≥ 0 for every reward, and no sum of squares is below that of equal rewards.
        least = totals * totals / np.maximum(trials, 1.0)
        most = (low + high) * totals - trials * low * high
        # Squares of rewards far from 0 need more digits, because only the differences of rewards matter.
        blur = trials * (ROUNDING * (high - low) ** 2 + 1e-12 * max(low * low, high * high))
        wrong = np.flatnonzero((squares < least - blur) | (squares > most + blur))
        if wrong.size:
            k = int(wrong[0])
            rule = f"column '{self._source.title('squares')}' must hold sums of squared rewards"
            found = f"{squares[k]:g}, but it must be from {least[k]:g} to {most[k]:g} there"
            raise self._source.refuse_row(first + k, rule, found)

    def _add_events(self, batch: Batch, numbers: Ints) -> None:
        rewards = batch.numbers(self._column)
        self._check_rewards(batch, rewards)
        self._trials += np.bincount(numbers, minlength=MOST_TABLE_ARMS)
        self._totals += np.bincount(numbers, rewards, minlength=MOST_TABLE_ARMS)
        if not isinstance(self._family, Bernoulli):
            self._squares += np.bincount(numbers, rewards * rewards, minlength=MOST_TABLE_ARMS)
            self._rewards.append((numbers, rewards))

    def _check_rewards(self, batch: Batch, rewards: Floats) -> None:
        """Refuse impossible rewards; without bounds, after all rows, so that the error has their range."""
        bernoulli = isinstance(self._family, Bernoulli)
        fits = (rewards == 0) | (rewards == 1) if bernoulli else self._family.supports(rewards, 1)
        wrong = np.flatnonzero(~fits)
        if wrong.size:
            k = int(wrong[0])
            if not self._hint:
                raise self._no_reward(batch.first + k, f"{rewards[k]:g}")
            self._strange = self._strange or (float(rewards[k]), batch.first + k)
        low, high = self._range
        self._range = min(low, float(rewards.min())), max(high, float(rewards.max()))

    def _no_reward(self, row: int, found: str) -> ClusterBanditsError:
        bernoulli = isinstance(self._family, Bernoulli)
        allowed = "0 or 1" if bernoulli else f"{self._family.support}, the bounds that were given"
        title = self._source.title(self._column)
        needed = f", or bounds must be given, as in {self._bounds()}" if self._hint else ""
        return self._source.refuse_row(row, f"column '{title}' must hold {allowed}{needed}", found)

    def result(self) -> HistoryRows:
        """Return the sums."""
        if self._strange is not None:
            value, row = self._strange
            low, high = self._range
            raise self._no_reward(row, f"{value:g}; the rewards go from {low:g} to {high:g}")
        size = len(self._arms)
        if not size:
            rule = "there must be at least one row below the names of the columns"
            raise self._source.refuse(rule, "There is none")
        totals, squares = (_frozen(sums[:size].copy()) for sums in (self._totals, self._squares))
        bounded = isinstance(self._family, Bounded)
        known = bounded and (self._events or "squares" in self._source.columns)
        unit = "successes" if not bounded else "revenue" if self._column == "revenue" else "reward"
        return HistoryRows(
            self._arms.labels(self._source),
            self._arms.groups,
            _frozen(self._trials[:size].astype(np.int64)),
            totals,
            squares if known else None,
            self._rewards_by_arm(size) if bounded and self._events else None,
            unit,
        )

    def _rewards_by_arm(self, arms: int) -> tuple[Floats, ...]:
        numbers, rewards = (np.concatenate(part) for part in zip(*self._rewards, strict=True))
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=arms))[:-1]
        return tuple(_frozen(part) for part in np.split(rewards[order], ends))

    def _whole(self, batch: Batch, name: str) -> Floats:
        values = batch.numbers(name)
        wrong = np.flatnonzero((values < 0) | (values > MOST_ROUNDS) | (values != np.floor(values)))
        if wrong.size:
            k = int(wrong[0])
            rule = f"column '{self._source.title(name)}' must hold whole numbers from 0 to {MOST_ROUNDS:g}"
            raise self._source.refuse_row(batch.first + k, rule, f"{values[k]:g}")
        return values


def _frozen(values: Any) -> Any:
    values.setflags(write=False)
    return values
