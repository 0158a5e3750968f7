r"""Worlds that a history leaves plausible: means drawn from what it says of every arm and every group.

Arms of a group are taken to be drawn alike, from a Beta law with mean m and spread σ (its standard deviation
is :math:`σ \sqrt{m (1 - m)}`), m and σ uniform on [0, 1]. Arms then lend each other strength: without that,
means drawn arm by arm would spread wider than the estimates, which spread wider than the truth already.

For other rewards the law is normal, with any mean and a spread that is uniform up to high − low, and so is
the mean of an arm's rewards, with the variance that they show. What a world pays is then drawn from the
rewards of the group, tilted so that they have the world's mean; where these are not known, it is low or high.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln

from clusterbandits.distributions import Distribution
from clusterbandits.families import Bounded
from clusterbandits.instance import Instance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.families import Bernoulli
    from clusterbandits.studies.history import History
    from clusterbandits.studies.mean_bounds import Sums

    Floats = NDArray[np.float64]

_SPREADS = np.geomspace(0.002, 0.95, 48)
_CELLS = 41
#: Of a normal law, as shares of high − low.
_NORMAL_SPREADS = np.geomspace(1e-5, 1.0, 96)
#: The most values that stand for the rewards of a group, and the steepest tilt of them.
_VALUES, _STEEPEST = 2000, 1e15
#: Rewards as different as two of the group's count in the variance of an arm.
_SHARED_REWARDS = 2.0
#: How far the cells reach, in standard deviations of m.
_REACH = 8.0


def plausible_means(history: History, count: int, generator: np.random.Generator) -> Floats:
    """Return the means of every arm in so many worlds, ``[world, arm]``, drawn from their posterior.

    Parameters
    ----------
    history
        What was tried.
    count
        The number of worlds.
    generator
        Draws them.

    Examples
    --------
    >>> from clusterbandits.studies.history import read_history
    >>> rows = {"arm": ["a", "b"], "group": [1, 1], "trials": [1000, 0], "successes": [300, 0]}
    >>> means = plausible_means(read_history(rows), 4000, np.random.default_rng(0))
    >>> means.mean(axis=0).round(2).tolist(), means.std(axis=0).round(2).tolist()
    ([0.3, 0.36], [0.01, 0.25])
    """
    means = np.empty((count, len(history.arms)))
    if isinstance(history.family, Bounded):
        for sums, members in zip(history.sums(), history.partition.members, strict=True):
            means[:, members] = _bounded_means(sums, count, generator)
        return means
    for members in history.partition.members:
        trials = history.trials[members].astype(float)
        successes = history.successes[members].astype(float)
        centre, pseudo = _draw_laws(trials, successes, count, generator)
        ups = (centre * pseudo)[:, None] + successes
        downs = ((1 - centre) * pseudo)[:, None] + (trials - successes)
        means[:, members] = generator.beta(ups, downs)
    return means


def _draw_laws(
    trials: Floats, successes: Floats, count: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the mean and the pseudo-trials, 1/σ² - 1, of a group's Beta law in every world."""
    lows, steps = np.array([_cells(trials, successes, spread) for spread in _SPREADS]).T
    weights = np.array(
        [
            _log_likelihood(trials, successes, low + (np.arange(_CELLS) + 0.5) * step, spread)
            + math.log(step * spread)  # the grid of spreads is geometric, their prior uniform
            for low, step, spread in zip(lows, steps, _SPREADS, strict=True)
        ]
    )
    chances = np.exp(weights - weights.max()).ravel()
    chosen = generator.choice(chances.size, size=count, p=chances / chances.sum())
    row, cell = np.divmod(chosen, _CELLS)
    centre = lows[row] + (cell + generator.random(count)) * steps[row]
    return centre, 1 / _SPREADS[row] ** 2 - 1


def _cells(trials: Floats, successes: Floats, spread: float) -> tuple[float, float]:
    """Return where the cells for m begin and how wide they are, around what m can be for a spread."""
    tried = trials > 0
    weights = 1 / ((1 - spread**2) / trials[tried] + spread**2)
    known = float(weights.sum())
    centre = (float(weights @ (successes[tried] / trials[tried])) + 1) / (known + 2)
    reach = _REACH * math.sqrt(centre * (1 - centre) / (known + 3))
    low, high = max(0.0, centre - reach), min(1.0, centre + reach)
    return low, (high - low) / _CELLS


def _log_likelihood(trials: Floats, successes: Floats, centres: Floats, spread: float) -> Floats:
    """Return the beta-binomial log-likelihood of a group for every m, up to what does not depend on it."""
    pseudo = 1 / spread**2 - 1
    ups, downs = (pseudo * centres)[:, None], (pseudo * (1 - centres))[:, None]
    terms = betaln(ups + successes, downs + (trials - successes)) - betaln(ups, downs)
    return np.asarray(terms.sum(axis=1))


def _bounded_means(sums: Sums, count: int, generator: np.random.Generator) -> Floats:
    """Return the means of a group's arms in so many worlds, for rewards that are not 0 or 1."""
    family = sums.family
    tried, width = sums.trials > 0, family.high - family.low
    known = Normal(sums.totals[tried] / sums.trials[tried], _variances(sums)[tried] / sums.trials[tried])
    spreads = width * _NORMAL_SPREADS
    # The grid of spreads is geometric, their prior uniform.
    weights = np.array([known.log_likelihood(spread) + math.log(spread) for spread in spreads])
    chances = np.exp(weights - weights.max())
    chosen = spreads[generator.choice(spreads.size, size=count, p=chances / chances.sum())][:, None]
    if tried.any():
        centre, error = known.centre(chosen)
        centre = centre + error * generator.standard_normal((count, 1))
    else:
        centre = family.low + width * generator.random((count, 1))
    means = centre + chosen * generator.standard_normal((count, sums.trials.size))
    share = chosen**2 / (chosen**2 + known.variances)
    drawn = share * known.means + (1 - share) * centre
    drawn += np.sqrt(share * known.variances) * generator.standard_normal(drawn.shape)
    means[:, tried] = drawn
    return np.clip(means, family.low, family.high)


