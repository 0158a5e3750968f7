"""Advice from a history: safe widths, what they save, which policy, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.bounds import regret_bound
from clusterbandits.clusters import Clusters
from clusterbandits.instance import Instance
from clusterbandits.limits import LARGEST_SEED, MOST_ROWS
from clusterbandits.policies import policy
from clusterbandits.studies import advice_tables
from clusterbandits.studies.candidates import (
    FEWEST_WORLDS,
    SAFE,
    AdviceSettings,
    choose,
    simulate_candidates,
)
from clusterbandits.studies.group_advice import group_advice
from clusterbandits.studies.history import read_history
from clusterbandits.studies.plausible_worlds import plausible_means
from clusterbandits.studies.safe_widths import CONFIDENCE, safe_widths
from clusterbandits.validate import as_float, invalid, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clusterbandits.bounds import RegretBound
    from clusterbandits.partition import Label
    from clusterbandits.policies import Policy
    from clusterbandits.simulation.campaign import Listener
    from clusterbandits.studies.candidates import Candidate
    from clusterbandits.studies.group_advice import GroupAdvice
    from clusterbandits.studies.history import History
    from clusterbandits.tables import Table

#: Runs where nobody says how many: fewer for very many arms, so that an answer takes minutes at most.
_RUNS, _FEWEST_RUNS, _MANY_ARMS = 32, 8, 200
_MOST_RUNS = 10_000
_MOST_PLAYED_ROUNDS = 10**12
#: Draws of the means from which the chance of a group to hold the best arm is counted.
_DRAWS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """What to declare and what to play, with the numbers behind it; prints as tables. Made by ``advise``."""

    history: History
    confidence: float
    settings: AdviceSettings
    groups: tuple[GroupAdvice, ...]
    #: What must be paid at the estimated means with the safe widths.
    bound: RegretBound
    #: Every policy that was tried; the first one is KL-UCB, which uses no widths.
    candidates: tuple[Candidate, ...]
    #: The name of the policy to take, with the safe widths.
    recommended: str
    reason: str

    @property
    def widths(self) -> Mapping[Label, float]:
        """The safe width of every group."""
        return {group.name: group.width for group in self.groups}

    def clusters(self) -> Clusters:
        """Return the groups with their safe widths, for a policy to be told."""
        return Clusters(self.history.partition, self.widths)

    def policy(self) -> Policy:
        """Return the recommended policy, before its first round; ``from_history`` begins with the history."""
        return policy(self.recommended, self.clusters())

    def table(self) -> Table:
        """Return a row for every group."""
        return advice_tables.group_table(self)

    def candidate_table(self) -> Table:
        """Return a row for every policy that was tried."""
        return advice_tables.candidate_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "recommended": self.recommended,
            "reason": self.reason,
            "widths": dict(self.widths),
            "confidence": self.confidence,
            "horizon": self.settings.horizon,
            "runs": self.settings.runs,
            "seed": self.settings.seed,
            "groups": [group.to_dict() for group in self.groups],
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "bound": {name: getattr(self.bound, name) for name in ("lower", "clus_ucb", "classical")},
            "history": self.history.to_dict(),
        }

    def __repr__(self) -> str:
        return f"<Advice: {self.recommended} for {self.history!r}>"

    def __str__(self) -> str:
        return advice_tables.text(self)

    def _repr_html_(self) -> str:
        return advice_tables.html(self)


def advise(
    table: object,
    *,
    horizon: float = 1e5,
    confidence: float = CONFIDENCE,
    runs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Listener | None = None,
) -> Advice:
    """Return safe widths for the groups of a history, the regret they save, and a policy to use.

    Parameters
    ----------
    table
        Trials and successes, as for ``read_history``: a CSV file, a frame or columns with one row per arm
        (arm, group, trials, successes) or one row per event (arm, group, reward).
    horizon
        The number of rounds ahead.
    confidence
        The probability that the widths of all groups are wide enough, whatever the means are.
    runs
        Runs of every candidate at the estimated means, and the number of plausible worlds with one run each:
        at least 19, which a range of nine in ten worlds takes. By default 32, fewer for over 200 arms.
    seed
        Random seed.
    workers
        Threads; by default one per core. The result does not depend on it.
    progress
        Called several times per second with a ``Progress``.

    Examples
    --------
    >>> rows = {
    ...     "arm": ["a", "b", "c", "d", "e"],
    ...     "group": ["red", "red", "red", "blue", "blue"],
    ...     "trials": [4000, 4000, 4000, 4000, 4000],
    ...     "successes": [800, 820, 790, 1600, 1650],
    ... }
    >>> advice = advise(rows, horizon=10_000, runs=8)
    >>> advice
    <Advice: clus-ucb for <History: 5 arms in 2 groups, 2e4 trials>>
    >>> advice.widths
    {'red': 0.0274, 'blue': 0.0367}
    """
    history = read_history(table, "advise", family="bernoulli")
    level = as_float(confidence)
    if not 0.5 <= level <= 0.9999:
        raise invalid("confidence", "advise", "a number from 0.5 to 0.9999", confidence)
    settings = AdviceSettings(
        horizon=whole("horizon", "advise", horizon, least=1, most=_MOST_PLAYED_ROUNDS),
        runs=whole(
            "runs", "advise", _usual_runs(history) if runs is None else runs, least=2, most=_MOST_RUNS
        ),
        seed=whole("seed", "advise", seed, least=0, most=LARGEST_SEED),
        workers=workers,
    )
    if settings.runs * len(history.arms) > MOST_ROWS:
        most = MOST_ROWS // len(history.arms)
        raise invalid("runs", "advise", f"at most {most:,} for {len(history.arms):,} arms", settings.runs)
    if progress is not None and not callable(progress):
        raise invalid("progress", "advise", "a function of a Progress", progress)
    estimates = Instance(estimated_means(history), labels=history.partition)
    told = _candidate_widths(estimates, safe_widths(history.counts(), level))
    bound = regret_bound(estimates, told[SAFE])
    drawn = np.random.SeedSequence(settings.seed, spawn_key=(0,))
    many = max(settings.runs, FEWEST_WORLDS)
    worlds = plausible_means(history, max(_DRAWS, many), np.random.default_rng(drawn))
    groups = group_advice(history, bound, _chances(worlds, estimates), level)
    candidates = simulate_candidates(estimates, worlds[:many], told, settings, progress)
    recommended, reason = choose(candidates, groups, level)
    return Advice(history, level, settings, groups, bound, candidates, recommended, reason)


def estimated_means(history: History) -> NDArray[np.float64]:
    """Return successes / trials; an arm that was never tried is taken to be as good as its group is.

    Examples
    --------
    >>> rows = {"arm": ["a", "b"], "group": [1, 1], "trials": [10, 0], "successes": [4, 0]}
    >>> estimated_means(read_history(rows)).tolist()
    [0.4, 0.4]
    """
    means = history.means
    overall = _share(history.trials, history.successes, 0.5)
    for members in history.partition.members:
        pooled = _share(history.trials[members], history.successes[members], overall)
        means[members] = np.where(np.isnan(means[members]), pooled, means[members])
    return means


def _usual_runs(history: History) -> int:
    return max(_FEWEST_RUNS, min(_RUNS, _RUNS * _MANY_ARMS // len(history.arms)))


def _share(trials: NDArray[np.int64], successes: NDArray[np.int64], otherwise: float) -> float:
    return float(successes.sum() / trials.sum()) if trials.any() else otherwise


def _candidate_widths(estimates: Instance, safe: tuple[float, ...]) -> dict[str, Clusters]:
    """Return clusters by what their widths are called: safe, the estimated spans, and midway between."""
    both = zip(safe, estimates.spans, strict=True)
    midway = [(width + span) / 2 for width, span in both]
    widths = {SAFE: safe, "midway": midway, "spans": estimates.spans}
    return {name: estimates.clusters(values) for name, values in widths.items()}


def _chances(worlds: NDArray[np.float64], estimates: Instance) -> NDArray[np.float64]:
    groups = np.array(estimates.partition.membership)[worlds.argmax(axis=1)]
    return np.bincount(groups, minlength=len(estimates.partition.clusters)) / len(worlds)
