"""The alarm for Bernoulli arms that lie further apart than their cluster's width, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tests.exactness.reference import bernoulli

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def scheduled(n: int) -> bool:
    """Whether the alarm looks before round n: in round 1, and after round i in round i + 1 + i // 64."""
    look = 1
    while look < n:
        look += 1 + look // 64
    return look == n


def divergence(x: float, y: float) -> float:
    """d(x, y) of Bernoulli means on either side of each other."""
    if x == y:
        return 0.0
    return bernoulli(x, y)[0] if y > x else bernoulli(1.0 - x, 1.0 - y)[0]


def least(curve: Callable[[float], float], low: float, high: float) -> float:
    """The smallest value of a convex curve between low and high, by golden sections."""
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = curve(a), curve(b)
    for _ in range(40):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = curve(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = curve(b)
    return min(at_a, at_b)


def misfit(pulls: Sequence[int], means: Sequence[float], width: float) -> float:
    """Λ = min_x Σ t_k d(m_k, clip(m_k, x, x + β)), 0 where the means fit into the width."""

    def evidence(x: float) -> float:
        return sum(t * divergence(m, min(max(m, x), x + width)) for t, m in zip(pulls, means, strict=True))

    low, high = min(means), max(means) - width
    return least(evidence, low, high) if low < high else 0.0


def penalty(t: int, s: float) -> float:
    """-[log B(s + 1, t - s + 1) + t h(s/t)], h the binary entropy in nats."""
    log_beta = math.lgamma(s + 1.0) + math.lgamma(t - s + 1.0) - math.lgamma(t + 2.0)
    m = s / t
    entropy = -sum(p * math.log(p) for p in (m, 1.0 - m) if p > 0.0)
    return -(log_beta + t * entropy)


def fires(pulls: Sequence[int], totals: Sequence[float], width: float, watched: int, level: float) -> bool:
    """Whether the arms of one cluster, of the `watched` clusters that can fire, contradict its width."""
    means = [s / t for s, t in zip(totals, pulls, strict=True)]
    bar = math.log(watched / level) + sum(penalty(t, s) for t, s in zip(pulls, totals, strict=True))
    return misfit(pulls, means, width) >= bar
