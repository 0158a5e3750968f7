"""The model of ``Kindred`` in SciPy's terms: integrals over fine grids, from its documentation alone.

A family is written by θ and A, such that t pulls of total s have likelihood exp(s θ − t A), as functions of
the place u on the scale of ``families.link``. Knowledge worth t pulls of total s has the density
exp(s θ − t A) in θ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

Floats = NDArray[np.float64]

#: Precisions, the exponent of their prior, and the prior probabilities of the ways to explain a cluster.
PRECISIONS = 0.5 * 2.0 ** np.arange(11)
PRIOR = PRECISIONS**-0.25 / (PRECISIONS**-0.25).sum()
WITHIN, OF_WIDTH, SHARED = 0.97, 0.5, 0.8
#: Exceptions expected per cluster, where means lie between two ends and elsewhere; and the pulls that double
#: the odds that an arm is drawn as one.
EXCEPTIONS, EXCEPTIONS_WITHOUT_END, PULLS_TO_DOUBLE = 0.12, 0.3, 32
WIDTH = len(PRECISIONS)
#: Nodes u = centre + deviation · sinh(x): fine around the centre, and far into tails.
_NODES = np.linspace(-6.5, 6.5, 131)
_PLACES = np.linspace(-4.0, 4.0, 241)
_ROUNDS = 4


@dataclass(frozen=True)
class Law:
    """A family on the scale u of means."""

    spec: str
    theta: Callable[[Any], Any]
    A: Callable[[Any], Any]
    #: log dθ/du.
    log_slope: Callable[[Any], Any]
    mean: Callable[[Any], Any]
    place: Callable[[Any], Any]
    variance: Callable[[Any], Any]
    #: (deviation of the scale)⁻² per pull, which is V(m) (du/dm)² turned around.
    information: Callable[[Any], Any]
    #: Draw means from knowledge worth t pulls of total s.
    draw: Callable[[np.random.Generator, Any, Any], Any]
    bounded: bool = False


def _gaussian(sigma: float) -> Law:
    w = sigma**-2
    return Law(
        f"gaussian:sigma={sigma}",
        theta=lambda u: np.sqrt(w) * u,
        A=lambda u: u * u / 2,
        log_slope=lambda u: np.log(w) / 2 + 0 * u,
        mean=lambda u: u * sigma,
        place=lambda m: m / sigma,
        variance=lambda m: sigma**2 + 0 * m,
        information=lambda m: 1.0 + 0 * m,
        draw=lambda rng, t, s: rng.normal(s / t, sigma / np.sqrt(t)),
    )


def _exponential(k: float) -> Law:
    return Law(
        f"exponential:shape={k}",
        theta=lambda u: -k * np.exp(-u),
        A=lambda u: k * u,
        log_slope=lambda u: np.log(k) - u,
        mean=np.exp,
        place=np.log,
        variance=lambda m: m * m / k,
        information=lambda m: k + 0 * m,
        draw=lambda rng, t, s: k * s / rng.gamma(k * t + 1),
    )


def _negative_binomial(r: float) -> Law:
    return Law(
        f"negative-binomial:shape={r}",
        theta=lambda u: u - np.log(r + np.exp(u)),
        A=lambda u: r * np.log1p(np.exp(u) / r),
        log_slope=lambda u: -np.log1p(np.exp(u) / r),
        mean=np.exp,
        place=np.log,
        variance=lambda m: m + m * m / r,
        information=lambda m: m * r / (m + r),
        draw=lambda rng, t, s: r * rng.gamma(s) / rng.gamma(r * t + 1),
    )


BERNOULLI = Law(
    "bernoulli",
    theta=lambda u: u,
    A=lambda u: np.logaddexp(0.0, u),
    log_slope=lambda u: 0.0 * u,
    mean=expit,
    place=lambda m: np.log(m / (1 - m)),
    variance=lambda m: m * (1 - m),
    information=lambda m: m * (1 - m),
    draw=lambda rng, t, s: rng.beta(s, t - s),
    bounded=True,
)
POISSON = Law(
    "poisson",
    theta=lambda u: u,
    A=np.exp,
    log_slope=lambda u: 0.0 * u,
    mean=np.exp,
    place=np.log,
    variance=lambda m: m,
    information=lambda m: m,
    draw=lambda rng, t, s: rng.gamma(s) / t,
)
LAWS = [BERNOULLI, _gaussian(0.5), POISSON, _exponential(2.0), _negative_binomial(2.0)]


def log_integral(law: Law, t: Any, s: Any) -> Any:
    """Return log ∫ exp(s θ − t A) dθ, of arrays of t and s."""
    t, s = np.asarray(t, dtype=float)[..., None], np.asarray(s, dtype=float)[..., None]
    mean = s / t
    deviation = 1.0 / np.sqrt(t * law.information(mean))
    u = law.place(mean) + deviation * np.sinh(_NODES)
    with np.errstate(over="ignore"):
        logs = s * law.theta(u) - t * law.A(u) + law.log_slope(u) + np.log(deviation * np.cosh(_NODES))
    return logsumexp(logs, axis=-1) + np.log(_NODES[1] - _NODES[0])


@dataclass(frozen=True)
class Cluster:
    """Pulls and totals of the arms of a cluster, what is known of every mean beforehand, and the width."""

    law: Law
    pulls: Sequence[float]
    totals: Sequence[float]
    #: What is known of every mean beforehand, as pulls and their mean.
    known: tuple[float, float]
    width: float = np.inf

    def worth(self, m: Any, v: int) -> Any:
        """Return ν: the pulls that a precision is worth, or the one that mostly keeps within the width."""
        if v < WIDTH:
            return PRECISIONS[v] / self.law.information(m)
        arms = max(len(self.pulls), 2)
        deviation = 0.6 * self.width / (2 * np.sqrt(2 * np.log(arms)))
        return np.clip(self.law.variance(m) / deviation**2, 0.2, 1e7)

    @property
    def apart(self) -> float:
        """The prior probability that the arms are unrelated."""
        return min(0.2, 0.5 / len(self.pulls))

    @property
    def rate(self) -> float:
        """The prior probability that an arm is an exception."""
        return (EXCEPTIONS if self.law.bounded else EXCEPTIONS_WITHOUT_END) / max(len(self.pulls), 2)

    def alone(self) -> list[float]:
        """Return the log-likelihood of the rewards of every arm where it stands for itself."""
        b, x = self.known
        before = log_integral(self.law, b, b * x)
        rows = zip(self.pulls, self.totals, strict=True)
        return [float(log_integral(self.law, t + b, s + b * x) - before) if t else 0.0 for t, s in rows]

    def unrelated(self) -> float:
        """Return the log-likelihood of the rewards where every arm stands for itself."""
        return sum(self.alone())

    def alike(self, m: Any, v: int) -> Any:
        """Return the log-likelihood of every arm's rewards given the cluster mean, [..., arm]."""
        nu = np.asarray(self.worth(m, v))
        before = log_integral(self.law, nu, nu * m)
        rows = zip(self.pulls, self.totals, strict=True)
        logs = [log_integral(self.law, t + nu, s + nu * m) - before if t else 0.0 * nu for t, s in rows]
        return np.stack(logs, axis=-1)

    def exceptions(self, m: Any, v: int) -> Any:
        """Return the probability that every arm is an exception, given the cluster mean, [..., arm]."""
        rate = self.rate
        with np.errstate(over="ignore"):
            return 1 / (1 + (1 - rate) / rate * np.exp(self.alike(m, v) - np.array(self.alone())))

    def weights(self, v: int, places: Floats) -> Floats:
        """Return the log of h(m) ∏ [(1 − ε) Z / Z + ε E] on the scale, at some places."""
        law, (b, x), rate = self.law, self.known, self.rate
        found = b * x * law.theta(places) - b * law.A(places) + law.log_slope(places)
        found = found - log_integral(law, b, b * x)
        alike = self.alike(law.mean(places), v) + np.log1p(-rate)
        likely = np.logaddexp(alike, np.array(self.alone()) + np.log(rate))
        return np.asarray(found + likely.sum(axis=-1))

    def column(self, v: int) -> tuple[float, Floats, Floats]:
        """Return the log-likelihood of a column, places of its cluster mean, and their probabilities."""
        (b, x), law = self.known, self.law
        centre = float(law.place((sum(self.totals) + 0.5 * b * x) / (sum(self.pulls) + 0.5 * b)))
        fine, step = 0.5, _PLACES[1] - _PLACES[0]
        for _ in range(_ROUNDS):
            places = centre + fine * np.sinh(_PLACES)
            logs = self.weights(v, places) + np.log(fine * np.cosh(_PLACES) * step)
            total = float(logsumexp(logs))
            chances = np.exp(logs - total)
            # Again, around the mean and as fine as the standard deviation asks for.
            centre = float(chances @ places)
            near = float(np.interp(centre, places, np.gradient(places)))
            fine = max(math.sqrt(float(chances @ (places - centre) ** 2)), near) / 3
        return total, places, chances


