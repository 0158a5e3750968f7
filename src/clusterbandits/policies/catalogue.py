"""All policies at a glance: what each needs, whether it draws, what is known of it, and whose it is."""

from __future__ import annotations

from typing import Any

from clusterbandits.policies.registry import POLICIES
from clusterbandits.tables import Table


def catalogue() -> list[dict[str, Any]]:
    """Return a row of plain data for every policy of the registry.

    Examples
    --------
    >>> catalogue()[3]["policy"], catalogue()[3]["guarantee"]
    ('kl-ucb', 'meets the classical bound')
    """
    return [
        {
            "policy": name,
            "class": kind.__name__,
            "widths": kind.uses_widths,
            "horizon": kind.needs_horizon,
            "random": kind.randomised,
            "settings": dict(kind.defaults),
            "guarantee": kind.guarantee,
            "reference": kind.reference,
        }
        for name, kind in POLICIES.items()
    ]


def catalogue_table() -> Table:
    """Return the catalogue for people."""
    needs = {"widths": "widths", "horizon": "horizon", "random": "chance"}
    rows = tuple(
        (
            row["policy"],
            ", ".join(word for key, word in needs.items() if row[key]),
            row["guarantee"],
        )
        for row in catalogue()
    )
    notes = ("horizon: it must know the number of rounds. --json: settings and references too.",)
    return Table(("policy", "uses", "regret"), rows, notes=notes)
