"""Claims about rates: regret and pulls per log n, measured at long horizons."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

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
    ratio_values,
    sort_cases,
)
from clusterbandits.paper.programme import MISLED, WIDE, WRONG_WIDTHS
from clusterbandits.simulation.statistics import count_text, round_text, span
from clusterbandits.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from clusterbandits.paper.figures import Setting
    from clusterbandits.paper.results import PaperResults
    from clusterbandits.simulation.results import Result

    Floats = NDArray[np.float64]

#: A rate agrees if its confidence interval deviates by at most the first share of the stated rate, and
#: disagrees if the interval deviates by more than the second share.
_WITHIN, _OFF = 0.25, 0.1


class Measured(NamedTuple):
    """A measured rate and the predicted rate."""

    rate: Estimate
    predicted: float


def per_log_n(values: Floats, result: Result, decades: int = 4) -> Floats:
    """Return the increase of values ``[run, checkpoint]`` per log n over the last decades, for each run."""
    since = max(result.horizon / 10**decades, 1.0)
    first, last = span(result.checkpoints, since, None)
    rounds = result.checkpoints[last] / result.checkpoints[first]
    return np.asarray((values[:, last] - values[:, first]) / math.log(rounds))


def judge_agreement(rates: Mapping[str, Measured]) -> Finding:
    """Judge the claim that measured rates equal the predicted rates."""
    return _judge(rates, (-1, 1))


def judge_at_most(rates: Mapping[str, Measured]) -> Finding:
    """Judge the claim that measured rates are at most the predicted rates."""
    return _judge(rates, (1,))


def judge_at_least(rates: Mapping[str, Measured]) -> Finding:
    """Judge the claim that measured rates are at least the predicted rates."""
    return _judge(rates, (-1,))


def _judge(rates: Mapping[str, Measured], wrong: tuple[int, ...]) -> Finding:
    """Sort rates: within the margin, off in a direction that contradicts the claim, or inconclusive."""
    cases = Cases([], [], [])
    for name, (rate, predicted) in rates.items():
        off, reach = rate.value - predicted, rate.reach(len(rates))
        sides = [side * off for side in wrong]
        if any(side - reach > _OFF * predicted for side in sides):
            cases.failing.append(name)
        elif all(side + reach <= _WITHIN * predicted for side in sides):
            cases.holding.append(name)
        else:
            cases.inconclusive.append(name)
    parts = [
        ("as stated", cases.holding),
        ("not as stated", cases.failing),
        ("inconclusive", cases.inconclusive),
    ]
    counts = ", ".join(f"{len(names)} {word}" for word, names in parts if names)
    return Finding(
        by_cases(*cases, universal=True), f"{count_text(len(rates), 'case')}: {counts}.", _rate_table(rates)
    )


def _rate_table(rates: Mapping[str, Measured]) -> Table:
    rows = tuple((name, str(rate), predicted) for name, (rate, predicted) in rates.items())
    return Table(("case", "measured", "stated"), rows)


def _far(paper: PaperResults) -> list[Setting]:
    """Return the settings with long experiments."""
    return [
        one
        for one in paper.simulated
        if one.figure.number == WRONG_WIDTHS and one.widths not in {MISLED, WIDE}
    ]


def _regret_rate(paper: PaperResults, setting: Setting, policy: str) -> Estimate:
    result = paper.of[paper.programme.rates()[setting.widths, policy]]
    return estimate(per_log_n(result.regret(0), result))


def _theorem_2(paper: PaperResults) -> Finding:
    rates = {
        one.name: Measured(_regret_rate(paper, one, "clus-ucb"), one.bound.clus_ucb) for one in _far(paper)
    }
    return judge_at_most(rates)


def _theorem_1(paper: PaperResults) -> Finding:
    rates = {
        f"Clus-UCB in {one.name}": Measured(_regret_rate(paper, one, "clus-ucb"), one.bound.lower)
        for one in _far(paper)
    }
    return judge_at_least(rates)


def _kl_ucb_classical(paper: PaperResults) -> Finding:
    one = _far(paper)[0]
    return judge_agreement({"KL-UCB": Measured(_regret_rate(paper, one, "kl-ucb"), one.bound.classical)})


def _pull_rates(paper: PaperResults) -> dict[str, Measured]:
    """Return Clus-UCB's pulls per log n of each arm in a suboptimal cluster, measured and predicted."""
    rates = {}
    for one in _far(paper):
        result = paper.of[paper.programme.rates()[one.widths, "clus-ucb"]]
        predicted = one.bound.clus_ucb_allocation
        for arm in np.flatnonzero(_in_suboptimal_cluster(one)).tolist():
            rate = estimate(per_log_n(result.pulls[0][:, :, arm].astype(float), result))
            name = f"{one.name}, mean {result.instance.means[arm]:g}"
            rates[name] = Measured(rate, float(predicted[arm]))
    return rates


