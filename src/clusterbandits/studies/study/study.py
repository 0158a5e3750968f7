"""A study: everything that decides its results, read from a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterbandits.families.family import MOST_COUNT
from clusterbandits.limits import LARGEST_SEED, MOST_ROWS, MOST_RUNS
from clusterbandits.policies import POLICIES, policy
from clusterbandits.simulation.checkpoints import read_checkpoints
from clusterbandits.studies.study.cases import Case, read_cases
from clusterbandits.studies.study.document import OWNER, Document, said
from clusterbandits.studies.study.schema import POLICY, STUDY
from clusterbandits.studies.study.widths import EXACT, game_labels, read_rules
from clusterbandits.studies.text_file import read_text
from clusterbandits.validate import Described, check_numbers, invalid, is_list, truth, whole
from clusterbandits.wording import listed

if TYPE_CHECKING:
    import os

    from clusterbandits.clusters import Clusters
    from clusterbandits.families import Family
    from clusterbandits.policies import Policy

_EXAMPLE = 'policies = ["kl-ucb", "clus-ucb"]'


@dataclass(frozen=True)
class Entrant:
    """A policy of a study, to be made for any instance."""

    text: str
    settings: dict[str, Any]
    label: str | None

    def learner(self, clusters: Clusters, family: Family | str = "bernoulli") -> Policy:
        """Return the policy, told so much."""
        return policy(self.text, clusters, family=family, label=self.label, **self.settings)

    @property
    def uses_widths(self) -> bool:
        """Whether it is played once with every way to declare widths."""
        return POLICIES[self.text.partition(":")[0]].uses_widths


@dataclass(frozen=True)
class Study:
    """Problems, policies and how long they play."""

    name: str
    title: str
    note: str
    horizon: int
    runs: int
    seed: int
    paired: bool
    checkpoints: tuple[int, ...]
    cases: tuple[Case, ...]
    entrants: tuple[Entrant, ...]
    #: The file it was read from, word by word.
    text: str

    @property
    def settings(self) -> dict[str, Any]:
        """What ``simulate`` calls the same."""
        return {
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "checkpoints": list(self.checkpoints),
            "paired": self.paired,
            "stepwise": False,
        }


def read_study(path: str | os.PathLike[str]) -> Study:
    """Read a study file; what is wrong with it is told with its line and its key.

    Parameters
    ----------
    path
        The file. Paths of tables in it begin at its folder.
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
        What errors call the file.
    folder
        Where paths of tables begin.

    Examples
    --------
    >>> study = parse_study('policies = ["kl-ucb"]\n[[instances]]\nmeans = [[0.4, 0.5], [0.6]]\n')
    >>> study.runs, study.cases[0].instance
    (48, Instance([[0.4, 0.5], [0.6]]))
    >>> parse_study('runs = 1')
    Traceback (most recent call last):
    ...
    clusterbandits...Line 1 of 'study.toml', key 'runs': The 'runs' parameter of study must be ...
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
    entrants = _entrants(document, data.get("policies"), cases)
    _check_counts(document, cases, horizon)
    study = Study(
        Path(name).stem, title, note, horizon, runs, seed, paired, checkpoints, cases, entrants, text
    )
    _check_size(document, study)
    return study


def _entrants(document: Document, value: object, cases: tuple[Case, ...]) -> tuple[Entrant, ...]:
    if not is_list(value) or not list(value):
        with document.at("policies"):
            raise invalid("policies", OWNER, f"a list of at least one, as in {_EXAMPLE}", said(value))
    entrants: list[Entrant] = []
    labels: list[str] = []
    for place, one in enumerate(value):
        entrant = _entrant(document, one, place)
        with document.at("policies", place):
            for case in cases if entrant.settings.get("distances") else cases[:1]:
                made = entrant.learner(case.rules[0].clusters(case.instance), case.instance.family)
            if made.label in labels:
                given = Described(f"'{made.label}' twice")
                raise invalid("label", OWNER, "a different one for every policy", given)
        labels.append(made.label)
        entrants.append(entrant)
    _check_labels(document, labels, entrants, cases)
    return tuple(entrants)


def _check_labels(
    document: Document, labels: list[str], entrants: list[Entrant], cases: tuple[Case, ...]
) -> None:
    """Refuse labels that are those of others once the names of widths follow them."""
    for rules in {tuple(rule.name for rule in case.rules): case.rules for case in cases}.values():
        names: set[str] = set()
        for place, (label, entrant) in enumerate(zip(labels, entrants, strict=True)):
            for name in game_labels(label, rules, uses_widths=entrant.uses_widths):
                if name in names:
                    with document.at("policies", place):
                        given = Described(f"'{name}' twice")
                        raise invalid("label", OWNER, "a different one for every policy and widths", given)
                names.add(name)


def _check_counts(document: Document, cases: tuple[Case, ...], horizon: int) -> None:
    """Refuse more rounds than counts without a ceiling can be added up over."""
    best = max((case.instance.best_mean for case in cases if case.instance.family.counts), default=0.0)
    if horizon * best > MOST_COUNT:
        with document.at("horizon"):
            allowed = f"at most {MOST_COUNT / best:.3g} for a mean of {best:g}"
            raise invalid("horizon", OWNER, allowed, horizon)


def _check_size(document: Document, study: Study) -> None:
    """Refuse results that would not fit into memory: of one instance, and the curves of all."""
    rounds, rows = len(study.checkpoints), 0
    for case in study.cases:
        games = sum(len(case.rules) if one.uses_widths else 1 for one in study.entrants)
        with document.at("runs"):
            check_numbers(OWNER, games, study.runs, rounds, len(case.instance.arms))
        rows += games * rounds
    if rows > MOST_ROWS:
        with document.at("checkpoints"):
            allowed = f"few enough that all curves together have at most {MOST_ROWS:,} points"
            raise invalid("checkpoints", OWNER, allowed, Described(f"{rows:,}"))


def _entrant(document: Document, value: object, place: int) -> Entrant:
    where = ("policies", place)
    if isinstance(value, str):
        return Entrant(value, {}, None)
    if not isinstance(value, dict):
        with document.at(*where):
            raise invalid("policies", OWNER, "names of policies, or tables with the key policy", value)
    table = document.table(value, where, POLICY, open_ended=True)
    if not isinstance(table.get("policy"), str):
        with document.at(*where, "policy"):
            raise invalid("policy", OWNER, f"one of {listed(POLICIES)}", said(table.get("policy")))
    label = document.text_of(table, where, "label", "-") if "label" in table else None
    settings = {key: one for key, one in table.items() if key not in {"policy", "label"}}
    for key in settings:
        with document.at(*where, key):
            kind = POLICIES.get(table["policy"].partition(":")[0])
            if kind is not None and key not in kind.defaults:
                known = listed(["policy", "label", *kind.defaults])
                raise invalid(key, OWNER, f"one of the keys {known} for {kind.name}", Described(f"'{key}'"))
    return Entrant(table["policy"], settings, label)
