"""The policies that spend a cluster's exploration where it is cheapest, in plain Python.

To rule out a cluster of width β whose arms are all worse than m*, with a_k = m* - m_k, D_k = d(m_k, m*) and
b_k = d⁺(m_k, m* - β), is to pull so often that for each arm k

    t_k D_k + Σ_{j ≠ k} t_j b_j >= log n,

at a regret of Σ t_k a_k. Two ways can be cheapest: `A`, all these constraints tight, and `B`, only the arm of
the lowest mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tests.exactness.reference import TIES
from tests.exactness.rivals import HedgedClusUCB, IMEDClus, Rival, Scores, Seen, smallest

#: How much cheaper the arm of lowest mean has to be, relative to the cost.
CLEARLY = 1e-9

#: θ(y) - θ(z), the difference of the natural parameters, for y > z.
NATURAL_GAPS: dict[str, Callable[[float, float], float]] = {
    "bernoulli": lambda z, y: math.log1p((y - z) / z) + math.log1p((y - z) / (1.0 - y)),
    "gaussian": lambda z, y: y - z,
    "poisson": lambda z, y: math.log1p((y - z) / z),
    "exponential": lambda z, y: (y - z) / z / y,
    "negative-binomial": lambda z, y: math.log1p((y - z) / z / (1.0 + y)),
}


@dataclass(frozen=True)
class Costs:
    """How to rule out a cluster whose arms are all worse than the best mean."""

    gaps: list[float]  # a_k
    own: list[float]  # D_k
    shared: list[float]  # b_k
    extra: list[float]  # α_k = D_k - b_k

    @classmethod
    def of(cls, policy: Rival, means: list[float], best: float, width: float) -> Costs:
        near = best - width
        return cls(
            gaps=[best - m for m in means],
            own=[policy.divergence(m, best) for m in means],
            shared=[policy.divergence(m, near) for m in means],
            extra=[extra(policy, m, near, best) for m in means],
        )

    def all_tight(self) -> list[float]:
        """The pulls per log n with which every constraint is tight."""
        least = min(self.extra)
        if math.isinf(least):
            return [0.0] * len(self.gaps)
        if least == 0.0:
            every = sum(D / a for D, a in zip(self.own, self.gaps, strict=True))
            return [1.0 / a / every for a in self.gaps]
        w = [least / e for e in self.extra]
        every = least + sum(b * x for b, x in zip(self.shared, w, strict=True))
        return [x / every for x in w]

    @property
    def A(self) -> float:  # noqa: N802
        """The cost of `all_tight`."""
        return sum(a * c for a, c in zip(self.gaps, self.all_tight(), strict=True))

    @property
    def B(self) -> float:  # noqa: N802
        """The cost of pulling the arm of lowest mean only."""
        return min((a / b for a, b in zip(self.gaps, self.shared, strict=True) if b > 0.0), default=math.inf)


def extra(policy: Rival, x: float, z: float, y: float) -> float:
    """d(x, y) - d⁺(x, z) for x, z <= y, without cancellation: d(z, y) + (z - x) (θ(y) - θ(z)) if z > x."""
    if z == y:
        return 0.0
    whole = policy.divergence(x, y)
    if z <= x or math.isinf(whole):
        return whole
    return policy.divergence(z, y) + policy.weight * (z - x) * NATURAL_GAPS[policy.family](z, y)


def steer(policy: Rival, seen: Seen, wanted: int) -> int:
    """The arm to pull for what is learnt by pulling the wanted arm."""
    c = policy.cluster_of(wanted)
    cluster = policy.clusters[c]
    pulled = sum(seen.pulls[k] for k in cluster)
    if seen.best <= max(seen.means[k] for k in cluster) or seen.pulls[seen.leader] < pulled:
        return wanted
    costs = Costs.of(policy, [seen.means[k] for k in cluster], seen.best, policy.width(c))
    if not costs.B < costs.A * (1.0 - CLEARLY):
        return wanted
    least = seen.least_pulled(cluster)
    if seen.pulls[least] < math.sqrt(pulled):
        return least
    return min(cluster, key=lambda k: (seen.means[k], seen.pulls[k], k))


class IMEDOpt(IMEDClus):
    """IMED-Clus, steered unless the hedge term wants the arm."""

    def pick(self, seen: Seen) -> int:
        wanted = super().pick(seen)
        if self.hedge:
            scores = self.scores(seen)
            if scores["hedge"][wanted] < scores["clustered"][wanted]:
                return wanted
        return steered if (steered := steer(self, seen, wanted)) in seen.open else wanted


class ClusOpt(HedgedClusUCB):
    """Clus-UCB, steered unless the hedge wants the arm."""

    def pick(self, seen: Seen) -> int:
        wanted = super().pick(seen)
        if self.hedge:
            clustered, hedge = (self.index(*bound) for bound in self.bounds(seen)[wanted])
            if hedge - clustered > TIES[self.family] * abs(hedge):
                return wanted
        return steered if (steered := steer(self, seen, wanted)) in seen.open else wanted


@dataclass
class OSSB(Rival):
    """The cheapest allocation at the means seen, followed as far as it is not yet met."""

    epsilon: float = 0.01
    gamma: float = 0.0
    explored: int = 0

    def allocation(self, seen: Seen) -> list[float]:
        """The pulls per log n of every suboptimal arm; 0 for the others."""
        wanted = [0.0] * len(seen.arms)
        for c, cluster in enumerate(self.clusters):
            means = [seen.means[k] for k in cluster]
            costs = Costs.of(self, means, seen.best, self.width(c))
            if seen.best in means:
                shares = [1.0 / D if D else 0.0 for D in costs.own]
            elif costs.A <= costs.B * (1.0 + CLEARLY):
                shares = [min(x, 1.0 / D) for x, D in zip(costs.all_tight(), costs.own, strict=True)]
            else:
                lowest = min(means)
                share = 1.0 / max(costs.shared) / means.count(lowest)
                shares = [share if m == lowest else 0.0 for m in means]
            for k, share in zip(cluster, shares, strict=True):
                wanted[k] = share
        return wanted

    def scores(self, seen: Seen) -> Scores:
        wanted = self.allocation(seen)
        ratios = [t / c if c else math.inf for t, c in zip(seen.pulls, wanted, strict=True)]
        return {"t/c": ratios, "c": wanted}

    def pick(self, seen: Seen) -> int:
        scores = self.scores(seen)
        bar = (1.0 + self.gamma) * math.log(seen.n)
        if all(t >= c * bar for t, c in zip(seen.pulls, scores["c"], strict=True)):
            return seen.leader
        self.explored += 1
        least = seen.least_pulled(seen.arms)
        if seen.pulls[least] <= self.epsilon * self.explored:
            return least
        return seen.least_pulled(smallest(scores["t/c"]))


STEERED: dict[str, Callable[..., Rival]] = {"imed-opt": IMEDOpt, "clus-opt": ClusOpt, "ossb": OSSB}
