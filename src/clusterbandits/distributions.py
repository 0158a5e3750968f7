"""Reward distributions of environments outside the families: a mean and a sampler.

Policies see only the rewards and model them with their reward family.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clusterbandits.extras import extras_explained
from clusterbandits.outside import load, reference, source_key
from clusterbandits.serial import restore_number
from clusterbandits.validate import Described, as_float, between, check_keys, choice, invalid, is_list

Floats = NDArray[np.float64]
#: A function ``sampler(rng, count)`` that draws rewards.
Sampler = Callable[[np.random.Generator, int], Any]

_LARGEST = 1e100
_MOST_VALUES = 10**6
#: The number of draws that check a declared mean, and the largest allowed difference in standard errors.
_TRIAL, _MOST_ERRORS = 20_000, 8.0


class Distribution:
    """Base class of reward distributions; pass objects of its subclasses to ``Instance`` instead of means."""

    #: The name in saved instances.
    kind: ClassVar[str]
    #: All distributions by that name.
    kinds: ClassVar[dict[str, type[Distribution]]] = {}
    mean: float

    def __init_subclass__(cls) -> None:
        Distribution.kinds[cls.kind] = cls

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw ``count`` rewards."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of the constructor as plain data."""
        raise NotImplementedError

    @classmethod
    def of_parameters(cls, data: Mapping[str, Any]) -> Distribution:
        """Return the distribution that ``parameters`` described."""
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Return the distribution as plain data for ``from_dict``."""
        return {"kind": self.kind, **self.parameters()}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Distribution:
        """Return the distribution that ``to_dict`` described.

        Examples
        --------
        >>> Distribution.from_dict(Beta(2, 8).to_dict())
        Beta(a=2.0, b=8.0)
        """
        if not isinstance(data, Mapping):
            raise invalid("rewards", "Distribution", "a mapping returned by Distribution.to_dict", data)
        owner = "Distribution.from_dict"
        kind = Distribution.kinds[choice("kind", owner, data.get("kind"), Distribution.kinds)]
        try:
            return kind.of_parameters({key: value for key, value in data.items() if key != "kind"})
        except TypeError:
            raise invalid("rewards", owner, f"the parameters of {kind.__name__}", list(data)) from None

    def check_source(self, owner: str) -> None:
        """Refuse a sampler whose code has changed since the distribution was described."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={value!r}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({values})"


