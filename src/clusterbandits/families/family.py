"""The public base class of reward families: vectorised and validated methods; one subclass per file."""

from __future__ import annotations

import dataclasses
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.families import law
from clusterbandits.families.calculus import divergence_above, rise, slope
from clusterbandits.families.law import Law, divergence, lower, upper
from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.validate import as_float, invalid, random_generator, whole

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

DIVERGENCE, DIVERGENCE_ABOVE, SLOPE, RISE, UPPER, LOWER = range(6)
#: The largest expected count: a larger one can overflow a 64-bit Poisson draw.
MOST_COUNT = 1e18
#: A tuple, because building a union of types in every call takes longer than the check.
_TRUTH = (bool, np.bool_)


@dataclass(frozen=True)
class Family:
    r"""A one-parameter exponential family of reward distributions, parametrised by the mean.

    Notes
    -----
    With V the variance of a reward as a function of its mean, the divergence is

    .. math:: d(x, y) = \int_x^y \frac{u - x}{V(u)} du

    and everything else follows from it. Methods take numbers or arrays and broadcast; numbers give a
    float, arrays an array.
    Means outside the domain of the family raise ``InvalidInputError``.
    """

    name: ClassVar[str]
    #: The index of the family in the registry, set by the registry.
    code: ClassVar[int]
    #: Whether rewards are whole numbers.
    counts: ClassVar[bool] = False
    # Attributes of the class, or of the object if they depend on its parameters: so they are not fields.
    #: The possible values of a reward, in words.
    support = ""
    #: The smallest and the largest reward; means lie between them too.
    lowest = 0.0
    highest = math.inf
    #: The traits of ``Law``.
    convex: ClassVar[bool] = True
    scale_family: ClassVar[bool] = False
    beta_likelihood: ClassVar[bool] = False
    prior_weight: ClassVar[float] = 0.0
    flat_pulls: ClassVar[float] = 0.0
    flat_total: ClassVar[float] = 0.0
    tie: ClassVar[float] = 1e-13

    @property
    def law(self) -> Law:
        """The numbers that compiled code receives instead of this object."""
        return Law(self.code, self._weight(), self.lowest, self.highest)

    @property
    def spec(self) -> str:
        """The specification of this family for ``as_family``, such as ``"gaussian:sigma=2.0"``."""
        values = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self)]
        return ":".join([self.name, *([",".join(values)] if values else [])])

    def _weight(self) -> float:
        """Return the known parameter, the value of ``Law.weight``."""
        return 1.0

    @property
    def has_posterior(self) -> bool:
        """Whether means can be drawn from a posterior, as the family's file then defines."""
        return hasattr(sys.modules[law.KINDS[self.code].__module__], "draw_mean")

    @property
    def low(self) -> float:
        """The smallest mean."""
        return max(self.lowest, -LARGEST_MEAN)

    @property
    def high(self) -> float:
        """The largest mean."""
        return min(self.highest, LARGEST_MEAN)

    @property
    def domain(self) -> str:
        """The possible means, in words."""
        return self._words(self.low, self.high)

    @staticmethod
    def _words(low: float, high: float) -> str:
        return f"from {low:.12g} to {high:.12g}"

    def contains(self, means: ArrayLike) -> NDArray[np.bool_]:
        """Return for every value whether it is a mean of this family."""
        values = np.asarray(means, dtype=np.float64)
        return np.isfinite(values) & (values >= self.low) & (values <= self.high)

    def divergence(self, x: ArrayLike, y: ArrayLike) -> Any:
        """Return the divergence d(x, y): the information per reward of mean x against mean y."""
        return self._evaluate(DIVERGENCE, x, self._means("y", y))

    def divergence_above(self, x: ArrayLike, y: ArrayLike, width: ArrayLike = 0.0) -> Any:
        """Return d⁺(x, y − width): the divergence if y − width is above x, else 0, even below the domain."""
        widths = self._at_least_0("width", width)
        return self._evaluate(DIVERGENCE_ABOVE, x, self._means("y", y), widths)

    def slope(self, x: ArrayLike, y: ArrayLike) -> Any:
        """Return the derivative of d(x, y) in y, (y − x) / V(y)."""
        return self._evaluate(SLOPE, x, self._means("y", y))

    def rise(self, x: ArrayLike, y: ArrayLike, width: ArrayLike) -> Any:
        """Return d⁺(x, y) − d⁺(x, y − width), accurate even for the smallest widths."""
        return self._evaluate(RISE, x, self._means("y", y), self._at_least_0("width", width))

    def upper(self, x: ArrayLike, level: ArrayLike) -> Any:
        """Return the upper confidence root sup{q : d(x, q) ≤ level}."""
        return self._evaluate(UPPER, x, self._at_least_0("level", level))

    def lower(self, x: ArrayLike, level: ArrayLike) -> Any:
        """Return the lower confidence root inf{q : d(x, q) ≤ level}."""
        return self._evaluate(LOWER, x, self._at_least_0("level", level))

    def total(self, mean: float, pulls: int, rng: Generator | int) -> float:
        """Draw the sum of ``pulls`` rewards of mean ``mean`` in one step, from its exact distribution.

        Parameters
        ----------
        mean
            Mean of one reward.
        pulls
            Number of rewards, at most 10¹⁵.
        rng
            NumPy random generator, or a seed for one.
        """
        owner = type(self).__name__
        pulls = whole("pulls", owner, pulls, least=0)
        one = float(self._means("mean", mean))
        if self.counts and pulls * one > MOST_COUNT:
            raise invalid("pulls", owner, f"at most {MOST_COUNT / one:.3g} for a mean of {one:g}", pulls)
        return law.drawn_total(self.law, random_generator(rng, owner), one, pulls)

    def supports(self, total: ArrayLike, pulls: int) -> Any:
        """Return whether ``pulls`` rewards can sum to a total; for an array, for each of its totals."""
        found = np.asarray(self._supports(np.asarray(total, dtype=np.float64), pulls))
        return found if found.ndim else bool(found)

    def _supports(self, totals: Any, pulls: int) -> Any:
        raise NotImplementedError

    def includes(self, other: Family) -> bool:
        """Return whether every reward of another family is a possible reward of this family."""
        return self.lowest <= other.lowest and other.highest <= self.highest

    def read_total(self, reward: object, pulls: int, owner: str, parameter: str = "reward") -> float:
        """Return the sum of ``pulls`` rewards as a float; refuse a sum that is impossible in this family."""
        number = float(reward) if isinstance(reward, _TRUTH) else as_float(reward)
        if not (math.isfinite(number) and self._supports(number, pulls)):
            allowed = self.support if pulls == 1 else f"a sum of {pulls} rewards, each {self.support}"
            raise invalid(parameter, owner, f"{allowed}, for {self.name} rewards", reward)
        return number

    def draw(self, mean: float, count: int, rng: Generator) -> Floats:
        """Draw ``count`` rewards of mean ``mean``, one by one."""
        rewards = np.empty(count)
        law.draw_each(self.law, rng, mean, rewards)
        return rewards

    def _evaluate(self, quantity: int, x: ArrayLike, y: ArrayLike, width: ArrayLike = 0.0) -> Any:
        result = _evaluate(quantity, self.law, self._means("x", x), y, width)
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


