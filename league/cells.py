"""One cell of the league: the regret of a policy on a problem, and a key that tells if it is out of date."""

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
    """How every cell is simulated."""

    horizon: int = 10**5
    #: The runs of a cell; fewer where they would take too long.
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
    #: None where there is one run.
    standard_error: float | None
    median: float
    #: The 95th percentile.
    high: float
    max: float
    #: How long one run took alone, compiled beforehand.
    seconds: float
    #: The runs in which rewards contradicted a declared width, as far as the policy watches it.
    alarms: int = 0

    @property
    def pair(self) -> Pair:
        """Which cell it is."""
        return self.problem, self.policy


def summarise(pair: Pair, key: str, regrets: NDArray[np.float64], seconds: float, alarms: int = 0) -> Cell:
    """Return the cell of these regrets, one for each run, to six digits.

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
    """Return what the bits of all results depend on; the sources of a policy are part of its keys."""
    shared = {name: value for name, value in fingerprint().items() if name != "sources"}
    return {"clusterbandits": clusterbandits.__version__, **shared}


def sources_of(name: str) -> str:
    """Return a hash of the modules that simulate a policy; those of other policies count if it imports them.

    Examples
    --------
    >>> sources_of("clus-ucb") == sources_of("clus-ucb-hedged")
    False
    """
    own = Policy.kinds[name].__module__.removeprefix("clusterbandits.").replace(".", "/") + ".py"
    return sources().hash([PLAYED_BY, own], without={"policies/__init__.py"})


def has_cell(problem: Problem, name: str) -> bool:
    """Tell whether a policy can be run on a problem: some cannot begin with sums of rewards."""
    learner = policy(name, problem.clusters, family=problem.instance.family)
    return problem.start is None or not learner.kernels.wants_each


def cell_key(problem: Problem, name: str, settings: Settings, made_by: dict[str, str]) -> str:
    """Return a hash of all that decides a cell: true means, policy, its sources, what it knows, settings.

    Widths count only where they can change what the policy does; elsewhere one cell serves all widths of an
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
