"""The reference numbers of the paper's instances, and the closed forms once more in plain Python."""

from __future__ import annotations

import math

import pytest

from clusterbandits import Clusters, Instance, regret_bound

CLOSE = [[0.41, 0.42, 0.43], [0.43, 0.44, 0.45]]
OVERLAPPING = [[0.80, 0.82, 0.84], [0.81, 0.83, 0.85]]
WRONG = [[0.3, 0.7], [0.1, 0.2, 0.8]]

#: Means, widths; A and B of the suboptimal cluster, the optimal cluster's term, as printed.
REFERENCE = [
    ([[0.40, 0.41, 0.42], [0.60, 0.61, 0.62]], [0.02, 0.02], "2.665", "2.713", "70.99", "A"),
    (OVERLAPPING, [0.02, 0.02], "27.24", "16.38", "20.02", "B"),
    (OVERLAPPING, [0.04, 0.04], "39.20", "155.9", "20.02", "A"),
    (CLOSE, [0.03, 0.04], "50.80", "194.4", "74.11", "A"),
    ([[0.68, 0.69, 0.67], [0.1, 0.2, 0.7]], [0.02, 0.8], "70.88", "131.3", "1.69", "A"),
    (CLOSE, [0.02, 0.02], "40.75", "48.82", "74.11", "A"),
    (CLOSE, [0.0, 0.02], "16.42", "12.29", "74.11", "B"),
    (WRONG, [0.5, 0.9], "4.408", "inf", "1.33", "A"),
    (WRONG, [0.4, 0.7], "4.277", "23.15", "1.33", "A"),
    (WRONG, [0.1, 0.7], "2.343", "1.475", "1.33", "B"),
    (WRONG, [0.4, 0.2], "4.277", "23.15", "1.33", "A"),
]


def as_printed(value: float | None, like: str) -> str:
    assert value is not None
    return f"{value:.{len(like.partition('.')[2])}f}"


@pytest.mark.parametrize(("means", "widths", "A", "B", "optimal", "branch"), REFERENCE)
def test_reference_to_all_printed_digits(
    means: list[list[float]], widths: list[float], A: str, B: str, optimal: str, branch: str
) -> None:
    bound = regret_bound(Instance(means), Clusters([len(part) for part in means], widths))
    poor, best = bound.clusters
    assert as_printed(poor.A, A) == A
    assert as_printed(poor.B, B) == B
    assert as_printed(best.lower, optimal) == optimal
    assert (poor.branch, best.branch) == (branch, "classical")
    assert (best.L, best.A, best.B, best.pull_ratios) == (None, None, None, None)
    assert bound.lower == poor.lower + best.lower
    assert bound.clus_ucb == pytest.approx(float(A) + float(optimal), abs=0.01)


def kl(x: float, y: float) -> float:
    return x * math.log(x / y) + (1 - x) * math.log((1 - x) / (1 - y))


@pytest.mark.parametrize(("widths", "optimal"), [([0.4, 0.7], "A"), ([0.1, 0.7], "B")])
def test_every_quantity_as_the_paper_writes_it(widths: list[float], optimal: str) -> None:
    bound = regret_bound(Instance(WRONG), Clusters([2, 3], widths))
    poor, best = bound.clusters
    floor = 0.8 - widths[0]
    b = [kl(mean, floor) if mean < floor else 0.0 for mean in (0.3, 0.7)]
    alpha = [kl(mean, 0.8) - drop for mean, drop in zip((0.3, 0.7), b, strict=True)]
    L = 1 + sum(drop / rest for drop, rest in zip(b, alpha, strict=True))
    pulls = [1 / (rest * L) for rest in alpha]
    assert poor.gaps == pytest.approx([0.5, 0.1])
    assert poor.divergences == pytest.approx([kl(0.3, 0.8), kl(0.7, 0.8)])
    assert poor.b == pytest.approx(b)
    assert poor.alpha == pytest.approx(alpha)
    assert pytest.approx(L) == poor.L
    assert pytest.approx(0.5 * pulls[0] + 0.1 * pulls[1]) == poor.A
    assert pytest.approx(0.5 / b[0]) == poor.B
    assert poor.clus_ucb_allocation == pytest.approx(pulls)
    assert poor.allocation == pytest.approx(pulls if optimal == "A" else [1 / b[0], 0])
    assert poor.pull_ratios == pytest.approx([alpha[1] / alpha[0], 1])
    assert best.allocation == pytest.approx([1 / kl(0.1, 0.8), 1 / kl(0.2, 0.8), math.inf])
    assert bound.classical == pytest.approx(
        sum((0.8 - mean) / kl(mean, 0.8) for mean in (0.3, 0.7, 0.1, 0.2))
    )


def test_expected_pulls() -> None:
    bound = regret_bound(Instance(WRONG), Clusters([2, 3], [0.4, 0.7]))
    pulls = bound.expected_pulls(1e6)
    assert pulls[:2] == pytest.approx(bound.clusters[0].clus_ucb_allocation * math.log(1e6))
    assert pulls[2] == pytest.approx(math.log(1e6) / kl(0.1, 0.8))
    assert pulls.sum() == pytest.approx(1e6)
    assert bound.expected_pulls(1).tolist() == [0, 0, 0, 0, 1]


def test_what_clusters_are_worth() -> None:
    bound = regret_bound(Instance(WRONG), Clusters([2, 3], [0.1, 0.7]))
    assert bound.saving == pytest.approx(1 - bound.lower / bound.classical)
    assert bound.violated == (0,)
    assert bound.clusters[0].excess == pytest.approx(0.3)
