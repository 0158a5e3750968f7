"""The observations of the arms of a group: their likelihood, and the posterior of the means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from scipy.special import betaln, expit, logit

from clusterbandits.families import Bounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clusterbandits.studies.history import History
    from clusterbandits.studies.mean_bounds import Sums

    Floats = NDArray[np.float64]

#: The number of rewards with the variance of the group that are added to the variance estimate of an arm.
_SHARED_REWARDS = 2.0


class Scale(NamedTuple):
    """The scale of centres: its ends, the normal prior of the overall centre, and the unit of spreads."""

    low: float
    high: float
    middle: float
    deviation: float
    unit: float


#: Estimates from up to 10¹⁵ trials are inside these ends.
_LOG_ODDS = Scale(-40.0, 40.0, 0.0, 3.0, 1.0)


class Group(Protocol):
    """The observations of the arms of a group."""

    #: Estimates of the arms with trials, on the scale, and their variances.
    places: Floats
    variances: Floats

    def log_likelihood(self, centres: Floats, spread: float) -> Floats:
        """Return the log-likelihood of the observations for each centre."""

    def draw(self, centres: Floats, spreads: Floats, generator: np.random.Generator) -> Floats:
        """Return means of the arms given the centre and the spread in each world, ``[world, arm]``."""


class Rates:
    """Successes in trials."""

    def __init__(self, trials: Floats, successes: Floats) -> None:
        self.successes, self.failures = successes, trials - successes
        tried = trials > 0
        rates = (successes[tried] + 0.5) / (trials[tried] + 1.0)
        self.places: Floats = logit(rates)
        self.variances: Floats = 1.0 / ((trials[tried] + 1.0) * rates * (1.0 - rates))

    def log_likelihood(self, centres: Floats, spread: float) -> Floats:
        """Return the beta-binomial log-likelihood, up to a constant."""
        ups, downs = _known(centres, spread)
        terms = betaln(ups + self.successes, downs + self.failures) - betaln(ups, downs)
        return np.asarray(terms.sum(axis=1))

    def draw(self, centres: Floats, spreads: Floats, generator: np.random.Generator) -> Floats:
        """Draw from the Beta posteriors."""
        ups, downs = _known(centres, spreads)
        return generator.beta(ups + self.successes, downs + self.failures)


def _known(centres: Floats, spreads: Floats | float) -> tuple[Floats, Floats]:
    """Return the successes and failures to which the prior of an arm is equivalent."""
    precision = 1.0 / np.square(spreads)
    return (precision / expit(-centres))[:, None], (precision / expit(centres))[:, None]


class Rewards:
    """Sums of bounded rewards."""

    def __init__(self, sums: Sums) -> None:
        self.family, self.tried = sums.family, sums.trials > 0
        self.places: Floats = sums.totals[self.tried] / sums.trials[self.tried]
        self.variances: Floats = _variances(sums)[self.tried] / sums.trials[self.tried]

    def log_likelihood(self, centres: Floats, spread: float) -> Floats:
        """Return the normal log-likelihood, up to a constant."""
        total = self.variances + spread**2
        squares = (self.places - centres[:, None]) ** 2 / total
        return np.asarray(-0.5 * (np.log(total) + squares).sum(axis=1))

    def draw(self, centres: Floats, spreads: Floats, generator: np.random.Generator) -> Floats:
        """Draw from the normal posteriors, between the bounds of rewards."""
        centre, variance = centres[:, None], np.square(spreads)[:, None]
        share = variance / (variance + self.variances)
        noise = generator.standard_normal((centres.size, self.tried.size))
        means = centre + np.sqrt(variance) * noise
        expected = share * self.places + (1.0 - share) * centre
        means[:, self.tried] = expected + np.sqrt(share * self.variances) * noise[:, self.tried]
        return np.clip(means, self.family.low, self.family.high)


def _variances(sums: Sums) -> Floats:
    """Return the variance of a reward of each arm, shrunk towards that of the group if trials are few."""
    family, trials = sums.family, np.maximum(sums.trials, 1.0)
    least = 1e-12 * (family.high - family.low) ** 2
    means = sums.totals / trials
    if sums.squares is None:
        return np.asarray((means - family.low) * (family.high - means)) + least
    apart = np.maximum(sums.squares - trials * means**2, 0.0)
    pooled = apart.sum() / max(sums.trials.sum(), 1.0)
    return np.asarray((apart + _SHARED_REWARDS * pooled) / (trials + _SHARED_REWARDS)) + least


def observed_groups(history: History) -> tuple[Sequence[Group], Scale]:
    """Return the observations of each group, and the scale of means."""
    if not isinstance(history.family, Bounded):
        parts = history.partition.members
        return [Rates(history.trials[part].astype(float), history.totals[part]) for part in parts], _LOG_ODDS
    low, high = history.family.low, history.family.high
    groups = [Rewards(sums) for sums in history.sums()]
    places = np.concatenate([group.places for group in groups])
    unit = 0.25 * (high - low)
    if places.size:
        error = math.sqrt(float(np.mean(np.concatenate([group.variances for group in groups]))))
        unit = max(float(places.std()), error)
    return groups, Scale(low, high, 0.5 * (low + high), 0.5 * (high - low), unit)
