"""History over time: counts of an experiment at a few hundred moments, thinned out as the log grows."""

from __future__ import annotations

from typing import Any

#: When there are so many moments, every second one is dropped.
_MOST = 240


class Series:
    """Cumulative counts at moments evenly spaced in decisions.

    Which moments are kept depends on the decisions alone, so that a rebuild from the log finds the same.
    """

    def __init__(self) -> None:
        self.stride = 1
        self.at: list[float] = []
        #: [moment][group]: decisions.
        self.decisions: list[list[int]] = []
        #: [moment]: rewards learned, and their total.
        self.pulls: list[int] = []
        self.total: list[float] = []

    def add(self, at: float, decisions: list[int], pulls: int, total: float) -> None:
        """Add a moment; the caller does so whenever the number of decisions is a multiple of the stride."""
        self.at.append(at)
        self.decisions.append(decisions)
        self.pulls.append(pulls)
        self.total.append(total)
        if len(self.at) >= _MOST:
            # The first moment is at one stride, the second at two: the second ones stay.
            self.stride *= 2
            self.at, self.decisions = self.at[1::2], self.decisions[1::2]
            self.pulls, self.total = self.pulls[1::2], self.total[1::2]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, which later moments do not change."""
        return {name: list(value) if isinstance(value, list) else value for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Series:
        """Return what ``to_dict`` described."""
        made = cls()
        for name in vars(made):
            setattr(made, name, data[name])
        if {len(data[name]) for name in ("decisions", "pulls", "total")} != {len(made.at)}:
            raise ValueError("the series has parts of different lengths")
        return made
