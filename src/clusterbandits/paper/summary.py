"""Tables and sentences about the figures: regret, bounds, and growth of regret per log n."""

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
#: The bound that each of these policies attains according to theory.
MEETS = {"kl-ucb": "classical", "clus-ucb": "clus_ucb", "clus-opt": "lower"}
BOUND_NAMES = {"classical": "the classical bound", "clus_ucb": "Theorem 2", "lower": "the lower bound"}


def called(policy: str) -> str:
    """Return the name of a policy for sentences."""
    return _NAMES.get(policy, policy)


def _regret(row: dict[str, Any]) -> Estimate:
    return Estimate(row["regret"], row["standard_error"], row["runs"])


def _difference(row: dict[str, Any]) -> Estimate:
    return Estimate(row["difference"], row["difference_error"], row["runs"])


def figure_sentence(result: Result) -> str:
    """Return a summary of a figure: Clus-UCB and KL-UCB, the lowest regret, and runs without the best arm."""
    rows = {row["policy"]: row for row in regret_records(result, BASE)}
    ours = _difference(rows[OURS])
    share = abs(ours.value) / max(rows[BASE]["regret"], 1e-300)
    compared = {
        -1: f"{ours.times(-1)} ({100 * share:.0f} %) less than KL-UCB",
        1: f"{ours} ({100 * share:.0f} %) more than KL-UCB",
        0: f"not significantly different from KL-UCB (difference {ours})",
    }[ours.sign()]
    first = f"Clus-UCB has a mean regret of {_regret(rows[OURS])}, {compared}."
    return " ".join([first, _lowest(rows), *_missed(result)])


def _lowest(rows: dict[str, dict[str, Any]]) -> str:
    ranked = sorted(rows.values(), key=lambda row: float(row["regret"]))
    least, next_best = ranked[0], ranked[1]
    if least["policy"] == OURS:
        other = f"{called(next_best['policy'])} with {_regret(next_best)}"
        return f"It has the lowest mean regret, followed by {other}."
    return f"{called(least['policy'])} has the lowest mean regret, {_regret(least)}."


def _missed(result: Result) -> list[str]:
    """Return a sentence for each policy with runs that pull the best arm in less than half of the rounds."""
    sentences = []
    for place, label in enumerate(result.labels):
        best = result.pulls[place, :, -1][:, result.instance.gaps == 0].sum(axis=1) / result.horizon
        lost = int((best < 0.5).sum())
        if lost:
            runs = f"{lost} of {count_text(len(result.runs), 'run')}"
            sentences.append(f"{called(label)} pulls the best arm in less than half of the rounds in {runs}.")
    return sentences


def conditions(setting: Setting, horizon: int, runs: int) -> str:
    """Return the means, widths, runs and rounds of a figure as a sentence."""
    means = ", ".join(str(list(part)) for part in setting.figure.means)
    widths = str(list(setting.widths))
    return (
        f"Means {means}; declared widths {widths}; {count_text(runs, 'run')} of {round_text(horizon)} rounds."
    )


def overview(settings: Sequence[Setting], results: Sequence[Result]) -> Table:
    """Return one row per setting: mean regret of each policy, and Clus-UCB minus KL-UCB."""
    rows = []
    for setting, result in zip(settings, results, strict=True):
        records = {row["policy"]: row for row in regret_records(result, BASE)}
        regrets = [round(records[label]["regret"], 1) for label in result.labels]
        rows.append((setting.name, *regrets, str(_difference(records[OURS]))))
    labels = results[0].labels
    notes = ("clus − kl: Clus-UCB minus KL-UCB on the same rewards, ± standard error.",)
    runs = f"{count_text(len(results[0].runs), 'run')} of {count_text(results[0].horizon, 'round')}"
    title = f"Mean regret over {runs}"
    return Table(("figure", *labels, "clus − kl"), tuple(rows), title=title, notes=notes)


def branch_table(found: Sequence[Setting]) -> Table:
    """Return one row per setting: terms and bounds; the notes list wrong captions and widths below spans."""
    columns = ("figure", "widths", "A", "B", "minimum", "caption", "lower", "Clus-UCB", "classical")
    notes = [
        "A, B: the two terms of the suboptimal cluster. minimum: the smaller term. caption: the term that "
        "the paper's caption calls the minimum. lower, Clus-UCB, classical: the bounds.",
        *filter(None, map(_caption_note, found)),
        *(
            f"Figure {one.figure.number}, widths {one.vector}: {violation(part)}"
            for one in found
            for part in one.bound.clusters
            if part.violated
        ),
    ]
    title = "Bounds on regret per log n, and the term that is the minimum"
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
    """Return the long experiments of a setting: policies with certificates, and all others."""
    experiments = paper.programme.beyond(setting.figure, setting.widths)
    certified = {name: experiment for name, experiment in experiments.items() if has_certificates(name)}
    others = {name: experiment for name, experiment in experiments.items() if name not in certified}
    return paper.together(certified), paper.together(others)


def growth_rates(result: Result) -> dict[str, Estimate]:
    """Return the regret of each policy per log n over the last two decades of rounds."""
    return {label: estimate(per_log_n(result.regret(label), result, decades=2)) for label in result.labels}


def rate_table(result: Result, bound: RegretBound) -> Table:
    """Return one row per policy: regret, regret per log n, and its ratio to each bound."""
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
    bounds = ", ".join(f"{name} {cell(rate)}" for name, rate in rates.items())
    misled = " The width of the best cluster is too small: only the classical bound applies."
    runs = count_text(len(result.runs), "run")
    return Table(
        ("policy", "regret", "per log n", "/ lower", "/ Thm 2", "/ classical"),
        rows,
        title=f"Mean regret after {count_text(result.horizon, 'round')}, {runs}",
        notes=(
            f"per log n: from {since} to {until} rounds, ± standard error. Bounds: {bounds}."
            f"{misled * bool(bound.misled)}",
        ),
    )


def meets_sentence(result: Result, bound: RegretBound) -> str:
    """Return a comparison of KL-UCB, Clus-UCB and Clus-OPT with their bounds."""
    chosen = {name: kind for name, kind in MEETS.items() if not bound.misled or kind == "classical"}
    rates = growth_rates(result)
    return " ".join(_meets(name, rates[name], bound, len(chosen)) for name in chosen)


def _meets(policy: str, measured: Estimate, bound: RegretBound, cases: int) -> str:
    kind = MEETS[policy]
    rate = getattr(bound, kind)
    relation = {0: "not significantly different from", 1: "significantly above", -1: "significantly below"}
    sign = measured.minus(rate).sign(cases)
    return f"{called(policy)}: {measured} per log n, {relation[sign]} {BOUND_NAMES[kind]} ({cell(rate)})."


def rate_overview(settings: Sequence[Setting], results: Sequence[Result]) -> Table:
    """Return one row per setting: regret per log n of three policies, and their bounds."""
    rows = []
    for setting, result in zip(settings, results, strict=True):
        rates = growth_rates(result)
        pairs = ((str(rates[name]), getattr(setting.bound, kind)) for name, kind in MEETS.items())
        rows.append((setting.name, *itertools.chain.from_iterable(pairs)))
    columns = ("figure", "kl-ucb", "classical", "clus-ucb", "Theorem 2", "clus-opt", "lower bound")
    return Table(columns, tuple(rows), title="Measured regret per log n, and the bound of each policy")
