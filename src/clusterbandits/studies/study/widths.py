"""What policies are told of the groups: the truth, a multiple of it, or something fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterbandits.serial import number_text
from clusterbandits.studies.study.document import OWNER, Document
from clusterbandits.studies.study.schema import WIDTHS
from clusterbandits.validate import Described, as_float, invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.clusters import Clusters
    from clusterbandits.instance import Instance
    from clusterbandits.studies.study.lines import Path

_KINDS = ("factor", "fixed", "groups")
_EXAMPLE = "[[widths]] factor = 1.0"


@dataclass(frozen=True)
class WidthRule:
    """A way to declare widths, for any instance."""

    name: str
    #: Times the true span; None where widths are given as numbers.
    factor: float | None = None
    #: One width for all groups, or one for each.
    given: Any = None

    @property
    def tick(self) -> str:
        """The name as an axis of multiples of the true spans shows it: the factor alone."""
        plain = self.factor is not None and self.name in {"spans", f"{number_text(self.factor)} × spans"}
        return number_text(self.factor) if plain and self.factor is not None else self.name

    def clusters(self, instance: Instance) -> Clusters:
        """Return what a learner is told of an instance.

        Examples
        --------
        >>> from clusterbandits import Instance
        >>> WidthRule("half", factor=0.5).clusters(Instance([[0.25, 0.75], [0.5]])).widths
        (0.25, 0.0)
        """
        if self.factor is None:
            return instance.clusters(self.given)
        # Infinity tells nothing, of a single arm too.
        return instance.clusters(
            [self.factor * span if span else _none(self.factor) for span in instance.spans]
        )


def _none(factor: float) -> float:
    return math.inf if math.isinf(factor) else 0.0


EXACT = WidthRule("spans", factor=1.0)


def game_labels(label: str, rules: Sequence[WidthRule], *, uses_widths: bool) -> list[str]:
    """Return what a policy is called with each way to declare widths; its label alone where there is one.

    Examples
    --------
    >>> game_labels("clus-ucb", [EXACT, WidthRule("0.5 × spans", factor=0.5)], uses_widths=True)
    ['clus-ucb spans', 'clus-ucb 0.5 × spans']
    """
    several = uses_widths and len(rules) > 1
    return [f"{label} {rule.name}" for rule in rules] if several else [label]


def read_rules(document: Document, value: object, where: Path) -> tuple[WidthRule, ...]:
    """Return the rules of a list of tables."""
    tables = document.tables(value, where, WIDTHS, _EXAMPLE)
    rules = tuple(_rule(document, table, (*where, place)) for place, table in enumerate(tables))
    for place, rule in enumerate(rules):
        if rule.name in [other.name for other in rules[:place]]:
            with document.at(*where, place):
                given = Described(f"'{rule.name}' twice")
                raise invalid("name", OWNER, "a different one for all widths", given)
    return rules


def _rule(document: Document, table: dict[str, Any], where: Path) -> WidthRule:
    kind = document.one_of(table, where, _KINDS)
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
