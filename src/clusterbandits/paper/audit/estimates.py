"""When data decide: means with their errors, and what can be said of them at a stated confidence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from scipy.special import stdtrit

from clusterbandits.simulation.statistics import plus_minus, standard_error

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: The chance, at most, that any of the comparisons behind one verdict is wrong.
LEVEL = 0.05


class Estimate(NamedTuple):
    """A mean, its standard error and the runs it is of."""

    value: float
    error: float
    runs: int

    def __str__(self) -> str:
        return plus_minus(self.value, self.error)

    def minus(self, target: float) -> Estimate:
        """Return how far it is above a number."""
        return self._replace(value=self.value - target)

    def times(self, factor: float) -> Estimate:
        """Return a multiple of it."""
        return self._replace(value=factor * self.value, error=abs(factor) * self.error)

    def sign(self, cases: int = 1) -> int:
        """Return 1 or -1 where it is certainly above or below 0, and 0 where the data do not tell.

        With several ``cases`` behind one verdict, each must be the surer (Bonferroni).
        """
        reach = self.reach(cases)
        return int(self.value > reach) - int(self.value < -reach)

    def reach(self, cases: int = 1) -> float:
        """Return half the width of its confidence interval: Student's t times the error."""
        if self.runs < 2 or not self.error > 0:
            # Runs that agree to the last bit tell nothing of those that do not.
            return math.inf
        return float(stdtrit(self.runs - 1, 1 - LEVEL / 2 / max(cases, 1)) * self.error)


def estimate(values: Floats) -> Estimate:
    """Return the mean of values, one for every run.

    Examples
    --------
    >>> import numpy as np
    >>> estimate(np.array([2.0, 2.1, 2.2])).sign(), estimate(np.array([-1.0, 1.0])).sign()
    (1, 0)
    """
    return Estimate(float(values.mean()), float(standard_error(values)), len(values))


def apart(first: Floats, second: Floats, *, paired: bool) -> Estimate:
    """Return how much larger the first mean is: run by run where both met the same rewards."""
    if paired:
        return estimate(first - second)
    return difference(estimate(first), estimate(second))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return how much larger the first of two independent estimates is."""
    error = math.hypot(one.error, other.error)
    return Estimate(one.value - other.value, error, min(one.runs, other.runs))


class Cases(NamedTuple):
    """Cases of a claim, sorted by what the data say."""

    holding: list[str]
    failing: list[str]
    undecided: list[str]


def sort_cases(signs: dict[str, int], wanted: int) -> Cases:
    """Sort cases by whether an estimate has the sign that is claimed.

    Examples
    --------
    >>> sort_cases({"Figure 2": -1, "Figure 3": 0}, wanted=-1)
    Cases(holding=['Figure 2'], failing=[], undecided=['Figure 3'])
    """
    return Cases(
        [name for name, sign in signs.items() if sign == wanted],
        [name for name, sign in signs.items() if sign == -wanted],
        [name for name, sign in signs.items() if sign == 0],
    )


def listed(parts: Collection[str]) -> str:
    """Return parts as a sentence lists them.

    Examples
    --------
    >>> listed(["2", "3", "8"]), listed(["2"])
    ('2, 3 and 8', '2')
    """
    names = list(parts)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def sentence(text: str) -> str:
    """Return a text with a capital letter first and a full stop.

    Examples
    --------
    >>> sentence("so in Figure 2")
    'So in Figure 2.'
    """
    return f"{text[:1].upper()}{text[1:]}."
