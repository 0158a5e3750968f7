"""Claims, verdicts, and estimates with their statistical error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from clusterbandits.simulation.statistics import plus_minus, standard_error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from numpy.typing import NDArray

    from clusterbandits.paper.results import PaperResults
    from clusterbandits.tables import Table

    Floats = NDArray[np.float64]

#: The significance level of a verdict, for all its comparisons together.
LEVEL = 0.05


class Verdict(StrEnum):
    """The result of testing a claim; inconclusive if the statistical error is too large for a decision."""

    HOLDS = "holds"
    CONDITION = "holds with a condition"
    FAILS = "does not hold"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Finding:
    """A verdict with the measured numbers: one or two sentences, and a table if there are several cases."""

    verdict: Verdict
    measured: str
    details: Table | None = None


@dataclass(frozen=True)
class Claim:
    """One statement of the paper and its test.

    ``key`` is its identifier, ``where`` its place in the paper, ``says`` the statement in our words, ``test``
    its description. ``check`` computes the finding from the results of a run; no verdict is fixed in advance.
    The claim can be tested if all of ``figures`` and at least one of ``among`` are simulated.
    """

    key: str
    where: str
    says: str
    test: str
    check: Callable[[PaperResults], Finding]
    figures: tuple[int, ...] = ()
    among: tuple[int, ...] = ()

    def applies(self, simulated: Iterable[int]) -> bool:
        """Return whether the claim can be tested with these figures."""
        numbers = set(simulated)
        return set(self.figures) <= numbers and (not self.among or bool(set(self.among) & numbers))


@dataclass(frozen=True)
class Entry:
    """A claim with its finding."""

    claim: Claim
    finding: Finding

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "key": self.claim.key,
            "where": self.claim.where,
            "says": self.claim.says,
            "test": self.claim.test,
            "measured": self.finding.measured,
            "details": None if self.finding.details is None else self.finding.details.records(),
            "verdict": str(self.finding.verdict),
        }


def audit(claims: Iterable[Claim], paper: PaperResults) -> tuple[Entry, ...]:
    """Test all claims whose figures are simulated, in the order of the paper."""
    return tuple(Entry(claim, claim.check(paper)) for claim in claims if claim.applies(paper.figures))


def by_cases(
    holding: Collection[object],
    failing: Collection[object],
    inconclusive: Collection[object],
    *,
    universal: bool = False,
) -> Verdict:
    """Return the verdict on a claim about several cases: with a condition if only some cases hold.

    A ``universal`` claim, such as a theorem, does not hold if a single case fails.
    """
    if failing:
        return Verdict.CONDITION if holding and not universal else Verdict.FAILS
    return Verdict.INCONCLUSIVE if inconclusive else Verdict.HOLDS


class Estimate(NamedTuple):
    """A mean, its standard error and the number of runs."""

    value: float
    error: float
    runs: int

    def __str__(self) -> str:
        return plus_minus(self.value, self.error)

    def minus(self, target: float) -> Estimate:
        """Return the estimate minus a number."""
        return self._replace(value=self.value - target)

    def times(self, factor: float) -> Estimate:
        """Return the estimate times a number."""
        return self._replace(value=factor * self.value, error=abs(factor) * self.error)

    def sign(self, cases: int = 1) -> int:
        """Return 1 or -1 if the estimate is significantly above or below 0, and 0 otherwise.

        The level is divided by the number of ``cases`` of a verdict (Bonferroni).
        """
        reach = self.reach(cases)
        return int(self.value > reach) - int(self.value < -reach)

    def reach(self, cases: int = 1) -> float:
        """Return half the width of the confidence interval: Student's t times the standard error."""
        if self.runs < 2 or not self.error > 0:
            # The spread of identical runs does not estimate the error.
            return math.inf
        return float(stdtrit(self.runs - 1, 1 - LEVEL / 2 / max(cases, 1)) * self.error)


def estimate(values: Floats) -> Estimate:
    """Return the mean of one value per run, with its error.

    Examples
    --------
    >>> import numpy as np
    >>> estimate(np.array([2.0, 2.1, 2.2])).sign(), estimate(np.array([-1.0, 1.0])).sign()
    (1, 0)
    """
    return Estimate(float(values.mean()), float(standard_error(values)), len(values))


def ratio_values(above: Floats, below: Floats) -> Floats:
    """Return one value per run; their mean is the ratio of two means, with its error by the delta method.

    Examples
    --------
    >>> import numpy as np
    >>> estimate(ratio_values(np.array([2.0, 2.2]), np.array([4.0, 4.4])))
    Estimate(value=0.5, error=0.0, runs=2)
    """
    ratio = above.mean() / below.mean()
    return np.asarray(ratio + (above - ratio * below) / below.mean())


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return the first of two independent estimates minus the second."""
    error = math.hypot(one.error, other.error)
    return Estimate(one.value - other.value, error, min(one.runs, other.runs))


class Cases(NamedTuple):
    """The names of a claim's cases, by result."""

    holding: list[str]
    failing: list[str]
    inconclusive: list[str]


def sort_cases(signs: dict[str, int], wanted: int) -> Cases:
    """Sort cases by whether an estimate has the claimed sign.

    Examples
    --------
    >>> sort_cases({"Figure 2": -1, "Figure 3": 0}, wanted=-1)
    Cases(holding=['Figure 2'], failing=[], inconclusive=['Figure 3'])
    """
    return Cases(
        [name for name, sign in signs.items() if sign == wanted],
        [name for name, sign in signs.items() if sign == -wanted],
        [name for name, sign in signs.items() if sign == 0],
    )


def listed(parts: Collection[str]) -> str:
    """Return parts as a list in a sentence.

    Examples
    --------
    >>> listed(["2", "3", "8"]), listed(["2"])
    ('2, 3 and 8', '2')
    """
    names = list(parts)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def sentence(text: str) -> str:
    """Return a text as a sentence, with a capital letter and a full stop.

    Examples
    --------
    >>> sentence("below 0 in Figure 2")
    'Below 0 in Figure 2.'
    """
    return f"{text[:1].upper()}{text[1:]}."
