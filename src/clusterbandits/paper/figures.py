"""The paper's figures as data: instances, declared widths, captions, and bounds on regret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from clusterbandits.bounds import ClusterBound, RegretBound, regret_bound
from clusterbandits.instance import Instance
from clusterbandits.tables import cell
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.bounds import Branch

Widths: TypeAlias = tuple[float, ...]


@dataclass(frozen=True)
class Figure:
    """One figure: an instance, its vectors of declared widths, and the claim of its caption."""

    number: int
    means: tuple[tuple[float, ...], ...]
    widths: tuple[Widths, ...]
    #: The term that the caption calls the minimum for the suboptimal cluster; None if it names none.
    caption: Branch | None
    #: A description of the instance and the widths.
    shows: str

    @property
    def instance(self) -> Instance:
        """The figure's Bernoulli instance."""
        return Instance(self.means)


_CLOSE = ((0.41, 0.42, 0.43), (0.43, 0.44, 0.45))
_WRONG_WIDTHS = ((0.5, 0.9), (0.4, 0.7), (0.1, 0.7), (0.4, 0.2))

FIGURES = (
    Figure(2, ((0.40, 0.41, 0.42), (0.60, 0.61, 0.62)), ((0.02, 0.02),), "A", "well separated clusters"),
    Figure(3, ((0.80, 0.82, 0.84), (0.81, 0.83, 0.85)), ((0.02, 0.02),), "A", "overlapping clusters"),
    Figure(4, _CLOSE, ((0.03, 0.04),), "A", "close clusters, widths over-estimated"),
    Figure(5, ((0.68, 0.69, 0.67), (0.1, 0.2, 0.7)), ((0.02, 0.8),), "A", "the best arm in a poor cluster"),
    Figure(6, _CLOSE, ((0.02, 0.02),), "B", "close clusters, widths exact"),
    Figure(7, _CLOSE, ((0.0, 0.02),), "B", "close clusters, suboptimal width under-estimated"),
    Figure(8, ((0.3, 0.7), (0.1, 0.2, 0.8)), _WRONG_WIDTHS, None, "widths over- and under-estimated"),
)


#: Figure 1 illustrates clusters. The paper gives no numbers for it: these means are an example.
SPANS_FIGURE = 1
SPANS = {"green": (0.12, 0.2, 0.27, 0.33, 0.47), "red": (0.4, 0.54, 0.6, 0.69, 0.78)}

NUMBERS = (SPANS_FIGURE, *(figure.number for figure in FIGURES))


def figure_numbers(numbers: Sequence[int] = ()) -> tuple[int, ...]:
    """Return figure numbers, sorted and without repetitions; all of them by default."""
    for number in numbers:
        if number not in NUMBERS:
            raise invalid("figure", "paper", f"a number from {min(NUMBERS)} to {max(NUMBERS)}", number)
    return tuple(sorted(set(numbers))) or NUMBERS


def figure(number: int) -> Figure:
    """Return a simulated figure by its number.

    Examples
    --------
    >>> figure(5).shows
    'the best arm in a poor cluster'
    """
    return next(one for one in FIGURES if one.number == number)


@dataclass(frozen=True)
class Setting:
    """One figure with one of its width vectors, and the bounds on regret."""

    figure: Figure
    widths: Widths
    bound: RegretBound

    @property
    def name(self) -> str:
        """The number of the figure, with the widths if the figure has several vectors."""
        widths = f" [{self.vector}]" if len(self.figure.widths) > 1 else ""
        return f"Figure {self.figure.number}{widths}"

    @property
    def vector(self) -> str:
        """The widths as text."""
        return ", ".join(cell(width) for width in self.widths)

    @property
    def key(self) -> str:
        """The name in file names and anchors."""
        several = len(self.figure.widths) > 1
        place = "abcdefgh"[self.figure.widths.index(self.widths)] if several else ""
        return f"figure-{self.figure.number}{place}"

    @property
    def suboptimal(self) -> ClusterBound:
        """The cluster without a best arm; every figure has exactly one."""
        return next(cluster for cluster in self.bound.clusters if cluster.branch != "classical")

    @property
    def caption_holds(self) -> bool | None:
        """Whether the caption names the smaller term; None if it names none."""
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
    """Return one setting per width vector of the figures with these numbers."""
    return tuple(
        Setting(figure, widths, regret_bound(figure.instance, figure.instance.clusters(widths)))
        for figure in FIGURES
        if figure.number in numbers
        for widths in figure.widths
    )