def middle(law: Law, pulls: Sequence[float], totals: Sequence[float]) -> tuple[float, float]:
    """Return the prior of means where none is given: pulls worth a precision of 1/2 on the scale."""
    mean = 0.5 if law.bounded else law.mean(np.floor(2 * law.place(sum(totals) / sum(pulls)) + 0.5) / 2)
    return 0.5 / law.information(mean), mean


@dataclass(frozen=True)
class Posterior:
    """What the rewards of one cluster say of its columns, and draws from that."""

    cluster: Cluster
    #: The log-likelihood of every column, over that of unrelated arms.
    alike: Floats
    places: list[Floats]
    chances: list[Floats]

    @classmethod
    def of(cls, cluster: Cluster) -> Posterior:
        """Integrate all columns."""
        columns = [cluster.column(v) for v in range(WIDTH + np.isfinite(cluster.width))]
        unrelated = cluster.unrelated()
        alike = np.array([logs - unrelated for logs, _, _ in columns])
        return cls(cluster, alike, [places for _, places, _ in columns], [sums for _, _, sums in columns])

    @property
    def any_precision(self) -> float:
        """The log-likelihood of arms that are alike, over that of unrelated ones."""
        return float(logsumexp(self.alike[:WIDTH], b=PRIOR))

    @property
    def precisions(self) -> Floats:
        """The probabilities of precisions where arms are alike."""
        return np.asarray(PRIOR * np.exp(self.alike[:WIDTH] - self.any_precision))

    @property
    def by_width(self) -> float:
        """The probability of the width's column, before means are restricted to the width."""
        odds = OF_WIDTH / (1 - OF_WIDTH) * np.exp(self.alike[WIDTH] - self.any_precision)
        return float(odds / (1 + odds))

    def columns(self, rng: np.random.Generator, count: int) -> Any:
        """Draw columns as they are before means are restricted to the width."""
        own = rng.choice(WIDTH, count, p=self.precisions)
        return np.where(rng.random(count) < self.by_width, WIDTH, own)

    def knowledge(self, rng: np.random.Generator, columns: Any, *, drawn: bool = True) -> Knowledge:
        """Draw cluster means for these columns, and which arms are exceptions.

        ``drawn``: exceptions are as frequent as the policy draws them, not as they are probable.
        """
        cluster, (b, x) = self.cluster, self.cluster.known
        m, nu = np.empty((2, len(columns)))
        chances = np.empty((len(columns), len(cluster.pulls)))
        for v in set(columns.tolist()):
            here = columns == v
            m[here] = cluster.law.mean(_between(rng, self.places[v], self.chances[v], int(here.sum())))
            nu[here] = cluster.worth(m[here], v)
            chances[here] = cluster.exceptions(m[here], v)
        if drawn:
            odds = chances * (1 + np.array(cluster.pulls) / PULLS_TO_DOUBLE)
            chances = odds / (1 - chances + odds)
        shares = rng.random(chances.shape)
        apart = shares < chances
        pulls = np.where(apart, b, nu[:, None]) + np.array(cluster.pulls)
        totals = np.where(apart, b * x, (nu * m)[:, None]) + np.array(cluster.totals)
        return Knowledge(m, pulls, totals, shares < chances + 1 / len(cluster.pulls))

    def alone(self, rng: np.random.Generator, count: int) -> Any:
        """Draw means of arms that are unrelated."""
        b, x = self.cluster.known
        shape = (count, len(self.cluster.pulls))
        pulls = np.broadcast_to(np.array(self.cluster.pulls) + b, shape)
        totals = np.broadcast_to(np.array(self.cluster.totals) + b * x, shape)
        return self.cluster.law.draw(rng, pulls, totals)

    def keeps_within(self, means: Floats, m: Floats) -> Any:
        """Tell which rows of means keep within the width, with the tolerance that the policy allows."""
        return np.ptp(means, axis=1) <= self.cluster.width + 2e-3 * np.sqrt(self.cluster.law.variance(m))


@dataclass(frozen=True)
class Knowledge:
    """Drawn cluster means, and what is known of every arm given them: pulls and totals, [draw, arm]."""

    m: Floats
    pulls: Floats
    totals: Floats
    #: Which arms are shown as they are drawn: exceptions, and about one of the others.
    shown: NDArray[np.bool_]

    def show(self, means: Floats) -> Floats:
        """Return what stands for the means of arms: the other ones stand at their posterior means."""
        return np.where(self.shown, means, self.totals / self.pulls)


def _between(rng: np.random.Generator, places: Floats, chances: Floats, count: int) -> Floats:
    """Draw from a density that is known at places, by inverting its distribution function."""
    sums = np.cumsum(chances) - chances / 2
    return np.asarray(np.interp(rng.random(count), sums, places))
