"""The policies that choose a cluster, then an arm of it, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tests.exactness.rivals import Rival, Scores, Seen, largest


@dataclass
class TwoLevel(Rival):
    """The cluster with the largest score, then the arm with the largest score in it."""

    clock: str = "cluster"

    def outer(self, seen: Seen, c: int, pulls: int) -> float:
        """The score of a cluster, given its pulls."""
        raise NotImplementedError

    def inner(self, seen: Seen, k: int, time: int) -> float:
        """The score of an arm, given the time on the clock."""
        raise NotImplementedError

    def scores(self, seen: Seen) -> Scores:
        times = [sum(seen.pulls[k] for k in cluster) for cluster in self.clusters]
        outer = [self.outer(seen, c, time) for c, time in enumerate(times)]
        c = min(largest(self.family, outer), key=lambda c: (times[c], c))
        time = times[c] if self.clock == "cluster" else seen.n
        inner = [self.inner(seen, k, time) if k in self.clusters[c] else -math.inf for k in seen.arms]
        return {"index": inner, "outer": outer}


class TLP(TwoLevel):
    """KL-UCB among clusters, each seen as one arm, and KL-UCB inside."""

    def centre(self, seen: Seen, c: int, pulls: int) -> float:
        """The mean of the arm that the cluster is seen as."""
        raise NotImplementedError

    def outer(self, seen: Seen, c: int, pulls: int) -> float:
        return self.index([(self.weight * pulls, self.centre(seen, c, pulls), 0.0)], self.threshold(seen.n))

    def inner(self, seen: Seen, k: int, time: int) -> float:
        return self.index([(self.weight * seen.pulls[k], seen.means[k], 0.0)], self.threshold(time))


class TLPMean(TLP):
    """The mean of all rewards of the cluster."""

    def centre(self, seen: Seen, c: int, pulls: int) -> float:
        return sum(seen.totals[k] for k in self.clusters[c]) / pulls


class TLPMax(TLP):
    """The largest mean in the cluster."""

    def centre(self, seen: Seen, c: int, pulls: int) -> float:  # noqa: ARG002
        return max(seen.means[k] for k in self.clusters[c])


class UCBC(TwoLevel):
    """UCB1 among clusters and UCB1 inside."""

    def outer(self, seen: Seen, c: int, pulls: int) -> float:
        total = sum(seen.totals[k] for k in self.clusters[c])
        return total / pulls + math.sqrt(2.0 * math.log(seen.n) / pulls)

    def inner(self, seen: Seen, k: int, time: int) -> float:
        return seen.means[k] + math.sqrt(2.0 * math.log(time) / seen.pulls[k])


TWO_LEVEL: dict[str, Callable[..., Rival]] = {"tlp-mean": TLPMean, "tlp-max": TLPMax, "ucbc": UCBC}
