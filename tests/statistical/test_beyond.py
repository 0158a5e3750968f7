"""What the policies beyond the paper promise: the lower bound met on both branches, safety, honest alarms."""

from __future__ import annotations

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.paper.figures import FIGURES, Figure

FIGURE_8 = FIGURES[-1].instance
LOW_ARM = cb.Instance([[0.05, *[0.30] * 9], [0.5]])


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("instance", "widths", "lower", "theorem_2"),
    [(FIGURE_8, [0.1, 0.7], 2.81, 3.68), (LOW_ARM, [0.26, 0.1], 3.37, 16.88)],
    ids=["figure 8", "low-arm"],
)
def test_steering_meets_the_lower_bound(
    instance: cb.Instance, widths: list[float], lower: float, theorem_2: float
) -> None:
    clusters = instance.clusters(widths)
    bound = cb.regret_bound(instance, clusters)
    assert (round(bound.lower, 2), round(bound.clus_ucb, 2)) == (lower, theorem_2)
    names = ["clus-ucb", "clus-opt", "imed-opt"]
    result = cb.simulate(instance, names, 10**10, runs=200, seed=8, clusters=clusters, checkpoints=[10**8])
    plain, *steered = (result.slope(name, 10**8, 10**10) for name in names)
    assert abs(plain.value - bound.clus_ucb) <= 3 * plain.error
    for slope in steered:
        assert abs(slope.value - bound.lower) <= max(0.15 * bound.lower, 3 * slope.error)
        # Enough runs to tell the bound from Theorem 2, where they are far apart.
        assert bound.clus_ucb - slope.value > 2 * slope.error


@pytest.mark.statistical
def test_hedge_saves_what_a_wrong_width_costs() -> None:
    clusters = FIGURE_8.clusters([0.4, 0.2])
    names = ["clus-ucb:refresh=50", "clus-ucb-hedged:refresh=50"]
    result = cb.simulate(FIGURE_8, names, 10**5, runs=48, seed=5, clusters=clusters)
    plain, hedged = (float(result.mean(name)[-1]) for name in names)
    assert hedged <= 0.03 * plain


@pytest.mark.statistical
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: str(figure.number))
def test_hedge_costs_little_where_widths_are_true(figure: Figure) -> None:
    instance = figure.instance
    result = cb.simulate(instance, ["clus-ucb", "clus-ucb-hedged"], 10**5, runs=60, seed=3)
    more, error = result.difference("clus-ucb-hedged", "clus-ucb")
    assert more - 2 * error <= 0.1 * float(result.mean("clus-ucb")[-1])


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["clus-opt", "imed-clus", "imed-opt"])
def test_every_hedge_is_safe(name: str) -> None:
    """With the best cluster's width too small, regret stays of the order of the square root of T."""
    clusters = FIGURE_8.clusters([0.4, 0.2])
    result = cb.simulate(FIGURE_8, [name, f"{name}:hedge=0.5"], 10**5, runs=48, seed=5, clusters=clusters)
    plain, hedged = (result.quantiles(place, [0.95])[0, -1] for place in range(2))
    assert hedged <= 2 * 10**2.5
    assert plain > 2 * hedged


@pytest.mark.statistical
def test_false_alarms_are_rare() -> None:
    """Every width exactly the span, 2,000 runs: no more than α of them may ever alarm."""
    instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
    result = cb.simulate(instance, "clus-ucb", 10**5, runs=2000, seed=7, checkpoints=[10**5])
    assert (result.alarms("clus-ucb") > 0).any(axis=1).mean() <= 0.05


@pytest.mark.statistical
@pytest.mark.parametrize("family", ["gaussian:sigma=0.5", "poisson", "exponential"])
def test_false_alarms_are_rare_in_every_family(family: str) -> None:
    instance = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]], family=family)
    result = cb.simulate(instance, "imed-clus:hedge=0.5", 10**4, runs=200, seed=7, checkpoints=[10**4])
    assert (result.alarms(0) > 0).any(axis=1).mean() <= 0.05


@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")
def test_alarms_are_quick_where_arms_are_pulled_alike() -> None:
    """Rewards of [.1, .2, .8] with a width of .2, given in turn."""
    rng, found = np.random.default_rng(4), []
    for _ in range(100):
        policy = cb.ClusUCB(cb.Clusters([3], widths=0.2))
        while not policy.alarms():
            for arm, mean in enumerate((0.1, 0.2, 0.8)):
                policy.tell(arm, float(rng.random() < mean))
        found.append(policy.alarms()[0].round)
    assert np.median(found) < 200


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["clus-ucb:refresh=50", "clus-ucb-hedged:refresh=50"])
def test_alarms_are_quick_in_batches(name: str) -> None:
    """The paper's refresh of 50 rounds pulls every arm often enough."""
    instance = cb.Instance([[0.1, 0.2, 0.8]])
    clusters = instance.clusters([0.2])
    result = cb.simulate(instance, name, 10**4, runs=200, seed=6, clusters=clusters)
    rounds = result.alarms(0)[:, 0]
    assert np.median(np.where(rounds > 0, rounds, 10**9)) < 200
