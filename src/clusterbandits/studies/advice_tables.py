"""Advice as people read it: the recommendation and its tables."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.families import Bernoulli
from clusterbandits.policies import POLICIES
from clusterbandits.policies.policy import DEFAULT
from clusterbandits.simulation.statistics import count_text, difference, plus_minus
from clusterbandits.studies.candidates import TAIL_WEIGHT
from clusterbandits.studies.safe_widths import CONFIDENCE
from clusterbandits.studies.table_file import as_table_file
from clusterbandits.tables import Table, cell, html_paragraph, paragraph

if TYPE_CHECKING:
    from clusterbandits.studies.advise import Advice
    from clusterbandits.studies.candidates import Candidate
    from clusterbandits.studies.group_advice import GroupAdvice

_SHOWN_GROUPS = 40
_SHOWN_NAMES = 8
_SERVED = "Or as a service ('clusterbandits serve' prints its address and a key):"


def text(advice: Advice, table: object = None) -> str:
    """Return the recommendation, both tables, and the code that starts the policy."""
    tables = [candidate_table(advice).text(), group_table(advice).text()]
    started = ["Start it with:", code(advice, table), _SERVED, service_code(advice)]
    return "\n\n".join([recommendation(advice), *tables, *started])


def html(advice: Advice) -> str:
    """Return the same for a notebook."""
    head = html_paragraph(recommendation(advice))
    tables = f"{candidate_table(advice).html()}{group_table(advice).html()}"
    parts = (("Start it with:", code(advice)), (_SERVED, service_code(advice)))
    started = "".join(f"{html_paragraph(sentence)}<pre>{escape(lines)}</pre>" for sentence, lines in parts)
    return f"{head}{tables}{started}"


def recommendation(advice: Advice) -> str:
    """Return what to take, and why."""
    return paragraph(f"Recommended: {advice.recommended}. {advice.reason}")


def code(advice: Advice, table: object = None) -> str:
    """Return Python code that starts the recommended policy from the history."""
    kind = POLICIES[advice.recommended]
    source = "table" if table is None else as_table_file(table).code()
    family = "" if advice.history.family == Bernoulli() else f", family={advice.history.family.spec!r}"
    lines = ["import clusterbandits as cb", "", f"history = cb.read_history({source}{family})"]
    widths = ""
    if _needs_widths(advice):
        lines += ["widths = {", *(f"    {name!r}: {width!r}," for name, width in advice.widths.items()), "}"]
        widths = ", widths"
    lines += [
        f"policy = cb.{kind.__name__}.from_history(history{widths})",
        "arm = policy.ask()  # the arm to show",
        "policy.tell(arm, reward)  # its reward, when that is known",
    ]
    return "\n".join(lines)


def service_code(advice: Advice) -> str:
    """Return Python code, to follow ``code``, that starts the recommended policy as a service."""
    widths = ["    widths=widths,"] if _needs_widths(advice) else []
    lines = [
        'client = cb.Client("http://127.0.0.1:8000", key)',
        "client.create_experiment(",
        '    "mine",',
        "    history=history,",
        *widths,
        f'    policy="{advice.recommended}",',
        ")",
        'decision = client.decide("mine")',
        "client.reward(decision, reward)",
    ]
    return "\n".join(lines)


def _needs_widths(advice: Advice) -> bool:
    """Tell whether widths have to be given, since they are not those that a history has by default."""
    return POLICIES[advice.recommended].uses_widths and advice.confidence != CONFIDENCE


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
        f"At risk: {named}. The best arm may be there; a width below the true span could hide it permanently."
        f"{harmless}"
    )


def _untried(advice: Advice) -> tuple[str, ...]:
    untried = int((advice.history.trials == 0).sum())
    if not untried:
        return ()
    were = "was" if untried == 1 else "were"
    return (f"{count_text(untried, 'arm')} {were} never tried, and taken to be as good as the group.",)


def candidate_table(advice: Advice) -> Table:
    """Return a row for every policy that was tried, the best first."""
    worlds, few = advice.settings.worlds, advice.candidates[0].cold.size
    ranked = sorted(advice.candidates, key=lambda one: one.score)
    settings, bound = advice.settings, advice.bound
    rates = {"lower bound": bound.lower, "Clus-UCB": bound.clus_ucb, "classical": bound.classical}
    told = ", ".join(f"{name} {cell(rate)}" for name, rate in rates.items())
    notes = (
        f"with history: the policy starts with these trials, in {count_text(worlds, 'plausible world')}. "
        f"without: it starts with no data, in {few} of them. ±: standard error. 95 %: quantile over worlds.",
        f"score: mean + {TAIL_WEIGHT:g} × (95 % quantile − mean), with the history. The policy with the "
        f"lowest score and a proof is recommended; or {DEFAULT}, the default, if its score is at most a "
        "tenth higher or its mean is not significantly higher.",
        "proof: whether a bound on its regret is proven. Without one, an environment unlike these worlds can "
        "cause linear regret.",
        f"Bounds per log n, at the estimates with the safe widths: {told}. They say how fast regret grows in "
        "the long run, not how large it is at this horizon.",
    )
    columns = ("policy", "proof", "with history", "95 %", "score", "without", "95 % ")
    title = f"Regret after {count_text(settings.horizon, 'round')}"
    return Table(columns, tuple(map(_candidate_row, ranked)), title=title, notes=notes)


def _candidate_row(one: Candidate) -> tuple[object, ...]:
    return (
        one.policy,
        "yes" if one.proven else "no",
        plus_minus(*one.paid),
        _rounded(one.tail),
        _rounded(one.score),
        plus_minus(*difference(one.cold)),
        _rounded(float(np.quantile(one.cold, 0.95))),
    )


def _rounded(value: float) -> float:
    return round(value) if value >= 10 else float(f"{value:.2g}")


def _percent(share: float) -> float:
    """Return a share in whole percents, those below 1 with one more digit."""
    return round(100 * share, 1) if abs(share) < 0.01 else round(100 * share)
