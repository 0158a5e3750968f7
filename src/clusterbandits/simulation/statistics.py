"""Statistics over runs: checks of counts, standard errors, bootstrap bands, slopes, and number formats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterbandits.tables import cell
from clusterbandits.validate import Described, as_float, invalid, unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

#: The number of weights drawn at a time (32 MB).
_CHUNK = 4_000_000


class Difference(NamedTuple):
    """A mean difference with its standard error, which is NaN for a single run."""

    value: float
    error: float

    def __str__(self) -> str:
        return plus_minus(self.value, self.error)


class Slope(NamedTuple):
    """Regret per log n between two rounds, with its standard error.

    Examples
    --------
    >>> print(Slope(3.6789, 0.2512, 10**8, 10**10))
    3.68 ± 0.25 (1e8 to 1e10)
    """

    value: float
    error: float
    since: int
    until: int

    def __str__(self) -> str:
        return f"{plus_minus(self.value, self.error)} ({round_text(self.since)} to {round_text(self.until)})"


def standard_error(values: Floats) -> Floats:
    """Return the standard error of the mean over the first axis; NaN for a single value.

    Examples
    --------
    >>> standard_error(np.array([[1.0], [3.0]])).tolist()
    [1.0]
    """
    if len(values) == 1:
        return np.full(values.shape[1:], np.nan)
    # Relative to the first run, so that the error of equal runs is exactly 0.
    return np.asarray((values - values[0]).std(axis=0, ddof=1) / math.sqrt(len(values)))


def bootstrap_means(values: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    """Return the means of rows drawn with replacement, one row per resample."""
    runs = len(values)
    spread = (values - values[0]) / runs
    means = np.empty((resamples, values.shape[1]))
    step = max(1, _CHUNK // runs)
    for start in range(0, resamples, step):
        block = means[start : start + step]
        weights = generator.multinomial(runs, np.full(runs, 1 / runs), size=len(block))
        np.matmul(weights.astype(float), spread, out=block)
    means += values[0]
    return means


def difference(values: Floats) -> Difference:
    """Return the mean of the differences per run, and its standard error."""
    return Difference(float(values.mean()), float(standard_error(values)))


def slope(regret: Floats, checkpoints: Ints, first: int, last: int) -> Slope:
    """Return the mean increase of regret per log n between two checkpoints; NaN if they are the same."""
    since, until = int(checkpoints[first]), int(checkpoints[last])
    if since == until:
        return Slope(math.nan, math.nan, since, until)
    rate = (regret[:, last] - regret[:, first]) / math.log(until / since)
    return Slope(*difference(rate), since, until)


def span(checkpoints: Ints, since: object, until: object) -> tuple[int, int]:
    """Return the positions of the checkpoints nearest to two rounds, in increasing order.

    By default, ``until`` is the horizon and ``since`` the first checkpoint in the two decades before it.

    Examples
    --------
    >>> span(np.array([1, 10, 100, 1000]), 40, None), span(np.array([1, 10, 100, 1000]), None, None)
    ((2, 3), (1, 3))
    """
    last = len(checkpoints) - 1 if until is None else _nearest("until", checkpoints, until)
    if since is None:
        first = int(np.searchsorted(checkpoints, checkpoints[last] / 100))
        return max(0, min(first, last - 1)), last
    first = _nearest("since", checkpoints, since)
    if first >= last:
        allowed = f"nearest to a checkpoint before {checkpoints[last]}"
        given = Described(f"{since}, nearest to {checkpoints[first]}")
        raise invalid("since", "Result.slope", allowed, given)
    return first, last


def _nearest(parameter: str, checkpoints: Ints, given: object) -> int:
    round_number = as_float(given)
    if not 1 <= round_number <= checkpoints[-1]:
        raise invalid(parameter, "Result.slope", f"a round from 1 to {checkpoints[-1]}", given)
    return int(np.abs(np.log(checkpoints) - math.log(round_number)).argmin())


def plus_minus(value: float, error: float) -> str:
    """Return a value and its error, rounded to the precision of the error; the value alone if it is unknown.

    Examples
    --------
    >>> plus_minus(1234.5678, 0.25), plus_minus(12.3, float("nan")), plus_minus(1.2345e9, 3.21e7)
    ('1234.57 ± 0.25', '12.30', '1.234e+09 ± 3.2e+07')
    """
    if math.isnan(error):
        return cell(value)
    if error == 0 or abs(value) >= 1e6 or not 1e-4 <= error < 1e6:
        return f"{cell(value)} ± {error:.2g}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def round_text(number: int) -> str:
    """Return a round number in a readable format, without loss of digits.

    Examples
    --------
    >>> round_text(1000), round_text(25_000_000), round_text(1_234_567)
    ('1000', '2.5e7', '1,234,567')
    """
    if number < 10_000:
        return str(number)
    mantissa, exponent = f"{number:.2e}".split("e")
    power = int(exponent)
    short = mantissa.rstrip("0").rstrip(".")
    return f"{short}e{power}" if float(f"{mantissa}e{power}") == number else f"{number:,}"


def count_text(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, in the singular or plural."""
    return f"{round_text(number)} {one if number == 1 else many or one + 's'}"


