"""Histories: trials and successes of every arm and its group, from tables of users or bundled ones."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from clusterbandits.clusters import Clusters
from clusterbandits.instance import Instance
from clusterbandits.limits import MOST_ROUNDS, MOST_TABLE_ARMS
from clusterbandits.partition import Partition
from clusterbandits.simulation.statistics import count_text
from clusterbandits.studies.columns import Column, Source
from clusterbandits.studies.safe_widths import safe_widths
from clusterbandits.tables import Table
from clusterbandits.validate import Described, choice, invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from clusterbandits.partition import Label
    from clusterbandits.studies.columns import Batch

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_COLUMNS = (
    Column("arm", "text"),
    Column("group", "text", also=("cluster",)),
    Column("trials", "number", required=False, also=("pulls",)),
    Column("successes", "number", required=False),
    Column("reward", "number", required=False, also=("success", "click", "outcome")),
)
#: The name of every bundled table, and what it holds; sources and licences are in ``data/README.md``.
TABLES: Mapping[str, str] = {
    "flights-by-origin": "punctual flights from New York in 2013: airline and airport, grouped by airline",
    "flights-by-destination": "the same flights: airline and destination, grouped by airline",
    "admissions": "graduate admissions at Berkeley in 1973: department and sex, grouped by department",
}
_FILES = {
    "flights-by-origin": "flights_carrier_origin.csv",
    "flights-by-destination": "flights_carrier_dest.csv",
    "admissions": "ucb_admissions.csv",
}


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """How often every arm was tried and how often it succeeded; prints as a table. Made by ``read_history``.

    Trials are taken to be independent, and their number not to depend on what they paid.
    """

    partition: Partition
    trials: Ints
    successes: Ints

    @property
    def arms(self) -> tuple[Label, ...]:
        """The label of every arm."""
        return self.partition.arms

    @property
    def groups(self) -> tuple[Label, ...]:
        """The name of every group."""
        return self.partition.clusters

    @property
    def means(self) -> Floats:
        """The share of successes of every arm, NaN where it was never tried."""
        means = np.full(self.trials.size, np.nan)
        np.divide(self.successes, self.trials, out=means, where=self.trials > 0)
        return means

    def instance(self) -> Instance:
        """Return the problem in which every mean is successes / trials; all arms must have been tried."""
        untried = np.flatnonzero(self.trials == 0)
        if untried.size:
            given = Described(f"none of {self.arms[untried[0]]!r}")
            raise invalid("trials", "History.instance", "at least 1 of every arm", given)
        return Instance(self.means, labels=self.partition)

    def clusters(self, widths: object = None) -> Clusters:
        """Return the groups as what a learner is told.

        Parameters
        ----------
        widths
            As for ``Clusters``; by default widths that are all wide enough with a confidence of 95 %.
        """
        return Clusters(self.partition, safe_widths(self.counts()) if widths is None else widths)

    def counts(self) -> list[tuple[Floats, Floats]]:
        """Return trials and successes of the arms of every group."""
        trials, successes = self.trials.astype(float), self.successes.astype(float)
        return [(trials[part], successes[part]) for part in self.partition.members]

    def told(self) -> Iterator[tuple[Label, int, int]]:
        """Return arm, trials and successes of all that was tried, for a policy to be told."""
        rows = zip(self.arms, self.trials.tolist(), self.successes.tolist(), strict=True)
        return (row for row in rows if row[1])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: a list for every column of a table that ``read_history`` reads."""
        return {
            "arm": list(self.arms),
            "group": list(self.partition.cluster_names),
            "trials": self.trials.tolist(),
            "successes": self.successes.tolist(),
        }

    def table(self) -> Table:
        """Return a row for every arm."""
        shares = [None if np.isnan(mean) else mean for mean in self.means.tolist()]
        columns = [*self.to_dict().values(), shares]
        return Table(("arm", "group", "trials", "successes", "mean"), tuple(zip(*columns, strict=True)))

    def __repr__(self) -> str:
        where = f"{count_text(len(self.arms), 'arm')} in {count_text(len(self.groups), 'group')}"
        return f"<History: {where}, {count_text(int(self.trials.sum()), 'trial')}>"

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def read_history(table: object, owner: str = "read_history") -> History:
    """Read a table of trials and successes: one row per arm, or one row per event.

    Parameters
    ----------
    table
        The path of a CSV file, a frame, a mapping from columns to lists, or a list of mappings. A row per
        arm has the columns arm, group (or cluster), trials (or pulls) and successes; a row per event has
        arm, group and reward (or success, click, outcome), which is 0 or 1. Other columns are ignored.
    owner
        The function that errors name.

    Examples
    --------
    >>> rows = {"arm": ["a", "b"], "group": ["red", "red"], "trials": [40, 50], "successes": [4, 10]}
    >>> history = read_history(rows)
    >>> history, history.means.tolist()
    (<History: 2 arms in 1 group, 90 trials>, [0.1, 0.2])
    >>> print(read_history({"arm": ["a", "b", "a"], "group": [1, 1, 1], "click": [0, 1, 1]}))
    arm  group  trials  successes   mean
    ───  ─────  ──────  ─────────  ─────
    a    1           2          1    0.5
    b    1           1          1  1.000
    """
    if isinstance(table, History):
        return table
    source = Source(table, _COLUMNS, owner=owner)
    counted = {"trials", "successes"} & source.columns
    if "reward" in source.columns and counted:
        allowed = "have either 'trials' and 'successes', or 'reward'"
        raise source.refuse(allowed, " and ".join(f"'{name}'" for name in sorted(counted | {"reward"})))
    if "reward" not in source.columns and len(counted) < 2:
        allowed = "have the columns 'trials' and 'successes' (one row an arm) or 'reward' (one row an event)"
        raise source.refuse(allowed, f"'{counted.pop()}' alone" if counted else "none of them")
    ledger = _Ledger(source)
    for batch in source:
        (ledger.add_events if "reward" in source.columns else ledger.add_counts)(batch)
    return ledger.history()


