"""Which policy when: sentences that the numbers write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits import POLICIES
from league.numerals import listed, times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from league.overview import Board, Overall

#: A 95th percentile this many times the least is ruin.
RUIN = 10.0


def advice(board: Board, uses_widths: Mapping[str, bool]) -> list[str]:
    """Return sentences of advice, the most general first.

    Parameters
    ----------
    board
        All problems.
    uses_widths
        Whether each policy uses the widths it is told.
    """
    safest = sorted(board.overview(), key=lambda row: row.worst.ratio)
    sentences = [_safest([row for row in safest if _has_guarantee(row.policy)] or safest)]
    if true := board.with_fit("true").overview():
        sentences.append(f"**Widths you can trust.** Where none is too small, {_leaders(true)}.")
    if misled := board.with_fit("misleading").overview():
        sentences.append(f"**Widths that may be too small.** Where the best group's is, {_leaders(misled)}.")
    blind = [row for row in board.overview() if not uses_widths[row.policy]]
    told = [row for row in safest if uses_widths[row.policy]]
    if blind and told:
        sentences.append(
            f"**With and without widths.** Of the policies that use none, `{blind[0].policy}` pays the "
            f"least, {times(blind[0].ratio)} times the best as a geometric mean over all problems; of those "
            f"that use them, `{told[0].policy}` has the mildest worst case, {_worst(told[0])}."
        )
    return [*sentences, *_ruin(board)]


def _has_guarantee(policy: str) -> bool:
    """Tell whether anything is known of a policy's regret besides what was measured."""
    kind = POLICIES.get(policy)
    return kind is None or not kind.guarantee.startswith("none")


def _safest(rows: Sequence[Overall]) -> str:
    first, others = rows[0], [f"`{row.policy}` ({times(row.worst.ratio)})" for row in rows[1:3]]
    tail = first.worst_tail
    return (
        f"**The safest default is `{first.policy}`.** Of the policies with any guarantee it has the mildest "
        f"worst case: its mean regret is nowhere more than {_worst(first)}; "
        f"its 95th percentile nowhere more than {times(tail.tail_ratio)} times the least, on "
        f"{tail.cell.problem}." + (f" Next: {listed(others)}." if others else "")
    )


def _leaders(rows: Sequence[Overall]) -> str:
    """Say who is best by rank, by regret and in the worst case, each policy once."""
    ranked = min(rows, key=lambda row: row.mean_rank)
    paying = min(rows, key=lambda row: row.ratio)
    mildest = min(rows, key=lambda row: row.worst.ratio)
    claims: dict[str, list[str]] = {}
    for row, claim in (
        (ranked, f"the best mean rank ({ranked.mean_rank:.1f})"),
        (paying, f"the least regret ({times(paying.ratio)} times the best, as a geometric mean)"),
        (mildest, f"the mildest worst case ({times(mildest.worst.ratio)})"),
    ):
        claims.setdefault(row.policy, []).append(claim)
    return "; ".join(f"`{policy}` has {listed(parts)}" for policy, parts in claims.items())


def _worst(row: Overall) -> str:
    return f"{times(row.worst.ratio)} times the best, on {row.worst.cell.problem}"


def _ruin(board: Board) -> list[str]:
    """Say who is ruined although no width misleads, who only where one does, and who nowhere."""
    sound, misled = _ruined(board.with_fit("true", "harmless")), _ruined(board.with_fit("misleading"))
    misled = {policy: text for policy, text in misled.items() if policy not in sound}
    what = f"a 95th percentile over {RUIN:g} times the least"
    if not sound | misled:
        return [f"**Ruin.** No policy has {what} on any problem."]
    spared = [f"`{row.policy}`" for row in board.overview() if row.policy not in sound | misled]
    cases = {
        f"**Ruined although the best group's width is sound**, by {what}": list(sound.values()),
        f"**Ruined only where the best group's width is too small**, by {what}": list(misled.values()),
        "**Ruined nowhere**": spared,
    }
    return [f"{case}: {listed(names)}." for case, names in cases.items() if names]


def _ruined(board: Board) -> dict[str, str]:
    worst = {row.policy: row.worst_tail for row in board.overview() if row.worst_tail.tail_ratio > RUIN}
    return {name: f"`{name}` {times(one.tail_ratio)} on {one.cell.problem}" for name, one in worst.items()}
