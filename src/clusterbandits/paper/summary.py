"""What a figure shows, in numbers and in one sentence; both computed from its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterbandits.paper.audit.decide import Estimate
from clusterbandits.report.regret_table import regret_records
from clusterbandits.simulation.statistics import count_text, round_text
from clusterbandits.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.paper.branches import Setting
    from clusterbandits.simulation.results import Result

BASE, OURS = "kl-ucb", "clus-ucb"
_NAMES = {"kl-ucb": "KL-UCB", "clus-ucb": "Clus-UCB", "tlp-mean": "TLP-MEAN", "tlp-max": "TLP-MAX"}


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