class Beta(Distribution):
    """Rewards between 0 and 1 with a Beta distribution.

    Parameters
    ----------
    a, b
        Shape parameters; the mean is a / (a + b).

    Examples
    --------
    >>> Beta(2, 8).mean
    0.2
    """

    kind = "beta"

    def __init__(self, a: float, b: float) -> None:
        self.a, self.b = (between(name, "Beta", value, 1e-6, 1e12) for name, value in (("a", a), ("b", b)))
        self.mean = self.a / (self.a + self.b)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw ``count`` rewards."""
        return rng.beta(self.a, self.b, count)

    def parameters(self) -> dict[str, Any]:
        """Return the shape parameters."""
        return {"a": self.a, "b": self.b}


class TruncatedGaussian(Distribution):
    """Gaussian rewards restricted to an interval.

    Parameters
    ----------
    centre, sigma
        Mean and standard deviation of the unrestricted Gaussian.
    low, high
        Ends of the interval, by default 0 and 1.

    Examples
    --------
    >>> round(TruncatedGaussian(0.2, 0.3).mean, 4)
    0.3243
    """

    kind = "truncated-gaussian"

    def __init__(self, centre: float, sigma: float, low: float = 0.0, high: float = 1.0) -> None:
        owner = "TruncatedGaussian"
        self.centre = between("centre", owner, centre, -_LARGEST, _LARGEST)
        self.sigma = between("sigma", owner, sigma, 1e-100, _LARGEST)
        self.low, self.high = (as_float(restore_number(end)) for end in (low, high))
        if not self.low < self.high:
            raise invalid("high", owner, "a number above low", high)
        with extras_explained():
            from scipy import stats

        self._law = stats.truncnorm(
            (self.low - self.centre) / self.sigma,
            (self.high - self.centre) / self.sigma,
            loc=self.centre,
            scale=self.sigma,
        )
        self.mean = float(self._law.mean())
        if not math.isfinite(self.mean):
            raise invalid("low", owner, "an interval in which the Gaussian has some mass", (low, high))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw ``count`` rewards by inversion."""
        drawn: Floats = np.asarray(self._law.ppf(rng.random(count)), dtype=np.float64)
        return np.clip(drawn, self.low, self.high)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the Gaussian and the interval."""
        return {"centre": self.centre, "sigma": self.sigma, "low": self.low, "high": self.high}


class Mixture(Distribution):
    """Rewards from a mixture: each is drawn from one of several distributions, chosen at random.

    Parameters
    ----------
    parts
        Distributions of the mixture.
    weights
        Their probabilities, up to a factor; by default equal.

    Examples
    --------
    >>> no_sale, sale = Empirical([0.0]), Beta(2, 2)
    >>> Mixture([no_sale, sale], weights=[0.9, 0.1]).mean
    0.05
    """

    kind = "mixture"

    def __init__(self, parts: Any, weights: Any = None) -> None:
        given = list(parts) if is_list(parts) else []
        self.parts = tuple(part for part in given if isinstance(part, Distribution))
        if not self.parts or len(self.parts) < len(given):
            raise invalid("parts", "Mixture", "a list of distributions, at least one", parts)
        wanted = [1.0] * len(self.parts) if weights is None else weights
        shares = np.array([as_float(one) for one in wanted]) if is_list(wanted) else np.zeros(0)
        if shares.size != len(self.parts) or not (shares >= 0).all() or not 0 < shares.sum() < math.inf:
            allowed = f"{len(self.parts)} numbers of at least 0 with a positive sum"
            raise invalid("weights", "Mixture", allowed, weights)
        self.weights: Floats = shares / shares.sum()
        self.mean = float(sum(w * part.mean for w, part in zip(self.weights, self.parts, strict=True)))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw ``count`` rewards."""
        chosen = rng.choice(len(self.parts), size=count, p=self.weights)
        rewards = np.empty(count)
        for number, part in enumerate(self.parts):
            here = chosen == number
            rewards[here] = part.draw(int(here.sum()), rng)
        return rewards

    def parameters(self) -> dict[str, Any]:
        """Return the parts and their probabilities."""
        return {"parts": [part.to_dict() for part in self.parts], "weights": self.weights.tolist()}

    @classmethod
    def of_parameters(cls, data: Mapping[str, Any]) -> Distribution:
        """Return the mixture that ``parameters`` described."""
        check_keys(["parts", "weights"], "Mixture", data)
        made = cls([Distribution.from_dict(part) for part in data["parts"]], data["weights"])
        # Normalising again could change the last digit.
        made.weights = np.array(data["weights"], dtype=np.float64)
        return made

    def check_source(self, owner: str) -> None:
        """Check all parts."""
        for part in self.parts:
            part.check_source(owner)


