"""KL-UCB and Clus-UCB played round by round, in plain Python: every index from scratch in every round.

An arm's index is the largest candidate mean q whose evidence does not exceed the threshold f(n):

    v_k = sup{q : t_k d⁺(m_k, q) + Σ_{j in the cluster of k, j ≠ k} t_j d⁺(m_j, q - β) <= f(n)},
    f(n) = log n + a log(max(log n, 1)),    d⁺(x, y) = d(x, y) if y > x else 0.

The evidence is continuous and never falls as q rises: the index is the one crossing, kept in a bracket.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

#: Indices this close to the largest, relative to it, are tied; some grow as exp(f), with its rounding.
TIES = {
    "bernoulli": 1e-13,
    "gaussian": 1e-13,
    "poisson": 1e-13,
    "exponential": 5e-13,
    "negative-binomial": 3e-13,
}
#: No mean is larger.
TOPS = {
    "bernoulli": 1.0,
    "gaussian": 1e100,
    "poisson": 1e100,
    "exponential": 1e100,
    "negative-binomial": 1e100,
}
#: A little more than the relative error of a rounded number.
ROUNDING = 3e-16

#: d(x, y) and its slope in y, for y > x.
Divergence = Callable[[float, float], tuple[float, float]]
#: Pulls (times the weight), mean, and by how much the candidate is lowered for this arm.
Term = tuple[float, float, float]


def relative_entropy(x: float, y: float, gap: float) -> float:
    """x log(x/y) + y - x for x, y >= 0, given gap = y - x, which keeps the digits where x is close to y."""
    if x == 0.0:
        return y
    if y == 0.0:
        return math.inf
    u = gap / x
    if not -0.5 < u < 1.0:
        return x * math.log(x / y) + gap
    if not -0.1 < u < 0.1:
        return x * (u - math.log1p(u))
    # With r = u/(2 + u), log1p(u) = 2 (r + r³/3 + r⁵/5 + ...) and u - 2 r = u r.
    r = u / (2.0 + u)
    p = r * r
    tail = 1 / 3 + p * (1 / 5 + p * (1 / 7 + p * (1 / 9 + p * (1 / 11 + p * (1 / 13 + p / 15)))))
    return x * r * (u - 2.0 * p * tail)


def bernoulli(x: float, y: float) -> tuple[float, float]:
    """d(x, y) and its slope in y, for 0 <= x < y <= 1."""
    if y == 1.0:
        return math.inf, math.inf
    gap = y - x
    return relative_entropy(x, y, gap) + relative_entropy(1.0 - x, 1.0 - y, -gap), gap / (y * (1.0 - y))


def gaussian(x: float, y: float) -> tuple[float, float]:
    """d(x, y) and its slope in y, for variance 1."""
    gap = y - x
    return 0.5 * gap * gap, gap


def poisson(x: float, y: float) -> tuple[float, float]:
    """d(x, y) and its slope in y, for 0 <= x < y."""
    gap = y - x
    return relative_entropy(x, y, gap), gap / y


def exponential(x: float, y: float) -> tuple[float, float]:
    """d(x, y) = x/y - 1 - log(x/y) and its slope in y, for 0 <= x < y."""
    gap = y - x
    return relative_entropy(1.0, x / y, -gap / y), gap / y / y


def negative_binomial(x: float, y: float) -> tuple[float, float]:
    """d(x, y) of shape 1, from that of Bernoulli arms with chances x/(1 + x) and y/(1 + y), and its slope."""
    gap = y - x
    p, q, apart = x / (1.0 + x), y / (1.0 + y), gap / (1.0 + x) / (1.0 + y)
    both = relative_entropy(p, q, apart) + relative_entropy(1.0 / (1.0 + x), 1.0 / (1.0 + y), -apart)
    return (1.0 + x) * both, gap / y / (1.0 + y)


FAMILIES: dict[str, Divergence] = {
    "bernoulli": bernoulli,
    "gaussian": gaussian,
    "poisson": poisson,
    "exponential": exponential,
    "negative-binomial": negative_binomial,
}
VARIANCES: dict[str, Callable[[float], float]] = {
    "bernoulli": lambda m: m * (1.0 - m),
    "gaussian": lambda _: 1.0,
    "poisson": lambda m: m,
    "exponential": lambda m: m * m,
    "negative-binomial": lambda m: m + m * m,
}


def evidence(divergence: Divergence, terms: Sequence[Term], q: float) -> tuple[float, float]:
    """Σ t d⁺(m, q - shift) over the terms (t, m, shift), and its slope in q."""
    value = slope = 0.0
    for t, m, shift in terms:
        y = q - shift
        if y > m:
            d, s = divergence(m, y)
            value += t * d
            slope += t * s
    return value, slope


def crossing(
    curve: Callable[[float], tuple[float, float]], level: float, low: float, step: float, top: float
) -> float:
    """The largest q <= top at which a rising curve is <= level, given that it is so at low.

    The bracket grows from low by doubled steps, then closes on the crossing: each Newton move is taken a
    rounding error too far, so that both ends come in, and is replaced by a halving of the bracket where it
    leaves it or is more than half the move before.
    """
    lo, hi = low, min(low + step, top)
    value, slope = curve(hi)
    while value <= level:
        if hi == top:
            return top
        step *= 2.0
        lo, hi = hi, min(hi + step, top)
        value, slope = curve(hi)
    q, move = hi, hi - lo
    while True:
        middle = 0.5 * (lo + hi)
        rounding = ROUNDING * max(abs(q), q - low)
        if hi - lo <= 4.0 * rounding or not lo < middle < hi:
            return middle
        after = middle
        if 0.0 < slope < math.inf:
            newton = q - (value - level) / slope
            newton += rounding if value <= level else -rounding
            if lo < newton < hi and abs(newton - q) <= 0.5 * move:
                after = newton
        q, move = after, abs(after - q)
        value, slope = curve(q)
        if value <= level:
            lo = q
        else:
            hi = q


@dataclass
class Reference:
    """KL-UCB (`widths` None) or Clus-UCB on arms grouped by `clusters`; `weight` multiplies divergences."""

    family: str
    clusters: Sequence[Sequence[int]]
    widths: Sequence[float] | None
    a: float = 0.0
    refresh: int = 1
    leader: str = "clustered"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.family == "bounded":
            self.family = "bernoulli"  # where rewards are from 0 to 1

    def threshold(self, n: int) -> float:
        """f(n), the evidence that an index may have against it before round n."""
        return math.log(n) + self.a * math.log(max(math.log(n), 1.0))

    def indices(
        self, pulls: Sequence[int], totals: Sequence[float], n: int, among: Sequence[int] | None = None
    ) -> list[float]:
        """The index of every arm before round n, every arm having been pulled; the leader is one of some."""
        f = self.threshold(n)
        means = [s / t for s, t in zip(totals, pulls, strict=True)]
        leader = min(range(len(pulls)) if among is None else among, key=lambda k: (-means[k], pulls[k], k))
        values = [math.nan] * len(pulls)
        for c, cluster in enumerate(self.clusters):
            width = math.inf if self.widths is None else self.widths[c]
            if self.leader == "plain" and leader in cluster:
                width = math.inf
            for k in cluster:
                own = (self.weight * pulls[k], means[k], 0.0)
                others = [(self.weight * pulls[j], means[j], width) for j in cluster if j != k]
                values[k] = self.index([own, *others], f)
        return values

    def index(self, terms: Sequence[Term], f: float) -> float:
        """The largest q at which the evidence of the terms, the arm's own being the first, is at most f."""
        low = min(m + shift for _, m, shift in terms)
        if f <= 0.0:
            return low
        step = math.sqrt(3.0 * f * VARIANCES[self.family](low) / terms[0][0]) or f / terms[0][0]
        return crossing(partial(evidence, FAMILIES[self.family], terms), f, low, step, TOPS[self.family])

    def choose(
        self, pulls: Sequence[int], totals: Sequence[float], n: int, among: Sequence[int] | None = None
    ) -> int:
        """The arm with the largest index, of all or some; ties as the policies break them."""
        open_arms = range(len(pulls)) if among is None else among
        values = self.indices(pulls, totals, n, open_arms)
        best = max(values[k] for k in open_arms)
        tied = [k for k in open_arms if best - values[k] <= TIES[self.family] * abs(best)]
        return min(tied, key=lambda k: (pulls[k], k))

    def look(self, pulls: Sequence[int], totals: Sequence[float], n: int) -> None:
        """Take note of what was seen, before every round in which all arms have been pulled."""

    def rounds(
        self, tape: Sequence[Sequence[float]], horizon: int
    ) -> Iterator[tuple[Self, list[int], list[float], int]]:
        """Rounds 1 to horizon: the policy as it stands, pulls and totals before the round, the arm pulled."""
        K = sum(len(cluster) for cluster in self.clusters)
        policy = replace(self)
        pulls = [0] * K
        totals = [0.0] * K
        for n in range(1, horizon + 1):
            if n > K:
                policy.look(pulls, totals, n)
            if n <= K:
                arm = n - 1
            elif (n - K - 1) % self.refresh == 0:
                arm = policy.choose(pulls, totals, n)
            yield policy, pulls, totals, arm
            totals[arm] += tape[arm][pulls[arm]]
            pulls[arm] += 1

    def play(self, tape: Sequence[Sequence[float]], horizon: int) -> list[int]:
        """The arms pulled in rounds 1 to horizon, where tape[k][i] is what the i-th pull of arm k pays."""
        return [arm for *_, arm in self.rounds(tape, horizon)]
