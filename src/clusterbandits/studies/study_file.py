"""A study: everything that determines its results, read from a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterbandits.families.family import MOST_COUNT
from clusterbandits.limits import LARGEST_SEED, MOST_ROWS, MOST_RUNS
from clusterbandits.policies import policy
from clusterbandits.policies.registry import kind_of
from clusterbandits.simulation.checkpoints import read_checkpoints
from clusterbandits.studies.study_cases import EXACT, Case, read_cases, read_rules, widths_labels
from clusterbandits.studies.study_schema import POLICY, STUDY
from clusterbandits.studies.toml_file import OWNER, Document, given, read_text
from clusterbandits.validate import Described, check_numbers, invalid, is_list, truth, unknown, whole

if TYPE_CHECKING:
    import os

    from clusterbandits.clusters import Clusters
    from clusterbandits.families import Family
    from clusterbandits.policies import Policy
    from clusterbandits.studies.study_cases import WidthRule

_EXAMPLE = 'policies = ["kl-ucb", "clus-ucb"]'


@dataclass(frozen=True)
class StudyPolicy:
    """A policy of a study, which can be created for any instance."""

    text: str
    settings: dict[str, Any]
    label: str | None
    #: Whether widths can change its choices: it is then simulated with each way to declare them.
    heeds_widths: bool = True

    def learner(self, clusters: Clusters, family: Family | str = "bernoulli") -> Policy:
        """Return the policy for these clusters."""
        return policy(self.text, clusters, family=family, label=self.label, **self.settings)

    def rules(self, case: Case) -> tuple[WidthRule, ...]:
        """Return the ways to declare widths with which it is simulated."""
        return case.rules if self.heeds_widths else case.rules[:1]


@dataclass(frozen=True)
class Study:
    """Cases, policies, and the settings of the simulations."""

    name: str
    title: str
    note: str
    horizon: int
    runs: int
    seed: int
    paired: bool
    checkpoints: tuple[int, ...]
    cases: tuple[Case, ...]
    policies: tuple[StudyPolicy, ...]
    #: The verbatim text of its file.
    text: str


def read_study(path: str | os.PathLike[str]) -> Study:
    """Read a study file; errors name the line and the key.

    Parameters
    ----------
    path
        Path of the study; paths of tables in it are relative to its folder.
    """
    file = Path(path)
    return parse_study(read_text(file, "The study"), file.name, file.parent)


def parse_study(text: str, name: str = "study.toml", folder: Path = Path()) -> Study:
    r"""Return the study that a text describes.

    Parameters
    ----------
    text
        TOML, as the documentation of studies describes it.
    name
        Name of the file, for error messages.
    folder
        Folder to which paths of tables are relative.

    Examples
    --------
    >>> study = parse_study('policies = ["kl-ucb"]\n[[instances]]\nmeans = [[0.4, 0.5], [0.6]]\n')
    >>> study.runs, study.cases[0].instance
    (48, Instance([[0.4, 0.5], [0.6]]))
    >>> parse_study('runs = 1')
    Traceback (most recent call last):
    ...
    clusterbandits...Line 1 of 'study.toml', key 'runs': runs must be ...
    """
    document = Document(text, name)
    data = document.table(document.data, (), STUDY)
    with document.at("horizon"):
        horizon = whole("horizon", OWNER, data.get("horizon", 10**5), least=1)
    with document.at("runs"):
        runs = whole("runs", OWNER, data.get("runs", 48), least=2, most=MOST_RUNS)
    with document.at("seed"):
        seed = whole("seed", OWNER, data.get("seed", 0), least=0, most=LARGEST_SEED)
    with document.at("paired"):
        paired = truth("paired", OWNER, data.get("paired", True))
    with document.at("checkpoints"):
        checkpoints = read_checkpoints(data.get("checkpoints"), horizon)
    rules = read_rules(document, data["widths"], ("widths",)) if "widths" in data else (EXACT,)
    title = document.text_of(data, (), "title", Path(name).stem)
    note = document.text_of(data, (), "note", title) if "note" in data else ""
    cases = read_cases(document, folder, seed, rules)
    policies = _policies(document, data.get("policies"), cases)
    _check_rounds(document, cases, horizon)
    study = Study(
        Path(name).stem, title, note, horizon, runs, seed, paired, checkpoints, cases, policies, text
    )
    _check_size(document, study)
    return study


def _policies(document: Document, value: object, cases: tuple[Case, ...]) -> tuple[StudyPolicy, ...]:
    if not is_list(value) or not list(value):
        with document.at("policies"):
            raise invalid("policies", OWNER, f"a list of at least one, as in {_EXAMPLE}", given(value))
    chosen: dict[str, StudyPolicy] = {}
    for place, one in enumerate(value):
        found = _policy(document, one, place)
        with document.at("policies", place):
            for case in cases if found.settings.get("distances") else cases[:1]:
                made = found.learner(case.rules[0].clusters(case.instance), case.instance.family)
            for case in cases:
                case.start.check_sums(made, OWNER)
            if made.label in chosen:
                twice = Described(f"'{made.label}' twice")
                raise invalid("label", OWNER, "a different one for every policy", twice)
        chosen[made.label] = replace(found, heeds_widths=made.heeds_widths)
    _check_labels(document, chosen, cases)
    return tuple(chosen.values())


def _policy(document: Document, value: object, place: int) -> StudyPolicy:
    where = ("policies", place)
    if isinstance(value, str):
        return StudyPolicy(value, {}, None)
    if not isinstance(value, dict):
        with document.at(*where):
            raise invalid("policies", OWNER, "names of policies, or tables with the key policy", value)
    table = document.table(value, where, POLICY, open_ended=True)
    text = table.get("policy")
    with document.at(*where, "policy"):
        if not isinstance(text, str):
            raise invalid("policy", OWNER, "the name of a policy, as in policy = 'kl-ucb'", given(text))
        kind = kind_of(text)
    label = document.text_of(table, where, "label", "-") if "label" in table else None
    settings = {key: one for key, one in table.items() if key not in {"policy", "label"}}
    for key in settings:
        if key not in kind.defaults:
            with document.at(*where, key):
                known = ["policy", "label", *kind.defaults]
                raise unknown("key", key, known, f"of policy {kind.name}", parameter=key, owner=OWNER)
    return StudyPolicy(text, settings, label)


def _check_labels(document: Document, policies: dict[str, StudyPolicy], cases: tuple[Case, ...]) -> None:
    """Refuse labels that become equal when the names of widths are appended."""
    for case in {tuple(rule.name for rule in case.rules): case for case in cases}.values():
        names: set[str] = set()
        for place, (label, one) in enumerate(policies.items()):
            for name in widths_labels(label, one.rules(case)):
                if name in names:
                    with document.at("policies", place):
                        twice = Described(f"'{name}' twice")
                        raise invalid("label", OWNER, "different for all policies and widths", twice)
                names.add(name)


def _check_rounds(document: Document, cases: tuple[Case, ...], horizon: int) -> None:
    """Refuse more rounds than policies can count, or than sums of unbounded counts allow."""
    with document.at("horizon"):
        for case in cases:
            case.start.check_horizon(horizon, OWNER)
    best = max((case.instance.best_mean for case in cases if case.instance.family.counts), default=0.0)
    if horizon * best > MOST_COUNT:
        with document.at("horizon"):
            allowed = f"at most {MOST_COUNT / best:.3g} for a mean of {best:g}"
            raise invalid("horizon", OWNER, allowed, horizon)


def _check_size(document: Document, study: Study) -> None:
    """Refuse results that would not fit into memory: those of one instance, or the curves of all."""
    rounds, rows = len(study.checkpoints), 0
    for case in study.cases:
        labels = sum(len(one.rules(case)) for one in study.policies)
        with document.at("runs"):
            check_numbers(OWNER, labels, study.runs, rounds, len(case.instance.arms))
        rows += labels * rounds
    if rows > MOST_ROWS:
        with document.at("checkpoints"):
            allowed = f"few enough that all curves together have at most {MOST_ROWS:,} points"
            raise invalid("checkpoints", OWNER, allowed, Described(f"{rows:,}"))
