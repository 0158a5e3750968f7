"""Reward families as people see them: vectorised, validated, described."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clusterbandits.families import elementwise, law
from clusterbandits.families.law import Law
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.validate import as_float, between, invalid, random_generator, whole

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: A larger expected count does not fit a 64-bit Poisson draw.
MOST_COUNT = 1e18
#: A union of types would be made at every call, which takes longer than to use it.
_TRUTH = (bool, np.bool_)


@dataclass(frozen=True)
class Family:
    r"""A one-parameter exponential family of rewards, written by its mean.

    Notes
    -----
    With V the variance of a reward as a function of its mean, the divergence is

    .. math:: d(x, y) = \int_x^y \frac{u - x}{V(u)} du

    and everything else follows from it. Methods take numbers or arrays and broadcast; numbers give a
    float, arrays an array.
    Arguments outside the family's mean domain are refused.
    """

    name: ClassVar[str]
    code: ClassVar[int]
    low: ClassVar[float]
    high: ClassVar[float]
    #: What the means may be, in words.
    domain: ClassVar[str]
    #: The least and the largest reward.
    lowest: ClassVar[float] = 0.0
    highest: ClassVar[float] = math.inf
    #: The traits of ``Law``.
    convex: ClassVar[bool] = True
    scale_family: ClassVar[bool] = False
    beta_likelihood: ClassVar[bool] = False
    prior_weight: ClassVar[float] = 0.0
    tie: ClassVar[float] = 1e-13
    #: What one reward may be, in words.
    support: ClassVar[str]
    #: The other families whose rewards this one could pay.
    also: ClassVar[tuple[str, ...]] = ()
    #: Whether rewards are counts without a ceiling, whose total must stay below ``MOST_COUNT``.
    counts: ClassVar[bool] = False

    @property
    def law(self) -> Law:
        """The numbers that compiled code receives in place of this object, with exact types."""
        return Law(
            code=int(self.code),
            weight=float(self._weight()),
            lowest=float(self.lowest),
            highest=float(self.highest),
            convex=bool(self.convex),
            scale_family=bool(self.scale_family),
            beta_likelihood=bool(self.beta_likelihood),
            prior_weight=float(self.prior_weight),
            tie=float(self.tie),
        )

    @property
    def spec(self) -> str:
        """The text that makes this family again, as in ``as_family("gaussian:sigma=2.0")``."""
        values = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self)]
        return ":".join([self.name, *([",".join(values)] if values else [])])

    def _weight(self) -> float:
        return 1.0

    def contains(self, means: ArrayLike) -> NDArray[np.bool_]:
        """Tell which values are means this family can have."""
        values = np.asarray(means, dtype=np.float64)
        return np.isfinite(values) & (values >= self.low) & (values <= self.high)

    def divergence(self, x: ArrayLike, y: ArrayLike) -> Any:
        """Return d(x, y), the information per reward of mean x against mean y."""
        return self._evaluate(elementwise.DIVERGENCE, x, self._means("y", y))

    def divergence_above(self, x: ArrayLike, y: ArrayLike, width: ArrayLike = 0.0) -> Any:
        """Return d⁺(x, y − width): d where it is above x, else 0, also where it is below the domain."""
        widths = self._at_least_0("width", width)
        return self._evaluate(elementwise.DIVERGENCE_ABOVE, x, self._means("y", y), widths)

    def slope(self, x: ArrayLike, y: ArrayLike) -> Any:
        """Return the derivative of d(x, y) in y, (y − x) / V(y)."""
        return self._evaluate(elementwise.SLOPE, x, self._means("y", y))

    def rise(self, x: ArrayLike, y: ArrayLike, width: ArrayLike) -> Any:
        """Return d⁺(x, y) − d⁺(x, y − width), accurate however small the width."""
        return self._evaluate(elementwise.RISE, x, self._means("y", y), self._at_least_0("width", width))

    def upper(self, x: ArrayLike, level: ArrayLike) -> Any:
        """Return the upper confidence root sup{q : d(x, q) ≤ level}."""
        return self._evaluate(elementwise.UPPER, x, self._at_least_0("level", level))

    def lower(self, x: ArrayLike, level: ArrayLike) -> Any:
        """Return the lower confidence root inf{q : d(x, q) ≤ level}."""
        return self._evaluate(elementwise.LOWER, x, self._at_least_0("level", level))

    def total(self, mean: float, pulls: int, rng: Generator | int) -> float:
        """Draw the sum of ``pulls`` rewards of mean ``mean`` in one go, exactly in law.

        Parameters
        ----------
        mean
            The mean of one reward.
        pulls
            How many rewards, 10¹⁵ at most.
        rng
            A NumPy generator to draw from, or a seed.
        """
        owner = type(self).__name__
        pulls = whole("pulls", owner, pulls, least=0)
        one = float(self._means("mean", mean))
        if self.counts and pulls * one > MOST_COUNT:
            raise invalid("pulls", owner, f"at most {MOST_COUNT / one:.3g} for a mean of {one:g}", pulls)
        return law.drawn_total(self.law, random_generator(rng, owner), one, pulls)

    def supports(self, total: ArrayLike, pulls: int) -> Any:
        """Tell whether that many rewards can sum to that total; for an array, to which of its totals."""
        found = np.asarray(self._supports(np.asarray(total, dtype=np.float64), pulls))
        return found if found.ndim else bool(found)

    def _supports(self, totals: Any, pulls: int) -> Any:
        raise NotImplementedError

    def includes(self, other: Family) -> bool:
        """Tell whether every reward of another family is one that this family could pay."""
        return other.name in {self.name, *self.also}

    def read_total(self, reward: object, pulls: int, owner: str) -> float:
        """Return the sum of that many rewards as a float, refusing what this family never pays."""
        number = float(reward) if isinstance(reward, _TRUTH) else as_float(reward)
        if not (math.isfinite(number) and self._supports(number, pulls)):
            allowed = self.support if pulls == 1 else f"a sum of {pulls} rewards, each {self.support}"
            raise invalid("reward", owner, f"{allowed}, for {self.name} rewards", reward)
        return number

    def draw(self, mean: float, count: int, rng: Generator) -> Floats:
        """Draw so many rewards of mean ``mean``, one by one."""
        raise NotImplementedError

    def _evaluate(self, quantity: int, x: ArrayLike, y: ArrayLike, width: ArrayLike = 0.0) -> Any:
        result = elementwise.evaluate(quantity, self.law, self._means("x", x), y, width)
        return result if result.ndim else float(result)

    def _means(self, parameter: str, values: ArrayLike) -> Floats:
        given = np.asarray(values, dtype=np.float64)
        inside = self.contains(given)
        if not inside.all():
            raise invalid(parameter, type(self).__name__, self.domain, _worst(given, inside))
        return given

    def _at_least_0(self, parameter: str, values: ArrayLike) -> Floats:
        given = np.asarray(values, dtype=np.float64)
        if not np.all(given >= 0):
            raise invalid(parameter, type(self).__name__, "at least 0", _worst(given, given >= 0))
        return given


def _rounding(pulls: int) -> float:
    """Return the factor by which a sum of so many floats may be off."""
    return 1.0 if pulls == 1 else 1.0 + 1e-9


def _worst(values: Floats, good: NDArray[np.bool_]) -> float:
    return float(values[~good].flat[0])


@dataclass(frozen=True)
class Bernoulli(Family):
    """Rewards 0 or 1, such as clicks and conversions.

    d(x, y) = x log(x/y) + (1−x) log((1−x)/(1−y)). The same divergence is valid, if not the sharpest,
    for any rewards between 0 and 1.

    Examples
    --------
    >>> Bernoulli().divergence(0.4, 0.6)
    0.08109302162163287
    >>> Bernoulli().upper([0.1, 0.5], 0.02).round(4)
    array([0.1704, 0.599 ])

    References
    ----------
    Garivier and Cappé, The KL-UCB algorithm for bounded stochastic bandits and beyond, COLT 2011.
    """

    name = "bernoulli"
    code = law.BERNOULLI
    low, high, domain = 0.0, 1.0, "from 0 to 1"
    highest = 1.0
    beta_likelihood = True
    support = "a number from 0 to 1"

    def _supports(self, totals: Any, pulls: int) -> Any:
        return (totals >= 0.0) & (totals <= pulls)

    def draw(self, mean: float, count: int, rng: Generator) -> Floats:
        """Draw so many rewards of mean ``mean``, one by one."""
        return (rng.random(count) < mean).astype(np.float64)


@dataclass(frozen=True)
class Gaussian(Family):
    """Normal rewards with known standard deviation.

    d(x, y) = (x − y)² / (2σ²).

    Parameters
    ----------
    sigma
        The standard deviation of a reward.

    Examples
    --------
    >>> Gaussian(sigma=2.0).divergence(0.0, 2.0)
    0.5
    """

    sigma: float = 1.0

    name = "gaussian"
    code = law.GAUSSIAN
    low, high, domain = -LARGEST_MEAN, LARGEST_MEAN, f"from {-LARGEST_MEAN:g} to {LARGEST_MEAN:g}"
    lowest = -math.inf
    support = f"a number of at most {LARGEST_MEAN:g} in size"
    also = ("bernoulli", "poisson", "exponential")

    def _supports(self, totals: Any, pulls: int) -> Any:
        return abs(totals) <= pulls * _rounding(pulls) * LARGEST_MEAN

    def draw(self, mean: float, count: int, rng: Generator) -> Floats:
        """Draw so many rewards of mean ``mean``, one by one."""
        return rng.normal(mean, self.sigma, count)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", between("sigma", "Gaussian", self.sigma, 1e-50, 1e50))

    def _weight(self) -> float:
        return 1.0 / (self.sigma * self.sigma)


@dataclass(frozen=True)
class Poisson(Family):
    """Counts, such as units sold in a day.

    d(x, y) = y − x + x log(x/y).

    Examples
    --------
    >>> Poisson().divergence(0.0, 3.0)
    3.0
    """

    name = "poisson"
    code = law.POISSON
    low, high, domain = 0.0, LARGEST_MEAN, f"from 0 to {LARGEST_MEAN:g}"
    counts = True
    support = "a whole number of at least 0"
    also = ("bernoulli",)

    def _supports(self, totals: Any, pulls: int) -> Any:
        largest = pulls * _rounding(pulls) * LARGEST_MEAN
        return (totals >= 0.0) & (totals <= largest) & (totals == np.floor(totals))

    def draw(self, mean: float, count: int, rng: Generator) -> Floats:
        """Draw so many rewards of mean ``mean``, one by one."""
        return rng.poisson(mean, count).astype(np.float64)


@dataclass(frozen=True)
class Exponential(Family):
    """Waiting times or amounts: exponential rewards, or Gamma rewards of a known shape.

    d(x, y) = r (x/y − 1 − log(x/y)), with shape r.

    Parameters
    ----------
    shape
        The known shape of the Gamma law; 1 is the exponential law.

    Examples
    --------
    >>> Exponential().divergence(1.0, 2.0)
    0.1931471805599453
    """

    shape: float = 1.0

    name = "exponential"
    code = law.EXPONENTIAL
    low, high, domain = 1 / LARGEST_MEAN, LARGEST_MEAN, f"from {1 / LARGEST_MEAN:g} to {LARGEST_MEAN:g}"
    lowest = 1 / LARGEST_MEAN
    convex = False
    scale_family = True
    prior_weight = 1.0
    #: Upper roots grow as exp(level), which amplifies the rounding error of the level.
    tie = 5e-13
    support = f"a number from {1 / LARGEST_MEAN:g} to {LARGEST_MEAN:g}"

    def _supports(self, totals: Any, pulls: int) -> Any:
        least, most = pulls / _rounding(pulls) / LARGEST_MEAN, pulls * _rounding(pulls) * LARGEST_MEAN
        return (totals >= least) & (totals <= most)

    def draw(self, mean: float, count: int, rng: Generator) -> Floats:
        """Draw so many rewards of mean ``mean``, one by one."""
        return np.clip(rng.gamma(self.shape, mean / self.shape, count), self.low, self.high)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", between("shape", "Exponential", self.shape, 1e-50, 1e50))

    def _weight(self) -> float:
        return self.shape
