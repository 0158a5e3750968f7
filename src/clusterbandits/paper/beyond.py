"""Beyond the paper's horizon: how fast the regret of every policy grows where log n is large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterbandits.paper.audit.decide import Estimate, estimate
from clusterbandits.paper.audit.rates import per_log_n
from clusterbandits.paper.programme import has_certificates
from clusterbandits.paper.summary import called
from clusterbandits.simulation.statistics import count_text, round_text, span
from clusterbandits.tables import Table, cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.bounds import RegretBound
    from clusterbandits.paper.branches import Setting
    from clusterbandits.paper.evidence import Evidence
    from clusterbandits.simulation.results import Result

#: The bound that each of these policies is said to meet.
MEETS = {"kl-ucb": "classical", "clus-ucb": "clus_ucb", "clus-opt": "lower"}


def far_results(evidence: Evidence, setting: Setting) -> tuple[Result, Result]:
    """Return the far games of a figure: of policies with certificates, and of those that hold by trial."""
    games = evidence.programme.beyond(setting.figure, setting.widths)
    certified = {name: game for name, game in games.items() if has_certificates(name)}
    others = {name: game for name, game in games.items() if name not in certified}
    return evidence.together(certified), evidence.together(others)


def rate_records(result: Result, bound: RegretBound) -> list[dict[str, Any]]:
    """Return a row for every policy: regret, its growth per log n, and that over each bound."""
    rows = []
    for label in result.labels:
        regret = result.regret(label)
        final, rate = estimate(regret[:, -1]), estimate(per_log_n(regret, result, decades=2))
        rows.append(
            {
                "policy": label,
                "regret": final.value,
                "standard_error": final.error,
                "rate": rate.value,
                "rate_error": rate.error,
                "over_lower": rate.value / bound.lower,
                "over_clus_ucb": rate.value / bound.clus_ucb,
                "over_classical": rate.value / bound.classical,
                "runs": rate.runs,
            }
        )
    return rows


def rate_table(result: Result, bound: RegretBound) -> Table:
    """Return the growth of every policy's regret beside the bounds."""
    first, last = span(result.checkpoints, None, None)
    since, until = (round_text(int(result.checkpoints[place])) for place in (first, last))
    rows = tuple(
        (
            row["policy"],
            str(Estimate(row["regret"], row["standard_error"], row["runs"])),
            str(_rate(row)),
            row["over_lower"],
            row["over_clus_ucb"],
            row["over_classical"],
        )
        for row in rate_records(result, bound)
    )
    rates = {"lower bound": bound.lower, "Theorem 2": bound.clus_ucb, "classical": bound.classical}
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
    rows = {row["policy"]: row for row in rate_records(result, bound)}
    chosen = {name: kind for name, kind in MEETS.items() if not bound.misled or kind == "classical"}
    return " ".join(
        _meets(rows[name], kind, getattr(bound, kind), len(chosen)) for name, kind in chosen.items()
    )


def _meets(row: dict[str, Any], kind: str, rate: float, cases: int) -> str:
    measured = _rate(row)
    words = {"classical": "the classical bound", "clus_ucb": "Theorem 2", "lower": "the lower bound"}[kind]
    said = {0: "cannot be told from", 1: "is above", -1: "is below"}[measured.minus(rate).sign(cases)]
    return f"{called(row['policy'])} {said} {words}: {measured} for {cell(rate)} per log n."


def _rate(row: dict[str, Any]) -> Estimate:
    return Estimate(row["rate"], row["rate_error"], row["runs"])


def rate_overview(settings: Sequence[Setting], results: Sequence[Result]) -> Table:
    """Return the growth of the three policies that have a bound of their own, in every figure."""
    rows = []
    for setting, result in zip(settings, results, strict=True):
        records = {row["policy"]: row for row in rate_records(result, setting.bound)}
        cells: list[object] = []
        for name, kind in MEETS.items():
            cells += [str(_rate(records[name])), getattr(setting.bound, kind)]
        rows.append((setting.name, *cells))
    columns = ("figure", "kl-ucb", "classical", "clus-ucb", "Theorem 2", "clus-opt", "lower bound")
    return Table(columns, tuple(rows), title="Regret per log n beside the bound it should meet")
