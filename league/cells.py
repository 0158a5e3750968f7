"""One cell of the league: the regret of a policy on a problem, and a key that detects outdated cells."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

import clusterbandits
from clusterbandits import policy
from clusterbandits.fingerprint import PLAYED_BY, fingerprint, sources
from clusterbandits.policies.policy import Policy
from clusterbandits.serial import to_json
from clusterbandits.simulation.statistics import standard_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from league.problems import Problem

#: Problem and policy.
Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Settings:
    """The settings of all cells."""

    horizon: int = 10**5
    #: The number of runs per cell; slow cells have fewer.
    runs: int = 100
    seed: int = 1


@dataclass(frozen=True)
class Cell:
    """The regret of one policy on one problem at the horizon, over its runs."""

    problem: str
    policy: str
    key: str
    runs: int
    mean: float
    #: None for a single run.
    standard_error: float | None
    median: float
    #: The 95th percentile.
    high: float
    max: float
    #: The time of a single run after compilation.
    seconds: float
    #: The number of runs with a width alarm, if the policy checks widths.
    alarms: int = 0

    @property
    def pair(self) -> Pair:
        """The problem and the policy of the cell."""
        return self.problem, self.policy


def summarise(pair: Pair, key: str, regrets: NDArray[np.float64], seconds: float, alarms: int = 0) -> Cell:
    """Return the cell for the regret of each run, rounded to six digits.

    Examples
    --------
    >>> cell = summarise(("figure 2", "kl-ucb"), "", np.array([1.0, 2.0, 6.0]), 0.01)
    >>> cell.mean, cell.standard_error, cell.median, cell.high, cell.max
    (3.0, 1.52753, 2.0, 5.6, 6.0)
    """
    median, high = np.quantile(regrets, [0.5, 0.95])
    error = float(standard_error(regrets))
    return Cell(
        *pair,
        key=key,
        runs=len(regrets),
        mean=_short(regrets.mean()),
        standard_error=None if len(regrets) == 1 else _short(error),
        median=_short(median),
        high=_short(high),
        max=_short(regrets.max()),
        seconds=float(f"{seconds:.2g}"),
        alarms=alarms,
    )


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def versions() -> dict[str, str]:
    """Return the versions that results depend on; the sources of a policy are part of its keys."""
    shared = {name: value for name, value in fingerprint().items() if name != "sources"}
    return {"clusterbandits": clusterbandits.__version__, **shared}


def sources_of(name: str) -> str:
    """Return a hash of the modules that simulate a policy, including other policies that it imports.

    Examples
    --------
    >>> sources_of("clus-ucb") == sources_of("clus-ucb-hedged")
    False
    """
    own = Policy.kinds[name].__module__.removeprefix("clusterbandits.").replace(".", "/") + ".py"
    return sources().hash([PLAYED_BY, own], without={"policies/__init__.py"})


def has_cell(problem: Problem, name: str) -> bool:
    """Return whether a policy can be run on a problem: some cannot start from sums of rewards."""
    learner = policy(name, problem.clusters, family=problem.instance.family)
    return problem.start is None or not learner.kernels.wants_each


def cell_key(problem: Problem, name: str, settings: Settings, made_by: dict[str, str]) -> str:
    """Return a hash of all that determines a cell: true means, policy, sources, clusters, history, settings.

    Widths count only if they can change the policy's choices; otherwise one cell is used for all widths of an
    instance.
    """
    learner = policy(name, problem.clusters, family=problem.instance.family)
    known = learner.description()
    if not learner.heeds_widths:
        del known["clusters"]["widths"]
    decided = {
        "instance": problem.instance.to_dict(),
        "policy": known,
        "start": None if problem.start is None else problem.start.to_dict(),
        "horizon": settings.horizon,
        "runs": settings.runs,
        "seed": settings.seed,
        "sources": sources_of(name),
        **made_by,
    }
    return hashlib.sha256(to_json(decided).encode()).hexdigest()[:16]
