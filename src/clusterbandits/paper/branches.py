"""Which branch of the minimum really bounds each figure, beside the one its caption names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterbandits.bounds import ClusterBound, RegretBound, regret_bound
from clusterbandits.bounds.view import violation
from clusterbandits.paper.figures import FIGURES, NUMBERS, Figure, Widths
from clusterbandits.tables import Table, cell

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Setting:
    """One figure with one of its width vectors, and the bounds there."""

    figure: Figure
    widths: Widths
    bound: RegretBound

    @property
    def name(self) -> str:
        """The figure, with its widths where it has several."""
        widths = f" [{_vector(self)}]" if len(self.figure.widths) > 1 else ""
        return f"Figure {self.figure.number}{widths}"

    @property
    def key(self) -> str:
        """The same as part of a file's name."""
        several = len(self.figure.widths) > 1
        place = "abcdefgh"[self.figure.widths.index(self.widths)] if several else ""
        return f"figure-{self.figure.number}{place}"

    @property
    def suboptimal(self) -> ClusterBound:
        """The one cluster without a best arm; every figure has one."""
        return next(cluster for cluster in self.bound.clusters if cluster.branch != "classical")

    @property
    def caption_holds(self) -> bool | None:
        """Whether the caption names the branch that is the minimum; None where it names none."""
        return None if self.figure.caption is None else self.figure.caption == self.suboptimal.branch

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "figure": self.figure.number,
            "shows": self.figure.shows,
            "means": self.figure.means,
            "widths": self.widths,
            "minimum": self.suboptimal.branch,
            "caption": self.figure.caption,
            "caption_holds": self.caption_holds,
            "bound": self.bound.to_dict(),
        }


def settings(numbers: Sequence[int] = NUMBERS) -> tuple[Setting, ...]:
    """Return the figures of these numbers with each of their width vectors and the bounds there."""
    return tuple(
        Setting(figure, widths, regret_bound(figure.instance, figure.instance.clusters(widths)))
        for figure in FIGURES
        if figure.number in numbers
        for widths in figure.widths
    )


def branch_table(found: Sequence[Setting]) -> Table:
    """Return a row for every setting; below, captions that do not hold and widths that are not true."""
    columns = ("figure", "widths", "A", "B", "minimum", "caption", "lower", "Clus-UCB", "classical")
    notes = [
        "Regret per log n. A, B: the two branches of the suboptimal cluster. minimum: the branch that really "
        "bounds it; caption: the one the paper's caption names.",
        *filter(None, map(_caption_note, found)),
        *(
            f"Figure {one.figure.number}, widths {_vector(one)}: {violation(part)}"
            for one in found
            for part in one.bound.clusters
            if part.violated
        ),
    ]
    title = "What any policy must pay, and which branch of the bound decides"
    return Table(columns, tuple(map(_row, found)), title=title, notes=tuple(notes))


def _row(one: Setting) -> tuple[object, ...]:
    part = one.suboptimal
    caption = {None: "-", True: one.figure.caption, False: f"{one.figure.caption} wrong"}[one.caption_holds]
    rates = (one.bound.lower, one.bound.clus_ucb, one.bound.classical)
    return (str(one.figure.number), _vector(one), part.A, part.B, part.branch, caption, *rates)


def _caption_note(one: Setting) -> str | None:
    if one.caption_holds is not False:
        return None
    part = one.suboptimal
    return (
        f"Figure {one.figure.number}: the caption names {one.figure.caption}, the minimum is {part.branch} "
        f"(A = {cell(part.A)}, B = {cell(part.B)})."
    )


def _vector(one: Setting) -> str:
    return ", ".join(cell(width) for width in one.widths)
