"""Odd sizes, extreme means, extreme widths, wrong pairs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from clusterbandits import Clusters, Instance, InvalidInputError, regret_bound
from clusterbandits.bounds.view import evidence_table, pull_table
from clusterbandits.serial import to_json

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


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "exponential", "gaussian"])
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


def test_a_horizon_that_is_too_short_is_called_so() -> None:
    bound = regret_bound(Instance([[0.41, 0.42], [0.45]]))
    assert bound.suffices(10**6)
    assert not bound.suffices(1000)
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


def test_a_false_width_of_the_best_cluster_is_in_the_headline() -> None:
    instance = Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
    wrong, harmless = (regret_bound(instance, instance.clusters(w)) for w in ([0.4, 0.2], [0.1, 0.7]))
    assert wrong.misled == (1,)
    assert "Only the classical bound applies: the width declared for 1" in str(wrong)
    assert harmless.misled == ()
    assert "can save" in str(harmless)


@pytest.mark.parametrize(
    ("means", "told"),
    [
        ({"r": {1: 0.1, 0: 0.9}}, Clusters({"r": [0, 1]}, 0.9)),
        ({"red": [0.1, 0.2], "blue": [0.3]}, Clusters({"blue": 1, "red": 2}, 0.1)),
        ({"red": {"a": 0.1}, "blue": {"b": 0.2}}, Clusters({"red": ["a"], "green": ["c"]}, 0.1)),
    ],
)
def test_names_that_contradict_each_other_are_refused(means: Any, told: Clusters) -> None:
    with pytest.raises(InvalidInputError, match="'clusters' parameter of regret_bound must be"):
        regret_bound(Instance(means), told)


def test_names_of_one_side_match_by_position() -> None:
    wanted = regret_bound(Instance([[0.1, 0.2], [0.3]]), Clusters([2, 1], 0.1)).lower
    for told in (Clusters({"x": [101, 102], "y": [7]}, 0.1), Clusters([["a", "b"], ["c"]], 0.1)):
        assert regret_bound(Instance([[0.1, 0.2], [0.3]]), told).lower == wanted
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


def test_a_thousand_clusters_print_the_dearest() -> None:
    bound = regret_bound(Instance([[0.5 - 0.0001 * c] for c in range(1000)]))
    text = str(bound)
    assert "30 dearest of 1000 clusters" in text
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
    assert "harmless, it holds no best arm" in str(bound)
    assert "dangerous, it holds a best arm" in str(bound)


def test_views_and_plain_data() -> None:
    bound = regret_bound(Instance([[0.3, 0.7], [0.1, 0.2, 0.8]]), Clusters([2, 3], [0.5, 0.9]))
    assert repr(bound) == "RegretBound(lower=5.74059, clus_ucb=5.74059, classical=5.74059)"
    assert "<table>" in bound._repr_html_()
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
            "'clusters' parameter of regret_bound must be over the 2 arms of the instance. Got Clusters([3]",
        ),
        (
            lambda: regret_bound(Instance({"x": {"a": 0.1, "b": 0.2}}), Clusters([["b", "a"]], 0.1)),
            "'clusters' parameter of regret_bound must be over the arms of the instance, in its order",
        ),
        (lambda: loosely(0.1), "'instance' parameter of regret_bound must be an Instance. Got 0.1"),
        (lambda: loosely(Instance([0.1]), [1]), "'clusters' parameter of regret_bound must be a Clusters"),
        (lambda: regret_bound(Instance([0.1])).expected_pulls(10**400), "a whole number of at most 1e+15"),
        (lambda: regret_bound(Instance([0.1])).expected_pulls(0), "'horizon' parameter of"),
        (lambda: regret_bound(Instance([0.1])).expected_pulls(np.nan), "'horizon' parameter of"),
    ],
)
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert sentence in str(caught.value)
