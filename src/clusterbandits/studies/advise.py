"""Advice from a history: a policy, its expected regret, the code that starts it, and safe widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.bounds import regret_bound
from clusterbandits.clusters import Clusters
from clusterbandits.families import Bernoulli
from clusterbandits.instance import Instance
from clusterbandits.limits import LARGEST_SEED, MOST_ROWS
from clusterbandits.plotting import drawn
from clusterbandits.policies import POLICIES
from clusterbandits.studies import advice_tables
from clusterbandits.studies.arms_view import arms_groups
from clusterbandits.studies.candidates import AdviceSettings, choose, simulate_candidates
from clusterbandits.studies.group_advice import group_advice
from clusterbandits.studies.history import read_history
from clusterbandits.studies.plausible_means import plausible_means
from clusterbandits.studies.safe_widths import CONFIDENCE, safe_widths
from clusterbandits.validate import as_float, invalid, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clusterbandits.bounds import RegretBound
    from clusterbandits.families import Family
    from clusterbandits.partition import Label
    from clusterbandits.plotting import Axes
    from clusterbandits.policies import Policy
    from clusterbandits.simulation.campaign import Listener
    from clusterbandits.studies.candidates import Candidate
    from clusterbandits.studies.group_advice import GroupAdvice
    from clusterbandits.studies.history import History
    from clusterbandits.tables import Table

#: The default number of worlds: fewer for many arms, so that an answer takes a minute.
_WORLDS, _FEWEST_WORLDS, _MANY_ARMS = 32, 16, 64
_MOST_WORLDS = 10_000
_MOST_PLAYED_ROUNDS = 10**12
#: Draws of the means that give the probability that a group holds the best arm.
_DRAWS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """The recommended policy with the numbers behind it, as returned by ``advise``.

    Printed as the recommendation, tables, and the code that starts the policy.
    """

    history: History
    confidence: float
    settings: AdviceSettings
    groups: tuple[GroupAdvice, ...]
    #: Bounds on regret at the estimated means with the safe widths.
    bound: RegretBound
    #: The simulated policies.
    candidates: tuple[Candidate, ...]
    #: The name of the recommended policy.
    recommended: str
    reason: str

    @property
    def widths(self) -> Mapping[Label, float]:
        """The safe width of each group."""
        return {group.name: group.width for group in self.groups}

    def clusters(self) -> Clusters:
        """Return the groups with their safe widths."""
        return Clusters(self.history.partition, self.widths)

    def policy(self) -> Policy:
        """Return the recommended policy, started from the history: ready to ``ask`` and ``tell``."""
        return POLICIES[self.recommended].from_history(self.history, self.widths)

    def code(self, table: object = None) -> str:
        """Return Python code that starts the recommended policy.

        Parameters
        ----------
        table
            Path of the history, or its ``TableFile``; by default a variable ``table``.
        """
        return advice_tables.code(self, table)

    def service_code(self) -> str:
        """Return Python code, to follow that of ``code``, that starts the policy as a service."""
        return advice_tables.service_code(self)

    def table(self) -> Table:
        """Return one row per group."""
        return advice_tables.group_table(self)

    def candidate_table(self) -> Table:
        """Return one row per candidate policy."""
        return advice_tables.candidate_table(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean of each arm with its 95 % confidence interval; return the Matplotlib axes.

        Bands show the safe widths of the groups, and diamonds the arms that may be the best.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> rows = {"arm": ["a", "b"], "group": ["x", "y"], "trials": [50, 50], "successes": [5, 20]}
        >>> ax = advise(rows, horizon=100, worlds=2).plot()
        >>> [text.get_text() for text in ax.texts]
        ['y', 'x', 'b', 'a']
        """
        groups = arms_groups(self.history, self.widths, self.confidence)
        return drawn("arms", groups, ax, "Advice.plot", self.history.mean_name)

    def text(self, table: object = None) -> str:
        """Return everything as text; ``table`` is the path of the history, for the code at the end."""
        return advice_tables.text(self, table)

    def to_dict(self, table: object = None) -> dict[str, Any]:
        """Return everything as plain data; ``table`` is the path of the history, for the code in it."""
        return {
            "recommended": self.recommended,
            "reason": self.reason,
            "code": self.code(table),
            "service_code": self.service_code(),
            "widths": dict(self.widths),
            "confidence": self.confidence,
            "horizon": self.settings.horizon,
            "worlds": self.settings.worlds,
            "seed": self.settings.seed,
            "groups": [group.to_dict() for group in self.groups],
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "bound": {name: getattr(self.bound, name) for name in ("lower", "clus_ucb", "classical")},
            "history": self.history.to_dict(),
        }

    def __repr__(self) -> str:
        return f"<Advice: {self.recommended} for {self.history!r}>"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return advice_tables.html(self)


