"""Bounded rewards: from 0 to 1 they are Bernoulli's, and no policy depends on the unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import clusterbandits as cb
from clusterbandits.families.posterior import draw_flat
from clusterbandits.families.stream import fresh_stream

LABELS = [0, 1, 0, 2, 1, 0, 2]
WIDTHS = np.array([0.125, 0.25, 0.5])
MEANS = np.array([0.2, 0.45, 0.25, 0.6, 0.5, 0.3, 0.1])
SPECS = [
    *cb.POLICIES,
    "hier-ts:widths=respected",
    "clus-ucb:leader=plain",
    "clus-opt:hedge=0.5",
    "thompson:prior=0.25@4",
]
ROUNDS = 400
#: Bounds whose arithmetic is exact for the rewards below, so that ties stay ties.
UNITS = [(0.0, 64.0), (-8.0, 24.0), (16.0, 48.0)]


def tape(seed: int, *, fractions: bool = False) -> NDArray[np.float64]:
    """Rewards from 0 to 1: 0 or 1 alone, or multiples of 1/64."""
    rng = np.random.default_rng(seed)
    if fractions:
        return np.round(64 * rng.beta(2 * MEANS[:, None], 2 - 2 * MEANS[:, None], (MEANS.size, ROUNDS))) / 64
    return (rng.random((MEANS.size, ROUNDS)) < MEANS[:, None]).astype(float)


def made(spec: str, family: str, low: float = 0.0, unit: float = 1.0) -> Any:
    clusters = cb.Clusters.from_labels(LABELS, widths=unit * WIDTHS)
    if "prior=" in spec:
        spec = f"thompson:prior={low + 0.25 * unit}@4"
    settings: dict[str, Any] = {"horizon": ROUNDS} if spec == "kl-ucb++" else {}
    return cb.policy(spec, clusters, family=family, **settings)


@pytest.mark.parametrize("spec", SPECS)
def test_from_0_to_1_they_are_bernoulli_rewards(spec: str) -> None:
    for seed in (1, 2):
        rewards = tape(seed)
        path = cb.play(made(spec, "bernoulli"), rewards)
        assert np.array_equal(cb.play(made(spec, "bounded"), rewards), path)


@pytest.mark.parametrize("spec", SPECS)
def test_the_unit_changes_no_choice(spec: str) -> None:
    for seed, (low, high) in enumerate(UNITS):
        for fractions in (False, True):
            rewards = tape(seed, fractions=fractions)
            path = cb.play(made(spec, "bounded"), rewards)
            family, scaled = f"bounded:low={low},high={high}", low + (high - low) * rewards
            learner = made(spec, family, low, high - low)
            assert np.array_equal(cb.play(learner, scaled), path), (low, high)
            assert np.array_equal(cb.play(learner, scaled, stepwise=True), path), (low, high)


@pytest.mark.parametrize("spec", ["kl-ucb", "clus-ucb", "clus-ts", "ucb1", "imed-opt", "tlp-max", "ossb"])
@pytest.mark.parametrize("family", ["bounded:low=0.3,high=0.9", "bounded:low=-0.7,high=0.1"])
def test_any_bounds_keep_the_promises_of_policies(spec: str, family: str) -> None:
    """Ends that are no binary fractions: sums of many rewards are beyond them by rounding."""
    policy = made(spec, family, unit=0.5)
    cb.testing.check_policy(policy, examples=8, families=[family])


def test_lower_bounds_have_the_unit_of_rewards() -> None:
    means, widths = [[0.3, 0.7], [0.1, 0.2, 0.8]], [0.1, 0.7]
    plain = cb.regret_bound(cb.Instance(means), cb.Clusters([2, 3], widths=widths))
    same = cb.regret_bound(cb.Instance(means, family="bounded"), cb.Clusters([2, 3], widths=widths))
    assert same.to_dict() == {**plain.to_dict(), "family": "bounded:low=0.0,high=1.0"}
    scaled = [[-8 + 32 * mean for mean in part] for part in means]
    found = cb.regret_bound(
        cb.Instance(scaled, family="bounded:low=-8,high=24"),
        cb.Clusters([2, 3], widths=[32 * width for width in widths]),
    )
    for name in ("lower", "clus_ucb", "classical"):
        assert getattr(found, name) == pytest.approx(32 * getattr(plain, name), rel=1e-12)
    assert [part.branch for part in found.clusters] == [part.branch for part in plain.clusters]


def test_simulations_are_the_same_in_another_unit() -> None:
    policies = ["kl-ucb", "clus-ucb", "thompson"]
    plain = cb.simulate(cb.Instance([[0.3, 0.4], [0.5]]), policies, 10**4, runs=3, seed=1)
    revenue = cb.Instance([[15.0, 20.0], [25.0]], family="bounded:high=50")
    found = cb.simulate(revenue, policies, 10**4, runs=3, seed=1)
    for policy in policies:
        assert found.regret(policy) == pytest.approx(50 * plain.regret(policy), rel=1e-9)


def test_distributions_of_bounded_rewards() -> None:
    visits = cb.Empirical([0.0] * 19 + [30.0])
    orders = cb.TruncatedGaussian(3.0, 2.0, low=0.0, high=50.0)
    instance = cb.Instance([[visits], [orders]], family="bounded:high=50")
    result = cb.simulate(instance, ["kl-ucb", "thompson", "imed"], 2000, runs=2, seed=1)
    assert (result.pulls[:, :, -1, 1] > 1000).all()
    with pytest.raises(
        cb.InvalidInputError, match=r"must be rewards for .* \(bounded\): a number from 0 to 20"
    ):
        cb.simulate(cb.Instance([[visits], [orders]], family="bounded:high=20"), ["kl-ucb"], 2000, runs=1)


def test_policies_for_other_bounds() -> None:
    clicks = cb.Instance([[0.3], [0.5]])
    wide, narrow = (cb.KLUCB(cb.Clusters([1, 1], widths=0), family=f"bounded:high={end}") for end in (2, 0.5))
    assert cb.simulate(clicks, [wide], 1000, runs=1).labels == ("kl-ucb",)
    with pytest.raises(cb.InvalidInputError, match="family"):
        cb.simulate(clicks, [narrow], 1000, runs=1)
    assert cb.Bernoulli().includes(cb.Bounded())
    assert not cb.Poisson().includes(cb.Bounded(high=0.5))


def test_a_posterior_counts_rewards_in_part() -> None:
    """Two pulls with a total of 30 from 0 to 50 are 0.6 successes in two trials."""
    law, stream = cb.Bounded(high=50.0).law, fresh_stream(np.random.default_rng(1))
    drawn = [draw_flat(law, stream, 2.0, 30.0) for _ in range(4000)]
    assert stats.kstest(drawn, stats.beta(1.6, 2.4, scale=50.0).cdf).pvalue > 0.01
