r"""Checks of the assumptions of replay: the arms of the log were drawn at random, with its propensities.

Every test refuses a valid log with a probability of about 10⁻⁶. Propensities are tested by Σ 1{arm k}/p. Its
expectation is the number of rows if p is right and every visitor could have been shown arm k; the empirical
Bernstein inequality bounds its deviation.

References
----------
Maurer and Pontil, Empirical Bernstein bounds and sample-variance penalization, COLT 2009.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from clusterbandits.validate import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.studies.columns import Batch, Source
    from clusterbandits.studies.log_survey import Survey

#: The probability of refusing a valid log.
LEVEL = 1e-6


def check_chances(source: Source, found: Survey) -> None:
    """Refuse a log whose arms were not shown as often as its propensities say."""
    if found.least is None:
        _check_uniform(source, found)
    else:
        _check_propensities(source, found, found.least)


def _check_uniform(source: Source, found: Survey) -> None:
    if stats.chisquare(found.counts).pvalue < LEVEL:
        rare, frequent = int(found.counts.argmin()), int(found.counts.argmax())
        shares = [
            f"{found.counts[arm] / found.rows:.3g} of them {found.arms[arm]!r}" for arm in (frequent, rare)
        ]
        rule = "all arms must be shown equally often, or a column 'propensity' must contain the "
        rule += "probability of each row's arm"
        raise source.refuse(rule, f"There are {found.rows:,} rows, {' and '.join(shares)}")


def _check_propensities(source: Source, found: Survey, least: NDArray[np.float64]) -> None:
    """Compare Σ 1{arm}/p over the rows with their number."""
    average = found.weights / found.rows
    wrong = np.abs(average - 1.0) - _room(found, least)
    arm = int(wrong.argmax())
    if wrong[arm] > 0.0:
        rule = (
            "propensities p must agree with how often arms are shown: Σ 1/p over the rows of an arm, divided "
        )
        rule += "by the number of all rows, must be about 1"
        raise source.refuse(rule, f"It is {average[arm]:.3g} for arm {found.arms[arm]!r}")


def _room(found: Survey, least: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest deviation from 1 of the average of 1{arm}/p that chance explains."""
    n = found.rows
    average = found.weights / n
    variance = np.maximum(found.squared_weights / n - average * average, 0.0) * n / max(n - 1, 1)
    doubt = math.log(2.0 * len(found.arms) / LEVEL)
    return np.asarray(np.sqrt(2.0 * variance * doubt / n) + 7.0 * doubt / (3.0 * least * max(n - 1, 1)))


def unnoticed(found: Survey) -> float | None:
    """Return the share of visitors who may never see some arm without the test detecting it.

    None for a log without propensities, which is assumed to be uniform.
    """
    return None if found.least is None else min(1.0, float(_room(found, found.least).max()))


class Order:
    """Tests whether rows are drawn independently: one row in K then repeats the arm of the row before."""

    def __init__(self, arms: int) -> None:
        self._arms, self._last = arms, -1
        self._repeats, self.rows = 0, 0

    def take(self, arms: NDArray[np.int64]) -> None:
        """Count the repeats in the next usable rows."""
        if arms.size:
            self._repeats += int((arms[1:] == arms[:-1]).sum()) + int(arms[0] == self._last)
            self._last = int(arms[-1])
            self.rows += arms.size

    def check(self, source: Source) -> None:
        """Refuse a log in which arms alternate or come in blocks."""
        pairs, repeats = self.rows - 1, self._repeats
        if pairs < 1:
            return
        law = stats.binom(pairs, 1.0 / self._arms)
        if 2.0 * min(law.cdf(repeats), law.sf(repeats - 1)) < LEVEL:
            rule = f"arms must be drawn independently, so that one row in {self._arms} repeats the arm of "
            rule += "the row before"
            raise source.refuse(rule, f"{repeats:,} of {pairs:,} rows do")


class Clock:
    """Checks that time never decreases.

    Times are compared as numbers if the first one is a number, and otherwise as text: ISO 8601 sorts by time.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._last: Any = None
        self._in_numbers = False

    def check(self, batch: Batch) -> None:
        """Refuse a batch with a time before the previous one."""
        text = batch.text("time")
        if self._last is None:
            self._in_numbers = _is_number(text[0].as_py())
        times = self._as_numbers(text, batch.first) if self._in_numbers else text
        last = times[0].as_py() if self._last is None else self._last
        before = pa.concat_arrays([pa.array([last], times.type), times[:-1]])
        backwards = pc.index(pc.less(times, before), True).as_py()
        if backwards >= 0:
            rule = f"times (column '{self._source.title('time')}') must never decrease"
            previous = text[backwards - 1].as_py() if backwards else str(self._last)
            found = f"{shown(text[backwards].as_py())} after {shown(previous)}"
            raise self._source.refuse_row(batch.first + backwards, rule, found)
        self._last = times[-1].as_py()

    def _as_numbers(self, text: Any, first: int) -> Any:
        try:
            times = pc.cast(text, pa.float64())
        except pa.ArrowInvalid:
            values = [float(one) if _is_number(one) else math.nan for one in text.to_pylist()]
            times = pa.array(values, pa.float64())
        wrong = np.flatnonzero(~np.isfinite(times.to_numpy()))
        if wrong.size:
            place = int(wrong[0])
            rule = "hold numbers in all rows, as in the first one"
            raise self._source.refuse_cell(first + place, "time", rule, text[place].as_py())
        return times


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
