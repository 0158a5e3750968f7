"""The result of a replay: the mean reward per round of each policy, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

from clusterbandits.plotting import drawn
from clusterbandits.report.views import Estimates, EstimatesView
from clusterbandits.simulation.statistics import after_history, count_text, place_of, plus_minus
from clusterbandits.studies.log_checks import unnoticed
from clusterbandits.tables import Table, cell, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.plotting import Axes
    from clusterbandits.studies.log_survey import Survey

    Floats = NDArray[np.float64]


#: Episodes with fewer rounds per arm are too short for a policy to learn much.
_ROUNDS_AN_ARM = 20
#: The skewness of the mean reward of an episode above which Student's interval is too short.
_MOST_SKEWNESS = 1.0


class Interval(NamedTuple):
    """A mean over independent episodes with its confidence interval."""

    value: float
    low: float
    high: float
    episodes: int


def interval(values: Floats, confidence: float) -> Interval:
    """Return the mean of independent values and Student's interval for their expectation.

    Examples
    --------
    >>> [round(one, 3) for one in interval(np.array([0.4, 0.5, 0.6]), 0.95)]
    [0.5, 0.252, 0.748, 3]
    """
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    reach = float(stats.t.ppf((1.0 + confidence) / 2.0, values.size - 1)) * error
    return Interval(mean, mean - reach, mean + reach, int(values.size))


@dataclass(frozen=True, eq=False, repr=False)
class ReplayResult:
    """The mean reward per round of each policy in each episode; printed as a table.

    Methods take a policy by its label or its position.

    Parameters
    ----------
    labels
        Display names of the policies.
    rounds
        Rounds per episode; policies start again in each episode.
    means
        ``[policy, episode]``: mean reward per round; NaN where too few rows matched.
    alarmed
        Per policy, the number of episodes in which rewards contradicted a declared width.
    usable
        Rows of the uniform log that was replayed.
    log
        Contents of the log.
    confidence
        Confidence level of all intervals.
    seed
        Random seed.
    start_trials
        Number of trials in the history before the first round; 0 without a history.
    """

    labels: tuple[str, ...]
    rounds: int
    means: Floats
    alarmed: tuple[int, ...]
    usable: int
    log: Survey
    confidence: float
    seed: int
    start_trials: int = 0

    def values(self, policy: str | int) -> Floats:
        """Return the mean reward per round of every finished episode: independent, unbiased replicates."""
        means = self.means[self._place(policy)]
        return np.array(means[~np.isnan(means)])

    def value(self, policy: str | int) -> Interval:
        """Return the mean reward per round of a policy, with its confidence interval."""
        return interval(self.values(policy), self.confidence)

    def difference(self, policy: str | int, other: str | int) -> Interval:
        """Return the mean reward per round of ``policy`` minus that of ``other``.

        Episodes of all policies begin at the same rows, and policies that choose alike get the same rewards,
        so most of the noise cancels.
        """
        apart = self.means[self._place(policy)] - self.means[self._place(other)]
        return interval(apart[~np.isnan(apart)], self.confidence)

    def matched(self, policy: str | int) -> float:
        """Return the share of the log's rows that matched: those that showed the arm the policy chose."""
        return self.values(policy).size * self.rounds / self.log.rows

    def table(self) -> Table:
        """Return a row per policy: mean reward per round, and its difference from the first policy."""
        level = f"{100 * self.confidence:g} % interval"
        columns = ("policy", "reward", level, "more", level)
        rows = [
            (label, self.value(label).value, _interval_text(self.value(label)), *self._over(label))
            for label in self.labels
        ]
        width = 5 if len(self.labels) > 1 else 3
        episodes = count_text(self.means.shape[1], "episode")
        title = f"Mean reward per round over {count_text(self.rounds, 'round')}, {episodes}, seed {self.seed}"
        return Table(columns[:width], tuple(row[:width] for row in rows), title=title, notes=self._notes())

    def arm_table(self) -> Table:
        """Return a row per arm of the log: how often it was shown, and its mean reward."""
        log = self.log
        groups = log.groups or [None] * len(log.arms)
        errors = [None if math.isnan(error) else error for error in log.errors.tolist()]
        rows = zip(log.arms, groups, log.counts.tolist(), log.means.tolist(), errors, strict=True)
        notes = ("±: standard error.",)
        return Table(("arm", "group", "rows", "reward", "±"), tuple(rows), notes=notes)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the reward per round of each policy with its confidence interval; return the Matplotlib axes.

        A dashed line shows the mean reward of the log's own choices.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> from random import Random
        >>> from clusterbandits import replay
        >>> random, means = Random(1), {"a": 0.3, "b": 0.7}
        >>> shown = [random.choice("ab") for _ in range(2000)]
        >>> rewards = [int(random.random() < means[arm]) for arm in shown]
        >>> log = {"time": list(range(2000)), "arm": shown, "reward": rewards}
        >>> ax = replay(log, ["ucb1"], rounds=50).plot()
        >>> ax.get_xlabel(), [text.get_text() for text in ax.texts]
        ('reward per round', ['ucb1'])
        """
        found = [self.value(label) for label in self.labels]
        group = Estimates(
            heading=("", ""),
            names=self.labels,
            means=np.array([one.value for one in found]),
            lows=np.array([one.low for one in found]),
            highs=np.array([one.high for one in found]),
            policies=self.labels,
        )
        view = EstimatesView(
            (group,),
            "reward per round",
            mean="mean over episodes",
            interval=f"{100 * self.confidence:g} % confidence interval",
            reference=(self.log.mean, "the log's own choices"),
        )
        return drawn("estimates", view, ax, "ReplayResult.plot")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        log = self.log
        return {
            "rounds": self.rounds,
            "episodes": self.means.shape[1],
            "confidence": self.confidence,
            "seed": self.seed,
            "start_trials": self.start_trials,
            "policies": {label: self._summary(label) for label in self.labels},
            "log": {
                "rows": log.rows,
                "usable": self.usable,
                "smallest_propensity": None if log.least is None else float(log.least.min()),
                "unnoticed_share": unnoticed(log),
                "reward": log.mean,
                "standard_error": log.error,
                "arms": self.arm_table().records(),
            },
        }

    def _skewness(self) -> float:
        """Return the skewness of the mean reward of an episode, as if its rows were drawn from the log."""
        return self.log.skewness / math.sqrt(self.rounds)

    def _summary(self, label: str) -> dict[str, Any]:
        return {
            "reward": self.value(label)._asdict(),
            "over_first": self.difference(label, 0)._asdict() if label != self.labels[0] else None,
            "matched": self.matched(label),
            "alarmed": self.alarmed[self._place(label)],
            "values": self.values(label).tolist(),
        }

    def _over(self, label: str) -> tuple[object, object]:
        if label == self.labels[0]:
            return None, None
        apart = self.difference(label, 0)
        return apart.value, _interval_text(apart)

    def _notes(self) -> tuple[str, ...]:
        log = self.log
        best = int(log.means.argmax())
        earned = plus_minus(float(log.means[best]), float(log.errors[best]))
        drawn = "at random" if log.least is None else f"with propensities of at least {log.least.min():.3g}"
        notes = [
            f"The log has {log.rows:,} rows and {len(log.arms)} arms, chosen {drawn}: {self.usable:,} rows "
            f"could be used, {100 * self.matched(0):.1f} % were matched.",
            f"The log's own choices earned {plus_minus(log.mean, log.error)} per row. Its best arm in "
            f"hindsight, {log.arms[best]}, earned {earned}, which is biased upwards, because the arm was "
            "selected.",
        ]
        share = unnoticed(log)
        if share is not None:
            notes.append(
                f"Propensities agree with the arms shown. Up to {100 * share:.2g} % of visitors may never be "
                "shown some arm without this test detecting it; the intervals do not account for them."
            )
        if self.start_trials + self.rounds < _ROUNDS_AN_ARM * len(log.arms):
            short = f"Episodes of {count_text(self.rounds, 'round')} are short for {len(log.arms)} arms"
            notes.append(f"{short}: policies have hardly begun to learn. Use longer episodes or more rows.")
        if self.start_trials:
            notes.insert(0, after_history(self.start_trials, "episode"))
        if abs(self._skewness()) > _MOST_SKEWNESS:
            rounds = math.ceil((log.skewness / _MOST_SKEWNESS) ** 2)
            notes.append(
                f"Rewards are rare or skewed (skewness {self._skewness():.2g} of the mean of an episode), so "
                f"that the intervals are too short. Use episodes of {rounds:,} rounds or more."
            )
        if len(self.labels) > 1:
            notes.insert(0, f"more: difference from {self.labels[0]}, compared episode by episode.")
        notes += [note for note in map(self._doubts, self.labels) if note]
        return tuple(notes)

    def _doubts(self, label: str) -> str:
        values, alarmed = self.values(label), self.alarmed[self._place(label)]
        if np.ptp(values) == 0.0:
            return f"{label}: all episodes earned the same, so there is no interval."
        episodes = f"{alarmed} of {count_text(values.size, 'episode')}"
        return f"{label}: rewards contradict a declared width in {episodes}." if alarmed else ""

    def _place(self, policy: str | int) -> int:
        return place_of(policy, self.labels, "ReplayResult")

    def __repr__(self) -> str:
        episodes = count_text(self.means.shape[1], "episode")
        labels = plain(", ".join(self.labels))
        return f"<ReplayResult: {labels}, {episodes} of {count_text(self.rounds, 'round')}>"

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def _interval_text(found: Interval) -> str:
    return f"{cell(found.low)} to {cell(found.high)}"