class _Ledger:
    """Counts as they are read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._number: dict[str, int] = {}
        self._group: list[str] = []
        self._row: list[int] = []
        self._trials = np.zeros(MOST_TABLE_ARMS, dtype=np.int64)
        self._successes = np.zeros(MOST_TABLE_ARMS, dtype=np.int64)

    def add_counts(self, batch: Batch) -> None:
        trials = self._whole(batch, "trials")
        successes = self._whole(batch, "successes")
        over = np.flatnonzero(successes > trials)
        if over.size:
            k = int(over[0])
            given = Described(f"{successes[k]} of {trials[k]} trials")
            raise self._source.refuse_row(batch.first + k, "successes", "at most the trials", given)
        both = zip(batch.text("arm").to_pylist(), batch.text("group").to_pylist(), strict=True)
        for k, (arm, group) in enumerate(both):
            if arm in self._number:
                rows = f"{arm!r} in rows {self._row[self._number[arm]]} and {batch.first + k}"
                raise self._source.refuse("have every arm once, in one row", rows)
            number = self._new(arm, group, batch.first + k)
            self._trials[number], self._successes[number] = trials[k], successes[k]

    def add_events(self, batch: Batch) -> None:
        rewards = batch.numbers("reward")
        wrong = np.flatnonzero((rewards != 0) & (rewards != 1))
        if wrong.size:
            k = int(wrong[0])
            raise self._source.refuse_row(batch.first + k, "reward", "0 or 1", Described(f"{rewards[k]:g}"))
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
        numbers = np.array([self._number[name] for name in names])[codes]
        self._trials += np.bincount(numbers, minlength=MOST_TABLE_ARMS)
        self._successes += np.bincount(numbers, rewards, minlength=MOST_TABLE_ARMS).astype(np.int64)

    def history(self) -> History:
        if not self._number:
            raise self._source.refuse("have at least one row", "none")
        arms, size = tuple(self._number), len(self._number)
        counts = self._trials[:size].copy(), self._successes[:size].copy()
        if int(counts[0].sum()) > MOST_ROUNDS:
            raise self._source.refuse(f"have at most {MOST_ROUNDS:g} trials in all", f"{counts[0].sum():g}")
        for values in counts:
            values.setflags(write=False)
        return History(Partition.of_labels(self._group, arms, "History"), *counts)

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


def table_instance(name: str) -> Instance:
    """Return a bundled table, a name in ``TABLES``, as a Bernoulli instance with means successes / trials.

    Examples
    --------
    >>> instance = table_instance("admissions")
    >>> instance
    Instance({'A': {'A-Female': 0.824..., 'A-Male': 0.620...}, 'B': {'B-Female': 0.68, ...})
    >>> instance.best_arms, [round(span, 2) for span in instance.spans]
    (('A-Female',), [0.2, 0.05, 0.03, 0.02, 0.04, 0.01])
    """
    return table_history(name).instance()


def table_history(name: str) -> History:
    """Return a bundled table, a name in ``TABLES``, as trials and successes of every arm.

    Examples
    --------
    >>> for name, description in TABLES.items():
    ...     print(f"{name}, {len(table_history(name).arms)} arms: {description}")
    flights-by-origin, 28 arms: punctual flights from New York in 2013: airline and airport, ...
    flights-by-destination, 183 arms: the same flights: airline and destination, ...
    admissions, 12 arms: graduate admissions at Berkeley in 1973: department and sex, ...
    """
    place = resources.files("clusterbandits.studies").joinpath("data", table_file(name))
    with resources.as_file(place) as path:
        return read_history(path)


def table_file(name: str) -> str:
    """Return the name of the file that holds a bundled table."""
    return _FILES[choice("name", "table_history", name, TABLES)]
