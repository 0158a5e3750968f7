"""Histories: trials and rewards of each arm and its group, from bundled tables or those of users."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.clusters import Clusters
from clusterbandits.distributions import Empirical
from clusterbandits.families import Bernoulli, Bounded, as_family
from clusterbandits.instance import Instance
from clusterbandits.partition import Partition
from clusterbandits.plotting import drawn
from clusterbandits.simulation.statistics import count_text
from clusterbandits.studies.arms_view import arms_groups
from clusterbandits.studies.columns import Source
from clusterbandits.studies.history_rows import COLUMNS, read_rows
from clusterbandits.studies.mean_bounds import Sums
from clusterbandits.studies.safe_widths import CONFIDENCE, safe_widths
from clusterbandits.tables import Table
from clusterbandits.validate import Described, between, invalid, known_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from clusterbandits.families import Family
    from clusterbandits.partition import Label
    from clusterbandits.plotting import Axes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

#: The bundled tables and their contents; sources and licences are in ``data/README.md``.
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
    """Trials and rewards of each arm, as returned by ``read_history``; printed as a table.

    Trials are assumed to be independent, and their numbers not to depend on their rewards.
    """

    partition: Partition
    #: Bernoulli for rewards 0 or 1, else Bounded.
    family: Bernoulli | Bounded
    #: The number of rewards of each arm, and their sum.
    trials: Ints
    totals: Floats
    #: The sums of squared rewards; None if the table does not have them.
    squares: Floats | None = None
    #: The rewards of each arm in the order of the table; None for rewards 0 or 1, and for tables of counts.
    rewards: tuple[Floats, ...] | None = None
    #: The kind of rewards: ``"successes"``, ``"revenue"`` or ``"reward"``.
    unit: str = "successes"

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms."""
        return self.partition.arms

    @property
    def groups(self) -> tuple[Label, ...]:
        """The names of the groups."""
        return self.partition.clusters

    @property
    def successes(self) -> Ints:
        """The number of successes of each arm, for rewards 0 or 1."""
        if not isinstance(self.family, Bernoulli):
            raise invalid(
                "family", "History.successes", "bernoulli; otherwise use 'totals'", self.family.spec
            )
        return self.totals.astype(np.int64)

    @property
    def regret_unit(self) -> str:
        """The unit of regret: ``"missed successes"``, ``"lost revenue"`` or ``"lost reward"``."""
        return f"{'missed' if isinstance(self.family, Bernoulli) else 'lost'} {self._unit}"

    @property
    def _unit(self) -> str:
        """The unit of a history that was not read from a table follows from its family."""
        bounded = not isinstance(self.family, Bernoulli)
        return "reward" if bounded and self.unit == "successes" else self.unit

    @property
    def mean_name(self) -> str:
        """The meaning of an arm's mean: ``"success rate"``, ``"mean revenue"`` or ``"mean reward"``."""
        return "success rate" if isinstance(self.family, Bernoulli) else f"mean {self._unit}"

    @property
    def means(self) -> Floats:
        """The mean reward of each arm; NaN for an arm without trials."""
        means = np.full(self.trials.size, np.nan)
        np.divide(self.totals, self.trials, out=means, where=self.trials > 0)
        return means

    def intervals(self, confidence: float = CONFIDENCE) -> Floats:
        """Return a confidence interval for the mean of each arm, ``[arm, (low, high)]``.

        Each contains its mean with at least this confidence, for any number of trials and any skewness of the
        rewards; see ``studies/mean_bounds.py``.

        Examples
        --------
        >>> rows = {"arm": ["a"], "group": ["x"], "trials": [400], "total": [600], "squares": [12_000]}
        >>> read_history(rows, family="bounded:low=0,high=50").intervals().round(2).tolist()
        [[0.56, 3.12]]
        """
        risk = (1.0 - between("confidence", "History.intervals", confidence, 0.5, 0.9999)) / 2.0
        sums = self.all_sums()
        return np.stack([sums.lower(risk), sums.upper(risk)], axis=1)

    def instance(self) -> Instance:
        """Return an instance whose means are the estimates; all arms must have been tried.

        If the table has one row per event, rewards that are not 0 or 1 are drawn from its rows.
        """
        untried = np.flatnonzero(self.trials == 0)
        if untried.size:
            given = Described(f"none of {self.arms[untried[0]]!r}")
            raise invalid("trials", "History.instance", "at least 1 of every arm", given)
        arms = self.means if self.rewards is None else [Empirical(values) for values in self.rewards]
        return Instance(arms, labels=self.partition, family=self.family)

    def clusters(self, widths: object = None) -> Clusters:
        """Return the groups with declared widths.

        Parameters
        ----------
        widths
            Widths as for ``Clusters``; by default safe widths with a confidence of 95 %.
        """
        return Clusters(self.partition, safe_widths(self.sums()) if widths is None else widths)

    def sums(self) -> list[Sums]:
        """Return trials and sums of rewards of the arms of each group, for bounds of their means."""
        return [self._sums(part) for part in self.partition.members]

    def all_sums(self) -> Sums:
        """Return trials and sums of rewards of all arms."""
        return self._sums(slice(None))

    def _sums(self, arms: Any) -> Sums:
        squares = None if self.squares is None else self.squares[arms]
        return Sums(self.family, self.trials[arms].astype(float), self.totals[arms], squares)

    def counts(self) -> list[tuple[Floats, Floats]]:
        """Return trials and successes of the arms of each group."""
        trials, successes = self.trials.astype(float), self.successes.astype(float)
        return [(trials[part], successes[part]) for part in self.partition.members]

    def observed(self) -> Iterator[tuple[Label, int, float]]:
        """Return arm, trials and total of each arm with trials, for a policy to start from."""
        rows = zip(self.arms, self.trials.tolist(), self.totals.tolist(), strict=True)
        return (row for row in rows if row[1])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: one list per column of a table that ``read_history`` reads."""
        if isinstance(self.family, Bernoulli):
            rewards: dict[str, Any] = {"successes": self.successes.tolist()}
        else:
            squares = {} if self.squares is None else {"squares": self.squares.tolist()}
            rewards = {"total": self.totals.tolist(), **squares}
        return {
            "arm": list(self.arms),
            "group": list(self.partition.cluster_names),
            "trials": self.trials.tolist(),
            **rewards,
        }

    def table(self) -> Table:
        """Return one row per arm."""
        columns = {name: column for name, column in self.to_dict().items() if name != "squares"}
        columns["mean"] = [None if np.isnan(mean) else mean for mean in self.means.tolist()]
        return Table(tuple(columns), tuple(zip(*columns.values(), strict=True)))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean of each arm with its 95 % confidence interval; return the Matplotlib axes.

        Bands show safe widths of the groups, and diamonds the arms that may be the best, both with a
        confidence of 95 %.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> rows = {"arm": ["a", "b"], "group": ["red", "red"], "trials": [40, 50], "successes": [4, 10]}
        >>> [text.get_text() for text in read_history(rows).plot().texts]
        ['red: width 0.265', 'b', 'a']
        """
        widths = dict(zip(self.groups, self.clusters().widths, strict=True))
        return drawn("arms", arms_groups(self, widths), ax, "History.plot", self.mean_name)

    def __repr__(self) -> str:
        where = f"{count_text(len(self.arms), 'arm')} in {count_text(len(self.groups), 'group')}"
        law = "" if isinstance(self.family, Bernoulli) else f", {self.family.spec}"
        return f"<History: {where}, {count_text(int(self.trials.sum()), 'trial')}{law}>"

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().titled(f"History: {count_text(int(self.trials.sum()), 'trial')}").html()


