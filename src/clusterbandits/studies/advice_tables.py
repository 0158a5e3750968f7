"""Advice as text and HTML: the recommendation and its tables."""

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
    """Return the recommended policy and the reason."""
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
    """Return whether the code must contain the widths, because they differ from the default."""
    return POLICIES[advice.recommended].uses_widths and advice.confidence != CONFIDENCE


def group_table(advice: Advice) -> Table:
    """Return one row per group; of more than 40, those most likely to contain the best arm."""
    shown = advice.groups
    cut: tuple[str, ...] = ()
    if len(shown) > _SHOWN_GROUPS:
        shown = tuple(sorted(shown, key=lambda group: -group.chance)[:_SHOWN_GROUPS])
        cut = (
            f"The {_SHOWN_GROUPS} of {len(advice.groups)} groups that are most likely to hold the best arm.",
        )
    counts = [count_text(len(advice.history.arms), "arm"), count_text(len(advice.groups), "group")]
    trials = count_text(int(advice.history.trials.sum()), "trial")
    columns = ("group", "arms", "trials", "span", "width", "best %", "at risk", "the width")
    return Table(
        columns,
        tuple(map(_group_row, shown)),
        title=f"Groups: {trials} of {counts[0]} in {counts[1]}",
        notes=(*cut, _legend(advice), _risk(advice), *_untried(advice)),
        wrap=True,
    )


def _group_row(group: GroupAdvice) -> tuple[object, ...]:
    numbers = (group.arms, group.trials, group.span, group.width, _percent(group.chance))
    risk = "yes" if group.at_risk else "no"
    return (str(group.name), *numbers, risk, _verdict(group))


def _verdict(group: GroupAdvice) -> str:
    if group.verdict == "helps":
        return f"saves {_percent(1 - group.clustered / group.classical)} %"
    if group.trials_factor is None:
        return str(group.verdict)
    if math.isinf(group.trials_factor):
        return "too wide"
    return f"too wide: {group.trials_factor:.2g} × trials"


def _legend(advice: Advice) -> str:
    said = (
        "span: largest difference of the estimates. width: safe to declare; all widths hold together with "
        f"{100 * advice.confidence:g} % confidence. best %: probability that the group holds the best arm."
    )
    verdicts = {group.verdict for group in advice.groups}
    meanings = {
        "helps": "saves: the share of the group's regret per log n, at the estimates, that the width saves.",
        "too wide": "too wide: it would save after this many times the trials, at the same means.",
        "no effect": "no effect: not even the span would save anything.",
        "has the best arm": "has the best arm: its width saves nothing, but must be large enough.",
    }
    return " ".join([said, *(meaning for verdict, meaning in meanings.items() if verdict in verdicts)])


def _risk(advice: Advice) -> str:
    risky = [str(group.name) for group in advice.groups if group.at_risk]
    if not risky:
        return "No group of several arms is at risk: the best arm is elsewhere."
    more = f" and {len(risky) - _SHOWN_NAMES} more" if len(risky) > _SHOWN_NAMES else ""
    others = len(risky) < len(advice.groups)
    harmless = " In the other groups, a width that is too small does no harm." if others else ""
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
    return (f"{count_text(untried, 'arm')} {were} never tried: the mean of the group is assumed.",)


def candidate_table(advice: Advice) -> Table:
    """Return one row per candidate policy, the best first."""
    worlds, few = advice.settings.worlds, advice.candidates[0].cold.size
    ranked = sorted(advice.candidates, key=lambda one: one.score)
    settings, bound, unit = advice.settings, advice.bound, advice.history.regret_unit
    rates = {"lower bound": bound.lower, "Clus-UCB": bound.clus_ucb, "classical": bound.classical}
    bounds = ", ".join(f"{name} {cell(rate)}" for name, rate in rates.items())
    notes = (
        f"with history: the policy starts with these trials, in {count_text(worlds, 'plausible world')}. "
        f"without: it starts with no data, in {few} of them. ±: standard error. 95 %: quantile over worlds.",
        f"score: mean + {TAIL_WEIGHT:g} × (95 % quantile − mean), with the history. The policy with the "
        f"lowest score and a proof is recommended; or {DEFAULT}, the default, if its score is at most a "
        "tenth higher or its mean is not significantly higher.",
        "proof: whether a bound on its regret is proven. Without one, an environment unlike these worlds can "
        "cause linear regret.",
        f"Bounds in {unit} per log n, at the estimates with the safe widths: {bounds}. They say how fast "
        "regret grows in the long run, not how large it is at this horizon.",
    )
    columns = ("policy", "proof", "with history", "95 %", "score", "without", "95 % ")
    title = f"Regret in {unit} over the next {count_text(settings.horizon, 'round')}"
    return Table(columns, tuple(map(_candidate_row, ranked)), title=title, notes=notes, wrap=True)


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
