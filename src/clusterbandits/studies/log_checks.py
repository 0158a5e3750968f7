r"""Whether a log can be trusted to be what replay needs: arms drawn at random, with the chances it states.

Every test refuses a sound log with a chance of about 10⁻⁶. Propensities are tested by Σ 1{arm k}/p, which
is the number of rows on average if p is right and every visitor could have been shown arm k; the empirical
Bernstein inequality says how far off it may be.

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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.studies.columns import Batch, Source
    from clusterbandits.studies.log_survey import Survey

#: The chance of refusing a log that is what it should be.
LEVEL = 1e-6


def check_chances(source: Source, found: Survey) -> None:
    """Refuse a log whose arms were not shown as often as they must have been."""
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
        raise source.refuse(
            "show all arms equally often, or have a column 'propensity' with the chance of each row's arm",
            f"{found.rows:,} rows, {' and '.join(shares)}",
        )


def _check_propensities(source: Source, found: Survey, least: NDArray[np.float64]) -> None:
    """Compare Σ 1{arm}/p over the rows with their number."""
    average = found.weights / found.rows
    wrong = np.abs(average - 1.0) - _room(found, least)
    arm = int(wrong.argmax())
    if wrong[arm] > 0.0:
        raise source.refuse(
            "have propensities that agree with how often arms are shown, 1/p averaging 1 for every arm",
            f"{average[arm]:.3g} for {found.arms[arm]!r}",
        )


def _room(found: Survey, least: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far from 1 the average of 1{arm}/p may be for chance alone."""
    n = found.rows
    average = found.weights / n
    variance = np.maximum(found.squared_weights / n - average * average, 0.0) * n / max(n - 1, 1)
    doubt = math.log(2.0 * len(found.arms) / LEVEL)
    return np.asarray(np.sqrt(2.0 * variance * doubt / n) + 7.0 * doubt / (3.0 * least * max(n - 1, 1)))


def unnoticed(found: Survey) -> float | None:
    """Return the share of visitors that may have had no chance to see some arm without its being noticed.

    None for a log without propensities, which is believed to be uniform.
    """
    return None if found.least is None else min(1.0, float(_room(found, found.least).max()))


class Order:
    """Whether rows are drawn one by one: a row then shows the arm of the row before it once in K times."""

    def __init__(self, arms: int) -> None:
        self._arms, self._last = arms, -1
        self._repeats, self.rows = 0, 0

    def take(self, arms: NDArray[np.int64]) -> None:
        """Look at the next rows that may be used."""
        if arms.size:
            self._repeats += int((arms[1:] == arms[:-1]).sum()) + int(arms[0] == self._last)
            self._last = int(arms[-1])
            self.rows += arms.size

    def check(self, source: Source) -> None:
        """Refuse a log in which arms take turns, or come in blocks."""
        pairs, repeats = self.rows - 1, self._repeats
        if pairs < 1:
            return
        law = stats.binom(pairs, 1.0 / self._arms)
        if 2.0 * min(law.cdf(repeats), law.sf(repeats - 1)) < LEVEL:
            raise source.refuse(
                f"show arms drawn one by one, the arm of the row before in one row of {self._arms}",
                f"it in {repeats:,} of {pairs:,} rows",
            )


class Clock:
    """Sees to it that time never goes backwards.

    Times are numbers if the first one is, and are else compared as text: ISO 8601 sorts by time.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._last: Any = None
        self._in_numbers = False

    def check(self, batch: Batch) -> None:
        """Refuse a batch with a time before the one it follows."""
        text = batch.text("time")
        if self._last is None:
            self._in_numbers = _is_number(text[0].as_py())
        times = self._as_numbers(text, batch.first) if self._in_numbers else text
        last = times[0].as_py() if self._last is None else self._last
        before = pa.concat_arrays([pa.array([last], times.type), times[:-1]])
        backwards = pc.index(pc.less(times, before), True).as_py()
        if backwards >= 0:
            allowed = "times that never go backwards"
            raise self._source.refuse_row(batch.first + backwards, "time", allowed, text[backwards].as_py())
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
            raise self._source.refuse_row(
                first + place, "time", "numbers throughout, as in its first row,", text[place].as_py()
            )
        return times


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
