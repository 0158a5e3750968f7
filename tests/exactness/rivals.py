"""The policies beside KL-UCB and Clus-UCB round by round, in plain Python: every score from scratch.

Those that choose a cluster first are in `twolevel`, those that solve for the cheapest pulls in `steering`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from tests.exactness.alarm import fires, scheduled
from tests.exactness.reference import FAMILIES, TIES, Reference, Term, evidence

#: Indices further than this below the largest, relative to it, are not worth computing.
BEHIND = 10.0 * max(TIES.values())
#: Values without a unit this close are tied.
TIE = 1e-13

Scores = dict[str, list[float]]


class Seen:
    """What there is to see before round n, every arm having been pulled; some may not be chosen."""

    def __init__(
        self, pulls: Sequence[int], totals: Sequence[float], n: int, among: Sequence[int] | None = None
    ) -> None:
        self.pulls, self.totals, self.n = pulls, totals, n
        self.arms = range(len(pulls))
        self.open = self.arms if among is None else among
        self.means = [s / t for s, t in zip(totals, pulls, strict=True)]
        self.leader = min(self.open, key=lambda k: (-self.means[k], pulls[k], k))
        self.best = self.means[self.leader]

    def only_open(self, values: Sequence[float], otherwise: float) -> list[float]:
        """Values of arms that may be chosen, and something else in the place of others."""
        return [value if k in self.open else otherwise for k, value in enumerate(values)]

    def least_pulled(self, arms: Iterable[int]) -> int:
        """The arm with the fewest pulls, then the lowest number."""
        return min(arms, key=lambda k: (self.pulls[k], k))


def largest(family: str, values: Sequence[float]) -> list[int]:
    """Where the largest of values in units of means is, ties included."""
    best = max(values)
    return [k for k, v in enumerate(values) if best - v <= TIES[family] * abs(best)]


def smallest(values: Sequence[float]) -> list[int]:
    """Where the smallest of values without a unit is, ties included; all may be infinite."""
    best = min(values)
    return [k for k, v in enumerate(values) if v == best or v - best <= TIE * max(1.0, abs(best))]


@dataclass
class Rival(Reference):
    """A policy that chooses by what it has `Seen`, and widens the clusters that the alarm fires for."""

    alarm: str = "ignore"
    alarm_level: float = 0.05
    fired: tuple[int, ...] = ()

    def choose(
        self, pulls: Sequence[int], totals: Sequence[float], n: int, among: Sequence[int] | None = None
    ) -> int:
        return self.pick(Seen(pulls, totals, n, among))

    def pick(self, seen: Seen) -> int:
        """The arm to pull."""
        values = seen.only_open(self.scores(seen)["index"], -math.inf)
        return seen.least_pulled(largest(self.family, values))

    def scores(self, seen: Seen) -> Scores:
        """What the choice rests on."""
        raise NotImplementedError

    def declared(self, c: int) -> float:
        """The width a cluster is said to have."""
        return math.inf if self.widths is None else self.widths[c]

    def width(self, c: int) -> float:
        """The width a cluster is taken to have."""
        return math.inf if c in self.fired else self.declared(c)

    def cluster_of(self, k: int) -> int:
        """The number of the cluster of an arm."""
        return next(c for c, cluster in enumerate(self.clusters) if k in cluster)

    def divergence(self, x: float, y: float) -> float:
        """d⁺(x, y) times the weight."""
        return self.weight * FAMILIES[self.family](x, y)[0] if y > x else 0.0

    def look(self, pulls: Sequence[int], totals: Sequence[float], n: int) -> None:
        if self.alarm != "widen" or not scheduled(n):
            return
        watched = [c for c, arms in enumerate(self.clusters) if len(arms) > 1 and self.declared(c) < math.inf]
        for c in watched:
            t, s = [pulls[k] for k in self.clusters[c]], [totals[k] for k in self.clusters[c]]
            if c not in self.fired and fires(t, s, self.declared(c), len(watched), self.alarm_level):
                self.fired = (*self.fired, c)


class UCB1(Rival):
    """m + √(2 log n / t)."""

    def scores(self, seen: Seen) -> Scores:
        bonus = 2.0 * math.log(seen.n)
        return {"index": [m + math.sqrt(bonus / t) for m, t in zip(seen.means, seen.pulls, strict=True)]}


@dataclass
class MOSS(Rival):
    """m + √((1 + alpha)/2 log⁺(n / (K t)) / t)."""

    alpha: float = 1.35

    def scores(self, seen: Seen) -> Scores:
        K = len(seen.arms)

        def bonus(t: int) -> float:
            return math.sqrt(0.5 * (1.0 + self.alpha) * max(math.log(seen.n / (K * t)), 0.0) / t)

        return {"index": [m + bonus(t) for m, t in zip(seen.means, seen.pulls, strict=True)]}


class IMED(Rival):
    """The smallest t d(m, m*) + log t."""

    def alone(self, seen: Seen, k: int) -> float:
        """What an arm's own rewards say against it, and its pulls."""
        t = seen.pulls[k]
        return t * self.divergence(seen.means[k], seen.best) + math.log(t)

    def scores(self, seen: Seen) -> Scores:
        return {"H": [self.alone(seen, k) for k in seen.arms]}

    def pick(self, seen: Seen) -> int:
        return seen.least_pulled(smallest(seen.only_open(self.scores(seen)["H"], math.inf)))


