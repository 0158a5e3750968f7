"""Claims of Section 6: the effect of widths that are too large or too small."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.paper.audit.claim import (
    Claim,
    Estimate,
    Finding,
    Verdict,
    by_cases,
    difference,
    estimate,
    listed,
    sort_cases,
)
from clusterbandits.paper.audit.comparisons import (
    TENTH,
    final,
    judge_all_below,
    refresh_text,
    regret_differences,
)
from clusterbandits.paper.programme import MISLED, TRUE, WRONG_WIDTHS
from clusterbandits.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clusterbandits.paper.figures import Setting
    from clusterbandits.paper.results import PaperResults
    from clusterbandits.simulation.results import Result

    Floats = NDArray[np.float64]

#: The smallest exponent that counts as linear growth.
LINEAR = 0.9
#: Linear growth must be significantly above the first exponent, slow growth significantly below the second.
_FAST, _ROOT = 0.75, 0.5


def is_over_estimated(setting: Setting) -> bool:
    """Return whether no width is too small and at least one exceeds its span."""
    parts = setting.bound.clusters
    return not setting.bound.violated and any(part.width > part.span * (1 + 1e-9) for part in parts)


def growth(result: Result) -> Estimate:
    """Return the exponent e of regret ~ n^e over the last decade, with its error by the delta method."""
    regret = result.regret(0)
    start = int(np.abs(np.log(result.checkpoints) - math.log(result.horizon / 10)).argmin())
    decades = math.log(result.horizon / result.checkpoints[start])
    late, early = regret[:, -1], regret[:, start]
    if not early.mean() > 0:
        return Estimate(math.nan, math.nan, len(late))
    ratio = math.log(late.mean() / early.mean()) / decades
    spread = estimate(late / late.mean() - early / early.mean())
    return Estimate(ratio, spread.error / decades, len(late))


def judge_linear(growths: Mapping[str, Estimate], regrets: Mapping[str, Estimate]) -> Finding:
    """Judge the claim that regret can be linear: in all interpretations, in some, or in none.

    The sentence counts interpretations by their names up to the first comma.
    """
    several = len(growths)
    linear = [
        name for name, one in growths.items() if one.value >= LINEAR and one.minus(_FAST).sign(several) > 0
    ]
    slow = [name for name, one in growths.items() if one.minus(LINEAR).sign(several) < 0]
    if linear:
        verdict = Verdict.CONDITION if slow else Verdict.HOLDS
    else:
        verdict = Verdict.FAILS if len(slow) == several else Verdict.INCONCLUSIVE
    words = {name: "yes" if name in linear else "no" if name in slow else "inconclusive" for name in growths}
    rows = tuple((name, str(regrets[name]), str(one), words[name]) for name, one in growths.items())
    groups = {name: name.partition(",")[0] for name in growths}
    counts = [
        f"{sum(groups[name] == group for name in linear)} of {list(groups.values()).count(group)} "
        f"interpretations with {group}"
        for group in dict.fromkeys(groups.values())
    ]
    return Finding(
        verdict,
        f"Linear in {listed(counts)}.",
        Table(("interpretation", "regret", "exponent", "linear"), rows),
    )


def judge_harmless(pairs: Mapping[str, tuple[Estimate, Estimate]]) -> Finding:
    """Judge the claim that refreshing indices less often increases regret by at most 10 %."""
    excess = {
        name: difference(batched, exact.times(1 + TENTH)).sign(len(pairs))
        for name, (exact, batched) in pairs.items()
    }
    cases = sort_cases(excess, wanted=-1)
    rows = tuple((name, str(exact), str(batched)) for name, (exact, batched) in pairs.items())
    measured = f"Regret is higher by more than 10 % in {len(cases.failing)} of {len(pairs)} cases."
    return Finding(by_cases(*cases), measured, Table(("case", *map(refresh_text, (1, 50))), rows))


def _over_estimated(paper: PaperResults) -> Finding:
    chosen = [one for one in paper.simulated if is_over_estimated(one)]
    return judge_all_below(regret_differences(paper, chosen, "clus-ucb", "kl-ucb"))


def _best_cluster_suffices(paper: PaperResults) -> Finding:
    return judge_all_below(
        {
            one.name: estimate(final(paper, one, "clus-ucb") - (1 + TENTH) * final(paper, one, "kl-ucb"))
            for one in paper.simulated
            if not one.bound.misled
        }
    )


def _best_cluster_needed(paper: PaperResults) -> Finding:
    chosen = [one for one in paper.simulated if one.bound.misled]
    return judge_all_below(regret_differences(paper, chosen, "kl-ucb", "clus-ucb"))


def _uniformly_good(paper: PaperResults) -> Finding:
    growths = {
        one.name: growth(paper.of[paper.programme.figure(one.figure, one.widths)["clus-ucb"]])
        for one in paper.simulated
        if not one.bound.violated
    }
    return judge_slow(growths)


def judge_slow(growths: Mapping[str, Estimate]) -> Finding:
    """Judge the claim that regret grows significantly more slowly than the square root of n."""
    signs = {name: one.minus(_ROOT).sign(len(growths)) for name, one in growths.items()}
    cases = sort_cases(signs, wanted=-1)
    rows = tuple((name, str(one)) for name, one in growths.items())
    measured = f"Slower than the square root of n in {len(cases.holding)} of {len(growths)} cases."
    return Finding(by_cases(*cases), measured, Table(("case", "exponent"), rows))


def _smaller_helps(paper: PaperResults) -> Finding:
    by_widths = {(one.figure.number, one.widths): one for one in paper.simulated}
    steps = [
        ("Figure 7 minus Figure 6", (6, (0.02, 0.02)), (7, (0.0, 0.02))),
        ("Figure 8 [0.1, 0.7] minus [0.4, 0.7]", (8, (0.4, 0.7)), (8, (0.1, 0.7))),
    ]
    differences = {
        name: estimate(
            final(paper, by_widths[narrow], "clus-ucb") - final(paper, by_widths[wide], "clus-ucb")
        )
        for name, wide, narrow in steps
    }
    return judge_all_below(differences)


def _misled(paper: PaperResults) -> Finding:
    experiments = paper.programme.readings()
    results = {_reading(*reading): paper.of[experiment] for reading, experiment in experiments.items()}
    return judge_linear(
        {name: growth(result) for name, result in results.items()},
        {name: estimate(result.regret(0)[:, -1]) for name, result in results.items()},
    )


def _reading(refresh: int, leader: str, a: float) -> str:
    index = "clustered index for all arms" if leader == "clustered" else "KL-UCB index in c_max"
    return f"{refresh_text(refresh)}, {index}, a = {a:g}"


def _refresh_harmless(paper: PaperResults) -> Finding:
    programme = paper.programme
    clus, plain, clocks = programme.readings(), programme.plain_readings(), programme.clocks()
    true = programme.true_widths()
    experiments = {
        f"Clus-UCB in Figure 8 {list(TRUE)}": (true[1], true[50]),
        "KL-UCB in Figure 8": (plain[1, 0.0], plain[50, 0.0]),
        f"Clus-UCB in Figure 8 {list(MISLED)}": (clus[1, "clustered", 0.0], clus[50, "clustered", 0.0]),
        "TLP-MEAN in Figure 5": (clocks["cluster", 1], clocks["cluster", 50]),
    }
    return judge_harmless(
        {
            name: (
                estimate(paper.final(exact)),
                estimate(paper.final(batched)),
            )
            for name, (exact, batched) in experiments.items()
        }
    )


WIDTHS = (
    Claim(
        "over-estimated-widths",
        "Section 6",
        "With over-estimated widths, Clus-UCB still has less regret than KL-UCB.",
        "Paired difference of final regret, Clus-UCB minus KL-UCB, where no width is too small and at least "
        "one exceeds its span.",
        _over_estimated,
        among=(4, 5, 8),
    ),
    Claim(
        "only-the-best-cluster-matters",
        "Section 6",
        "It is sufficient that the width of the cluster with the best arm is not too small.",
        "Clus-UCB's final regret minus 1.1 times KL-UCB's, per run, in all such settings; the claim holds "
        "if the difference is below 0.",
        _best_cluster_suffices,
        among=(2, 4, 5, 6, 7, 8),
    ),
    Claim(
        "best-cluster-needed",
        "Section 8",
        "It is also necessary for Clus-UCB that the width of the cluster with the best arm is not too small.",
        "Paired difference of final regret, KL-UCB minus Clus-UCB, where that width is too small; the claim "
        "holds if the difference is below 0.",
        _best_cluster_needed,
        among=(3, 8),
    ),
    Claim(
        "true-widths-uniformly-good",
        "Section 6",
        "If all widths are true or over-estimated, Clus-UCB is uniformly good.",
        "Exponent e of its regret, n^e, over the last decade of rounds, where no width is too small; the "
        "claim holds if e is below 0.5.",
        _uniformly_good,
        among=(2, 4, 5, 6, 8),
    ),
    Claim(
        "smaller-suboptimal-width-helps",
        "Section 6; Figures 7 and 8",
        "A smaller width of a suboptimal cluster, even one below its span, lowers Clus-UCB's regret.",
        "Paired difference of Clus-UCB's final regret, smaller width minus larger width.",
        _smaller_helps,
        figures=(6, 7, 8),
    ),
    Claim(
        "best-cluster-under-estimated",
        "Section 6; Figure 8",
        "If the width of the cluster with the best arm is too small, regret can be linear.",
        f"Final regret in Figure 8 with widths {list(MISLED)}, and the exponent of its growth over the last "
        "decade of rounds (1: linear); indices exact or refreshed every 50 rounds, both interpretations of "
        "c_max, a = 0 and a = 5.",
        _misled,
        figures=(WRONG_WIDTHS,),
    ),
    Claim(
        "refresh-is-harmless",
        "Section 5, our question",
        "Computing the indices only every 50 rounds, as the paper does to save time, changes little.",
        "Final regret with exact indices and with indices refreshed every 50 rounds, a = 0; the claim holds "
        "if the refresh adds at most 10 %.",
        _refresh_harmless,
        figures=(5, WRONG_WIDTHS),
    ),
)
