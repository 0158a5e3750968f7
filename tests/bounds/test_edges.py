"""Odd sizes, extreme means, extreme widths, wrong pairs."""

from __future__ import annotations

import json
import math
from typing import Any

import mpmath
import numpy as np
import pytest

from clusterbandits import Bernoulli, Clusters, Instance, InvalidInputError, RegretBound, regret_bound
from clusterbandits.bounds.view import evidence_table, pull_table
from clusterbandits.families import FAMILIES
from clusterbandits.serial import to_json
from tests.families import exact

loosely: Any = regret_bound


def test_one_arm_has_nothing_to_pay() -> None:
    bound = regret_bound(Instance([0.5]))
    assert (bound.lower, bound.clus_ucb, bound.classical, bound.saving) == (0, 0, 0, 0)
    assert bound.expected_pulls(10).tolist() == [10]


def test_all_arms_equal_have_nothing_to_pay() -> None:
    bound = regret_bound(Instance([[0.5, 0.5], [0.5]]))
    assert bound.lower == 0
    assert [part.branch for part in bound.clusters] == ["classical", "classical"]
    assert bound.expected_pulls(9).tolist() == [3, 3, 3]


def test_one_cluster_is_classical() -> None:
    bound = regret_bound(Instance([[0.1, 0.2, 0.7]]), Clusters([3], 0.6))
    assert bound.lower == bound.classical > 0


def test_a_cluster_of_one_arm_pays_its_classical_term() -> None:
    bound = regret_bound(Instance([[0.3], [0.8]]), Clusters([1, 1], [0.2, 0.0]))
    assert pytest.approx(bound.classical, rel=1e-14) == bound.clusters[0].A
    assert bound.clusters[0].branch == "A"


def test_several_optimal_clusters_are_classical_each() -> None:
    bound = regret_bound(Instance([[0.5, 0.8], [0.8, 0.2], [0.3]]), Clusters([2, 2, 1], 0.9))
    assert [part.branch for part in bound.clusters] == ["classical", "classical", "A"]


def test_a_certain_best_arm_costs_nothing_per_log() -> None:
    for width in (0.0, 1e-9, 0.3, 1.0, math.inf):
        bound = regret_bound(Instance([[0.0, 0.3, 1 - 1e-9], [1.0]]), Clusters([3, 1], width))
        assert (bound.lower, bound.clus_ucb, bound.classical) == (0, 0, 0)
        assert bound.allocation.tolist() == [0, 0, 0, math.inf]
        assert bound.saving == 0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("width", [0.0, 1e-12, 1e-10, 5e-10, 1.0])
def test_tiny_means(family: str, width: float) -> None:
    bound = regret_bound(Instance([[1e-10, 2e-10], [1e-9]], family=family), Clusters([2, 1], width))
    assert 0 < bound.lower <= bound.clus_ucb <= bound.classical * (1 + 1e-12) < math.inf


def test_gaps_below_all_floats_when_squared() -> None:
    for width in (0.0, 1e-250, 1.0):
        bound = regret_bound(Instance([[0.0, -1.0], [1e-200]], family="gaussian"), Clusters([2, 1], width))
        assert not math.isnan(bound.lower)
        assert bound.classical == math.inf


def test_touching_widths_do_not_count_as_further() -> None:
    """0.8 − 0.5 is above 0.3 in floats; the lowest arm is one width below the best all the same."""
    bound = regret_bound(Instance([[0.3, 0.7], [0.8]]), Clusters([2, 1], [0.5, 0.0]))
    assert math.inf == bound.clusters[0].B
    assert bound.lower == bound.classical


def test_equal_lowest_arms_share_the_second_branch() -> None:
    poor = [0.05, 0.05, *[0.3] * 9]
    part = regret_bound(Instance([poor, [0.5]]), Clusters([11, 1], [0.26, 0.0])).clusters[0]
    assert part.branch == "B"
    assert part.allocation.tolist() == pytest.approx([0.5 / part.b[0], 0.5 / part.b[0], *[0.0] * 9])


