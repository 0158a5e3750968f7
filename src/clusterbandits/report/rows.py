"""Rows with names beside the axes, in groups with headings: positions and text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.transforms import ScaledTranslation

from clusterbandits.report.sheet import axes_size, fitted, letters_scale, text_width
from clusterbandits.report.style import LETTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Millimetres of a heading, and of the space below the rows of a group.
HEAD, FOOT = 5.0, 1.4
#: Largest number of rows, with the height of a row and the font size; more rows have no names.
_SIZES = ((60, 3.6, LETTERS), (200, 2.4, 5.5))
_BARE, _MOST_TALL = 1.2, 240.0
_MOST_NAME, _BARE_LEFT, _BESIDE = 34.0, 4.0, 1.2
_SMALLEST = 4.0
_NARROWER = 0.55


@dataclass(frozen=True)
class Rows:
    """The positions of rows, in millimetres below the upper end of the axes."""

    #: The name of each group, which is shortened if necessary, and the text after it.
    headings: tuple[tuple[str, str], ...]
    names: tuple[tuple[str, ...], ...]

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(map(len, self.names))

    @property
    def _size(self) -> tuple[float, float]:
        sizes = [size[1:] for size in _SIZES if self.count <= size[0]]
        return sizes[0] if sizes else (min(_BARE, _MOST_TALL / self.count), 0.0)

    @property
    def row(self) -> float:
        """The height of a row."""
        return self._size[0]

    @property
    def _tops(self) -> list[float]:
        heights = [self._head(k) + FOOT + self.row * len(part) for k, part in enumerate(self.names)]
        return list(accumulate(heights, initial=0.0))

    def _head(self, group: int) -> float:
        return HEAD if any(self.headings[group]) else FOOT

    @property
    def height(self) -> float:
        """The height of all groups."""
        return self._tops[-1]

    @property
    def left(self) -> float:
        """The width of the names in millimetres."""
        letters = self._size[1]
        if not letters:
            return _BARE_LEFT
        widest = max(text_width(fitted(name, _MOST_NAME)) for part in self.names for name in part)
        return max(_BARE_LEFT, widest * letters / LETTERS + _BESIDE + 2.5)

    def places(self, group: int) -> Floats:
        """Return the positions of the rows of a group."""
        top = self._tops[group] + self._head(group)
        return np.asarray(top + self.row * (np.arange(len(self.names[group])) + 0.5))

    def write(self, axes: Axes, beside: Sequence[Sequence[str]] | None = None, room: float = 0.0) -> None:
        """Write headings, names, and the texts ``beside`` the rows, which are ``room`` millimetres wide."""
        axes.set_ylim(self.height, 0)
        width, height = axes_size(axes)
        scale, beside_width = height / self.height, room
        if not math.isclose(scale, 1.0):
            # Axes of a user: the layout of their figure will make them narrower.
            width, beside_width = _NARROWER * width, 0.0
        letters = min(self._size[1] * letters_scale(), 0.95 * self.row * scale * 72 / 25.4)
        words: dict[str, Any] = {"va": "center_baseline", "parse_math": False}
        for group, (name, ending) in enumerate(self.headings):
            if name or ending:
                text = fitted(name, (width + beside_width) / letters_scale(), "bold", ending)
                middle = self._tops[group] + HEAD / 2 + 0.3
                axes.text(0.0, middle, text, weight="bold", transform=axes.get_yaxis_transform(), **words)
        if letters < _SMALLEST:
            return
        words |= {"fontsize": letters}
        left, right = (_aside(axes, end * _BESIDE) for end in (-1, 1))
        for group, names in enumerate(self.names):
            for k, y in enumerate(self.places(group).tolist()):
                axes.text(0.0, y, fitted(names[k], _MOST_NAME), ha="right", transform=left, **words)
                if beside is not None and beside[group][k]:
                    text = fitted(beside[group][k], room * LETTERS / letters)
                    axes.text(1.0, y, text, ha="left", transform=right, **words)


def _aside(axes: Axes, millimetres: float) -> Any:
    """Return the transform of the vertical axis, shifted to the right by some millimetres."""
    return axes.get_yaxis_transform() + ScaledTranslation(
        millimetres / 25.4, 0.0, axes.figure.dpi_scale_trans
    )
