r"""Plausible means: draws from their posterior in a hierarchical model of arms, groups and all groups.

Means vary on three levels. Group centres are normal around an overall centre; arms vary around the centre of
their group, with a spread; the spreads of most groups are similar. Centre, standard deviation and spread of
the upper levels are unknown and are drawn from their posterior on a grid. So arms and groups share
information: means drawn separately per arm would vary even more than the estimates, which already vary more
than the true means, and the best arm would stand out too much.

For rewards 0 or 1 the scale is that of log-odds, and the means of a group with centre m and spread s have the
Beta distribution of :math:`1 / (s^2 (1 - m))` successes and :math:`1 / (s^2 m)` failures, whose log-odds have
a standard deviation of about s. For other rewards the scale is that of the rewards; the means of a group are
normal, and so is the mean of an arm's rewards, with the observed variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp

from clusterbandits.studies.observed_groups import observed_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clusterbandits.studies.history import History
    from clusterbandits.studies.observed_groups import Group, Scale

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

#: Spreads of arms and standard deviations of group centres, in units of the scale. Both have a half-Cauchy
#: prior with a scale of one unit (Gelman 2006).
_SPREADS = np.geomspace(0.01, 3.0, 28)
_DEVIATIONS = np.geomspace(0.05, 4.0, 12)
#: The log of a group's spread is Cauchy around that of the common spread, with this scale.
_APART = 0.2
#: Overall centres, in standard deviations of their distribution.
_STEPS = np.linspace(-4.0, 4.0, 15)
#: The number of cells for the centre of a group, and their extent: in its standard deviations, and in units
#: beyond the estimates of all arms.
_CELLS, _REACH, _BEYOND = 48, 7.0, 6.0
#: The spread for which the grid of overall centres is computed.
_USUAL_SPREAD = 0.5


def plausible_means(history: History, count: int, generator: np.random.Generator) -> Floats:
    """Return means of all arms in ``count`` worlds, ``[world, arm]``, drawn from their posterior.

    Parameters
    ----------
    history
        Trials and rewards of each arm.
    count
        Number of worlds.
    generator
        NumPy random generator.

    Examples
    --------
    >>> from clusterbandits.studies.history import read_history
    >>> rows = {"arm": ["a", "b"], "group": [1, 1], "trials": [1000, 0], "successes": [300, 0]}
    >>> means = plausible_means(read_history(rows), 4000, np.random.default_rng(0))
    >>> means.mean(axis=0).round(2).tolist(), means.std(axis=0).round(2).tolist()
    ([0.3, 0.33], [0.01, 0.21])
    """
    groups, scale = observed_groups(history)
    levels = _Levels.laid_out(groups, scale)
    tables = [_table(group, levels) for group in groups]
    upper, common = levels.draw(tables, count, generator)
    means = np.empty((count, len(history.arms)))
    for group, table, members in zip(groups, tables, history.partition.members, strict=True):
        centres, rows = _draw_centres(table, levels, upper, common, generator)
        means[:, members] = group.draw(centres, levels.spreads[rows], generator)
    return means


@dataclass(frozen=True, eq=False)
class _Levels:
    """The grid of the parameters that groups share."""

    spreads: Floats
    #: [common spread, spread]: the probability of a group's spread.
    alike: Floats
    #: [upper]: overall centres and standard deviations of group centres, and [upper, common] the log prior.
    centres: Floats
    deviations: Floats
    prior: Floats
    #: The range of group centres.
    low: float
    high: float

    @classmethod
    def laid_out(cls, groups: Sequence[Group], scale: Scale) -> _Levels:
        """Return the grid around the estimates."""
        spreads, deviations = scale.unit * _SPREADS, np.repeat(scale.unit * _DEVIATIONS, _STEPS.size)
        usual = [_centre(group, scale.unit * _USUAL_SPREAD) for group in groups if group.places.size]
        places, errors = np.array(usual).reshape(-1, 2).T
        weights = 1.0 / (errors**2 + np.square(deviations)[:, None])
        known = weights.sum(axis=1) + scale.deviation**-2
        steps = np.tile(_STEPS, _DEVIATIONS.size) / np.sqrt(known)
        centres = (weights @ places + scale.middle * scale.deviation**-2) / known + steps
        logs = np.log(_SPREADS)
        alike = 1.0 / (1.0 + ((logs - logs[:, None]) / _APART) ** 2)
        prior = _half_cauchy(deviations / scale.unit) - 0.5 * np.log(known)
        prior -= 0.5 * ((centres - scale.middle) / scale.deviation) ** 2
        # From the arms, because for some spreads the centre of a group can be anywhere between them.
        arms = np.concatenate([group.places for group in groups])
        ends, beyond = arms if arms.size else np.array([scale.middle]), _BEYOND * scale.unit
        return cls(
            spreads=spreads,
            alike=alike / alike.sum(axis=1, keepdims=True),
            centres=centres,
            deviations=deviations,
            prior=prior[:, None] + _half_cauchy(_SPREADS),
            low=max(scale.low, float(ends.min()) - beyond),
            high=min(scale.high, float(ends.max()) + beyond),
        )

    def draw(self, tables: Sequence[_Table], count: int, generator: np.random.Generator) -> tuple[Ints, Ints]:
        """Return the grid indices of the upper level and of the common spread for each world."""
        weights = self.prior.copy()
        for table in tables:
            top = table.by_spread.max()
            weights += top + np.log(np.exp(table.by_spread - top) @ self.alike.T + 1e-300)
        chances = np.exp(weights - weights.max()).ravel()
        chosen = generator.choice(chances.size, size=count, p=chances / chances.sum())
        upper, common = np.divmod(chosen, self.spreads.size)
        return upper, common


def _half_cauchy(values: Floats) -> Floats:
    """Return the log of the half-Cauchy density on a geometric grid."""
    return np.log(values) - np.log1p(values**2)


def _centre(group: Group, spread: float) -> tuple[float, float]:
    """Return the centre that a group's estimates suggest for a spread, and its standard error."""
    weights = 1.0 / (group.variances + spread**2)
    return float(weights @ group.places / weights.sum()), 1.0 / math.sqrt(float(weights.sum()))


