"""Claims of Section 5: comparisons of the policies' regret in the figures."""

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

#: The figures that compare policies; Figure 8 studies wrong widths.
COMPARED = (2, 3, 4, 5, 6, 7)
#: Up to this relative increase, regret counts as not increased.
TENTH = 0.1


def final(paper: PaperResults, setting: Setting, policy: str) -> Floats:
    """Return the final regret of each run of a policy in a setting."""
    return paper.figure(setting).regret(policy)[:, -1]


def regret_differences(
    paper: PaperResults, chosen: Sequence[Setting], policy: str, rival: str
) -> dict[str, Estimate]:
    """Return the paired difference of final regret, policy minus rival, by name of the setting."""
    return {one.name: estimate(final(paper, one, policy) - final(paper, one, rival)) for one in chosen}


def judge_all_below(differences: Mapping[str, Estimate]) -> Finding:
    """Judge the claim that all differences are below 0."""
    signs = {name: one.sign(len(differences)) for name, one in differences.items()}
    cases = sort_cases(signs, wanted=-1)
    return Finding(by_cases(*cases), _sentence(cases), _difference_table(differences, signs))


def _sentence(cases: Cases) -> str:
    parts = [("below 0", cases.holding), ("above 0", cases.failing), ("inconclusive", cases.inconclusive)]
    counted = "; ".join(f"{word} in {listed(names)}" for word, names in parts if names)
    return f"Difference {counted}."


def _difference_table(differences: Mapping[str, Estimate], signs: Mapping[str, int]) -> Table:
    words = {-1: "below 0", 1: "above 0", 0: "inconclusive"}
    rows = tuple((name, str(one), words[signs[name]]) for name, one in differences.items())
    return Table(("case", "difference", "result"), rows)


def judge_some_below(differences: Mapping[str, Estimate]) -> Finding:
    """Judge the claim that at least one difference is below 0."""
    signs = {name: one.sign(len(differences)) for name, one in differences.items()}
    details = _difference_table(differences, signs)
    below = [name for name, sign in signs.items() if sign < 0]
    if below:
        return Finding(Verdict.HOLDS, f"Difference below 0 in {listed(below)}.", details)
    verdict = Verdict.FAILS if all(sign > 0 for sign in signs.values()) else Verdict.INCONCLUSIVE
    return Finding(verdict, "Difference significantly below 0 in no case.", details)


def judge_poor(readings: Mapping[str, tuple[Estimate, Estimate]]) -> Finding:
    """Judge the claim that a policy has more regret than its rival in all interpretations."""
    signs = {name: difference(*pair).sign(len(readings)) for name, pair in readings.items()}
    cases = sort_cases(signs, wanted=1)
    words = {-1: "no", 1: "yes", 0: "inconclusive"}
    rows = tuple((name, str(one), str(rival), words[signs[name]]) for name, (one, rival) in readings.items())
    parts = [
        ("poor with", cases.holding),
        ("not poor with", cases.failing),
        ("inconclusive with", cases.inconclusive),
    ]
    measured = sentence("; ".join(f"{word} {'; '.join(names)}" for word, names in parts if names))
    return Finding(by_cases(*cases), measured, Table(("interpretation", "tlp-mean", "kl-ucb", "poor"), rows))


def _compared(paper: PaperResults) -> list[Setting]:
    return [one for one in paper.simulated if one.figure.number in COMPARED]


def _clus_below_kl(paper: PaperResults) -> Finding:
    return judge_all_below(regret_differences(paper, _compared(paper), "clus-ucb", "kl-ucb"))


def _better_than_clus(policy: str) -> Callable[[PaperResults], Finding]:
    return lambda paper: judge_some_below(regret_differences(paper, _compared(paper), policy, "clus-ucb"))


def _tlp_mean_poor(paper: PaperResults) -> Finding:
    rivals = {
        refresh: estimate(paper.final(experiment))
        for refresh, experiment in paper.programme.clock_rivals().items()
    }
    readings = {}
    for (clock, refresh), experiment in paper.programme.clocks().items():
        runs = [paper.final(experiment)]
        if (clock, refresh, paper.settings.a) == ("cluster", paper.settings.refresh, 0.0):
            # The figure has the same policy with other rewards; failed runs are rare, so use all runs.
            runs.append(final(paper, settings([TWO_LEVEL])[0], "tlp-mean"))
        readings[f"{refresh_text(refresh)}, {clock} clock"] = (
            estimate(np.concatenate(runs)),
            rivals[refresh],
        )
    return judge_poor(readings)


def refresh_text(refresh: int) -> str:
    """Return how often indices are computed."""
    return "exact indices" if refresh == 1 else f"refresh every {count_text(refresh, 'round')}"


COMPARISONS = (
    Claim(
        "clus-ucb-below-kl-ucb",
        "Section 5",
        "Clus-UCB has less regret than KL-UCB in all experiments.",
        "Paired difference of final regret, Clus-UCB minus KL-UCB, in Figures 2 to 7.",
        _clus_below_kl,
        among=COMPARED,
    ),
    Claim(
        "tlp-sometimes-better",
        "Section 5",
        "On some instances the two-level policy has less regret than Clus-UCB.",
        "Paired difference of final regret, TLP-MEAN minus Clus-UCB, in Figures 2 to 7.",
        _better_than_clus("tlp-mean"),
        among=COMPARED,
    ),
    Claim(
        "tlp-max-sometimes-better",
        "Section 5",
        "On some instances its variant TLP-MAX also has less regret than Clus-UCB.",
        "Paired difference of final regret, TLP-MAX minus Clus-UCB, in Figures 2 to 7.",
        _better_than_clus("tlp-max"),
        among=COMPARED,
    ),
    Claim(
        "tlp-mean-poor-in-figure-5",
        "Section 5; caption of Figure 5",
        "TLP-MEAN performs poorly in Figure 5: it does not recognise a poor cluster with one good arm.",
        "Final regret of TLP-MEAN and of KL-UCB, both with exact indices or both with the paper's refresh, "
        "for both clocks inside clusters, a = 0. Poor: more regret than KL-UCB, which ignores clusters.",
        _tlp_mean_poor,
        figures=(TWO_LEVEL,),
    ),
)