class Empirical(Distribution):
    """Rewards drawn from observed data with replacement.

    Parameters
    ----------
    values
        Observed rewards.

    Examples
    --------
    >>> Empirical([0, 0, 1, 3]).mean
    1.0
    """

    kind = "empirical"

    def __init__(self, values: Any) -> None:
        allowed = f"a list of finite numbers, from 1 to {_MOST_VALUES:,} of them"
        try:
            self.values: Floats = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise invalid("values", "Empirical", allowed, values) from None
        if self.values.ndim != 1 or not 0 < self.values.size <= _MOST_VALUES:
            raise invalid("values", "Empirical", allowed, Described(f"shape {self.values.shape}"))
        if not np.isfinite(self.values).all():
            raise invalid("values", "Empirical", allowed, Described("some that are not finite"))
        self.mean = math.fsum(self.values) / self.values.size

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw ``count`` rewards."""
        return self.values[rng.integers(self.values.size, size=count)]

    def parameters(self) -> dict[str, Any]:
        """Return the data."""
        return {"values": self.values.tolist()}

    def __repr__(self) -> str:
        return f"<Empirical: {self.values.size} values, mean {self.mean:g}>"


class Sampled(Distribution):
    """Rewards from a function of your own.

    Parameters
    ----------
    mean
        Exact mean of the rewards, from which regret is computed. It is checked against 20,000 draws.
    sampler
        Function ``sampler(rng, count)`` that returns ``count`` rewards drawn with the NumPy generator
        ``rng``.

    Examples
    --------
    >>> def uniform(rng, count):
    ...     return rng.random(count)
    >>> Sampled(0.5, uniform).draw(2, np.random.default_rng(1)).round(3)
    array([0.512, 0.95 ])
    """

    kind = "sampled"

    def __init__(self, mean: float, sampler: Sampler) -> None:
        self.mean = between("mean", "Sampled", mean, -_LARGEST, _LARGEST)
        if not callable(sampler) or not hasattr(sampler, "__qualname__"):
            raise invalid("sampler", "Sampled", "a function of a random generator and a count", sampler)
        self.sampler: Any = sampler
        self._source = source_key(self.sampler)
        trial = self.draw(_TRIAL, np.random.default_rng(0))
        error = float(trial.std() / math.sqrt(_TRIAL))
        if abs(float(trial.mean()) - self.mean) > _MOST_ERRORS * error + 1e-9 * abs(self.mean):
            allowed = f"that of the sampler, about {trial.mean():.4g} ± {error:.2g} by {_TRIAL:,} draws"
            raise invalid("mean", "Sampled", allowed, mean)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw ``count`` rewards."""
        allowed = "a function that returns an array of finite numbers of the requested length"
        try:
            rewards = np.asarray(self.sampler(rng, count), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise invalid(
                "sampler", "Sampled", allowed, Described(f"{type(error).__name__}: {error}")
            ) from None
        if rewards.shape != (count,) or not np.isfinite(rewards).all():
            raise invalid("sampler", "Sampled", allowed, Described(f"shape {rewards.shape} for {count}"))
        return rewards

    def parameters(self) -> dict[str, Any]:
        """Return the mean, the name of the function and a hash of its code."""
        return {"mean": self.mean, "sampler": reference(self.sampler), "source": self._source}

    @classmethod
    def of_parameters(cls, data: Mapping[str, Any]) -> Distribution:
        """Import the function and return the distribution."""
        check_keys(["mean", "sampler", "source"], "Sampled", data)
        found: Any = load(data["sampler"], "sampler", "Sampled")
        made = cls(data["mean"], found)
        made._source = str(data["source"])
        return made

    def check_source(self, owner: str) -> None:
        """Refuse a sampler that was edited since it was described."""
        if self._source != source_key(self.sampler):
            allowed = f"the same code as when the simulation was planned, for {reference(self.sampler)!r}"
            raise invalid("sampler", owner, allowed, Described("code that was edited"))


def drawn_rewards(distribution: Distribution, count: int, rng: np.random.Generator, family: Any) -> Floats:
    """Draw rewards for a policy that assumes a family; refuse rewards that are impossible in the family."""
    rewards = np.ascontiguousarray(distribution.draw(count, rng), dtype=np.float64)
    fits = family.supports(rewards, 1)
    if not np.all(fits):
        allowed = f"rewards for policies of this family ({family.name}): {family.support}"
        raise invalid("rewards", "simulate", allowed, float(rewards[~np.asarray(fits)][0]))
    return rewards
