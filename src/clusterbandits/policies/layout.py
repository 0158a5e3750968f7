"""Who belongs to whom, as arrays that kernels walk along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Longer than any horizon.
FOREVER = 10**15
NOBODY = -1


class Layout(NamedTuple):
    """The cluster of every arm; the arms of cluster c are order[start[c] : start[c + 1]]."""

    cluster: Ints
    order: Ints
    start: Ints


def layout_of(members: Sequence[Sequence[int]]) -> Layout:
    """Return the arrays of a partition. Types are exact, so that kernels are compiled once."""
    order = np.concatenate([np.asarray(part, dtype=np.int64) for part in members])
    sizes = [len(part) for part in members]
    cluster = np.empty(order.size, dtype=np.int64)
    cluster[order] = np.repeat(np.arange(len(sizes)), sizes)
    return Layout(cluster, order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def members_of(clusters: Any) -> list[list[int]]:
    """Return the arms of every cluster by number."""
    return [part.tolist() for part in clusters.partition.members]
