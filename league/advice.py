"""Advice on which policy to use, generated from the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits import POLICIES
from clusterbandits.policies.policy import AUTO, DEFAULT
from clusterbandits.simulation.statistics import count_text
from league.numerals import times
from league.overview import comparable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from league.overview import Board, Overall


def advice(board: Board) -> list[str]:
    """Return sentences of advice: the default, and the best policies of other classes."""
    rows = board.overview()
    sentences = [_default(rows)]
    guaranteed = [row for row in comparable(rows) if has_guarantee(row.policy)]
    if guaranteed:
        sentences.append(_leaders("**With a guarantee.** Of the policies with one", guaranteed))
    blind = [row for row in comparable(rows) if not uses_widths(row.policy)]
    if blind:
        sentences.append(_leaders("**Without widths.** Of the policies that use none", blind))
    return sentences


def has_guarantee(policy: str) -> bool:
    """Return whether a bound on a policy's regret is proven."""
    kind = POLICIES.get(policy)
    return kind is not None and kind.is_proven()


def uses_widths(policy: str) -> bool:
    """Return whether a policy uses declared widths."""
    kind = POLICIES.get(policy)
    return kind is not None and kind.uses_widths


def _default(rows: Sequence[Overall]) -> str:
    name = f'**The default is `{DEFAULT}`**, which `"{AUTO}"` names.'
    places = [place for place, row in enumerate(rows, 1) if row.policy == DEFAULT]
    if not places:
        return f"{name} It is not part of this league."
    (place,) = places
    row = rows[place - 1]
    where = "no problem" if row.failures == 0 else count_text(row.failures, "problem")
    unproven = "" if has_guarantee(DEFAULT) else " No bound on its regret is proven."
    return (
        f"{name} By geometric mean it is number {place} of {len(rows)}: its regret is {times(row.ratio)} "
        f"times that of the best policy of each problem. Its worst ratio is {_worst(row)}. It fails on "
        f"{where}.{unproven}"
    )


def _leaders(which: str, rows: Sequence[Overall]) -> str:
    """Name the policies with the smallest geometric mean and the smallest worst ratio."""
    mean, worst = rows[0], min(rows, key=lambda row: row.worst.ratio)
    begun = f"{which}, `{mean.policy}` has the smallest geometric mean ({times(mean.ratio)})"
    if mean is worst:
        return f"{begun} and the smallest worst ratio ({_worst(worst)})."
    return f"{begun}; `{worst.policy}` has the smallest worst ratio ({_worst(worst)})."


def _worst(row: Overall) -> str:
    return f"{times(row.worst.ratio)}, on *{row.worst.cell.problem}*"
