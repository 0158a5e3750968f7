"""Simulation results: pulls at checkpoints, and the regret that follows from them."""

from __future__ import annotations

import math
import textwrap
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clusterbandits.extras import extras_explained
from clusterbandits.plotting import drawn
from clusterbandits.simulation import statistics
from clusterbandits.simulation.statistics import (
    Difference,
    Slope,
    after_history,
    count_text,
    round_text,
)
from clusterbandits.tables import WIDTH, Table
from clusterbandits.validate import between, invalid, is_list, random_generator, whole
from clusterbandits.wording import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from clusterbandits.bounds import RegretBound
    from clusterbandits.instance import Instance
    from clusterbandits.partition import Label
    from clusterbandits.plotting import Axes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

LEVELS = (0.05, 0.5, 0.95)
BAND_LEVEL = 0.95
_MOST_RESAMPLES = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The result of a simulation: pulls of each policy in each run at checkpoints; printed as a table.

    Regret is pseudo-regret: the sum of pulls times gap over the arms. Methods accept the label or the
    position of a policy.

    Parameters
    ----------
    instance
        Simulated environment.
    labels
        Display names of the policies.
    checkpoints
        Increasing round numbers; the last one is the horizon.
    pulls
        ``[policy, run, checkpoint, arm]``: number of pulls up to and including that round. An array of 64-bit
        integers is not copied, and becomes read-only.
    runs
        Numbers of the runs; by default 0, 1, 2, …
    alarm_rounds
        Per policy, ``[run, cluster]``: round of the width alarm, 0 if there was none, and 1 if the history
        before the first round raised it; by default, no alarms.
    seed, paired
        How the runs were simulated, for information: the random seed, and whether all policies of a run had
        the same rewards.
    start_trials
        Number of trials in the history before the first round; by default 0, no history.

    Examples
    --------
    >>> from clusterbandits import Instance
    >>> pulls = [[[[1, 9], [2, 98]], [[3, 7], [4, 96]]]]
    >>> result = Result(Instance([[0.5], [0.75]]), ["kl-ucb"], [10, 100], pulls)
    >>> result
    <Result: kl-ucb, 2 runs of 100 rounds>
    >>> result.regret("kl-ucb").tolist()
    [[0.25, 0.5], [0.75, 1.0]]
    >>> result.mean("kl-ucb").tolist(), result.standard_error("kl-ucb").tolist()
    ([0.5, 0.75], [0.25, 0.25])
    """

    instance: Instance
    labels: tuple[str, ...]
    checkpoints: Ints
    pulls: Ints
    runs: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _: KW_ONLY
    alarm_rounds: tuple[Ints, ...] = ()
    seed: int | None = None
    paired: bool = False
    start_trials: int = 0
    _regrets: dict[int, Floats] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        labels = _labels(self.labels)
        checkpoints = statistics.read_checkpoints(self.checkpoints)
        pulls = statistics.read_pulls(self.pulls, len(labels), checkpoints, len(self.instance.arms))
        runs = statistics.read_runs(self.runs, pulls.shape[1])
        alarms = statistics.read_alarms(self.alarm_rounds, len(labels), len(runs))
        kept = {"labels": labels, "checkpoints": checkpoints, "pulls": pulls, "runs": runs}
        kept["alarm_rounds"] = alarms
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    @property
    def horizon(self) -> int:
        """The last round."""
        return int(self.checkpoints[-1])

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms."""
        return self.instance.arms

    def regret(self, policy: str | int) -> Floats:
        """Return the pseudo-regret of each run, ``[run, checkpoint]``, as a read-only array."""
        place = self._place(policy)
        if place not in self._regrets:
            regret = self.pulls[place] @ self.instance.gaps
            regret.setflags(write=False)
            self._regrets[place] = regret
        return self._regrets[place]

    def mean(self, policy: str | int) -> Floats:
        """Return the mean regret over runs at each checkpoint."""
        return np.asarray(self.regret(policy).mean(axis=0))

    def standard_error(self, policy: str | int) -> Floats:
        """Return the standard error of ``mean`` at each checkpoint; NaN for a single run."""
        return statistics.standard_error(self.regret(policy))

    def quantiles(self, policy: str | int, levels: Sequence[float] = LEVELS) -> Floats:
        """Return quantiles of regret over runs, ``[level, checkpoint]``."""
        if not is_list(levels):
            raise invalid("levels", "Result.quantiles", "a list of numbers from 0 to 1", levels)
        wanted = [between("levels", "Result.quantiles", level, 0, 1) for level in levels]
        return np.asarray(np.quantile(self.regret(policy), wanted, axis=0))

    def band(
        self, policy: str | int, level: float = BAND_LEVEL, resamples: int = 2000, seed: object = 0
    ) -> tuple[Floats, Floats]:
        """Return a bootstrap percentile band of ``mean``: lower and upper limits at each checkpoint.

        The intervals are pointwise: each holds for its own checkpoint. NaN for a single run.
        """
        outside = (1 - between("level", "Result.band", level, 0, 1)) / 2
        draws = whole("resamples", "Result.band", resamples, least=1, most=_MOST_RESAMPLES)
        generator = random_generator(seed, "Result.band")
        regret = self.regret(policy)
        if len(regret) == 1:
            return np.full(regret.shape[1], np.nan), np.full(regret.shape[1], np.nan)
        means = statistics.bootstrap_means(regret, draws, generator)
        low, high = np.quantile(means, [outside, 1 - outside], axis=0, overwrite_input=True)
        return low, high

    def alarms(self, policy: str | int) -> Ints:
        """Return the round of the width alarm, ``[run, cluster]``; 0 if there was none.

        The clusters are those of the policy. A policy without widths has no alarms.
        """
        return self.alarm_rounds[self._place(policy)]

    def shares(self, policy: str | int) -> Floats:
        """Return the mean share of pulls per group of the instance, ``[checkpoint, cluster]``."""
        shares = self.pulls[self._place(policy)].mean(axis=0) / self.checkpoints[:, None]
        return np.stack([shares[:, part].sum(axis=1) for part in self.instance.partition.members], axis=1)

    def slope(self, policy: str | int, since: float | None = None, until: float | None = None) -> Slope:
        """Return the increase of regret per log n between two checkpoints, with its standard error over runs.

        Parameters
        ----------
        policy
            Label or position of a policy.
        since, until
            First and last round; the nearest checkpoints are used and are part of the result. By default,
            ``until`` is the horizon and ``since`` the first checkpoint in the two decades before it. NaN if
            there is no checkpoint before ``until``.
        """
        first, last = statistics.span(self.checkpoints, since, until)
        return statistics.slope(self.regret(policy), self.checkpoints, first, last)

    def difference(self, policy: str | int, other: str | int) -> Difference:
        """Return the mean difference of regret at the horizon, ``policy`` minus ``other``, run by run."""
        return statistics.difference(self.regret(policy)[:, -1] - self.regret(other)[:, -1])

    def frame(self, *, arms: bool = False) -> pd.DataFrame:
        """Return a tidy pandas data frame with the columns policy, run, round and regret.

        With ``arms=True``, it has one row per arm: policy, run, round, cluster, arm, pulls and regret. Names
        are categorical.
        """
        with extras_explained():
            import pandas as pd

        shape = self.pulls.shape if arms else self.pulls.shape[:3]
        at = [codes.ravel() for codes in np.broadcast_arrays(*np.indices(shape, sparse=True))]
        named: Any = pd.Categorical.from_codes
        columns: dict[str, Any] = {
            "policy": named(at[0], list(self.labels)),
            "run": self.runs[at[1]],
            "round": self.checkpoints[at[2]],
        }
        if arms:
            parts = self.instance.partition
            columns["cluster"] = named(np.array(parts.membership)[at[3]], list(parts.clusters))
            columns["arm"] = named(at[3], list(parts.arms))
            columns["pulls"] = self.pulls.ravel()
            columns["regret"] = (self.pulls * self.instance.gaps).ravel()
        else:
            columns["regret"] = np.concatenate([self.regret(place).ravel() for place in range(shape[0])])
        return pd.DataFrame(columns)

    def table(self) -> Table:
        """Return a table with one row per policy: regret at the horizon, pulls of the best arms, slope."""
        paired = ", paired" if self.paired else ""
        seed = "" if self.seed is None else f", seed {self.seed}"
        runs = count_text(len(self.runs), "run")
        title = f"Regret after {count_text(self.horizon, 'round')}, {runs}{paired}{seed}"
        notes = ["±: standard error. 95 %: quantile over runs. best %: share of pulls of the best arms."]
        _, _, since, until = self.slope(0)
        if since < until:
            notes.append(f"slope: regret per log n, {round_text(since)} to {round_text(until)}.")
        if self.start_trials:
            notes.append(f"{after_history(self.start_trials)} Rounds and regret are those after it.")
        notes += [text for text in map(self._alarm_note, range(len(self.labels))) if text]
        columns = ("policy", "regret", "±", "median", "95 %", "best %", "slope")
        rows = tuple(map(self._row, range(len(self.labels))))
        return Table(columns, rows, title=textwrap.fill(title, WIDTH), notes=tuple(notes))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        bound: RegretBound | None = None,
        scale: Literal["log", "linear"] = "log",
    ) -> Axes:
        """Draw mean regret against rounds, with 95 % bootstrap bands; return the Matplotlib axes.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.
        bound
            Bounds to draw beside the curves, as slopes from a tenth of the horizon on.
        scale
            Scale of the rounds.

        Examples
        --------
        >>> from clusterbandits import Instance
        >>> pulls = [[[[1, 9], [2, 98]], [[3, 7], [4, 96]]]]
        >>> ax = Result(Instance([[0.5], [0.75]]), ["kl-ucb"], [10, 100], pulls).plot()
        >>> ax.get_xlabel(), ax.get_lines()[0].get_ydata().tolist()
        ('round n, log scale', [0.5, 0.75])
        """
        return drawn("result", self, ax, bound, scale)

    def to_dict(self) -> dict[str, Any]:
        """Return a summary as plain data; None stands for values that need more than one run."""
        return {
            "labels": list(self.labels),
            "checkpoints": self.checkpoints.tolist(),
            "runs": self.runs.tolist(),
            "seed": self.seed,
            "paired": self.paired,
            "start_trials": self.start_trials,
            "instance": self.instance.to_dict(),
            "policies": {label: self._summary(place) for place, label in enumerate(self.labels)},
        }

    def _summary(self, place: int) -> dict[str, Any]:
        low, high = map(_plain, self.band(place))
        slope = self.slope(place)
        value, error = _plain(np.array([slope.value, slope.error]))
        return {
            "mean": _plain(self.mean(place)),
            "standard_error": _plain(self.standard_error(place)),
            "quantiles": dict(zip(map(str, LEVELS), map(_plain, self.quantiles(place)), strict=True)),
            "band": {"level": BAND_LEVEL, "low": low, "high": high},
            "slope": {"value": value, "error": error, "since": slope.since, "until": slope.until},
            "mean_pulls": self.pulls[place, :, -1].mean(axis=0).tolist(),
            "alarms": (self.alarm_rounds[place] > 0).mean(axis=0).tolist(),
        }

    def _alarm_note(self, place: int) -> str:
        alarmed = int((self.alarm_rounds[place] > 0).any(axis=1).sum())
        runs = f"{alarmed} of {len(self.runs)} runs"
        return f"{self.labels[place]}: rewards contradict a declared width in {runs}." if alarmed else ""

    def _row(self, place: int) -> tuple[object, ...]:
        final = self.regret(place)[:, -1]
        error = float(self.standard_error(place)[-1])
        median, high = np.quantile(final, [0.5, 0.95]).tolist()
        best = self.pulls[place, :, -1][:, self.instance.gaps == 0].sum(axis=1).mean() / self.horizon
        slope = self.slope(place)
        rate = None if math.isnan(slope.value) else statistics.plus_minus(slope.value, slope.error)
        shown_error = None if math.isnan(error) else error
        return self.labels[place], float(final.mean()), shown_error, median, high, 100 * float(best), rate

    def _place(self, policy: str | int) -> int:
        return statistics.place_of(policy, self.labels, "Result")

    def __repr__(self) -> str:
        names = escaped(", ".join(self.labels))
        many = count_text(len(self.labels), "policy", "policies")
        runs, rounds = count_text(len(self.runs), "run"), count_text(self.horizon, "round")
        past = f" after {count_text(self.start_trials, 'trial')}" if self.start_trials else ""
        return f"<Result: {names if len(names) <= WIDTH // 2 else many}, {runs} of {rounds}{past}>"

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def joined(results: Mapping[str, Result]) -> Result:
    """Combine results of one policy each, given by new labels; all but the policy must be equal."""
    parts = list(results.values())
    first = parts[0]
    return Result(
        first.instance,
        tuple(results),
        first.checkpoints,
        np.concatenate([part.pulls for part in parts]),
        first.runs,
        alarm_rounds=tuple(part.alarm_rounds[0] for part in parts),
        seed=first.seed,
        paired=first.paired,
        start_trials=first.start_trials,
    )


def _labels(labels: object) -> tuple[str, ...]:
    names = tuple(labels) if is_list(labels) else ()
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise invalid("labels", "Result", "a list with a different name for each policy", labels)
    return tuple(map(str, names))


def _plain(values: Floats) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]