def _in_suboptimal_cluster(setting: Setting) -> NDArray[np.bool_]:
    bound = setting.bound
    suboptimal = [part.branch != "classical" for part in bound.clusters]
    return np.array([suboptimal[c] for c in bound.membership])


def _expected_pulls(paper: PaperResults) -> Finding:
    return judge_agreement(_pull_rates(paper))


def _pull_ratios(paper: PaperResults) -> Finding:
    """Judge the claim t₁ α₁ = t₂ α₂ in suboptimal clusters, as ratios to the first arm."""
    ratios = {}
    for one in _far(paper):
        result = paper.of[paper.programme.rates()[one.widths, "clus-ucb"]]
        first, *others = np.flatnonzero(_in_suboptimal_cluster(one)).tolist()
        alpha = one.suboptimal.alpha
        base = per_log_n(result.pulls[0][:, :, first].astype(float), result)
        for place, arm in enumerate(others, start=1):
            pulls = per_log_n(result.pulls[0][:, :, arm].astype(float), result)
            name = f"{one.name}, mean {result.instance.means[arm]:g} to {result.instance.means[first]:g}"
            ratios[name] = Measured(ratio(pulls, base), float(alpha[0] / alpha[place]))
    return judge_agreement(ratios)


def ratio(above: Floats, below: Floats) -> Estimate:
    """Return the ratio of two means over the same runs, with its error by the delta method."""
    return estimate(ratio_values(above, below))


def _tlp_not_optimal(paper: PaperResults) -> Finding:
    settings = [one for one in _far(paper) if not one.bound.violated]
    rates = {
        f"TLP-MEAN in {one.name}": Measured(_regret_rate(paper, one, "tlp-mean"), one.bound.lower)
        for one in settings
    }
    chosen = [one for one in paper.of if one.policy == "tlp-mean" and one.number == WRONG_WIDTHS]
    best = [best_share(paper.of[one]) for one in chosen]
    return judge_not_optimal(rates, np.concatenate(best))


def best_share(result: Result) -> Floats:
    """Return the share of pulls of the best arm in each run."""
    return np.asarray(result.pulls[0, :, -1][:, result.instance.gaps == 0].sum(axis=1) / result.horizon)


def judge_not_optimal(rates: Mapping[str, Measured], best: Floats) -> Finding:
    """Judge the claim that a policy is not optimal: runs miss the best arm, or regret exceeds the bound."""
    missed = int((best < 0.5).sum())
    several = len(rates)
    above = [name for name, (rate, bound) in rates.items() if rate.minus(bound).sign(several) > 0]
    within = all(rate.value + rate.reach(several) <= (1 + _OFF) * bound for rate, bound in rates.values())
    verdict = Verdict.HOLDS if missed or above else Verdict.FAILS if within else Verdict.INCONCLUSIVE
    measured = (
        f"{missed} of {count_text(len(best), 'run')} with the best arm in less than half of the rounds; rate "
        f"significantly above the lower bound: {listed(above)}."
    )
    return Finding(verdict, measured, _rate_table(rates))


