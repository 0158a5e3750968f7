"""What a claim is, and what can be found out about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from clusterbandits.paper.results import PaperResults
    from clusterbandits.tables import Table


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
