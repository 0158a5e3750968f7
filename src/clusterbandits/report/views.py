"""What pictures show, as data: studies make these without Matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.tables import cell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ArmsGroup:
    """One group as the picture shows it; estimates that are not there are NaN."""

    name: str
    labels: tuple[str, ...]
    means: Floats
    lows: Floats
    highs: Floats
    #: Whether each arm may be the best of all.
    hopeful: NDArray[np.bool_]
    #: The width that is safe to declare.
    width: float
    #: The least and the largest possible mean.
    limits: tuple[float, float] = (0.0, 1.0)

    @property
    def band(self) -> tuple[float, float]:
        """Where the safe width lies: around the middle of the estimates, inside the limits."""
        known = self.means[~np.isnan(self.means)]
        least, most = self.limits
        middle = float((known.min() + known.max()) / 2) if known.size else (least + most) / 2
        low = min(max(least, middle - self.width / 2), max(least, most - self.width))
        return low, min(most, low + self.width)

    @property
    def ending(self) -> str:
        """What the heading says of the width."""
        return f": width {cell(self.width)}" if len(self.labels) > 1 else ""


@dataclass(frozen=True, eq=False)
class Estimates:
    """The rows of a group; estimates that are not there are NaN."""

    #: The name of the group and what follows it.
    heading: tuple[str, str]
    names: tuple[str, ...]
    means: Floats
    lows: Floats
    highs: Floats
    #: What rows are compared by, NaN where it is not drawn.
    marks: Floats | None = None
    #: A share from 0 to 1, drawn as a bar beside the row.
    shares: Floats | None = None
    #: Words beside the row.
    remarks: tuple[str, ...] = ()
    #: The policy of every row, where rows are policies: they have its colour and marker.
    policies: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EstimatesView:
    """Everything that a panel of estimates shows, and what its legend calls it."""

    groups: tuple[Estimates, ...]
    axis: str
    mean: str = "mean reward"
    interval: str = ""
    mark: str = ""
    #: What the column on the right shows.
    column: str = ""
    #: A vertical line, and its name.
    reference: tuple[float, str] | None = None
    notes: tuple[str, ...] = ()
    logarithmic: bool = False
