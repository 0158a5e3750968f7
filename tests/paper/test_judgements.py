"""All judgements, on data that make the claim true, false, partly true and inconclusive."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clusterbandits import Instance
from clusterbandits.paper.audit import CLAIMS, comparisons, rates, widths
from clusterbandits.paper.audit.claim import (
    Claim,
    Estimate,
    Finding,
    Verdict,
    audit,
    by_cases,
    difference,
    estimate,
)
from clusterbandits.paper.audit.concentration import bad_rounds, count_bad_rounds, judge_rare
from clusterbandits.paper.export import audit_markdown
from clusterbandits.paper.programme import Programme
from clusterbandits.paper.results import PaperResults
from clusterbandits.paper.settings import PaperSettings
from clusterbandits.policies import ClusUCB
from clusterbandits.simulation import play
from clusterbandits.simulation.results import Result

LOW, HIGH, OPEN = Estimate(-5, 1, 48), Estimate(5, 1, 48), Estimate(-1, 1, 48)


def measured(value: float, error: float, predicted: float) -> rates.Measured:
    return rates.Measured(Estimate(value, error, 48), predicted)


def result_of(rounds: list[int], pulls: list[list[list[list[int]]]]) -> Result:
    return Result(Instance([[0.5], [0.75]]), ("x",), np.array(rounds), np.array(pulls))


def test_signs_use_students_t() -> None:
    # t(3, 0.975) = 3.1824, t(3, 0.9875) = 4.1765
    assert Estimate(3.2, 1, 4).sign() == 1
    assert Estimate(-3.1, 1, 4).sign() == 0
    assert Estimate(-4.1, 1, 4).sign(cases=2) == 0
    assert Estimate(-4.2, 1, 4).sign(cases=2) == -1
    assert Estimate(-4.2, 0, 2).sign() == 0
    assert Estimate(9, math.nan, 1).sign() == 0


def test_paired_differences_are_sharper() -> None:
    rng = np.random.default_rng(1)
    common = rng.normal(size=50)
    one, other = common + 1 + rng.normal(size=50) / 100, common
    independent = difference(estimate(one), estimate(other))
    assert estimate(one - other).error < 0.1 * independent.error
    assert difference(HIGH, LOW) == Estimate(10, math.sqrt(2), 48)


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [
        ([1, 0, 0], Verdict.HOLDS),
        ([1, 1, 0], Verdict.CONDITION),
        ([0, 1, 0], Verdict.FAILS),
        ([0, 1, 1], Verdict.FAILS),
        ([1, 0, 1], Verdict.INCONCLUSIVE),
        ([0, 0, 1], Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts_by_cases(cases: list[int], verdict: Verdict) -> None:
    assert by_cases(*(["x"] * count for count in cases)) == verdict


def test_differences_below_zero_in_all_figures() -> None:
    judge = comparisons.judge_all_below
    assert judge({"a": LOW, "b": LOW}).verdict == Verdict.HOLDS
    assert judge({"a": LOW, "b": HIGH}).verdict == Verdict.CONDITION
    assert judge({"a": HIGH}).verdict == Verdict.FAILS
    found = judge({"a": LOW, "b": OPEN})
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "below 0 in a; inconclusive in b" in found.measured
    assert found.details is not None
    assert found.details.rows[0] == ("a", "-5.0 ± 1.0", "below 0")


def test_a_difference_below_zero_in_some_figure() -> None:
    judge = comparisons.judge_some_below
    assert judge({"a": LOW, "b": HIGH}).verdict == Verdict.HOLDS
    assert judge({"a": HIGH, "b": HIGH}).verdict == Verdict.FAILS
    assert judge({"a": HIGH, "b": OPEN}).verdict == Verdict.INCONCLUSIVE


def test_poor_in_all_interpretations() -> None:
    judge, rival = comparisons.judge_poor, Estimate(100, 2, 48)
    good, bad = (Estimate(50, 2, 48), rival), (Estimate(900, 2, 48), rival)
    assert judge({"exact": bad, "batched": bad}).verdict == Verdict.HOLDS
    found = judge({"exact": good, "batched": bad})
    assert found.verdict == Verdict.CONDITION
    assert found.measured == "Poor with batched; not poor with exact."
    assert judge({"exact": good}).verdict == Verdict.FAILS
    assert judge({"exact": (Estimate(120, 300, 48), rival)}).verdict == Verdict.INCONCLUSIVE


def test_linear_growth() -> None:
    linear, slow, between = Estimate(0.97, 0.01, 48), Estimate(0.1, 0.01, 48), Estimate(0.85, 0.2, 48)
    regrets = {"exact indices, a": HIGH, "refresh, a": HIGH}
    found = widths.judge_linear({"exact indices, a": slow, "refresh, a": linear}, regrets)
    assert found.verdict == Verdict.CONDITION
    assert (
        "0 of 1 interpretations with exact indices and 1 of 1 interpretations with refresh" in found.measured
    )
    assert (
        widths.judge_linear({"exact indices, a": linear, "refresh, a": linear}, regrets).verdict
        == Verdict.HOLDS
    )
    assert (
        widths.judge_linear({"exact indices, a": slow, "refresh, a": slow}, regrets).verdict == Verdict.FAILS
    )
    assert widths.judge_linear({"exact indices, a": between}, regrets).verdict == Verdict.INCONCLUSIVE


def test_growth_is_the_exponent_of_the_last_decade() -> None:
    rounds = [100, 1000, 10_000]
    pulls = [[[[int(0.1 * n), n - int(0.1 * n)] for n in rounds], [[n // 5, n - n // 5] for n in rounds]]]
    found = widths.growth(result_of(rounds, pulls))
    assert found.value == pytest.approx(1.0)
    assert found.error == pytest.approx(0.0, abs=1e-12)


def test_a_refresh_that_adds_no_regret() -> None:
    judge, exact = widths.judge_harmless, Estimate(100, 1, 48)
    assert judge({"a": (exact, Estimate(101, 1, 48))}).verdict == Verdict.HOLDS
    assert judge({"a": (exact, Estimate(200, 1, 48))}).verdict == Verdict.FAILS
    assert judge({"a": (exact, Estimate(110, 5, 48))}).verdict == Verdict.INCONCLUSIVE


def test_a_theorem_is_refuted_by_one_case() -> None:
    assert by_cases(["a"], ["b"], [], universal=True) == Verdict.FAILS
    assert by_cases(["a"], [], ["b"], universal=True) == Verdict.INCONCLUSIVE


def test_rates_that_agree() -> None:
    judge = rates.judge_agreement
    assert judge({"a": measured(3.7, 0.2, 3.68)}).verdict == Verdict.HOLDS
    assert judge({"a": measured(5.7, 0.2, 3.68)}).verdict == Verdict.FAILS
    assert judge({"a": measured(1.7, 0.2, 3.68), "b": measured(3.7, 0.2, 3.68)}).verdict == Verdict.FAILS
    assert judge({"a": measured(3.7, 2.0, 3.68)}).verdict == Verdict.INCONCLUSIVE
    assert judge({"a": measured(4.3, 0.2, 3.68)}).verdict == Verdict.INCONCLUSIVE


def test_rates_on_one_side() -> None:
    below, above = {"a": measured(1.7, 0.2, 3.68)}, {"a": measured(5.7, 0.2, 3.68)}
    assert rates.judge_at_most(below).verdict == rates.judge_at_least(above).verdict == Verdict.HOLDS
    assert rates.judge_at_most(above).verdict == rates.judge_at_least(below).verdict == Verdict.FAILS
    assert (
        rates.judge_at_most({"a": rates.Measured(Estimate(9.0, 0.7, 2), 3.7)}).verdict == Verdict.INCONCLUSIVE
    )


def test_not_optimal_if_runs_miss_the_best_arm_or_regret_exceeds_the_bound() -> None:
    judge, fine = rates.judge_not_optimal, np.array([0.99, 0.98])
    low, high = {"a": measured(3.0, 0.1, 5.6)}, {"a": measured(7.0, 0.1, 5.6)}
    assert judge(low, fine).verdict == Verdict.FAILS
    assert judge(low, np.array([0.99, 0.01])).verdict == Verdict.HOLDS
    assert judge(high, fine).verdict == Verdict.HOLDS
    assert judge({"a": measured(5.6, 1.0, 5.6)}, fine).verdict == Verdict.INCONCLUSIVE


def test_slow_growth() -> None:
    slow, fast, open_ = Estimate(0.2, 0.02, 48), Estimate(0.9, 0.02, 48), Estimate(0.4, 0.2, 48)
    assert widths.judge_slow({"a": slow}).verdict == Verdict.HOLDS
    assert widths.judge_slow({"a": slow, "b": fast}).verdict == Verdict.CONDITION
    assert widths.judge_slow({"a": slow, "b": open_}).verdict == Verdict.INCONCLUSIVE


def test_a_ratio_has_the_error_of_both() -> None:
    rng = np.random.default_rng(2)
    above, below = rng.normal(20, 2, 4000), rng.normal(5, 1, 4000)
    found = rates.ratio(above, below)
    assert found.value == pytest.approx(4.0, rel=0.02)
    assert found.error == pytest.approx(4 * math.hypot(0.1, 0.2) / math.sqrt(4000), rel=0.1)


def test_rates_are_measured_over_the_last_decades() -> None:
    rounds = [1, 10, 100, 1000]
    result = result_of(rounds, [[[[0, n] for n in rounds]]])
    values = np.array([[5.0, 7.0, 8.0, 9.0]])
    assert rates.per_log_n(values, result, decades=2).tolist() == pytest.approx([2 / math.log(100)])
    assert rates.per_log_n(values, result).tolist() == pytest.approx([4 / math.log(1000)])


def test_bad_rounds_are_those_whose_index_is_below_the_mean() -> None:
    """The count from the evidence equals the count from the indices that the policy reports."""
    instance = Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
    policy = ClusUCB(instance.clusters((0.4, 0.7)), a=0.0)
    rng = np.random.default_rng(11)
    tape = (rng.random((5, 300)) < instance.means[:, None]).astype(float)
    tape[4, :12] = 0
    arms = play(policy, tape)
    learner, seen, bad = ClusUCB(policy.clusters, a=0.0), [0] * 5, 0
    for n, arm in enumerate(arms.tolist(), start=1):
        if n > 5:
            index = learner.explain().arms[4].index
            assert index is not None
            bad += index < 0.8
        learner.tell(arm, tape[arm, seen[arm]])
        seen[arm] += 1
    assert bad > 10
    assert count_bad_rounds(instance, policy, tape) == bad


def test_bad_rounds_judged() -> None:
    assert judge_rare(Estimate(0.1, 0.1, 24), 10**5).verdict == Verdict.HOLDS
    assert judge_rare(Estimate(90, 1, 24), 10**5).verdict == Verdict.FAILS
    assert judge_rare(Estimate(2.5, 1, 24), 10**5).verdict == Verdict.INCONCLUSIVE
    assert judge_rare(Estimate(0.0, 0.0, 24), 10**5).verdict == Verdict.HOLDS
    assert judge_rare(Estimate(0.0, 0.0, 1), 10**5).verdict == Verdict.INCONCLUSIVE
    assert bad_rounds(5.0, 500, 3, 0).value <= bad_rounds(0.0, 500, 3, 0).value


def test_claims_are_tested_if_their_figures_are_simulated() -> None:
    def claim(**needs: tuple[int, ...]) -> Claim:
        return Claim("key", "where", "says", "test", lambda _: Finding(Verdict.HOLDS, "so"), **needs)

    assert claim(figures=(2, 3)).applies([2, 3, 4])
    assert not claim(figures=(2, 3)).applies([2, 4])
    assert claim(among=(2, 3)).applies([3])
    assert not claim(among=(2, 3)).applies([4])
    evidence = PaperResults(Programme(PaperSettings(figures=[1])), {})
    entries = audit([claim(), claim(figures=(8,))], evidence)
    assert [entry.to_dict()["verdict"] for entry in entries] == ["holds"]
    text = audit_markdown(entries, evidence)
    assert "Verdict: **holds**." in text
    assert "`clusterbandits paper --figure 1`" in text


def test_keys_of_claims_are_unique_and_descriptions_complete() -> None:
    keys = [claim.key for claim in CLAIMS]
    assert len(keys) == len(set(keys)) >= 45
    assert all(claim.says.endswith(".") and claim.where and claim.test for claim in CLAIMS)


def test_estimates_are_means() -> None:
    assert estimate(np.array([1.0, 3.0])) == Estimate(2.0, 1.0, 2)
    assert str(Estimate(1234.5, 2.5, 48)) == "1234.5 ± 2.5"
