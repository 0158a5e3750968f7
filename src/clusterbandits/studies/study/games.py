"""What is played: every policy on every problem, once with each way to declare widths."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterbandits.fingerprint import fingerprint
from clusterbandits.serial import to_json
from clusterbandits.simulation.trial import plan_of
from clusterbandits.studies.study.widths import game_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterbandits.clusters import Clusters
    from clusterbandits.simulation.plan import Plan
    from clusterbandits.studies.study.cases import Case
    from clusterbandits.studies.study.study import Study
    from clusterbandits.studies.study.widths import WidthRule

_SHORT = 40


@dataclass(frozen=True, eq=False)
class Game:
    """One policy on one problem, told one thing."""

    case: Case
    #: What it is called among the games of its case.
    label: str
    rule: WidthRule
    plan: Plan
    #: Its number among the games of its case.
    place: int

    @property
    def clusters(self) -> Clusters:
        """What the policy is told."""
        return self.plan.policies[0].clusters

    @property
    def folder(self) -> str:
        """Where its runs are kept: what decides their bits decides the folder, so nothing is played twice."""
        decided = to_json(fingerprint()) + self.plan.to_json()
        key = hashlib.sha256(decided.encode()).hexdigest()[:16]
        return f"{_slug(self.case.name)}/{_slug(self.label)}-{key}"


def case_games(study: Study, case: Case) -> list[Game]:
    """Return the games of one problem, in the order of the study."""
    games: list[Game] = []
    for entrant in study.entrants:
        for place, rule in enumerate(case.rules if entrant.uses_widths else case.rules[:1]):
            learner = entrant.learner(rule.clusters(case.instance), case.instance.family)
            label = game_labels(learner.label, case.rules, uses_widths=entrant.uses_widths)[place]
            plan = plan_of(case.instance, [learner], study.settings)
            games.append(Game(case, label, rule, plan, len(games)))
    return games


def count_runs(study: Study) -> int:
    """Return how many runs there are in all."""
    uses = [entrant.uses_widths for entrant in study.entrants]
    return study.runs * sum(len(case.rules) if one else 1 for case in study.cases for one in uses)


def all_games(study: Study) -> Iterator[Game]:
    """Return all games, made one problem at a time."""
    for case in study.cases:
        yield from case_games(study, case)


def _slug(name: str) -> str:
    """Return a name as part of a path.

    Examples
    --------
    >>> _slug("clus-ucb 0.5 × spans"), _slug("../ü")
    ('clus-ucb-0.5-spans', 'x')
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:_SHORT].strip("-.") or "x"
