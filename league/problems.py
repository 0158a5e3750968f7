"""The problems of the league: the paper's settings, a hard case for Clus-UCB, and the bundled tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from clusterbandits import Instance
from clusterbandits.paper.figures import FIGURES
from clusterbandits.studies.history import TABLES, table_instance
from clusterbandits.validate import choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clusterbandits import Clusters

#: Whether widths hold everywhere, fail only where no best arm is, or fail the group of a best arm.
Fit = Literal["true", "harmless", "misleading"]
FITS: tuple[Fit, ...] = get_args(Fit)


@dataclass(frozen=True)
class Problem:
    """One problem: the truth, and what policies are told of it."""

    name: str
    #: A name that fits over a column of the picture.
    short: str
    shows: str
    instance: Instance
    clusters: Clusters

    @property
    def fit(self) -> Fit:
        """Whether the widths can be trusted, and if not, whether that matters.

        Examples
        --------
        >>> [problem.fit for problem in choose(["figure 2", "figure 7", "figure 3"])]
        ['true', 'harmless', 'misleading']
        """
        violated = self.clusters.fits(self.instance.means).violated
        if not violated:
            return "true"
        return "misleading" if _best_groups(self.instance) & violated.keys() else "harmless"


def problems() -> tuple[Problem, ...]:
    """Return all problems, in the order of the page.

    Examples
    --------
    >>> len(problems())
    20
    """
    return (*_of_the_paper(), _telltale(), *_of_tables())


def choose(names: Iterable[str] = ()) -> tuple[Problem, ...]:
    """Return the problems of these names, all where there are none."""
    known = {problem.name: problem for problem in problems()}
    wanted = [choice("problems", "league", name, known) for name in names]
    return tuple(known[name] for name in dict.fromkeys(wanted or known))


def _of_the_paper() -> Iterator[Problem]:
    for figure in FIGURES:
        for widths in figure.widths:
            name, short = f"figure {figure.number}", f"Fig {figure.number}"
            if len(figure.widths) > 1:
                told = [f"{width:g}" for width in widths]
                name += f" ({' and '.join(told)})"
                short += f" ({' '.join(told)})".replace("0.", ".")
            yield Problem(name, short, figure.shows, figure.instance, figure.instance.clusters(widths))


def _telltale() -> Problem:
    instance = Instance([[0.05, *[0.3] * 9], [0.5]])
    shows = "ten poor arms that the lowest of them alone proves poor"
    return Problem("telltale", "telltale", shows, instance, instance.clusters([0.26, 0.1]))


def _of_tables() -> Iterator[Problem]:
    for table, description in TABLES.items():
        instance = table_instance(table)
        spans, best = instance.spans, _best_groups(instance)
        half = [
            span / 2 if name in best else span
            for name, span in zip(instance.partition.clusters, spans, strict=True)
        ]
        short = table.removeprefix("flights-by-")
        ways: dict[str, tuple[str, Sequence[float]]] = {
            "spans": ("spans", spans),
            "1.5 × spans": ("× 1.5", [1.5 * span for span in spans]),
            "half the best span": ("½ best", half),
        }
        for told, (mark, widths) in ways.items():
            name = f"{table} ({told})"
            yield Problem(name, f"{short} ({mark})", description, instance, instance.clusters(widths))


def _best_groups(instance: Instance) -> set[str | int]:
    names = instance.partition.cluster_names
    return {names[arm] for arm in np.flatnonzero(instance.gaps == 0)}
