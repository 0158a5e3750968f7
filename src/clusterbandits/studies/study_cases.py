"""The cases of a study: instances, given, read from a table or drawn, and their declared widths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.families import Bounded
from clusterbandits.generators import random_instance
from clusterbandits.instance import Instance
from clusterbandits.limits import LARGEST_SEED, MOST_TABLE_ARMS
from clusterbandits.serial import number_text
from clusterbandits.simulation.start import NO_HISTORY, Start, read_start
from clusterbandits.studies.history import TABLES, read_history, table_history
from clusterbandits.studies.study_schema import INSTANCE, RANDOM, WIDTHS
from clusterbandits.studies.table_file import SETTINGS, TableFile
from clusterbandits.studies.table_wording import StudyWording
from clusterbandits.studies.toml_file import OWNER, Document, given
from clusterbandits.validate import Described, as_float, invalid, is_list, whole
from clusterbandits.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterbandits.clusters import Clusters
    from clusterbandits.studies.history import History
    from clusterbandits.studies.toml_file import Keys

_WIDTH_KINDS = ("factor", "fixed", "groups")
_WIDTHS_EXAMPLE = "[[widths]] factor = 1.0"
_KINDS = ("means", "table", "random")
_EXAMPLE = "[[instances]] means = [[0.41, 0.42], [0.45]]"
_MOST_INSTANCES = 100_000
_MOST_DRAWN = 10_000_000
#: The numbers that are drawn for each instance, with their smallest and largest allowed values.
_DRAWN = (("groups", 1, MOST_TABLE_ARMS), ("arms", 1, MOST_TABLE_ARMS), ("span", 0, 1e6))


@dataclass(frozen=True)
class WidthRule:
    """A way to declare widths, for any instance."""

    name: str
    #: The multiple of the true span; None if widths are given as numbers.
    factor: float | None = None
    #: One width for all groups, or one per group.
    given: Any = None

    @property
    def tick(self) -> str:
        """The name on an axis of multiples of the true spans: only the factor."""
        plain = self.factor is not None and self.name in {"spans", f"{number_text(self.factor)} × spans"}
        return number_text(self.factor) if plain and self.factor is not None else self.name

    def clusters(self, instance: Instance) -> Clusters:
        """Return the groups of an instance with the widths of this rule.

        Examples
        --------
        >>> from clusterbandits import Instance
        >>> WidthRule("half", factor=0.5).clusters(Instance([[0.25, 0.75], [0.5]])).widths
        (0.25, 0.0)
        """
        if self.factor is None:
            return instance.clusters(self.given)
        # An infinite factor means no restriction, also for a group of one arm.
        return instance.clusters(
            [self.factor * span if span else _none(self.factor) for span in instance.spans]
        )


def _none(factor: float) -> float:
    return math.inf if math.isinf(factor) else 0.0


EXACT = WidthRule("spans", factor=1.0)


def widths_labels(label: str, rules: Sequence[WidthRule]) -> list[str]:
    """Return the labels of a policy, one per rule; without the rule's name if there is only one.

    Examples
    --------
    >>> widths_labels("clus-ucb", [EXACT, WidthRule("0.5 × spans", factor=0.5)])
    ['clus-ucb spans', 'clus-ucb 0.5 × spans']
    """
    return [f"{label} {rule.name}" for rule in rules] if len(rules) > 1 else [label]


def read_rules(document: Document, value: object, where: Keys) -> tuple[WidthRule, ...]:
    """Return the rules of a list of tables."""
    tables = document.tables(value, where, WIDTHS, _WIDTHS_EXAMPLE)
    rules = tuple(_rule(document, table, (*where, place)) for place, table in enumerate(tables))
    for place, rule in enumerate(rules):
        if rule.name in [other.name for other in rules[:place]]:
            with document.at(*where, place):
                twice = Described(f"'{rule.name}' twice")
                raise invalid("name", OWNER, "a different one for all widths", twice)
    return rules


def _rule(document: Document, table: dict[str, Any], where: Keys) -> WidthRule:
    kind = document.one_of(table, where, _WIDTH_KINDS)
    value = table[kind]
    if kind == "groups":
        if not isinstance(value, list | dict):
            with document.at(*where, kind):
                raise invalid(kind, OWNER, "a list of widths, or a table by group", value)
        name = document.text_of(table, where, "name", _listed(value))
        return WidthRule(name, given=value)
    number = as_float(value)
    if not number >= 0:
        with document.at(*where, kind):
            raise invalid(kind, OWNER, "a number from 0 to inf", value)
    said = number_text(number)
    if kind == "factor":
        said = "spans" if number == 1 else f"{said} × spans"
    name = document.text_of(table, where, "name", said)
    return WidthRule(name, factor=number) if kind == "factor" else WidthRule(name, given=number)


def _listed(value: object) -> str:
    widths = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return ", ".join(f"{as_float(one):g}" for one in widths)


@dataclass(frozen=True)
class Case:
    """One problem, and the ways to declare its widths."""

    name: str
    instance: Instance
    rules: tuple[WidthRule, ...]
    #: The name of its family of drawn instances; empty if it was not drawn.
    drawn: str = ""
    #: The history before the first round.
    start: Start = NO_HISTORY


def read_cases(document: Document, folder: Path, seed: int, rules: tuple[WidthRule, ...]) -> tuple[Case, ...]:
    """Return all cases of a study; its seed and its rules are the defaults of instances."""
    where: Keys = ("instances",)
    tables = document.tables(document.data.get("instances"), where, INSTANCE, _EXAMPLE)
    cases: list[Case] = []
    for place, table in enumerate(tables):
        here = (*where, place)
        own = read_rules(document, table["widths"], (*here, "widths")) if "widths" in table else rules
        name = document.text_of(table, here, "name", _default_name(table, place))
        found = list(_instances(document, table, here, folder, seed))
        many = table.get("random") is not None
        start = _start(document, table, here, folder, found[0])
        cases += [
            Case(f"{name} {k}" if many else name, instance, own, name if many else "", start)
            for k, instance in enumerate(found, start=1)
        ]
        if len({case.name for case in cases}) < len(cases):
            with document.at(*here, "name"):
                raise invalid(
                    "name", OWNER, "a different one for every instance", Described(f"'{name}' twice")
                )
        for case in cases[-len(found) :]:
            _check_rules(document, case, (*here, "widths") if "widths" in table else ("widths",))
    return tuple(cases)


def _start(document: Document, table: dict[str, Any], where: Keys, folder: Path, instance: Instance) -> Start:
    """Return the history of an instance that is not drawn; no trials if the table names none."""
    named = table.get("start")
    if named is None:
        return NO_HISTORY
    with document.at(*where, "start"):
        if "random" in table:
            raise invalid("start", OWNER, "left out for drawn instances", named)
        bounded = instance.family.spec if isinstance(instance.family, Bounded) else None
        start = read_start(_history("start", named, folder, bounded), instance.arms, OWNER)
        start.check_family(instance.family, OWNER)
    return start


def _default_name(table: dict[str, Any], place: int) -> str:
    named = table.get("table")
    if isinstance(named, dict):
        named = named.get("file")
    return Path(named).stem if isinstance(named, str) and named.strip() else f"instance {place + 1}"


def _check_rules(document: Document, case: Case, where: Keys) -> None:
    """Refuse widths that do not suit an instance before anything is simulated."""
    for place, rule in enumerate(case.rules):
        with document.at(*where, place, "groups"):
            rule.clusters(case.instance)


def _instances(
    document: Document, table: dict[str, Any], where: Keys, folder: Path, seed: int
) -> Iterator[Instance]:
    kind = document.one_of(table, where, _KINDS)
    family = table.get("family", "bernoulli")
    if kind == "random":
        keys = (*where, "random")
        yield from _drawn(document, document.table(table["random"], keys, RANDOM), keys, seed, family)
        return
    with document.at(*where, kind):
        if kind == "table":
            yield _history("table", table["table"], folder, table.get("family")).instance()
        else:
            yield _written(table["means"], family)


def _written(means: object, family: Any) -> Instance:
    if not isinstance(means, list | dict):
        raise invalid("means", OWNER, "lists of means, one for each group, or a table", means)
    return Instance(means, family=family)


def _history(key: str, named: object, folder: Path, family: Any) -> History:
    """Return the bundled table, or the table of a file, that a key names."""
    settings: dict[str, Any] = dict(named) if isinstance(named, dict) else {"file": named}
    file = settings.pop("file", None)
    if not isinstance(file, str) or not file.strip() or not set(settings) <= set(SETTINGS):
        allowed = f"one of {listed(TABLES)}, the path of a file, or a table with the keys file, "
        raise invalid(key, OWNER, allowed + f"{', '.join(SETTINGS)}", named)
    if file in TABLES and not settings:
        return table_history(file)
    table = TableFile(folder / file, **settings, wording=StudyWording(key))
    return read_history(table, OWNER, family=family)


def _drawn(
    document: Document, table: dict[str, Any], where: Keys, seed: int, family: Any
) -> Iterator[Instance]:
    with document.at(*where, "count"):
        count = whole("count", OWNER, table.get("count", 10), least=1, most=_MOST_INSTANCES)
    with document.at(*where, "seed"):
        own = whole("seed", OWNER, table.get("seed", seed), least=0, most=LARGEST_SEED)
    ranges = {}
    for key, least, most in _DRAWN:
        with document.at(*where, key):
            ranges[key] = _range(key, table.get(key), least, most)
    within = table.get("within", (0.05, 0.95))
    arms = int(ranges["groups"][1] * ranges["arms"][1])
    with document.at(*where, "arms"):
        if arms > MOST_TABLE_ARMS or count * arms > _MOST_DRAWN:
            allowed = f"at most {MOST_TABLE_ARMS:,} per instance and {_MOST_DRAWN:,} in total"
            raise invalid("arms", OWNER, allowed, Described(f"up to {arms:,} in each of {count:,}"))
    with document.at(*where):
        for k in range(count):
            rng = np.random.default_rng(np.random.SeedSequence(own, spawn_key=(k,)))
            groups = _whole_between(rng, ranges["groups"])
            sizes = [_whole_between(rng, ranges["arms"]) for _ in range(groups)]
            spans = rng.uniform(*ranges["span"], groups).tolist()
            layout = table.get("layout", "scattered")
            yield random_instance(layout, sizes, spans, rng, within=within, family=family)


def _whole_between(rng: np.random.Generator, ends: tuple[float, float]) -> int:
    return int(rng.integers(int(ends[0]), int(ends[1]), endpoint=True))


def _range(key: str, value: object, least: float, most: float) -> tuple[float, float]:
    """Return the ends of the range of a drawn number; a single number is both ends."""
    ends = [as_float(end) for end in value] if is_list(value) else [as_float(value)] * 2
    inside = len(ends) == 2 and least <= ends[0] <= ends[1] <= most
    counts = key != "span"
    if not inside or (counts and not all(end.is_integer() for end in ends)):
        kind = "a whole number" if counts else "a number"
        raise invalid(key, OWNER, f"{kind} of at least {least:g}, or two, the smaller first", given(value))
    return ends[0], ends[1]