def read_history(
    table: object,
    owner: str = "read_history",
    *,
    family: Family | str | None = None,
    columns: Mapping[str, str] | None = None,
) -> History:
    """Read a table of trials and rewards: counts per arm, or one row per event.

    Rows of the same arm are added up. Arms of the same name in different groups are different arms, with
    the labels ``"group / arm"``.

    Parameters
    ----------
    table
        Path of a CSV, Excel or Parquet file, a data frame, a mapping from columns to lists, a list of
        mappings, or a ``TableFile``. It has the columns arm and group. With rewards 0 or 1, rows of counts
        have trials and successes, and rows of events have reward. With other rewards and ``family``, rows of
        counts have trials, total and perhaps squares (the sum of the squared rewards, which makes intervals
        narrower), and rows of events have revenue or reward. Other columns are ignored.
    owner
        Name of the calling function, for error messages.
    family
        ``"bernoulli"`` for rewards 0 or 1, the default, or the bounds of other rewards, as in
        ``"bounded:low=0,high=50"``: the smallest and largest possible rewards, not those observed.
    columns
        Names of columns in the table, by their content, as in ``{"arm": "ad_id"}``. By default the names
        above and other usual ones, such as ad, campaign, impressions and clicks.

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
    >>> daily = {"ad": ["a", "a"], "campaign": ["x", "y"], "views": [10, 20], "won": [1, 4]}
    >>> read_history(daily, columns={"successes": "won"}).arms
    ('x / a', 'y / a')
    >>> visits = {"arm": ["a", "b", "a"], "group": [1, 1, 1], "revenue": [0, 12.5, 30]}
    >>> history = read_history(visits, family="bounded:low=0,high=50")
    >>> history.means.tolist(), history.clusters().widths
    ([15.0, 12.5], (49.8,))
    """
    law = Bernoulli() if family is None else as_family(family, owner)
    if not isinstance(law, Bernoulli | Bounded):
        raise invalid("family", owner, "'bernoulli' or 'bounded:low=L,high=H' for a table", law.spec)
    if isinstance(table, History):
        if family is not None and table.family != law:
            given = Described(f"a history of {table.family.spec} rewards")
            raise invalid("table", owner, f"a history of {law.spec} rewards", given)
        return table
    found = read_rows(Source(table, COLUMNS, owner=owner, names=columns), law, hint=family is None)
    partition = Partition.of_labels(found.groups, found.arms, "History")
    return History(partition, law, found.trials, found.totals, found.squares, found.rewards, found.unit)


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
    """Return a bundled table, a name in ``TABLES``, as trials and successes of each arm.

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
    """Return the name of the file of a bundled table."""
    return _FILES[known_name("table", "table_history", name, TABLES, "name")]