def _small_constant_suffices(paper: PaperResults) -> Finding:
    """Judge the claim that a should be at least 5: it does not hold if a = 0 has less regret."""
    experiments = paper.programme.constants()
    regrets = {
        one.name: [estimate(paper.final(experiments[one.widths, a])) for a in (0.0, 5.0)]
        for one in _far(paper)
    }
    signs = {name: difference(zero, five).sign(len(regrets)) for name, (zero, five) in regrets.items()}
    cases = sort_cases(signs, wanted=1)
    rows = tuple((name, str(zero), str(five)) for name, (zero, five) in regrets.items())
    measured = f"Regret is significantly lower with a = 0 in {len(cases.failing)} of {len(regrets)} cases."
    return Finding(by_cases(*cases), measured, Table(("case", "a = 0", "a = 5"), rows))


def _rounds(paper: PaperResults) -> str:
    settings = paper.settings
    return f"{round_text(settings.far_horizon // 10**4)} to {round_text(settings.far_horizon)} rounds"


_RATE = "(a = 0, exact indices) over the last four decades of runs with 10,000 times the figure's horizon"


def _claim(key: str, where: str, says: str, test: str, check: Callable[[PaperResults], Finding]) -> Claim:
    def measured(paper: PaperResults) -> Finding:
        found = check(paper)
        return replace(found, measured=f"From {_rounds(paper)}. {found.measured}")

    return Claim(key, where, says, test, measured, figures=(WRONG_WIDTHS,))


RATES = (
    _claim(
        "theorem-1",
        "Theorem 1",
        "No uniformly good policy has less regret per log n than the lower bound.",
        f"Regret per log n of Clus-UCB {_RATE}, compared with the lower bound.",
        _theorem_1,
    ),
    _claim(
        "theorem-2",
        "Theorem 2",
        "Clus-UCB's regret per log n is at most the rate that the theorem states.",
        f"Regret per log n of Clus-UCB {_RATE}, compared with Theorem 2.",
        _theorem_2,
    ),
    _claim(
        "kl-ucb-classical",
        "Section 1.1",
        "KL-UCB is asymptotically optimal for arms without structure.",
        f"Regret per log n of KL-UCB {_RATE}, compared with the bound of Lai and Robbins.",
        _kl_ucb_classical,
    ),
    _claim(
        "expected-pulls",
        "Section 4, third point",
        "An arm of a suboptimal cluster is pulled log T / (α L) times, up to terms of lower order.",
        f"Pulls per log n by Clus-UCB {_RATE}, compared with 1 / (α L).",
        _expected_pulls,
    ),
    _claim(
        "pull-ratios",
        "Section 4, second point",
        "Arms of a suboptimal cluster are pulled in inverse proportion to α.",
        f"Ratio of the pulls per log n of two arms {_RATE}, compared with the inverse ratio of α.",
        _pull_ratios,
    ),
    _claim(
        "tlp-not-optimal",
        "Section 5",
        "The two-level policy is not asymptotically optimal, because it does not use the widths.",
        f"Regret per log n of TLP-MEAN {_RATE}, compared with the lower bound for true widths; and the "
        "number of its runs in Figure 8 with the best arm in less than half of the rounds.",
        _tlp_not_optimal,
    ),
    Claim(
        "constant-5-worth-it",
        "Algorithm 1",
        "Clus-UCB should be run with a constant a of at least 5.",
        "Final regret of Clus-UCB in Figure 8 with a = 0 and a = 5, exact indices, for the widths [0.4, "
        "0.7] and [0.1, 0.7]; the claim holds if a = 0 has more regret.",
        _small_constant_suffices,
        figures=(WRONG_WIDTHS,),
    ),
)
