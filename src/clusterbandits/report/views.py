"""The contents of pictures as data, so that studies can prepare them without Matplotlib."""

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
    """One group of arms in a picture; missing estimates are NaN."""

    name: str
    labels: tuple[str, ...]
    means: Floats
    lows: Floats
    highs: Floats
    #: For each arm, whether it may be the best.
    hopeful: NDArray[np.bool_]
    #: The safe width.
    width: float
    #: The smallest and the largest possible mean.
    limits: tuple[float, float] = (0.0, 1.0)

    @property
    def band(self) -> tuple[float, float]:
        """The interval of the safe width: around the middle of the estimates, inside the limits."""
        known = self.means[~np.isnan(self.means)]
        least, most = self.limits
        middle = float((known.min() + known.max()) / 2) if known.size else (least + most) / 2
        low = min(max(least, middle - self.width / 2), max(least, most - self.width))
        return low, min(most, low + self.width)

    @property
    def ending(self) -> str:
        """The width as part of the heading."""
        return f": width {cell(self.width)}" if len(self.labels) > 1 else ""


@dataclass(frozen=True, eq=False)
class Estimates:
    """The rows of a group; missing estimates are NaN."""

    #: The name of the group, and the text after it.
    heading: tuple[str, str]
    names: tuple[str, ...]
    means: Floats
    lows: Floats
    highs: Floats
    #: A second value per row, drawn as a tick; NaN for none.
    marks: Floats | None = None
    #: A share from 0 to 1 per row, drawn as a bar beside the row.
    shares: Floats | None = None
    #: Text beside each row.
    remarks: tuple[str, ...] = ()
    #: The policy of each row, which determines its colour and marker.
    policies: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EstimatesView:
    """The contents of a panel of estimates and of its legend."""

    groups: tuple[Estimates, ...]
    axis: str
    mean: str = "mean reward"
    interval: str = ""
    mark: str = ""
    #: The legend of the column on the right.
    column: str = ""
    #: The position and the name of a vertical line.
    reference: tuple[float, str] | None = None
    notes: tuple[str, ...] = ()
    logarithmic: bool = False
    #: Intervals extend a linear axis by at most this share of the range of the estimates on either side, and
    #: longer intervals end in arrows. None: the axis contains all intervals.
    reach: float | None = None
