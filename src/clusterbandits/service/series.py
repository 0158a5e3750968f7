"""History over time: counts of all arms at a few hundred moments, thinned out as the log grows."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: When there are so many moments, every second one is dropped.
_MOST = 240


class Series:
    """Cumulative decisions, rewards and totals of every arm, at moments evenly spaced in decisions.

    Which moments are kept depends on the decisions alone, so that a rebuild from the log finds the same.
    """

    def __init__(self) -> None:
        self.stride = 1
        self.at: list[float] = []
        #: [moment]: an array [decisions, pulls, totals][arm].
        self.counts: list[NDArray[np.float64]] = []

    def observe(self, at: float, number: int, decisions: Any, pulls: Any, totals: Any) -> None:
        """Keep the counts after decision ``number`` if it is one of the moments."""
        if number % self.stride:
            return
        self.at.append(at)
        self.counts.append(np.array([decisions, pulls, totals], dtype=np.float64))
        if len(self.at) >= _MOST:
            # Moments stand at multiples of the stride: the first is at one stride, the second at two.
            self.at, self.counts = self.at[1::2], self.counts[1::2]
            self.stride *= 2

    def padded(self, arms: int) -> NDArray[np.float64]:
        """Return the counts as one array [moment, quantity, arm]; arms that came later have zeros before."""
        found = np.zeros((len(self.counts), 3, arms))
        for place, counts in enumerate(self.counts):
            found[place, :, : counts.shape[1]] = counts
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        arms = self.counts[-1].shape[1] if self.counts else 0
        counts = zlib.compress(self.padded(arms).astype("<f8").tobytes(), level=1)
        return {
            "stride": self.stride,
            "at": list(self.at),
            "arms": arms,
            "counts": base64.b64encode(counts).decode("ascii"),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Series:
        """Return what ``to_dict`` described."""
        made = cls()
        made.stride, made.at = int(data["stride"]), list(data["at"])
        counts = np.frombuffer(zlib.decompress(base64.b64decode(data["counts"])), dtype="<f8")
        made.counts = list(counts.reshape(len(made.at), 3, int(data["arms"])).astype(np.float64))
        return made