def test_order_decides_nothing_where_gaps_are_equal_floats() -> None:
    """Means far below the last place of the best one: equal gaps, but not equal evidence."""
    both = [
        regret_bound(Instance([means, [1.0]], family="exponential"), Clusters([2, 1], [0.5, 0.0]))
        for means in ([1e-17, 1e-30], [1e-30, 1e-17])
    ]
    assert both[0].lower == both[1].lower
    for part in (bound.clusters[0] for bound in both):
        assert np.all(part.alpha * part.allocation + part.b @ part.allocation >= 1 - 1e-12)


@pytest.mark.parametrize("family", ["poisson", "exponential", "gaussian"])
@pytest.mark.parametrize("scale", [1e-90, 1e-30, 1e30, 1e90])
def test_rates_scale_with_the_means(family: str, scale: float) -> None:
    def bound(by: float) -> RegretBound:
        means = [[0.1 * by, 0.2 * by], [0.5 * by]]
        spec = f"gaussian:sigma={by**0.5}" if family == "gaussian" else family
        return regret_bound(Instance(means, family=spec), Clusters([2, 1], [0.2 * by, 0.0]))

    # In each of these laws d scales with some power of the mean: a/d is that power of the scale.
    power = {"poisson": 0, "exponential": 1, "gaussian": 0}[family]
    one, other = bound(1.0), bound(scale)
    assert other.lower == pytest.approx(one.lower * scale**power, rel=1e-9)
    assert other.clus_ucb == pytest.approx(one.clus_ucb * scale**power, rel=1e-9)


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7, 1e-9, 1e-11])
@pytest.mark.parametrize("share", [1e-6, 0.01, 0.4, 0.9])
def test_close_arms_keep_their_digits(gap: float, share: float) -> None:
    """A and B against 60 digits, where μ* − β and μ agree in almost all of theirs."""
    family = Bernoulli()
    means = [0.3, 0.3 + gap / 3]
    best, width = 0.3 + gap, share * gap
    part = regret_bound(Instance([means, [best]]), Clusters([2, 1], [width, 0.0])).clusters[0]
    a = [mpmath.mpf(best) - mpmath.mpf(mean) for mean in means]
    b = [exact.divergence_above(family, mean, best, width) for mean in means]
    alpha = [exact.rise(family, mean, best, width) for mean in means]
    L = 1 + sum(drop / rest for drop, rest in zip(b, alpha, strict=True))
    assert pytest.approx(float(sum(x / (y * L) for x, y in zip(a, alpha, strict=True))), rel=1e-13) == part.A
    assert pytest.approx(float(a[0] / b[0]), rel=1e-13) == part.B
    assert pytest.approx(float(L), rel=1e-13) == part.L


def test_the_limit_of_zero_width_has_infinite_weight() -> None:
    part = regret_bound(Instance([[0.2, 0.3], [0.5]]), Clusters([2, 1], 0.0)).clusters[0]
    assert (part.L, part.alpha.tolist()) == (math.inf, [0.0, 0.0])


def test_an_arm_just_beyond_the_width_counts() -> None:
    bound = regret_bound(Instance([[0.3, 0.7], [0.8]]), Clusters([2, 1], [0.5 - 1e-14, 0.0]))
    assert 0 < bound.clusters[0].b[0] < 1e-26


def test_every_violated_cluster_is_named() -> None:
    instance = Instance([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.7]])
    assert regret_bound(instance, instance.clusters(0.05)).violated == (0, 1, 2)


def test_a_horizon_that_is_too_short_is_called_so() -> None:
    bound = regret_bound(Instance([[0.41, 0.42], [0.45]]))
    assert bound.suffices(10**6)
    assert not bound.suffices(1000)
    assert bound.expected_pulls(1000)[-1] == 0
    assert "1000 rounds are too few" in pull_table(bound, 1000).text()
    assert "too few" not in pull_table(bound, 10**6).text()
    assert "in 1,234,567:" in pull_table(bound, 1234567).text()


@pytest.mark.parametrize("widths", [[0.0, 0.0], [0.0, 0.1], [1e-20, 0.1], [1e-16, 0.1]])
@pytest.mark.parametrize(
    "means",
    [[[0.3, 0.1], [0.1 + 0.2]], [[0.3, 0.9, 1 - 2**-53], [1.0]], [[0.3], [0.1]], [[0.5, 0.2], [0.5000001]]],
)
def test_the_order_of_the_three_rates_survives_rounding(
    means: list[list[float]], widths: list[float]
) -> None:
    bound = regret_bound(Instance(means), Clusters([len(part) for part in means], widths))
    assert 0 <= bound.lower <= bound.clus_ucb <= bound.classical < math.inf
    assert 0 <= bound.saving <= 1


