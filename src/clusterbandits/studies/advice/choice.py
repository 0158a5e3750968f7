"""Which policy to take, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.simulation.statistics import Difference, difference
from clusterbandits.studies.advice.games import PLAIN, SAFE

if TYPE_CHECKING:
    from clusterbandits.studies.advice.games import Candidate
    from clusterbandits.studies.advice.groups import GroupAdvice

#: Standard errors beyond which the largest of three differences is clear: 5 % over all three (Bonferroni).
_CLEAR = 2.4
#: A policy that is safer, or simpler, is taken where it keeps this share of the best one's saving.
_KEEPS = 0.9
#: The safest first: the hedge holds whatever the widths; Clus-UCB has a theorem; Clus-OPT has simulations.
_PREFERENCE = ("clus-ucb-hedged", "clus-ucb", "clus-opt")


def choose(
    candidates: tuple[Candidate, ...], groups: tuple[GroupAdvice, ...], confidence: float
) -> tuple[str, str]:
    """Return the policy to take with the safe widths, and the reason.

    A policy saves clearly where the mean over plausible worlds is more than 2.4 standard errors above 0. Of
    those that do, the safest is taken that keeps nine tenths of the largest saving or cannot be told from it.
    """
    safe = {one.policy: one for one in candidates if one.widths == SAFE}
    best = max(safe.values(), key=lambda one: one.saved_in_worlds.value, default=None)
    if best is None or not _is_clear(best.saved_in_worlds):
        return PLAIN, _plain_reason(best, groups)
    taken = next(safe[name] for name in _PREFERENCE if _keeps_up(safe[name], best))
    saved = taken.saved_in_worlds
    paid = saved.value + float(taken.world_paid.mean())
    low, high = map(_short, taken.range)
    reason = (
        f"Over plausible worlds it saves {saved} of the {_short(paid)} that KL-UCB pays "
        f"({100 * saved.value / paid:.0f} %), and from {low} to {high} in nine of ten of them."
    )
    if taken.policy == _PREFERENCE[0]:
        return taken.policy, f"{reason} It stays safe even if a width is wrong."
    sure = f"The widths hold with {100 * confidence:g} % confidence"
    return taken.policy, f"{reason} {sure}; the hedged policy, safe beyond that, saves clearly less."


def _is_clear(saved: Difference) -> bool:
    return saved.value > 0 and saved.value > _CLEAR * saved.error


def _keeps_up(one: Candidate, best: Candidate) -> bool:
    if not _is_clear(one.saved_in_worlds):
        return False
    lost = difference(best.world_saving - one.world_saving)
    return lost.value <= max(_CLEAR * lost.error, (1 - _KEEPS) * best.saved_in_worlds.value)


def _plain_reason(best: Candidate | None, groups: tuple[GroupAdvice, ...]) -> str:
    if best is None:
        return "Every group has one arm, so there are no widths to know."
    if not any(group.verdict == "helps" for group in groups):
        return "No width that the history makes safe is narrow enough to help: these groups tell nothing yet."
    return f"No saving by the safe widths is clear: {best.saved_in_worlds} at most, over plausible worlds."


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
