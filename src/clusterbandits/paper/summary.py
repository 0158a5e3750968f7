"""Figures in numbers and sentences: incurred regret, the branch that bounds it, and its growth per log n."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from clusterbandits.bounds.view import violation
from clusterbandits.paper.audit.claim import Estimate, estimate
from clusterbandits.paper.audit.rates import per_log_n
from clusterbandits.paper.programme import has_certificates
from clusterbandits.report.regret_table import regret_records
from clusterbandits.simulation.statistics import count_text, round_text, span
from clusterbandits.tables import Table, cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.bounds import RegretBound
    from clusterbandits.paper.figures import Setting
    from clusterbandits.paper.results import PaperResults
    from clusterbandits.simulation.results import Result

BASE, OURS = "kl-ucb", "clus-ucb"
_NAMES = {"kl-ucb": "KL-UCB", "clus-ucb": "Clus-UCB", "tlp-mean": "TLP-MEAN", "tlp-max": "TLP-MAX"}
#: The bound that each of these policies is said to meet.
MEETS = {"kl-ucb": "classical", "clus-ucb": "clus_ucb", "clus-opt": "lower"}


def called(policy: str) -> str:
    """Return a policy's name as sentences write it."""
    return _NAMES.get(policy, policy)


def _regret(row: dict[str, Any]) -> Estimate:
    return Estimate(row["regret"], row["standard_error"], row["runs"])


def _difference(row: dict[str, Any]) -> Estimate:
    return Estimate(row["difference"], row["difference_error"], row["runs"])


def figure_sentence(result: Result) -> str:
    """Return what a figure shows: Clus-UCB against KL-UCB, who pays least, and who is ruined how often."""
    rows = {row["policy"]: row for row in regret_records(result, BASE)}
    ours = _difference(rows[OURS])
    share = abs(ours.value) / max(rows[BASE]["regret"], 1e-300)
    against = {
        -1: f"{ours.times(-1)} ({share:.0%}) less than KL-UCB",
        1: f"{ours} ({share:.0%}) more than KL-UCB",
        0: f"about what KL-UCB pays (difference {ours})",
    }[ours.sign()]
    return " ".join([f"Clus-UCB pays {_regret(rows[OURS])}, {against}.", _cheapest(rows), *_ruined(result)])


def _cheapest(rows: dict[str, dict[str, Any]]) -> str:
    ranked = sorted(rows.values(), key=lambda row: float(row["regret"]))
    least, next_best = ranked[0], ranked[1]
    if least["policy"] == OURS:
        return (
            f"It pays least on average; {called(next_best['policy'])} comes next with {_regret(next_best)}."
        )
    return f"{called(least['policy'])} pays least on average, {_regret(least)}."


def _ruined(result: Result) -> list[str]:
    """Tell of policies that played the best arm in less than half of the rounds of some run."""
    told = []
    for place, label in enumerate(result.labels):
        best = result.pulls[place, :, -1][:, result.instance.gaps == 0].sum(axis=1) / result.horizon
        lost = int((best < 0.5).sum())
        if lost:
            of = f"{lost} of {count_text(len(result.runs), 'run')}"
            told.append(f"{called(label)} misses the best arm most of the time in {of}.")
    return told


def conditions(setting: Setting, horizon: int, runs: int) -> str:
    """Return what was played in a figure."""
    means = ", ".join(str(list(part)) for part in setting.figure.means)
    widths = str(list(setting.widths))
    return (
        f"Means {means}; declared widths {widths}; {count_text(runs, 'run')} of {round_text(horizon)} rounds."
    )


def overview(settings: Sequence[Setting], results: Sequence[Result]) -> Table:
    """Return a row for every figure: what each policy paid, and what Clus-UCB saved."""
    rows = []
    for setting, result in zip(settings, results, strict=True):
        records = {row["policy"]: row for row in regret_records(result, BASE)}
        regrets = [round(records[label]["regret"], 1) for label in result.labels]
        rows.append((setting.name, *regrets, str(_difference(records[OURS]))))
    labels = results[0].labels
    notes = ("Mean regret. clus − kl: Clus-UCB minus KL-UCB on the same rewards, ± standard error.",)
    runs = f"{count_text(len(results[0].runs), 'run')} of {count_text(results[0].horizon, 'round')}"
    title = f"What was paid in {runs}"
    return Table(("figure", *labels, "clus − kl"), tuple(rows), title=title, notes=notes)


