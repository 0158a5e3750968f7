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
    marks = {True: "yes", False: ""}
    keys = ("widths", "horizon", "random")
    rows = tuple(
        (row["policy"], *(marks[row[key]] for key in keys), row["guarantee"], row["reference"])
        for row in catalogue()
    )
    return Table(
        ("policy", *keys, "guarantee", "reference"),
        rows,
        notes=("widths, horizon: whether it uses widths, and must know the number of rounds.",),
    )
