"""Panels of pulls: means, intervals and predictions, arm by arm."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clusterbandits import Clusters, Instance, InvalidInputError, regret_bound
from clusterbandits.report.pulls_panel import pulls_panel, pulls_view
from clusterbandits.simulation.results import Result
from tests.report.drawn import axes_of, words

INSTANCE = Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
BOUND = regret_bound(INSTANCE, Clusters([2, 3], widths=[0.1, 0.7]))
CLUS_UCB, CLASSICAL = "Clus-UCB, log T / (α L)", "classical, log T / D"


def made(instance: Instance = INSTANCE, runs: int = 6, horizon: int = 1000) -> Result:
    generator = np.random.default_rng(3)
    arms = len(instance.arms)
    shares = np.where(instance.gaps == 0, arms, 1.0)
    pulls = generator.multinomial(horizon, shares / shares.sum(), size=(2, runs, 1))
    return Result(instance, ("kl-ucb", "clus-ucb"), np.array([horizon]), pulls)


def test_rows_are_suboptimal_arms_cluster_by_cluster() -> None:
    mixed = Instance([0.3, 0.1, 0.7, 0.8, 0.2], labels=["a", "b", "a", "b", "b"], arms=list("vwxyz"))
    result = made(mixed)
    view = pulls_view(result, regret_bound(mixed))
    assert view.clusters == ("a", "a", "b", "b")
    assert view.arms == ("v: 0.3", "x: 0.7", "w: 0.1", "z: 0.2")
    assert view.policies[1].mean.tolist() == result.pulls[1, :, -1].mean(axis=0)[[0, 2, 1, 4]].tolist()


def test_means_intervals_and_predictions() -> None:
    result = made()
    view = pulls_view(result, BOUND)
    assert [one.label for one in view.policies] == ["kl-ucb", "clus-ucb"]
    for place, one in enumerate(view.policies):
        pulls = result.pulls[place, :, -1, :4]
        assert one.mean.tolist() == pulls.mean(axis=0).tolist()
        assert (one.low <= one.mean).all()
        assert (one.mean <= one.high).all()
        assert (pulls.min(axis=0) <= one.low).all()
        assert (one.high <= pulls.max(axis=0)).all()
        assert (one.low < one.high).all()
    growth = math.log(1000)
    assert view.predictions[CLUS_UCB].tolist() == pytest.approx(
        (BOUND.clus_ucb_allocation[:4] * growth).tolist()
    )
    plain = np.concatenate([part.classical_allocation for part in BOUND.clusters])[:4] * growth
    assert view.predictions[CLASSICAL].tolist() == pytest.approx(plain.tolist())


def test_intervals_cover_as_often_as_they_say() -> None:
    """The bootstrap agrees with ± 1.96 standard errors where there are many runs."""
    result = made(runs=400)
    one = pulls_view(result, BOUND).policies[0]
    error = result.pulls[0, :, -1, :4].std(axis=0, ddof=1) / 20
    assert ((one.high - one.low) / (2 * 1.96 * error)).tolist() == pytest.approx([1] * 4, rel=0.1)


def test_a_misleading_width_leaves_only_the_classical_prediction() -> None:
    misled = regret_bound(INSTANCE, Clusters([2, 3], widths=[0.4, 0.2]))
    assert list(pulls_view(made(), misled).predictions) == [CLASSICAL]
    assert CLUS_UCB not in words(pulls_panel(made(), misled, name="x"))


def test_the_drawing_shows_the_numbers() -> None:
    result = made()
    axes = axes_of(pulls_panel, result, BOUND, labels=("clus-ucb",))
    view = pulls_view(result, BOUND)
    classical, own, dots = (line.get_xdata().tolist() for line in axes.get_lines()[:3])
    assert classical == view.predictions[CLASSICAL].tolist()
    assert own == view.predictions[CLUS_UCB].tolist()
    assert dots == view.policies[1].mean.tolist()
    ends = np.array([path.vertices[:, 0] for path in axes.collections[0].get_paths()])
    assert ends.tolist() == np.stack([view.policies[1].low, view.policies[1].high], axis=1).tolist()
    assert axes.get_xscale() == "log"
    rows = dict(zip([text.get_text() for text in axes.get_yticklabels()], axes.get_yticks(), strict=True))
    assert axes.get_lines()[0].get_ydata().tolist() == [rows[arm] for arm in view.arms]
    assert rows["cluster 0"] < rows["arm 0: 0.3"] < rows["arm 1: 0.7"] < rows["cluster 1"]


def test_policies_keep_their_look_whoever_is_drawn() -> None:
    both = axes_of(pulls_panel, made(), BOUND).get_lines()[2:4]
    one = axes_of(pulls_panel, made(), BOUND, labels=("clus-ucb",)).get_lines()[2]
    assert (
        (one.get_color(), one.get_marker()) == (both[1].get_color(), both[1].get_marker()) == ("#D55E00", "s")
    )


def test_equal_data_make_equal_pictures() -> None:
    assert pulls_panel(made(), BOUND, name="x") == pulls_panel(made(), BOUND, name="x")
    assert pulls_panel(made(), BOUND, name="x") != pulls_panel(made(), BOUND, name="x", labels=("kl-ucb",))


def test_one_run_has_no_intervals() -> None:
    view = pulls_view(made(runs=1), BOUND)
    assert np.isnan(view.policies[0].low).all()
    shown = words(pulls_panel(made(runs=1), BOUND, name="x"))
    assert not any("intervals" in text for text in shown)
    assert any("intervals of 6 runs" in text for text in words(pulls_panel(made(), BOUND, name="x")))


def test_arms_never_pulled_are_told_of() -> None:
    result = Result(INSTANCE, ("kl-ucb",), np.array([1]), np.array([[[[0, 0, 0, 0, 1]]]]))
    drawing = pulls_panel(result, BOUND, name="x")
    assert "Arms that were never pulled have no dot." in words(drawing)
    assert "kl-ucb 0. " in drawing.alt


def test_where_every_arm_is_best() -> None:
    instance = Instance([[0.5, 0.5], [0.5]])
    drawing = pulls_panel(made(instance), regret_bound(instance), name="x")
    assert drawing.alt == "No pulls to show: all arms are best arms."
    assert "all arms are best arms" in words(drawing)
    single = Instance([[0.5]])
    assert pulls_view(made(single), regret_bound(single)).arms == ()


def test_two_hundred_arms_and_long_names() -> None:
    means = np.random.default_rng(1).random((10, 20)).round(3)
    instance = Instance(means.tolist())
    result = made(instance, runs=2)
    drawing = pulls_panel(result, regret_bound(instance), name="x")
    shown = words(drawing)
    assert [f"cluster {n}" for n in range(10)] == [text for text in shown if text.startswith("cluster")]
    assert not any(text.startswith("arm ") for text in shown)
    assert "199 suboptimal arms" in drawing.alt
    named = Instance({"c" * 80: {"$a" * 40: 0.5}, "d": {"e": 0.75}})
    shown = words(pulls_panel(made(named), regret_bound(named), name="x"))
    assert sorted(text[0] for text in shown if text.endswith("…")) == ["$", "c"]


def test_the_alt_text_says_totals() -> None:
    result = made()
    total = [result.pulls[k, :, -1, :4].sum(axis=1).mean() for k in range(2)]
    told = {name: n.sum() for name, n in pulls_view(result, BOUND).predictions.items()}
    assert pulls_panel(result, BOUND, name="x", title="Pulls").alt == (
        "Pulls. Mean pulls of 4 suboptimal arms in 1000 rounds, in total: "
        f"kl-ucb {total[0]:.0f}, clus-ucb {total[1]:.0f}. "
        f"Predicted: {told[CLUS_UCB]:.0f} ({CLUS_UCB}) and {told[CLASSICAL]:.0f} ({CLASSICAL})."
    )


def test_unknown_labels_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="one of kl-ucb, clus-ucb"):
        pulls_panel(made(), BOUND, name="x", labels=("moss",))
