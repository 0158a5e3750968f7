"""History over time: counts of an experiment at up to a few hundred times, thinned out as the log grows."""

from __future__ import annotations

from typing import Any

#: The number of recorded times at which every second one is removed.
_MOST = 240


class Series:
    """Cumulative counts at times that are evenly spaced in decisions.

    The recorded times depend only on the decisions, so that a rebuild from the log is identical.
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
        """Record the counts; called whenever the number of decisions is a multiple of the stride."""
        self.at.append(at)
        self.decisions.append(decisions)
        self.pulls.append(pulls)
        self.total.append(total)
        if len(self.at) >= _MOST:
            # The first time is at one stride, the second at two, so the second ones stay.
            self.stride *= 2
            self.at, self.decisions = self.at[1::2], self.decisions[1::2]
            self.pulls, self.total = self.pulls[1::2], self.total[1::2]

    def to_dict(self) -> dict[str, Any]:
        """Return a copy as plain data."""
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
