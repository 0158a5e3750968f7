"""Claims that need no simulation: their findings, and examples with the opposite result."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from clusterbandits import Instance, regret_bound
from clusterbandits.paper.audit import captions, concentration, linear_program, lower_bound, samples
from clusterbandits.paper.audit.captions import CAPTIONS
from clusterbandits.paper.audit.claim import Claim, Verdict
from clusterbandits.paper.audit.concentration import CONCENTRATION
from clusterbandits.paper.audit.lower_bound import LOWER_BOUND
from clusterbandits.paper.audit.samples import beside, ladder, paper_bounds, suboptimal
from clusterbandits.paper.figures import FIGURES, figure, settings

if TYPE_CHECKING:
    from clusterbandits.bounds import ClusterBound
    from clusterbandits.paper.figures import Setting
    from clusterbandits.paper.results import PaperResults

HOLDS, CONDITION, FAILS, INCONCLUSIVE = Verdict
NO_EVIDENCE = cast("PaperResults", None)
#: The claims that need no simulation.
CLAIMS = [one for one in (*LOWER_BOUND, *CAPTIONS, *CONCENTRATION) if one.key != "bad-rounds-are-rare"]
CONDITIONAL = {
    "divergence-finite",
    "term-depends-on-others",
    "bound-below-classical",
    "loose-first-tight-second",
    "bound-improves",
    "means-within-width",
    "figures-6-7-narrow-the-width",
    "figure-4-close-but-separated",
}
WRONG = {"caption-3", "caption-6", "constant-a"}


def setting(number: int, place: int = 0) -> Setting:
    return settings([number])[place]


def part(number: int, place: int = 0) -> ClusterBound:
    return setting(number, place).suboptimal


#: The other arms carry no information here: the width reaches from the best mean to the lowest.
SILENT = (8, 0)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.key)
def test_findings(claim: Claim) -> None:
    finding = claim.check(NO_EVIDENCE)
    expected = CONDITION if claim.key in CONDITIONAL else FAILS if claim.key in WRONG else HOLDS
    assert finding.verdict is expected, finding.measured
    assert any(letter.isdigit() for letter in finding.measured + claim.where)
    assert finding.measured.endswith(".")
    assert "nan" not in finding.measured


def test_keys_are_unique() -> None:
    keys = [claim.key for claim in CLAIMS]
    assert len(keys) == len(set(keys))
    assert set(keys) >= CONDITIONAL | WRONG


def test_bound_below_classical() -> None:
    lower, equal = setting(2).bound, setting(*SILENT).bound
    higher = replace(lower, lower=2 * lower.classical)
    assert lower_bound.below_classical([lower]).verdict is HOLDS
    assert lower_bound.below_classical([lower, equal]).verdict is CONDITION
    assert lower_bound.below_classical([equal]).verdict is FAILS
    found = lower_bound.below_classical([lower, equal, higher])
    assert found.verdict is FAILS
    assert "lower in 1, equal in 1, higher in 1" in found.measured


def test_closed_form() -> None:
    right, wrong = part(4), replace(part(4), lower=1.001 * part(4).lower)
    assert linear_program.closed_form([right]).verdict is HOLDS
    assert linear_program.closed_form([wrong]).verdict is FAILS
    assert linear_program.closed_form([right, wrong]).verdict is FAILS


def test_program_is_solved() -> None:
    spent = linear_program.program(part(7))
    assert spent == pytest.approx([part(7).B, 0, 0])
    assert math.fsum(linear_program.program(part(2))) == pytest.approx(part(2).A, rel=1e-12)


def test_worst_arm_alone() -> None:
    assert linear_program.worst_arm_alone([part(3)]).verdict is HOLDS
    assert linear_program.worst_arm_alone([replace(part(2), branch="B")]).verdict is FAILS
    assert linear_program.worst_arm_alone([part(2)]).verdict is INCONCLUSIVE


def test_infimum() -> None:
    right, wrong = part(2), replace(part(2), width=0.05)
    assert linear_program.infimum([right]).verdict is HOLDS
    assert linear_program.infimum([wrong]).verdict is FAILS


def test_trivial_widths() -> None:
    means = [[0.1, 0.3], [0.2, 0.2]]
    for check, width in ((lower_bound.no_knowledge, 1.0), (lower_bound.one_arm_in_effect, 0.0)):
        wide, between = beside(means, 0.6, [width] * 2), beside(means, 0.6, [0.25] * 2)
        assert check(wide[1:]).verdict is HOLDS
        assert check(between).verdict is FAILS
    assert lower_bound.one_arm_in_effect(beside(means, 0.6, [0.0] * 2)).verdict is CONDITION


def test_loose_and_tight() -> None:
    below_span = ladder(part(4))
    true = ladder(beside([[0.05, *[0.3] * 9]], 0.5, [0.26])[0])
    assert lower_bound.loose_and_tight([true]).verdict is HOLDS
    assert lower_bound.loose_and_tight([true, below_span]).verdict is CONDITION
    assert lower_bound.loose_and_tight([true[::-1]]).verdict is FAILS


def test_first_term_common() -> None:
    first, second = [part(2)], [part(3)]
    assert lower_bound.mostly_first({"one": first}).verdict is HOLDS
    assert lower_bound.mostly_first({"one": second}).verdict is FAILS
    assert lower_bound.mostly_first({"one": first, "other": first + second}).verdict is CONDITION


def test_optimal_cluster() -> None:
    true, narrow = setting(2).bound, setting(3).bound
    assert lower_bound.optimal_cluster([true]).verdict is HOLDS
    assert lower_bound.optimal_cluster([narrow]).verdict is FAILS
    assert (
        "In 1 of the 1 others the width is smaller than the span"
        in lower_bound.optimal_cluster([true, narrow]).measured
    )


def test_terms_depend_on_other_arms() -> None:
    assert lower_bound.depends_on_others([part(2), part(7)]).verdict is HOLDS
    assert lower_bound.depends_on_others([part(*SILENT)]).verdict is FAILS


def test_narrower_is_better() -> None:
    steps = ladder(part(2))
    assert lower_bound.narrower_is_better([steps]).verdict is HOLDS
    assert lower_bound.narrower_is_better([steps[::-1]]).verdict is FAILS


def test_finite_divergence() -> None:
    assert lower_bound.finite_divergence([0.0, 0.2, 0.5]).verdict is HOLDS
    assert lower_bound.finite_divergence([0.5, 1.0]).verdict is FAILS


def test_random_problems_have_true_widths() -> None:
    exact, wide = samples.random_bounds("exact"), samples.random_bounds("wide")
    assert not any(bound.violated for bound in (*exact, *wide))
    for one, other in zip(exact, wide, strict=True):
        assert all(a.width <= b.width for a, b in zip(one.clusters, other.clusters, strict=True))


@pytest.mark.parametrize("one", settings(range(2, 8)), ids=lambda one: one.name)
def test_a_caption_and_its_opposite(one: Setting) -> None:
    other = replace(one, figure=replace(one.figure, caption="B" if one.figure.caption == "A" else "A"))
    silent = replace(one, figure=replace(one.figure, caption=None))
    assert {captions.caption(one).verdict, captions.caption(other).verdict} == {HOLDS, FAILS}
    assert captions.caption(silent).verdict is INCONCLUSIVE


def test_caption_of_figure_3_would_hold_with_true_widths() -> None:
    assert "With the true widths: A = 39.20, B = 155.9" in captions.caption(setting(3)).measured


def test_strict_widths() -> None:
    assert captions.strict_widths(settings([4])).verdict is HOLDS
    assert captions.strict_widths(settings([2])).verdict is FAILS
    assert captions.strict_widths(settings([3])).verdict is FAILS
    assert "one above its width: Figure 3." in captions.strict_widths(settings([2, 3, 4])).measured


def test_words_for_the_gap() -> None:
    apart, shared, touching = figure(2), figure(3), figure(4)
    near = replace(touching, means=((0.41, 0.42, 0.43), (0.44, 0.45, 0.46)))
    verdicts = {
        check: [check(one).verdict for one in (apart, near, touching, shared)]
        for check in (captions.well_separated, captions.close_but_separated, captions.overlapping)
    }
    assert verdicts == {
        captions.well_separated: [HOLDS, CONDITION, FAILS, FAILS],
        captions.close_but_separated: [FAILS, HOLDS, CONDITION, FAILS],
        captions.overlapping: [FAILS, FAILS, CONDITION, HOLDS],
    }


def test_narrowing() -> None:
    above, equal, below = setting(4), setting(6), setting(7)
    assert captions.narrowing(above, above, below).verdict is HOLDS
    assert captions.narrowing(above, equal, below).verdict is CONDITION
    assert captions.narrowing(above, equal, equal).verdict is FAILS


def test_only_best_too_narrow() -> None:
    assert captions.only_best_too_narrow(settings([8])[3:]).verdict is HOLDS
    assert captions.only_best_too_narrow(settings([3])).verdict is CONDITION
    assert captions.only_best_too_narrow(settings([2])).verdict is FAILS


def test_hidden_best_arm() -> None:
    assert captions.hides_the_best(setting(5)).verdict is HOLDS
    assert captions.hides_the_best(setting(2)).verdict is FAILS


def test_one_best_arm() -> None:
    tied = replace(figure(2), means=((0.4, 0.6), (0.6, 0.5)))
    assert captions.one_best_arm([tied]).verdict is FAILS
    assert captions.one_best_arm([*FIGURES, tied]).measured == "Exactly one best arm in 7 of 8 figures."


def test_savings() -> None:
    assert captions.savings(settings([2, 5])).verdict is HOLDS
    assert captions.savings([setting(*SILENT)]).verdict is FAILS


@pytest.mark.parametrize("arms", [1, 2, 3, 7])
@pytest.mark.parametrize("a", [0, 5, 12])
def test_power_of_log_n(arms: int, a: float) -> None:
    found = concentration.power(lambda log_n: concentration.theorem_3(log_n, a, arms))
    assert found == pytest.approx(3 * arms - a, abs=1e-6)
    assert concentration.power(lambda log_n: concentration.garivier_cappe(log_n, a)) == pytest.approx(
        2 - a, abs=1e-6
    )


def test_theorem_3_as_the_paper_writes_it() -> None:
    n, a, arms = 10**6, 5, 3
    delta = math.log(n) + a * math.log(math.log(n))
    term = math.exp(-delta) * (math.ceil(delta * math.log(n)) * delta / arms) ** arms * math.exp(arms + 1)
    assert concentration.theorem_3(math.log(n), a, arms) == pytest.approx(math.log(n * term))


def test_constant() -> None:
    assert concentration.constant(5, [1]).verdict is HOLDS
    assert concentration.constant(10, [1, 2, 3]).verdict is HOLDS
    assert concentration.constant(9.9, [3]).verdict is FAILS
    assert concentration.constant(5, [2, 3]).measured.startswith(
        "Smallest integer a: 7 for 2 arms, 10 for 3 arms."
    )


def test_constant_of_one_arm() -> None:
    assert concentration.constant_of_one_arm(3.1).verdict is HOLDS
    assert concentration.constant_of_one_arm(2.9).verdict is FAILS


def test_ratio_rises() -> None:
    assert concentration.ratio_rises([(0.4, 0.3, 0.6, 0.1)]).verdict is HOLDS
    assert concentration.ratio_rises([(0.3, 0.4, 0.6, 0.1)]).verdict is FAILS


def test_rates_below_kl_ucb() -> None:
    assert concentration.below_kl_ucb(suboptimal(paper_bounds())).verdict is HOLDS
    assert concentration.below_kl_ucb([replace(part(2), L=0.9)]).verdict is FAILS


def test_near_optimality() -> None:
    met, missed = setting(2).bound, setting(3).bound
    assert concentration.near_optimal({"one": [met, met, missed]}).verdict is HOLDS
    assert concentration.near_optimal({"one": [met, met]}).verdict is CONDITION
    assert concentration.near_optimal({"one": [met, missed]}).verdict is FAILS
    assert "0 of 1 one" in concentration.near_optimal({"one": [missed]}).measured


def test_divergence_agrees_with_the_family() -> None:
    means = np.array([0.1, 0.35, 0.6])
    bound = regret_bound(Instance([means.tolist(), [0.7]]))
    assert samples.bernoulli(means, 0.7) == pytest.approx(bound.clusters[0].divergences)