class Normal(NamedTuple):
    """Means of arms that were estimated with these variances."""

    means: Floats
    variances: Floats

    def centre(self, spread: Any) -> tuple[Floats, Floats]:
        """Return the mean of the law of the arms for its spread, and its standard error."""
        weights = 1 / (self.variances + spread**2)
        total = weights.sum(axis=-1, keepdims=True)
        return (weights * self.means).sum(axis=-1, keepdims=True) / total, 1 / np.sqrt(total)

    def log_likelihood(self, spread: float) -> float:
        """Return the log-likelihood of a spread, with the mean of the law integrated out."""
        if not self.means.size:
            return 0.0
        (centre,), (error,) = self.centre(spread)
        total = self.variances + spread**2
        return float(math.log(error) - 0.5 * np.sum(np.log(total) + (self.means - centre) ** 2 / total))


def _variances(sums: Sums) -> Floats:
    """Return the variance of a reward of every arm, to which the group adds a little where trials are few."""
    family, trials = sums.family, np.maximum(sums.trials, 1.0)
    means = sums.totals / trials
    if sums.squares is None:
        return np.asarray((means - family.low) * (family.high - means)) + _least_variance(family)
    apart = np.maximum(sums.squares - trials * means**2, 0.0)
    pooled = apart.sum() / max(sums.trials.sum(), 1.0)
    return np.asarray((apart + _SHARED_REWARDS * pooled) / (trials + _SHARED_REWARDS)) + _least_variance(
        family
    )


def _least_variance(family: Bernoulli | Bounded) -> float:
    return float(1e-12 * (family.high - family.low) ** 2)


def world_instance(history: History, means: Floats) -> Instance:
    """Return the problem of a world with these means."""
    if history.rewards is None:
        return Instance(means, labels=history.partition, family=history.family)
    paid = np.empty(means.size, dtype=object)
    for part in history.partition.members:
        values, shares = _shown(np.concatenate([history.rewards[arm] for arm in part]))
        for arm in part:
            paid[arm] = tilted(values, shares, float(means[arm]))
    return Instance(list(paid), labels=history.partition, family=history.family)


class Weighted(Distribution):
    """Rewards drawn from some values with given probabilities.

    Examples
    --------
    >>> Weighted([0.0, 5.0], [0.75, 0.25]).mean
    1.25
    """

    kind = "weighted"

    def __init__(self, values: Any, chances: Any) -> None:
        self.values: Floats = np.array(values, dtype=np.float64)
        self.chances: Floats = np.array(chances, dtype=np.float64)
        self.mean = math.fsum(self.values * self.chances)
        self._sums = np.cumsum(self.chances)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw so many rewards."""
        places = np.searchsorted(self._sums, rng.random(count) * self._sums[-1], side="right")
        return np.asarray(self.values[np.minimum(places, self.values.size - 1)])

    def parameters(self) -> dict[str, Any]:
        """Return the values and their probabilities."""
        return {"values": self.values.tolist(), "chances": self.chances.tolist()}

    def __repr__(self) -> str:
        return f"<Weighted: {self.values.size} values, mean {self.mean:g}>"


def _shown(rewards: Floats) -> tuple[Floats, Floats]:
    """Return the values of rewards and their shares; neighbours are averaged where there are too many."""
    values, counts = np.unique(rewards, return_counts=True)
    if values.size > _VALUES:
        parts = np.array_split(np.sort(rewards), _VALUES)
        values, counts = np.array([part.mean() for part in parts]), np.array([part.size for part in parts])
    return values, counts / max(counts.sum(), 1)


def tilted(values: Floats, shares: Floats, mean: float) -> Weighted:
    """Return the values with probabilities proportional to share × exp(λ value), so that they have a mean.

    A mean that no value reaches is a value of its own. Where λ would be too large for floats, two neighbours
    of the mean are left.

    Examples
    --------
    >>> tilted(np.array([0.0, 1.0, 4.0]), np.array([0.5, 0.25, 0.25]), 2.0).chances.round(3).tolist()
    [0.338, 0.216, 0.446]
    """
    if not values.size or not values[0] < mean < values[-1]:
        return Weighted([mean], [1.0])
    scaled = (values - mean) / (values[-1] - values[0])

    def weights(tilt: float) -> Floats:
        raised = shares * np.exp(tilt * scaled - np.max(tilt * scaled))
        return np.asarray(raised / raised.sum())

    def excess(tilt: float) -> float:
        return float(weights(tilt) @ scaled)

    end = math.copysign(1.0, -excess(0.0))
    while excess(end) * end < 0.0 and abs(end) < _STEEPEST:
        end *= 4.0
    if excess(end) * end < 0.0:
        place = int(np.searchsorted(values, mean))
        share = (mean - values[place - 1]) / (values[place] - values[place - 1])
        return Weighted(values[place - 1 : place + 1], [1.0 - share, share])
    low, high = sorted((0.0, end))
    tilt = brentq(excess, low, high, xtol=1e-14 * abs(end), rtol=1e-14)
    return Weighted(values, weights(float(tilt)))
