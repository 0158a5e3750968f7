"""What a claim is, what can be found out about it, and when data decide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.special import stdtrit

from clusterbandits.simulation.statistics import plus_minus, standard_error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from clusterbandits.paper.results import PaperResults
    from clusterbandits.tables import Table

    Floats = NDArray[np.float64]

#: The chance, at most, that any of the comparisons behind one verdict is wrong.
LEVEL = 0.05


class Verdict(StrEnum):
    """What computation says about a claim; ``UNDECIDED`` where the data's own error is too large to tell."""

    HOLDS = "holds"
    CONDITION = "holds with a condition"
    FAILS = "does not hold"
    UNDECIDED = "not decided"


@dataclass(frozen=True)
class Finding:
    """A verdict and the numbers it was computed from: a sentence or two, and a table where they are many."""

    verdict: Verdict
    measured: str
    details: Table | None = None


@dataclass(frozen=True)
class Claim:
    """One statement of the paper.

    ``key`` names it for machines. ``where`` says where it stands, ``says`` what it states (in our words),
    ``test`` how it is put to the test. ``check`` computes the finding from the results of a run; it never
    knows the answer beforehand. ``figures`` must all have been played, and one of ``among`` at least.
    """

    key: str
    where: str
    says: str
    test: str
    check: Callable[[PaperResults], Finding]
    figures: tuple[int, ...] = ()
    among: tuple[int, ...] = ()

    def applies(self, played: Iterable[int]) -> bool:
        """Tell whether what was played can say anything about it."""
        numbers = set(played)
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
    """Put every claim to the test whose figures were played, in the order of the paper."""
    return tuple(Entry(claim, claim.check(paper)) for claim in claims if claim.applies(paper.figures))


def by_cases(
    holding: Collection[object],
    failing: Collection[object],
    undecided: Collection[object],
    *,
    universal: bool = False,
) -> Verdict:
    """Return the verdict on a claim about several cases: with a condition where it holds for some only.

    A theorem is ``universal``: one case against it is enough.
    """
    if failing:
        return Verdict.CONDITION if holding and not universal else Verdict.FAILS
    return Verdict.UNDECIDED if undecided else Verdict.HOLDS


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
