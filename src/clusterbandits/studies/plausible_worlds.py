r"""Worlds that a history leaves plausible: means drawn from what it says of every arm and every group.

Arms of a group are taken to be drawn alike, from a Beta law with mean m and spread σ (its standard deviation
is :math:`σ \sqrt{m (1 - m)}`), m and σ uniform on [0, 1]. Arms then lend each other strength: without that,
means drawn arm by arm would spread wider than the estimates, which spread wider than the truth already.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.studies.history import History

    Floats = NDArray[np.float64]

_SPREADS = np.geomspace(0.002, 0.95, 48)
_CELLS = 41
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
    for members in history.partition.members:
        trials = history.trials[members].astype(float)
        successes = history.successes[members].astype(float)
        centre, pseudo = _draw_laws(trials, successes, count, generator)
        ups = (centre * pseudo)[:, None] + successes
        downs = ((1 - centre) * pseudo)[:, None] + trials - successes
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
    terms = betaln(ups + successes, downs + trials - successes) - betaln(ups, downs)
    return np.asarray(terms.sum(axis=1))