@dataclass(frozen=True)
class CountFamily(Family):
    """Base class of families of counts without an upper limit."""

    counts = True
    support = "a whole number of at least 0"

    def _supports(self, totals: Any, pulls: int) -> Any:
        largest = pulls * rounding(pulls) * LARGEST_MEAN
        return (totals >= 0.0) & (totals <= largest) & (totals == np.floor(totals))

    def includes(self, other: Family) -> bool:
        """Return whether all rewards of another family are counts."""
        return other.counts and super().includes(other)


def rounding(pulls: int) -> float:
    """Return the largest relative rounding error of a sum of ``pulls`` floats."""
    return 1.0 if pulls == 1 else 1.0 + 1e-9


def _worst(values: Floats, good: NDArray[np.bool_]) -> float:
    return float(values[~good].flat[0])


def _evaluate(quantity: int, of: Law, x: ArrayLike, y: ArrayLike, width: ArrayLike = 0.0) -> Floats:
    """Evaluate one quantity on broadcast arrays; for the two roots, ``y`` is the level."""
    arrays = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (x, y, width)))
    flat = [np.array(part, dtype=np.float64).reshape(-1) for part in arrays]
    result = np.empty(flat[0].size)
    _fill(quantity, of, flat[0], flat[1], flat[2], result)
    return result.reshape(arrays[0].shape)


@kernel
def _fill(quantity: int, of: Law, x: Floats, y: Floats, width: Floats, result: Floats) -> None:
    for i in range(result.size):
        result[i] = _one(quantity, of, x[i], y[i], width[i])


@kernel
def _one(quantity: int, of: Law, x: float, y: float, width: float) -> float:
    if quantity == DIVERGENCE:
        return divergence(of, x, y, y - x)
    if quantity == DIVERGENCE_ABOVE:
        return divergence_above(of, x, y, width)
    if quantity == SLOPE:
        return slope(of, x, y)
    if quantity == RISE:
        return rise(of, x, y, width)
    if quantity == UPPER:
        return upper(of, x, y)
    if quantity == LOWER:
        return lower(of, x, y)
    return math.nan
