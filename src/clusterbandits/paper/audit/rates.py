"""Claims of Theorems 1 and 2: rates and pulls, measured where log n has grown large."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterbandits.paper.audit.claim import Claim, Finding, Verdict, by_cases
from clusterbandits.paper.audit.decide import Cases, Estimate, apart, difference, estimate, listed, sort_cases
from clusterbandits.paper.programme import MISLED, WRONG_WIDTHS
from clusterbandits.simulation.statistics import round_text, span
from clusterbandits.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from clusterbandits.paper.branches import Setting
    from clusterbandits.paper.evidence import Evidence
    from clusterbandits.simulation.results import Result

    Floats = NDArray[np.float64]

#: A measured rate agrees with a predicted one within this share, or within its own confidence.
_CLOSE = 0.1
#: An error larger than this share of what is measured leaves too much open.
_BLURRED = 0.2


class Measured(NamedTuple):
    """A rate as it was measured, and what it should be."""

    rate: Estimate
    predicted: float


def per_log_n(values: Floats, result: Result) -> Floats:
    """Return how fast values ``[run, checkpoint]`` grow with log n over the last two decades, run by run."""
    first, last = span(result.checkpoints, None, None)
    rounds = result.checkpoints[last] / result.checkpoints[first]
    return np.asarray((values[:, last] - values[:, first]) / math.log(rounds))


def judge_agreement(rates: Mapping[str, Measured]) -> Finding:
    """Judge that measured rates are those predicted."""
    return _judge(rates, (-1, 1))


def judge_at_most(rates: Mapping[str, Measured]) -> Finding:
    """Judge that measured rates are not above those predicted."""
    return _judge(rates, (1,))


def judge_at_least(rates: Mapping[str, Measured]) -> Finding:
    """Judge that measured rates are not below those predicted."""
    return _judge(rates, (-1,))


def _judge(rates: Mapping[str, Measured], wrong: tuple[int, ...]) -> Finding:
    """Sort rates by whether they are off to a wrong side, certainly and by more than a little."""
    cases = Cases([], [], [])
    for name, (rate, predicted) in rates.items():
        off = rate.minus(predicted)
        beyond = off.sign(len(rates)) in wrong and abs(off.value) > _CLOSE * predicted
        blurred = rate.error > _BLURRED * predicted
        (cases.failing if beyond else cases.undecided if blurred else cases.holding).append(name)
    parts = [("as stated", cases.holding), ("not as stated", cases.failing), ("not decided", cases.undecided)]
    told = ", ".join(f"{len(names)} {word}" for word, names in parts if names)
    return Finding(by_cases(*cases), f"Of {len(rates)}: {told}.", _rate_table(rates))


def _rate_table(rates: Mapping[str, Measured]) -> Table:
    rows = tuple((name, str(rate), predicted) for name, (rate, predicted) in rates.items())
    return Table(("case", "measured", "stated"), rows)


def _far(evidence: Evidence) -> list[Setting]:
    return [one for one in evidence.played if one.figure.number == WRONG_WIDTHS and one.widths != MISLED]


def _regret_rate(evidence: Evidence, setting: Setting, policy: str) -> Estimate:
    result = evidence.results[evidence.programme.rates()[setting.widths, policy]]
    return estimate(per_log_n(result.regret(0), result))


def _theorem_2(evidence: Evidence) -> Finding:
    rates = {
        one.name: Measured(_regret_rate(evidence, one, "clus-ucb"), one.bound.clus_ucb)
        for one in _far(evidence)
    }
    return judge_at_most(rates)


def _theorem_1(evidence: Evidence) -> Finding:
    rates = {
        f"{name} in {one.name}": Measured(_regret_rate(evidence, one, policy), one.bound.lower)
        for one in _far(evidence)
        for name, policy in {"KL-UCB": "kl-ucb", "Clus-UCB": "clus-ucb"}.items()
    }
    return judge_at_least(rates)


def _kl_ucb_classical(evidence: Evidence) -> Finding:
    one = _far(evidence)[0]
    return judge_agreement({"KL-UCB": Measured(_regret_rate(evidence, one, "kl-ucb"), one.bound.classical)})


def _pull_rates(evidence: Evidence) -> dict[str, Measured]:
    """Return Clus-UCB's pulls per log n of every arm of a suboptimal cluster, with those predicted."""
    rates = {}
    for one in _far(evidence):
        result = evidence.results[evidence.programme.rates()[one.widths, "clus-ucb"]]
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


def _expected_pulls(evidence: Evidence) -> Finding:
    return judge_agreement(_pull_rates(evidence))