@pytest.mark.parametrize(
    ("mean", "best", "width"), [(0.59, 0.622, 0.004), (0.2, 0.279, 0.054), (0.73, 0.758, 0.005)]
)
def test_one_arm_never_pays_more_than_classical_by_rounding(mean: float, best: float, width: float) -> None:
    bound = regret_bound(Instance([[mean], [best]]), Clusters([1, 1], [width, 0.0]))
    assert bound.clus_ucb == bound.classical
    assert bound.saving == 0


def test_a_false_width_of_the_best_cluster_is_in_the_headline() -> None:
    instance = Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
    wrong, harmless = (regret_bound(instance, instance.clusters(w)) for w in ([0.4, 0.2], [0.1, 0.7]))
    assert wrong.misled == (1,)
    assert "Only the classical bound applies: the width declared for cluster 1" in str(wrong)
    assert harmless.misled == ()
    assert "can save" in str(harmless)


@pytest.mark.parametrize(
    ("means", "declared"),
    [
        ({"r": {1: 0.1, 0: 0.9}}, Clusters({"r": [0, 1]}, 0.9)),
        ({"red": [0.1, 0.2], "blue": [0.3]}, Clusters({"blue": 1, "red": 2}, 0.1)),
        ({"red": {"a": 0.1}, "blue": {"b": 0.2}}, Clusters({"red": ["a"], "green": ["c"]}, 0.1)),
    ],
)
def test_names_that_contradict_each_other_are_refused(means: Any, declared: Clusters) -> None:
    with pytest.raises(InvalidInputError, match="regret_bound: clusters must be"):
        regret_bound(Instance(means), declared)


def test_names_of_one_side_match_by_position() -> None:
    wanted = regret_bound(Instance([[0.1, 0.2], [0.3]]), Clusters([2, 1], 0.1)).lower
    for declared in (Clusters({"x": [101, 102], "y": [7]}, 0.1), Clusters([["a", "b"], ["c"]], 0.1)):
        assert regret_bound(Instance([[0.1, 0.2], [0.3]]), declared).lower == wanted
    assert regret_bound(Instance({"x": [0.1, 0.2], "y": [0.3]}), Clusters([2, 1], 0.1)).lower == wanted


def test_pull_ratios_in_every_limit() -> None:
    def ratios(means: list[float], best: float, width: float, family: str = "bernoulli") -> list[float]:
        bound = regret_bound(
            Instance([means, [best]], family=family), Clusters([len(means), 1], [width, 0.0])
        )
        found = bound.clusters[0].pull_ratios
        assert found is not None
        return [float(ratio) for ratio in found]

    assert ratios([0.1, 0.2], 0.5, 0.0) == pytest.approx([0.75, 1.0])
    assert ratios([0.1, 0.2], 0.5, 1e-9) == pytest.approx([0.75, 1.0], rel=1e-6)
    assert ratios([0.1, 0.2], 1.0, 0.3) == [1.0, 1.0]
    assert ratios([0.0, -1.0], 1e-200, 1.0, "gaussian") == [1.0, 0.0]


def test_true_spans_are_the_default_widths() -> None:
    instance = Instance([[0.1, 0.2], [0.8]])
    assert regret_bound(instance).lower == regret_bound(instance, instance.clusters()).lower


def test_grouping_of_the_clusters_decides() -> None:
    instance = Instance([0.1, 0.8, 0.2], labels=["x", "y", "x"])
    bound = regret_bound(instance, Clusters.from_labels(["x", "y", "x"], 0.1, arms=["p", "q", "r"]))
    assert bound.clusters[0].arms == ("p", "r")
    assert bound.clusters[0].means.tolist() == [0.1, 0.2]
    assert bound.allocation[1] == math.inf