def branch_table(found: Sequence[Setting]) -> Table:
    """Return a row for every setting; below, captions that do not hold and widths that are not true."""
    columns = ("figure", "widths", "A", "B", "minimum", "caption", "lower", "Clus-UCB", "classical")
    notes = [
        "Regret per log n. A, B: the two branches of the suboptimal cluster. minimum: the branch that really "
        "bounds it; caption: the one the paper's caption names.",
        *filter(None, map(_caption_note, found)),
        *(
            f"Figure {one.figure.number}, widths {one.vector}: {violation(part)}"
            for one in found
            for part in one.bound.clusters
            if part.violated
        ),
    ]
    title = "What any policy must pay, and which branch of the bound decides"
    return Table(columns, tuple(map(_row, found)), title=title, notes=tuple(notes))


def _row(one: Setting) -> tuple[object, ...]:
    part = one.suboptimal
    caption = {None: "-", True: one.figure.caption, False: f"{one.figure.caption} wrong"}[one.caption_holds]
    rates = (one.bound.lower, one.bound.clus_ucb, one.bound.classical)
    return (str(one.figure.number), one.vector, part.A, part.B, part.branch, caption, *rates)


def _caption_note(one: Setting) -> str | None:
    if one.caption_holds is not False:
        return None
    part = one.suboptimal
    return (
        f"Figure {one.figure.number}: the caption names {one.figure.caption}, the minimum is {part.branch} "
        f"(A = {cell(part.A)}, B = {cell(part.B)})."
    )


def far_results(paper: PaperResults, setting: Setting) -> tuple[Result, Result]:
    """Return the far experiments of a figure: of policies with certificates, and of all others."""
    experiments = paper.programme.beyond(setting.figure, setting.widths)
    certified = {name: experiment for name, experiment in experiments.items() if has_certificates(name)}
    others = {name: experiment for name, experiment in experiments.items() if name not in certified}
    return paper.together(certified), paper.together(others)


def growth_rates(result: Result) -> dict[str, Estimate]:
    """Return how fast the regret of every policy grows per log n, over the last two decades."""
    return {label: estimate(per_log_n(result.regret(label), result, decades=2)) for label in result.labels}


def rate_table(result: Result, bound: RegretBound) -> Table:
    """Return the growth of every policy's regret beside the bounds."""
    first, last = span(result.checkpoints, None, None)
    since, until = (round_text(int(result.checkpoints[place])) for place in (first, last))
    rates = {"lower bound": bound.lower, "Theorem 2": bound.clus_ucb, "classical": bound.classical}
    rows = tuple(
        (
            label,
            str(estimate(result.regret(label)[:, -1])),
            str(measured),
            *(measured.value / rate for rate in rates.values()),
        )
        for label, measured in growth_rates(result).items()
    )
    told = ", ".join(f"{name} {cell(rate)}" for name, rate in rates.items())
    misled = " A best arm's width is too small: only the classical bound applies." if bound.misled else ""
    return Table(
        ("policy", "regret", "per log n", "/ lower", "/ Thm 2", "/ classical"),
        rows,
        title=f"After {count_text(result.horizon, 'round')}, {count_text(len(result.runs), 'run')}",
        notes=(f"per log n: from {since} to {until} rounds, ± standard error. Bounds: {told}.{misled}",),
    )


def meets_sentence(result: Result, bound: RegretBound) -> str:
    """Return whether KL-UCB, Clus-UCB and Clus-OPT meet the bounds they are said to meet."""
    chosen = {name: kind for name, kind in MEETS.items() if not bound.misled or kind == "classical"}
    rates = growth_rates(result)
    return " ".join(_meets(name, rates[name], bound, len(chosen)) for name in chosen)


def _meets(policy: str, measured: Estimate, bound: RegretBound, cases: int) -> str:
    kind = MEETS[policy]
    rate = getattr(bound, kind)
    words = {"classical": "the classical bound", "clus_ucb": "Theorem 2", "lower": "the lower bound"}[kind]
    said = {0: "cannot be told from", 1: "is above", -1: "is below"}[measured.minus(rate).sign(cases)]
    return f"{called(policy)} {said} {words}: {measured} for {cell(rate)} per log n."


def rate_overview(settings: Sequence[Setting], results: Sequence[Result]) -> Table:
    """Return the growth of the three policies that have a bound of their own, in every figure."""
    rows = []
    for setting, result in zip(settings, results, strict=True):
        rates = growth_rates(result)
        pairs = ((str(rates[name]), getattr(setting.bound, kind)) for name, kind in MEETS.items())
        rows.append((setting.name, *itertools.chain.from_iterable(pairs)))
    columns = ("figure", "kl-ucb", "classical", "clus-ucb", "Theorem 2", "clus-opt", "lower bound")
    return Table(columns, tuple(rows), title="Regret per log n beside the bound it should meet")
