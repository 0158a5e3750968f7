"""What must hold on every instance."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from clusterbandits import Clusters, Family, Instance, RegretBound, regret_bound
from tests.families import exact

ROUNDING = 1 + 1e-12
families = st.sampled_from(exact.FAMILIES)


@st.composite
def instances(draw: st.DrawFn, least_clusters: int = 1) -> Instance:
    family: Family = draw(families)
    low, high = exact.mean_range(family)
    means = st.floats(low, high, allow_subnormal=False)
    groups = st.lists(st.lists(means, min_size=1, max_size=6), min_size=least_clusters, max_size=5)
    return Instance(draw(groups), family=family)


def close(one: float, other: float) -> bool:
    return one == pytest.approx(other, rel=1e-10)


@given(instances(), st.floats(1.0, 3.0))
def test_knowledge_never_costs_where_widths_hold(instance: Instance, factor: float) -> None:
    bound = regret_bound(instance, instance.clusters([factor * span for span in instance.spans]))
    assert not bound.violated
    assert 0 <= bound.lower <= bound.clus_ucb <= bound.classical
    for cluster in bound.clusters:
        assert cluster.lower <= cluster.clus_ucb <= cluster.classical


@given(instances())
def test_infinite_widths_are_classical(instance: Instance) -> None:
    bound = regret_bound(instance, instance.clusters(math.inf))
    assert close(bound.lower, bound.classical)
    assert close(bound.clus_ucb, bound.classical)
    assert all(cluster.B in (None, math.inf) for cluster in bound.clusters)
    assert all(cluster.L in (None, 1.0) for cluster in bound.clusters)


@given(instances(), st.floats(0, 2), st.floats(0, 2))
def test_wider_widths_never_lower_the_bound(instance: Instance, one: float, other: float) -> None:
    narrow, wide = (regret_bound(instance, instance.clusters(w)) for w in sorted([one, other]))
    assert narrow.lower <= wide.lower * ROUNDING


@given(families, st.integers(1, 30), st.floats(0.05, 0.6), st.floats(0.01, 0.3), st.integers(1, 300))
def test_vanishing_width_tends_to_one_arm(
    family: Family, size: int, mean: float, gap: float, power: int
) -> None:
    """K equal arms with β → 0 cost what one arm costs, by either branch."""
    instance = Instance([[mean] * size, [mean + gap]], family=family)
    one_arm = regret_bound(Instance([[mean], [mean + gap]], family=family)).classical
    width = 10.0**-power
    if width < gap / 10:
        bound = regret_bound(instance, Clusters([size, 1], [width, 0.0]))
        distance = 1e-9 + 30 * size * width / gap
        assert bound.lower == pytest.approx(one_arm, rel=distance)
        assert bound.clus_ucb == pytest.approx(one_arm, rel=distance)
    limit = regret_bound(instance, Clusters([size, 1], [0.0, 0.0]))
    assert close(limit.lower, one_arm)
    assert close(limit.clus_ucb, one_arm)


@given(instances(least_clusters=2))
def test_the_limit_of_zero_width_is_continuous(instance: Instance) -> None:
    """Also where the means differ: β = 0 is what β → 0 tends to."""
    gaps = instance.gaps[instance.gaps > 0]
    near_end = instance.family.name == "bernoulli" and instance.best_mean > 0.99
    if gaps.size == 0 or gaps.min() < 1e-3 or near_end:
        return
    tiny = 1e-9 * float(gaps.min())
    zero, near = (regret_bound(instance, instance.clusters(w)) for w in (0.0, tiny))
    assert near.clus_ucb == pytest.approx(zero.clus_ucb, rel=1e-4)
    assert near.lower == pytest.approx(zero.lower, rel=1e-4)
    for part in zero.clusters:
        if part.branch != "classical":
            limit = len(part.arms) / math.fsum(part.divergences / part.gaps)
            assert pytest.approx(limit, rel=1e-12) == part.A
            assert part.branch == "B" or part.A == part.B or len(part.arms) == 1


def rates(bound: RegretBound) -> tuple[float, float, float]:
    return bound.lower, bound.clus_ucb, bound.classical


@given(instances(), st.floats(0, 1), st.randoms(use_true_random=False))
def test_order_changes_nothing(instance: Instance, width: float, random: Random) -> None:
    rng = np.random.default_rng(random.getrandbits(32))
    labels = [f"c{c}" for c in instance.partition.membership]
    widths = {name: width * (1 + int(name[1:])) for name in labels}
    order = rng.permutation(len(labels))
    one = regret_bound(
        Instance(instance.means, labels=labels, family=instance.family), Clusters.from_labels(labels, widths)
    )
    shuffled = [labels[k] for k in order]
    other = regret_bound(
        Instance(instance.means[order], labels=shuffled, family=instance.family),
        Clusters.from_labels(shuffled, widths),
    )
    assert rates(one) == rates(other)
    assert np.array_equal(one.allocation[order], other.allocation)
    assert np.array_equal(one.clus_ucb_allocation[order], other.clus_ucb_allocation)


@given(instances(), st.sampled_from([0.0, 1e-300, 0.1, 1.0, math.inf]))
def test_nothing_is_ever_undefined(instance: Instance, width: float) -> None:
    bound = regret_bound(instance, instance.clusters(width))
    numbers = [*rates(bound), *bound.allocation, *bound.clus_ucb_allocation, *bound.expected_pulls(1000)]
    numbers += [rate for part in bound.clusters for rate in (part.A, part.B, part.L) if rate is not None]
    assert not np.isnan(numbers).any()
    assert min(numbers) >= 0