def test_a_thousand_clusters_print_those_with_the_largest_bounds() -> None:
    bound = regret_bound(Instance([[0.5 - 0.0001 * c] for c in range(1000)]))
    text = str(bound)
    assert "The 30 clusters with the largest lower bounds, of 1000." in text
    assert [line.split()[0] for line in text.splitlines() if line[:1].isdigit()] == list(
        map(str, range(1, 31))
    )
    assert len(text.splitlines()) < 50


def test_prints_within_80_columns() -> None:
    means = {
        f"a campaign with a long name {c}": {
            f"an ad with a long name {c}{k}": 0.1 + c / 30 + k / 90 for k in range(9)
        }
        for c in range(9)
    }
    bound = regret_bound(Instance(means), Instance(means).clusters(1e-7))
    pages = [str(bound), evidence_table(bound).text(), pull_table(bound, 10**12).text()]
    assert max(len(line) for page in pages for line in page.splitlines()) <= 80
    assert all("a campaign" in page for page in pages)
    assert "harmless: " in str(bound)
    assert "dangerous: " in str(bound)


def test_tables_put_numbers_under_their_names() -> None:
    bound = regret_bound(Instance([[0.3, 0.7], [0.8]]), Clusters([2, 1], [0.1, 0.0]))
    part = bound.clusters[0]
    evidence, pulls = evidence_table(bound), pull_table(bound, 1e6)
    first = dict(zip(evidence.columns, evidence.rows[0], strict=True))
    assert first == {
        "cluster": "0",
        "arm": "0",
        "mean": 0.3,
        "a": part.gaps[0],
        "D": part.divergences[0],
        "b": part.b[0],
        "α": part.alpha[0],
    }
    second = dict(zip(pulls.columns, pulls.rows[1], strict=True))
    assert (second["optimal"], second["Clus-UCB"]) == (0.0, part.clus_ucb_allocation[1])
    assert second["in 1e+06"] == round(part.clus_ucb_allocation[1] * math.log(1e6))


def test_views_and_plain_data() -> None:
    bound = regret_bound(Instance([[0.3, 0.7], [0.1, 0.2, 0.8]]), Clusters([2, 3], [0.5, 0.9]))
    assert repr(bound) == "RegretBound(lower=5.74059, clus_ucb=5.74059, classical=5.74059)"
    page = bound._repr_html_()
    assert page.count("<tr>") == 4 + 3
    assert 'lower bound</td><td style="padding:0.2em 0.6em;text-align:right">5.741</td>' in page
    assert 'text-align:right">4.408</td>' in page
    assert "A: regret if all arms of the cluster are used" in page
    odd = Instance({"<b>": [0.1, 0.9]})
    assert "<b>" not in regret_bound(odd, odd.clusters(0.1))._repr_html_()
    many = Instance([[0.1 + c / 200, 0.2] for c in range(40)])
    assert "… and 31 more clusters wider than declared." in str(regret_bound(many, many.clusters(0.0)))
    data = json.loads(to_json(bound.to_dict()))
    assert data["clusters"][0]["B"] == "inf"
    assert data["clusters"][0]["branch"] == "A"
    assert set(data["clusters"][0]) >= {
        "gaps",
        "divergences",
        "b",
        "alpha",
        "L",
        "A",
        "allocation",
        "violated",
    }
    assert data["clusters"][1]["L"] is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: regret_bound(Instance([0.1, 0.2]), Clusters([3], 0.1)),
            "regret_bound: clusters must be clusters of the 2 arms of the instance, but got Clusters([3]",
        ),
        (
            lambda: regret_bound(Instance({"x": {"a": 0.1, "b": 0.2}}), Clusters([["b", "a"]], 0.1)),
            "regret_bound: clusters must be clusters of the arms of the instance, in the same order",
        ),
        (lambda: loosely(0.1), "regret_bound: instance must be an Instance object, but got 0.1"),
        (lambda: loosely(Instance([0.1]), [1]), "regret_bound: clusters must be a Clusters"),
        (lambda: regret_bound(Instance([0.1])).expected_pulls(10**400), "a whole number of at most 1e+15"),
        (
            lambda: regret_bound(Instance([0.1])).expected_pulls(0),
            "RegretBound.expected_pulls: horizon must be",
        ),
        (
            lambda: regret_bound(Instance([0.1])).expected_pulls(np.nan),
            "RegretBound.expected_pulls: horizon must be",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert sentence in str(caught.value)
