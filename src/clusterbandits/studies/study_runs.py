"""The simulations of a study: each policy on each case, once with each way to declare widths."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from clusterbandits.fingerprint import fingerprint
from clusterbandits.serial import to_json
from clusterbandits.simulation.campaign import Campaign, open_simulation
from clusterbandits.simulation.executors import workers_of
from clusterbandits.simulation.plan import Plan
from clusterbandits.simulation.results import joined
from clusterbandits.studies.study_cases import widths_labels

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from concurrent.futures import Executor
    from pathlib import Path

    from clusterbandits.clusters import Clusters
    from clusterbandits.simulation.campaign import Listener, Simulation
    from clusterbandits.simulation.results import Result
    from clusterbandits.studies.study_cases import Case, WidthRule
    from clusterbandits.studies.study_file import Study

#: From this number of simulations on, each is run and stored as one block.
_MANY = 64
_FEW_PIECES = 8
_SHORT = 40


@dataclass(frozen=True, eq=False)
class Contender:
    """A policy on a case, with one way to declare widths."""

    case: Case
    #: Its label among the contenders of its case.
    label: str
    rule: WidthRule
    plan: Plan
    #: The folder of its runs; contenders whose runs are the same to the last bit share it.
    folder: str

    @property
    def clusters(self) -> Clusters:
        """The clusters and widths that the policy is given."""
        return self.plan.policies[0].clusters

    @property
    def heeds_widths(self) -> bool:
        """Whether the declared widths can change its choices."""
        return self.plan.policies[0].heeds_widths


class Comparison(NamedTuple):
    """A case with the result of all its contenders, by their labels."""

    case: Case
    contenders: dict[str, Contender]
    result: Result


def contenders(study: Study, case: Case) -> list[Contender]:
    """Return the contenders of a case, in the order of the study."""
    found: list[Contender] = []
    folders: dict[str, str] = {}
    for one in study.policies:
        rules = one.rules(case)
        for place, rule in enumerate(rules):
            learner = one.learner(rule.clusters(case.instance), case.instance.family)
            label = widths_labels(learner.label, rules)[place]
            plan = Plan(
                instance=case.instance,
                policies=(learner.for_horizon(case.start.trials + study.horizon),),
                horizon=study.horizon,
                runs=study.runs,
                seed=study.seed,
                checkpoints=study.checkpoints,
                paired=study.paired,
                stepwise=False,
                start=case.start,
            )
            key = hashlib.sha256((to_json(fingerprint()) + plan.to_json()).encode()).hexdigest()[:16]
            folder = folders.setdefault(key, f"{_slug(case.name)}/{_slug(label)}-{key}")
            found.append(Contender(case, label, rule, plan, folder))
    return found


def count_simulations(study: Study) -> int:
    """Return the number of different simulations."""
    count = 0
    for case in study.cases:
        several = len(case.rules) > 1
        widths = len({rule.clusters(case.instance).widths for rule in case.rules}) if several else 1
        count += sum(widths if one.heeds_widths else 1 for one in study.policies)
    return count


def _slug(name: str) -> str:
    """Return a name as part of a path.

    Examples
    --------
    >>> _slug("clus-ucb 0.5 × spans"), _slug("../ü")
    ('clus-ucb-0.5-spans', 'x')
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:_SHORT].strip("-.") or "x"


class StudyCampaign:
    """The simulations of a study, in a folder that keeps their runs."""

    def __init__(
        self,
        study: Study,
        folder: Path,
        workers: int | None = None,
        executor: Executor | None = None,
        listener: Listener | None = None,
    ) -> None:
        self._study, self._folder = study, folder
        self._many = count_simulations(study)
        runs = study.runs * self._many
        chosen = workers_of(workers, executor, "run")
        self._campaign = Campaign(
            self._simulations(), chosen, listener, runs=runs, rounds=runs * study.horizon
        )
        #: For each case in progress, its contenders and the results so far, by folder.
        self._open: dict[str, tuple[list[Contender], dict[str, Result]]] = {}

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self._campaign.runs

    @property
    def reused(self) -> int:
        """The number of runs that were reused from an earlier call."""
        return self._campaign.reused

    def finished(self) -> Generator[Comparison, None, None]:
        """Simulate, and yield each case when all its contenders are finished."""
        for simulation in self._campaign.finished():
            case, folder = simulation.key
            found, results = self._open[case.name]
            results[folder] = simulation.result()
            if len(results) == len({one.folder for one in found}):
                del self._open[case.name]
                result = joined({one.label: results[one.folder] for one in found})
                yield Comparison(case, {one.label: one for one in found}, result)

    def _simulations(self) -> Iterator[Simulation]:
        pieces = 1 if self._many >= _MANY else _FEW_PIECES
        for case in self._study.cases:
            found = contenders(self._study, case)
            self._open[case.name] = found, {}
            for folder, one in {one.folder: one for one in found}.items():
                place = self._folder / "runs" / folder
                yield open_simulation(one.plan, place, pieces, name=case.name, key=(case, folder))
