"""Ratios over many problems: quantiles against a plain reference, and what the picture shows."""

from __future__ import annotations

import numpy as np
import pytest

from clusterbandits import InvalidInputError
from clusterbandits.report.ratio_panel import LEVELS, ratio_panel, ratio_rows
from clusterbandits.report.sheet import text_width
from tests.report.drawn import axes_of, words

PAID = {
    "kl-ucb": np.array([10.0, 20.0, 40.0, 80.0, 0.0]),
    "clus-ucb": np.array([5.0, 20.0, 50.0, 20.0, 3.0]),
    "mine": np.array([30.0, 60.0, 120.0, 240.0, 0.0]),
}


def reference(values: list[float], level: float) -> float:
    """The quantile that lies at ``level`` of the way from the least to the largest value."""
    ordered = sorted(values)
    place = level * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def test_quantiles_are_those_of_the_ratios() -> None:
    clus, mine = ratio_rows(PAID, "kl-ucb")
    ratios = [0.5, 1.0, 1.25, 0.25]
    assert (clus.label, clus.instances, clus.better) == ("clus-ucb", 4, 0.5)
    assert clus.quantiles.tolist() == pytest.approx([reference(ratios, level) for level in LEVELS])
    assert mine.quantiles.tolist() == [3.0] * 5
    assert mine.better == 0


def test_instances_without_regret_of_the_base_have_no_ratio() -> None:
    nothing = {"kl-ucb": np.zeros(3), "clus-ucb": np.ones(3)}
    assert ratio_rows(nothing, "kl-ucb") == ()
    assert [row.instances for row in ratio_rows(PAID, "mine")] == [4, 4]
    with pytest.raises(InvalidInputError, match="positive regret of the base"):
        ratio_panel(nothing, "kl-ucb", name="x")
    with pytest.raises(InvalidInputError, match="those of at least two policies"):
        ratio_panel({"kl-ucb": np.ones(3)}, "kl-ucb", name="x")
    with pytest.raises(InvalidInputError, match="one of kl-ucb, clus-ucb, mine"):
        ratio_rows(PAID, "moss")


def test_the_bars_are_the_quantiles() -> None:
    axes = axes_of(ratio_panel, PAID, "kl-ucb")
    lines = [line for line in axes.get_lines() if line.get_transform() == axes.transData]
    for row, (thin, thick, tick) in zip(
        ratio_rows(PAID, "kl-ucb"), zip(*[iter(lines)] * 3, strict=True), strict=True
    ):
        low, lower, median, upper, high = row.quantiles.tolist()
        assert list(thin.get_xdata()) == [low, high]
        assert list(thick.get_xdata()) == [lower, upper]
        assert list(tick.get_xdata()) == [median, median]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["clus-ucb", "mine"]
    assert axes.get_xscale() == "log"
    assert 1 in axes.get_xticks()


@pytest.mark.parametrize(
    ("low", "high"), [(1e-9, 1e-9), (0.0, 0.0), (0.999, 1.001), (1.0, 1.0), (1e-4, 1e5), (50.0, 5000.0)]
)
def test_any_ratios_can_be_shown(low: float, high: float) -> None:
    paid = {"kl-ucb": np.ones(9), "clus-ucb": np.linspace(low, high, 9)}
    axes = axes_of(ratio_panel, paid, "kl-ucb")
    left, right = axes.get_xlim()
    assert 0 < left < 1 < right
    assert right >= high
    assert 1 <= len(axes.get_xticks()) <= 9


def test_words_and_alt_text() -> None:
    drawing = ratio_panel(PAID, "kl-ucb", name="x", title="All")
    shown = words(drawing)
    assert {"All", "clus-ucb", "mine", "1"} <= set(shown)
    assert any(text.startswith("Regret divided by that of kl-ucb, in 4 instances") for text in shown)
    assert drawing.alt == (
        "All. Median of the regret divided by that of kl-ucb in 4 instances: "
        "clus-ucb 0.75, less regret in 50%; mine 3, less regret in 0%."
    )
    assert drawing == ratio_panel(PAID, "kl-ucb", name="x", title="All")


def test_one_problem_and_long_names() -> None:
    long = "a policy with a very long name, and settings <b>$x_1$</b>" * 2
    paid = {"kl-ucb": np.array([2.0]), long: np.array([1.0]), "$x$": np.array([1.0])}
    drawing = ratio_panel(paid, "kl-ucb", name="x")
    assert "in 1 instance" in drawing.alt
    assert long in drawing.alt
    (short,) = [text for text in words(drawing) if text.endswith("…")]
    assert long.startswith(short[:-1])
    assert text_width(short) <= 41
    assert "$x$" in words(drawing)