def after_history(trials: int, unit: str = "run") -> str:
    """Return the sentence that states the number of trials in the history."""
    return f"Every {unit} begins after a history of {count_text(trials, 'trial')}."


def _integers(parameter: str, allowed: str, values: object) -> Ints:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise invalid(parameter, "Result", allowed, Described("lists of different lengths")) from error
    if array.dtype.kind not in "iu":
        raise invalid(parameter, "Result", allowed, Described(f"values of type {array.dtype}"))
    kept = array.astype(np.int64, copy=False).view()
    kept.setflags(write=False)
    return kept


def read_checkpoints(values: object) -> Ints:
    """Return checked round numbers: increasing, from 1 on."""
    allowed = "a list of increasing round numbers from 1 on"
    rounds = _integers("checkpoints", allowed, values)
    if rounds.ndim != 1 or not rounds.size or rounds[0] < 1 or (np.diff(rounds) < 1).any():
        raise invalid("checkpoints", "Result", allowed, rounds.tolist())
    return rounds


def read_pulls(values: object, policies: int, checkpoints: Ints, arms: int) -> Ints:
    """Return checked pull counts as a read-only array: right shape, not decreasing, one pull per round."""
    allowed = f"whole numbers of shape ({policies}, runs, {len(checkpoints)}, {arms}), for at least one run"
    pulls = _integers("pulls", allowed, values)
    runs = pulls.shape[1] if pulls.ndim == 4 else 0
    if not runs or pulls.shape != (policies, runs, len(checkpoints), arms):
        raise invalid("pulls", "Result", allowed, Described(f"shape {pulls.shape}"))
    if (pulls[:, :, 0] < 0).any() or (pulls[:, :, 1:] < pulls[:, :, :-1]).any():
        raise invalid("pulls", "Result", "counts that never decrease", Described("counts that do"))
    wrong = np.argwhere(pulls.sum(axis=3) != checkpoints)
    if wrong.size:
        policy, run, step = wrong[0].tolist()
        given = Described(f"{pulls[policy, run, step].sum()} after round {checkpoints[step]}")
        raise invalid("pulls", "Result", "counts that add up to the number of rounds", given)
    return pulls


def read_runs(values: object, count: int) -> Ints:
    """Return the numbers of the runs; by default they count from 0."""
    allowed = f"a different number for each of {count_text(count, 'run')}"
    runs = _integers("runs", allowed, np.arange(count) if values is None else values)
    if not runs.size:
        return np.arange(count)
    if runs.shape != (count,) or len(np.unique(runs)) < count:
        raise invalid("runs", "Result", allowed, runs.tolist())
    return runs


def read_alarms(values: object, policies: int, runs: int) -> tuple[Ints, ...]:
    """Return the rounds of alarms, one array per policy; by default, no alarms."""
    arrays = (
        values if isinstance(values, tuple) and values else (np.zeros((runs, 0), dtype=np.int64),) * policies
    )
    allowed = f"one table for each of {policies} policies with a row for each of {count_text(runs, 'run')}"
    if len(arrays) != policies:
        raise invalid("alarm_rounds", "Result", allowed, Described(f"{len(arrays)} tables"))
    tables = tuple(_integers("alarm_rounds", allowed, one) for one in arrays)
    for one in tables:
        if one.ndim != 2 or one.shape[0] != runs or (one < 0).any():
            raise invalid("alarm_rounds", "Result", allowed, Described(f"shape {one.shape}"))
    return tables


def place_of(policy: str | int, labels: tuple[str, ...], owner: str) -> int:
    """Return the position of a policy given by its label or position."""
    if isinstance(policy, str) and policy in labels:
        return labels.index(policy)
    if not isinstance(policy, str) and policy in range(len(labels)):
        return int(policy)
    raise unknown("policy", policy, labels, "in the results", owner=owner)
