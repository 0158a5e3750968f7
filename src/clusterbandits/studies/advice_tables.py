"""Advice as people read it: the recommendation and its tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterbandits.simulation.statistics import count_text, plus_minus
from clusterbandits.tables import Table, cell, html_paragraph, paragraph

if TYPE_CHECKING:
    from clusterbandits.studies.advise import Advice
    from clusterbandits.studies.candidates import Candidate
    from clusterbandits.studies.group_advice import GroupAdvice

_SHOWN_GROUPS = 40
_SHOWN_NAMES = 8


def text(advice: Advice) -> str:
    """Return the recommendation and both tables."""
    pages = [recommendation(advice), group_table(advice).text(), candidate_table(advice).text()]
    return "\n\n".join(pages)


def html(advice: Advice) -> str:
    """Return the same for a notebook."""
    head = html_paragraph(recommendation(advice))
    return f"{head}{group_table(advice).html()}{candidate_table(advice).html()}"


def recommendation(advice: Advice) -> str:
    """Return what to take, and why."""
    widths = "" if advice.recommended == advice.candidates[0].policy else " with the safe widths below"
    return paragraph(f"Take {advice.recommended}{widths}. {advice.reason}")


def group_table(advice: Advice) -> Table:
    """Return a row for every group, those most likely to hold the best arm first where they are many."""
    shown = advice.groups
    cut: tuple[str, ...] = ()
    if len(shown) > _SHOWN_GROUPS:
        shown = tuple(sorted(shown, key=lambda group: -group.chance)[:_SHOWN_GROUPS])
        cut = (f"The {_SHOWN_GROUPS} likeliest to hold the best arm, of {len(advice.groups)} groups.",)
    counts = [count_text(len(advice.history.arms), "arm"), count_text(len(advice.groups), "group")]
    trials = count_text(int(advice.history.trials.sum()), "trial")
    columns = ("group", "arms", "trials", "span", "width", "best %", "at risk", "saves %", "its width")
    return Table(
        columns,
        tuple(map(_group_row, shown)),
        title=f"What {trials} of {counts[0]} in {counts[1]} say",
        notes=(*cut, _legend(advice), _risk(advice), *_untried(advice)),
    )


def _group_row(group: GroupAdvice) -> tuple[object, ...]:
    saved = None
    if group.verdict == "helps":
        saved = _percent(1 - group.clustered / group.classical)
    numbers = (group.arms, group.trials, group.span, group.width, _percent(group.chance))
    risk = "yes" if group.at_risk else "no"
    return (str(group.name), *numbers, risk, saved, _verdict(group))


def _verdict(group: GroupAdvice) -> str:
    if group.trials_factor is None:
        return str(group.verdict)
    if math.isinf(group.trials_factor):
        return "too loose"
    return f"too loose: {group.trials_factor:.2g} × trials"


def _legend(advice: Advice) -> str:
    said = (
        "span: of the estimates. width: safe to declare; all of them hold at once with "
        f"{100 * advice.confidence:g} % confidence. best %: the chance that the best arm is there. "
        "saves %: in the long run, of the group's regret per log n at the estimates."
    )
    verdicts = {group.verdict for group in advice.groups}
    meanings = {
        "too loose": "too loose: would save after so many times the trials, at the same means.",
        "tells nothing": "tells nothing: not even its span would save anything.",
        "holds the best": "holds the best: its width saves nothing in the long run, but must be wide enough.",
    }
    return " ".join([said, *(meaning for verdict, meaning in meanings.items() if verdict in verdicts)])


def _risk(advice: Advice) -> str:
    risky = [str(group.name) for group in advice.groups if group.at_risk]
    if not risky:
        return "No group is at risk: none of several arms may hold the best."
    more = f" and {len(risky) - _SHOWN_NAMES} more" if len(risky) > _SHOWN_NAMES else ""
    harmless = (
        "" if len(risky) == len(advice.groups) else " In the others a width too small would do no harm."
    )
    named = ", ".join(risky[:_SHOWN_NAMES]) + more
    return (
        f"At risk: {named}. The best arm may be there; a width below the true span could hide it for ever."
        f"{harmless}"
    )


def _untried(advice: Advice) -> tuple[str, ...]:
    untried = int((advice.history.trials == 0).sum())
    if not untried:
        return ()
    were = "was" if untried == 1 else "were"
    return (f"{count_text(untried, 'arm')} {were} never tried, and taken to be as good as the group.",)


def candidate_table(advice: Advice) -> Table:
    """Return a row for every policy that was tried."""
    plain = advice.candidates[0].paid.value
    rows = tuple(_candidate_row(one, plain) for one in advice.candidates)
    settings, worlds = advice.settings, advice.candidates[0].world_paid.size
    bound = advice.bound
    rates = {"lower bound": bound.lower, "Clus-UCB": bound.clus_ucb, "classical": bound.classical}
    told = ", ".join(f"{name} {cell(rate)}" for name, rate in rates.items())
    notes = (
        f"± standard error of {count_text(settings.runs, 'run')} at the estimates, on the same rewards for "
        "all; "
        f"5 %, 95 %: of the saving in {count_text(worlds, 'plausible world')}, one run each. "
        "Every run begins anew, without the history.",
        "spans, midway: the estimated spans and half way to them. They show what narrower widths would "
        "bring, and are not safe.",
        f"Bounds per log n, at the estimates with the safe widths: {told}. They say how fast regret grows in "
        "the long run, not how large it is at this horizon.",
    )
    columns = ("policy", "widths", "regret", "saving", "saving %", "5 %", "95 %")
    return Table(columns, rows, title=f"Regret after {count_text(settings.horizon, 'round')}", notes=notes)


def _candidate_row(one: Candidate, plain: float) -> tuple[object, ...]:
    if not one.widths:
        return (one.policy, "none", plus_minus(*one.paid), "", None, None, None)
    share = _percent(one.saved.value / plain) if plain > 0 else 0
    ends = [round(end) if plain >= 10 else round(end, 2) for end in one.range]
    return (one.policy, one.widths, plus_minus(*one.paid), plus_minus(*one.saved), share, *ends)


def _percent(share: float) -> float:
    """Return a share in whole percents, those below 1 with one more digit."""
    return round(100 * share, 1) if abs(share) < 0.01 else round(100 * share)