def _pull_ratios(evidence: Evidence) -> Finding:
    """Judge t₁ α₁ = t₂ α₂ in every suboptimal cluster, as a ratio to its first arm."""
    ratios = {}
    for one in _far(evidence):
        result = evidence.results[evidence.programme.rates()[one.widths, "clus-ucb"]]
        first, *others = np.flatnonzero(_in_suboptimal_cluster(one)).tolist()
        alpha = one.suboptimal.alpha
        base = per_log_n(result.pulls[0][:, :, first].astype(float), result)
        for place, arm in enumerate(others, start=1):
            pulls = per_log_n(result.pulls[0][:, :, arm].astype(float), result)
            name = f"{one.name}, mean {result.instance.means[arm]:g} to {result.instance.means[first]:g}"
            ratios[name] = Measured(ratio(pulls, base), float(alpha[0] / alpha[place]))
    return judge_agreement(ratios)


def ratio(above: Floats, below: Floats) -> Estimate:
    """Return the ratio of two means over the same runs, its error by the delta method."""
    value = float(above.mean() / below.mean())
    spread = apart(above / above.mean(), below / below.mean(), paired=True)
    return Estimate(value, abs(value) * spread.error, len(above))


def _tlp_not_optimal(evidence: Evidence) -> Finding:
    """Judge that a two-level policy pays more per log n than the lower bound somewhere."""
    rates = {
        f"{policy.upper()} in {one.name}": Measured(_regret_rate(evidence, one, policy), one.bound.lower)
        for one in _far(evidence)
        for policy in ("tlp-mean",)
    }
    above = [name for name, (rate, bound) in rates.items() if rate.minus(bound).sign(len(rates)) > 0]
    verdict = Verdict.HOLDS if above else Verdict.UNDECIDED
    return Finding(verdict, f"Certainly above it: {listed(above)}.", _rate_table(rates))


def _small_constant_suffices(evidence: Evidence) -> Finding:
    """Judge that a = 5 is needed: it is not, where a = 0 pays less everywhere."""
    games = evidence.programme.constants()
    regrets = {
        one.name: [estimate(evidence.results[games[one.widths, a]].regret(0)[:, -1]) for a in (0.0, 5.0)]
        for one in _far(evidence)
    }
    signs = {name: difference(zero, five).sign(len(regrets)) for name, (zero, five) in regrets.items()}
    cases = sort_cases(signs, wanted=1)
    rows = tuple((name, str(zero), str(five)) for name, (zero, five) in regrets.items())
    told = f"a = 0 certainly pays less in {len(cases.failing)} of {len(regrets)} cases."
    return Finding(by_cases(*cases), told, Table(("case", "a = 0", "a = 5"), rows))


def _stretch(evidence: Evidence) -> str:
    settings = evidence.settings
    return f"{round_text(settings.far_horizon // 100)} to {round_text(settings.far_horizon)} rounds"


_RATE = "over the last two decades of a run 10,000 times as long as the figure's (10^10 rounds)"


def _claim(key: str, where: str, says: str, test: str, check: Callable[[Evidence], Finding]) -> Claim:
    def measured(evidence: Evidence) -> Finding:
        found = check(evidence)
        return replace(found, measured=f"From {_stretch(evidence)}. {found.measured}")

    return Claim(key, where, says, test, measured, figures=(WRONG_WIDTHS,))


RATES = (
    _claim(
        "theorem-1",
        "Theorem 1",
        "No uniformly good policy pays less per log n than the lower bound.",
        f"Regret per log n of KL-UCB and Clus-UCB {_RATE}, against the lower bound.",
        _theorem_1,
    ),
    _claim(
        "theorem-2",
        "Theorem 2",
        "Clus-UCB pays at most its own rate per log n.",
        f"Regret per log n of Clus-UCB {_RATE}, against Theorem 2.",
        _theorem_2,
    ),
    _claim(
        "kl-ucb-classical",
        "Section 1.1",
        "KL-UCB is asymptotically optimal for arms without structure.",
        f"Regret per log n of KL-UCB {_RATE}, against Lai and Robbins.",
        _kl_ucb_classical,
    ),
    _claim(
        "expected-pulls",
        "Section 4, third point",
        "An arm of a suboptimal cluster is pulled log T / (α L) times, but for terms of lower order.",
        f"Pulls per log n by Clus-UCB {_RATE}, against 1 / (α L).",
        _expected_pulls,
    ),
    _claim(
        "pull-ratios",
        "Section 4, second point",
        "Arms of a suboptimal cluster are pulled in inverse proportion to α.",
        f"Ratio of the pulls per log n of two arms {_RATE}, against the inverse ratio of α.",
        _pull_ratios,
    ),
    _claim(
        "tlp-not-optimal",
        "Section 5",
        "The two-level policy is not asymptotically optimal, as it knows no widths.",
        f"Regret per log n of TLP-MEAN {_RATE}, against the lower bound.",
        _tlp_not_optimal,
    ),
    Claim(
        "constant-5-needed",
        "Algorithm 1",
        "Clus-UCB takes a constant a of at least 5.",
        "Final regret of Clus-UCB in Figure 8 with a = 0 and a = 5, where no width misleads; needed: a = 0 "
        "pays more.",
        _small_constant_suffices,
        figures=(WRONG_WIDTHS,),
    ),
)
