"""Claims of Section 5: who pays less than whom in the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.paper.audit.claim import (
    Cases,
    Claim,
    Estimate,
    Finding,
    Verdict,
    by_cases,
    difference,
    estimate,
    listed,
    sentence,
    sort_cases,
)
from clusterbandits.paper.figures import Setting, settings
from clusterbandits.paper.programme import TWO_LEVEL
from clusterbandits.simulation.statistics import count_text
from clusterbandits.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from clusterbandits.paper.results import PaperResults

    Floats = NDArray[np.float64]

#: The figures whose widths are not a study of what must not be done.
COMPARED = (2, 3, 4, 5, 6, 7)
#: What is not worse by more than this share is no worse to speak of.
TENTH = 0.1


def final(paper: PaperResults, setting: Setting, policy: str) -> Floats:
    """Return the regret of every run of a policy at the end of a figure."""
    return paper.figure(setting).regret(policy)[:, -1]


def pays_less(paper: PaperResults, chosen: Sequence[Setting], policy: str, rival: str) -> dict[str, Estimate]:
    """Return how much more than a rival a policy pays in every setting, by the setting's name."""
    return {one.name: estimate(final(paper, one, policy) - final(paper, one, rival)) for one in chosen}


def judge_all_below(differences: Mapping[str, Estimate]) -> Finding:
    """Judge that every difference is below 0."""
    signs = {name: one.sign(len(differences)) for name, one in differences.items()}
    cases = sort_cases(signs, wanted=-1)
    return Finding(by_cases(*cases), _sentence(cases), _difference_table(differences, signs))


def _sentence(cases: Cases) -> str:
    parts = [("so", cases.holding), ("not so", cases.failing), ("not decided", cases.undecided)]
    return sentence("; ".join(f"{word} in {listed(names)}" for word, names in parts if names))


def _difference_table(differences: Mapping[str, Estimate], signs: Mapping[str, int]) -> Table:
    words = {-1: "less", 1: "more", 0: "cannot tell"}
    rows = tuple((name, str(one), words[signs[name]]) for name, one in differences.items())
    return Table(("case", "difference", "certainly"), rows)


def judge_some_below(differences: Mapping[str, Estimate]) -> Finding:
    """Judge that one difference at least is below 0."""
    signs = {name: one.sign(len(differences)) for name, one in differences.items()}
    details = _difference_table(differences, signs)
    below = [name for name, sign in signs.items() if sign < 0]
    if below:
        return Finding(Verdict.HOLDS, f"Less in {listed(below)}.", details)
    verdict = Verdict.FAILS if all(sign > 0 for sign in signs.values()) else Verdict.UNDECIDED
    return Finding(verdict, "Certainly less in none.", details)


def judge_poor(readings: Mapping[str, tuple[Estimate, Estimate]]) -> Finding:
    """Judge that a policy pays more than its rival in every way both can be read."""
    signs = {name: difference(*pair).sign(len(readings)) for name, pair in readings.items()}
    cases = sort_cases(signs, wanted=1)
    words = {-1: "no", 1: "yes", 0: "cannot tell"}
    rows = tuple((name, str(one), str(rival), words[signs[name]]) for name, (one, rival) in readings.items())
    parts = [("poor with", cases.holding), ("not with", cases.failing), ("not decided with", cases.undecided)]
    told = sentence("; ".join(f"{word} {'; '.join(names)}" for word, names in parts if names))
    return Finding(by_cases(*cases), told, Table(("reading", "tlp-mean", "kl-ucb", "poor"), rows))


def _compared(paper: PaperResults) -> list[Setting]:
    return [one for one in paper.played if one.figure.number in COMPARED]


def _clus_below_kl(paper: PaperResults) -> Finding:
    return judge_all_below(pays_less(paper, _compared(paper), "clus-ucb", "kl-ucb"))


def _better_than_clus(policy: str) -> Callable[[PaperResults], Finding]:
    return lambda paper: judge_some_below(pays_less(paper, _compared(paper), policy, "clus-ucb"))


def _tlp_mean_poor(paper: PaperResults) -> Finding:
    rivals = {
        refresh: estimate(paper.final(experiment))
        for refresh, experiment in paper.programme.clock_rivals().items()
    }
    readings = {}
    for (clock, refresh), experiment in paper.programme.clocks().items():
        runs = [paper.final(experiment)]
        if (clock, refresh, paper.settings.a) == ("cluster", paper.settings.refresh, 0.0):
            # The figure has played the same with other rewards: ruin is rare, and every run counts.
            runs.append(final(paper, settings([TWO_LEVEL])[0], "tlp-mean"))
        readings[f"{_every(refresh)}, {clock} clock"] = (estimate(np.concatenate(runs)), rivals[refresh])
    return judge_poor(readings)


def _every(refresh: int) -> str:
    return "exact indices" if refresh == 1 else f"refresh every {count_text(refresh, 'round')}"


COMPARISONS = (
    Claim(
        "clus-ucb-below-kl-ucb",
        "Section 5",
        "Clus-UCB pays less than KL-UCB in all experiments.",
        "Paired difference of final regret, Clus-UCB minus KL-UCB, in Figures 2 to 7; 95 % for all together.",
        _clus_below_kl,
        among=COMPARED,
    ),
    Claim(
        "tlp-sometimes-better",
        "Section 5",
        "On some instances the two-level policy pays less than Clus-UCB.",
        "Paired difference of final regret, TLP-MEAN minus Clus-UCB, in Figures 2 to 7.",
        _better_than_clus("tlp-mean"),
        among=COMPARED,
    ),
    Claim(
        "tlp-max-sometimes-better",
        "Section 5",
        "The same of its variant MAX.",
        "Paired difference of final regret, TLP-MAX minus Clus-UCB, in Figures 2 to 7.",
        _better_than_clus("tlp-max"),
        among=COMPARED,
    ),
    Claim(
        "tlp-mean-poor-in-figure-5",
        "Section 5; caption of Figure 5",
        "TLP-MEAN performs poorly in Figure 5: it cannot tell a poor cluster with one good arm.",
        "Final regret of TLP-MEAN against KL-UCB's, both with exact indices and both with the paper's "
        "refresh, with both clocks inside clusters, a = 0. Poor: more than KL-UCB, which knows no clusters.",
        _tlp_mean_poor,
        figures=(TWO_LEVEL,),
    ),
)