@dataclass
class IMEDClus(IMED):
    """The smallest t_k d(m_k, m*) + Σ_{j ≠ k} t_j d⁺(m_j, m* - β) + log t_k, or hedge term where smaller."""

    hedge: float = 0.0

    def scores(self, seen: Seen) -> Scores:
        clustered = [math.nan] * len(seen.arms)
        for c, cluster in enumerate(self.clusters):
            near = seen.best - self.width(c)
            against = {j: seen.pulls[j] * self.divergence(seen.means[j], near) for j in cluster}
            for k in cluster:
                clustered[k] = self.alone(seen, k) + sum(against[j] for j in cluster if j != k)
        if not self.hedge:
            return {"H": clustered}
        hedges = [self.alone(seen, k) / self.hedge for k in seen.arms]
        return {"H": list(map(min, clustered, hedges)), "clustered": clustered, "hedge": hedges}


class IndexRival(Rival):
    """The largest index, where an arm's index is the largest of one or more candidate means.

    Each is the largest q at which the evidence of some terms, the arm's own the first, is within a level.
    """

    def bounds(self, seen: Seen) -> list[list[tuple[list[Term], float]]]:
        """The terms and the level of each of the candidate means, arm by arm."""
        raise NotImplementedError

    def term(self, seen: Seen, k: int, far: float = 0.0) -> Term:
        """What an arm says of one that is at most so far from it."""
        return self.weight * seen.pulls[k], seen.means[k], far

    def scores(self, seen: Seen) -> Scores:
        return {"index": [max(self.index(*bound) for bound in each) for each in self.bounds(seen)]}

    def pick(self, seen: Seen) -> int:
        """As by the scores, but without computing indices that are clearly not the largest."""
        values = [-math.inf] * len(seen.arms)
        best = -math.inf
        for k, each in enumerate(self.bounds(seen)):
            for terms, level in each if k in seen.open else []:
                near = best - BEHIND * abs(best) if best > -math.inf else best
                if evidence(FAMILIES[self.family], terms, near)[0] <= level:
                    values[k] = max(values[k], self.index(terms, level))
            best = max(best, values[k])
        return seen.least_pulled(largest(self.family, values))


@dataclass
class KLUCBPlusPlus(IndexRival):
    """KL-UCB at the level log⁺(y (1 + log⁺(y)²)), y = T / (K t)."""

    horizon: int = 0

    def bounds(self, seen: Seen) -> list[list[tuple[list[Term], float]]]:
        shares = [self.horizon / (len(seen.arms) * t) for t in seen.pulls]
        levels = [max(math.log(y * (1.0 + max(math.log(y), 0.0) ** 2)), 0.0) for y in shares]
        return [[([self.term(seen, k)], levels[k])] for k in seen.arms]


@dataclass
class HedgedClusUCB(IndexRival):
    """Clus-UCB, and where that is larger KL-UCB at hedge times the level."""

    hedge: float = 0.0

    def others(self, seen: Seen) -> list[list[Term]]:
        """What the other arms say of an arm, arm by arm."""
        said: list[list[Term]] = [[] for _ in seen.arms]
        for c, cluster in enumerate(self.clusters):
            if self.width(c) < math.inf and not (self.leader == "plain" and seen.leader in cluster):
                terms = [self.term(seen, k, self.width(c)) for k in cluster]
                for i, k in enumerate(cluster):
                    said[k] = terms[:i] + terms[i + 1 :]
        return said

    def bounds(self, seen: Seen) -> list[list[tuple[list[Term], float]]]:
        f = self.threshold(seen.n)
        alone = [[self.term(seen, k)] for k in seen.arms]
        bounds = [[(own + others, f)] for own, others in zip(alone, self.others(seen), strict=True)]
        if self.hedge:
            return [[*each, (own, self.hedge * f)] for each, own in zip(bounds, alone, strict=True)]
        return bounds


@dataclass
class CKLUCB(HedgedClusUCB):
    """The same with a distance for each pair of arms."""

    distances: Sequence[Sequence[float]] | None = None

    def others(self, seen: Seen) -> list[list[Term]]:
        if self.distances is None:
            return super().others(seen)
        return [
            [self.term(seen, j, far) for j, far in enumerate(row) if j != k]
            for k, row in enumerate(self.distances)
        ]


RIVALS: dict[str, Callable[..., Rival]] = {
    "ucb1": UCB1,
    "moss": MOSS,
    "kl-ucb++": KLUCBPlusPlus,
    "imed": IMED,
    "imed-clus": IMEDClus,
    "clus-ucb": HedgedClusUCB,
    "clus-ucb-hedged": partial(HedgedClusUCB, hedge=0.5),
    "ckl-ucb": CKLUCB,
}