def advise(
    table: object,
    *,
    family: Family | str | None = None,
    horizon: float = 1e5,
    confidence: float = CONFIDENCE,
    worlds: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Listener | None = None,
    columns: Mapping[str, str] | None = None,
) -> Advice:
    """Return the policy to use after a history, its expected regret, and safe widths for the groups.

    Twelve policies are simulated in plausible worlds: true means drawn from their posterior given the
    history. Each policy is simulated with the history and without it. The default, Kindred, is recommended
    unless it is clearly worse than the policy with the lowest score among those with a proven bound on
    regret. The score is the mean regret with the history plus a quarter of the distance from there to its
    95th percentile.

    Parameters
    ----------
    table
        Trials and successes, as for ``read_history``: a file, a frame or columns with counts (arm, group,
        trials, successes) or one row per event (arm, group, reward). Rewards other than 0 or 1 need
        ``family``.
    family
        Bounds of rewards that are not 0 or 1, as in ``"bounded:low=0,high=50"``.
    horizon
        Number of future rounds.
    confidence
        Probability that the widths of all groups are wide enough, whatever the means are.
    worlds
        Number of plausible worlds, with one run each; by default 32, or fewer, down to 16, for over 64 arms.
    seed
        Random seed.
    workers
        Number of threads; by default one per core. The result does not depend on it.
    progress
        Function that is called several times per second with a ``Progress``.
    columns
        Names of columns in the table, by their content, as for ``read_history``.

    Examples
    --------
    >>> rows = {
    ...     "arm": ["a", "b", "c", "d", "e"],
    ...     "group": ["red", "red", "red", "blue", "blue"],
    ...     "trials": [4000, 4000, 4000, 4000, 4000],
    ...     "successes": [800, 820, 790, 1600, 1650],
    ... }
    >>> advice = advise(rows, horizon=10_000, worlds=8)
    >>> advice
    <Advice: kindred for <History: 5 arms in 2 groups, 2e4 trials>>
    >>> advice.widths
    {'red': 0.0274, 'blue': 0.0367}
    """
    history = read_history(table, "advise", family=family, columns=columns)
    level = as_float(confidence)
    if not 0.5 <= level <= 0.9999:
        raise invalid("confidence", "advise", "a number from 0.5 to 0.9999", confidence)
    settings = AdviceSettings(
        horizon=whole("horizon", "advise", horizon, least=1, most=_MOST_PLAYED_ROUNDS),
        worlds=whole(
            "worlds",
            "advise",
            _usual_worlds(history) if worlds is None else worlds,
            least=2,
            most=min(_MOST_WORLDS, MOST_ROWS // len(history.arms)),
        ),
        seed=whole("seed", "advise", seed, least=0, most=LARGEST_SEED),
        workers=workers,
    )
    if progress is not None and not callable(progress):
        raise invalid("progress", "advise", "a function that takes a Progress", progress)
    estimates = Instance(estimated_means(history), labels=history.partition, family=history.family)
    clusters = estimates.clusters(safe_widths(history.sums(), level))
    bound = regret_bound(estimates, clusters)
    drawn = np.random.SeedSequence(settings.seed, spawn_key=(0,))
    means = plausible_means(history, max(_DRAWS, settings.worlds), np.random.default_rng(drawn))
    groups = group_advice(history, bound, _chances(means, estimates), level)
    candidates = simulate_candidates(history, clusters, means[: settings.worlds], settings, progress)
    in_unit = "" if isinstance(history.family, Bernoulli) else "in "
    recommended, reason = choose(candidates, f"{in_unit}{history.regret_unit}")
    return Advice(history, level, settings, groups, bound, candidates, recommended, reason)


def estimated_means(history: History) -> NDArray[np.float64]:
    """Return the mean rewards; an arm that was never tried gets the mean of its group.

    Examples
    --------
    >>> rows = {"arm": ["a", "b"], "group": [1, 1], "trials": [10, 0], "successes": [4, 0]}
    >>> estimated_means(read_history(rows)).tolist()
    [0.4, 0.4]
    """
    means = history.means
    overall = _pooled(history.trials, history.totals, (history.family.low + history.family.high) / 2)
    for members in history.partition.members:
        pooled = _pooled(history.trials[members], history.totals[members], overall)
        means[members] = np.where(np.isnan(means[members]), pooled, means[members])
    return means


def _usual_worlds(history: History) -> int:
    return max(_FEWEST_WORLDS, min(_WORLDS, _WORLDS * _MANY_ARMS // len(history.arms)))


def _pooled(trials: NDArray[np.int64], totals: NDArray[np.float64], otherwise: float) -> float:
    return float(totals.sum() / trials.sum()) if trials.any() else otherwise


def _chances(worlds: NDArray[np.float64], estimates: Instance) -> NDArray[np.float64]:
    groups = np.array(estimates.partition.membership)[worlds.argmax(axis=1)]
    return np.bincount(groups, minlength=len(estimates.partition.clusters)) / len(worlds)