class _Table(NamedTuple):
    """The likelihood of a group."""

    #: [spread]: the first cell for the centre, and the width of cells.
    low: Floats
    step: Floats
    #: [spread, cell]: the log-likelihood, and the log of the cell's width.
    cells: Floats
    #: [upper, spread]: the log-likelihood with the centre integrated out.
    by_spread: Floats


def _table(group: Group, levels: _Levels) -> _Table:
    """Set cells for the centre of a group where its likelihood is large, for each spread, and sum it up."""
    lows, steps = np.array([_cells(group, spread, levels) for spread in levels.spreads]).T
    middles = lows[:, None] + (np.arange(_CELLS) + 0.5) * steps[:, None]
    rows = [group.log_likelihood(*row) for row in zip(middles, levels.spreads, strict=True)]
    cells = np.array(rows) + np.log(steps)[:, None]
    by_spread = [
        logsumexp(row + _log_normal(middle, step, levels.centres, levels.deviations), axis=1)
        for row, middle, step in zip(cells, middles, steps, strict=True)
    ]
    return _Table(lows, steps, cells, np.array(by_spread).T)


def _cells(group: Group, spread: float, levels: _Levels) -> tuple[float, float]:
    """Return the first cell for the centre of a group and the width of cells, for a spread."""
    low, high = levels.low, levels.high
    if group.places.size:
        centre, error = _centre(group, spread)
        low, high = max(low, centre - _REACH * error), min(high, centre + _REACH * error)
    return low, (high - low) / _CELLS


def _log_normal(middles: Floats, steps: Floats | float, centres: Floats, deviations: Floats) -> Floats:
    """Return the log of the normal density of group centres, averaged over cells, ``[centre, cell]``.

    The average over a cell is nearly a normal density that is wider by the variance of the cell.
    """
    variances = (np.square(deviations) + np.square(steps) / 12.0)[:, None]
    return np.asarray(-0.5 * ((middles - centres[:, None]) ** 2 / variances + np.log(variances)))


def _draw_centres(
    table: _Table, levels: _Levels, upper: Ints, common: Ints, generator: np.random.Generator
) -> tuple[Floats, Ints]:
    """Return the centre of a group and the index of its spread for each world."""
    weights = table.by_spread[upper] + np.log(levels.alike[common])
    rows = _choose(weights, generator)
    steps = table.step[rows]
    middles = table.low[rows, None] + (np.arange(_CELLS) + 0.5) * steps[:, None]
    weights = table.cells[rows] + _log_normal(middles, steps, levels.centres[upper], levels.deviations[upper])
    cells = _choose(weights, generator)
    return table.low[rows] + (cells + generator.random(rows.size)) * steps, rows


def _choose(weights: Floats, generator: np.random.Generator) -> Ints:
    """Return one random index per row, given the logs of weights."""
    sums = np.cumsum(np.exp(weights - weights.max(axis=1, keepdims=True)), axis=1)
    return np.asarray((sums < (generator.random(len(sums)) * sums[:, -1])[:, None]).sum(axis=1))
