"""Arms with intervals, group by group."""

from __future__ import annotations

import numpy as np
import pytest

from clusterbandits.report.arms_panel import arms_panel
from clusterbandits.report.sheet import WIDTH, text_width
from clusterbandits.report.views import ArmsGroup
from tests.report.drawn import axes_of, words


def group(name: str, means: list[float], width: float, hopeful: bool = False) -> ArmsGroup:
    values = np.array(means)
    known = np.nan_to_num(values, nan=0.5)
    labels = tuple(f"{name}-{k}" for k in range(len(means)))
    room = np.where(np.isnan(values), 0.5, 0.05)
    chosen = np.arange(len(means)) == 0 if hopeful else np.zeros(len(means), dtype=bool)
    return ArmsGroup(name, labels, values, known - room, known + room, chosen, width)


BOTH = [group("red", [0.7, 0.6], 0.2, hopeful=True), group("blue", [0.3], 0.0)]


def test_the_band_is_as_wide_as_declared() -> None:
    assert BOTH[0].band == pytest.approx((0.55, 0.75))
    assert group("x", [0.05, 0.02], 0.3).band == pytest.approx((0.0, 0.3))
    assert group("x", [0.98, 0.9], 0.3).band == pytest.approx((0.7, 1.0))
    assert group("x", [float("nan")] * 2, 1.0).band == pytest.approx((0.0, 1.0))
    axes = axes_of(arms_panel, BOTH)
    (band,) = axes.patches
    assert (band.get_x(), band.get_width()) == pytest.approx((0.55, 0.2))


def test_every_arm_is_drawn_once_with_its_interval() -> None:
    axes = axes_of(arms_panel, BOTH)
    dots = [
        (float(x), float(y), line.get_marker())
        for line in axes.get_lines()
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]
    assert sorted(x for x, _, _ in dots) == [0.3, 0.6, 0.7]
    assert [marker for x, _, marker in dots if x == 0.7] == ["D"]
    assert [marker for x, _, marker in dots if x != 0.7] == ["o", "o"]
    spans = {
        round(float(y), 6): (float(a), float(b))
        for lines in axes.collections
        for (a, y), (b, _) in lines.get_segments()
    }
    for x, y, _ in dots:
        assert spans[round(y, 6)] == pytest.approx((x - 0.05, x + 0.05))
    left, right = axes.get_xlim()
    assert left < 0.25
    assert right > 0.75


def test_a_long_name_is_cut_and_its_width_is_not() -> None:
    name = "Spring 2026, returning visitors, all regions but the north and the islands, mobile only"
    shown = words(arms_panel([group(name, [0.7, 0.6], 0.2)], name="x"))
    (heading,) = [text for text in shown if "width 0.2" in text]
    assert heading.startswith("Spring 2026, returning")
    assert heading.endswith("…: width 0.2")
    assert text_width(heading, "bold") < WIDTH


def test_names_may_have_any_letters() -> None:
    """Those the font lacks are no reason to warn."""
    assert "広告: width 0.2" in words(arms_panel([group("広告", [0.7, 0.6], 0.2)], name="x"))


def test_words_say_what_is_there() -> None:
    shown = words(arms_panel(BOTH, name="x", title="Title"))
    assert {"Title", "red: width 0.2", "blue", "red-0", "red-1", "blue-0"} <= set(shown)
    assert {"may be the best arm", "is not the best", "safe width"} <= set(shown)
    alone = words(arms_panel([group("blue", [0.3], 0.0)], name="x"))
    assert not {"may be the best arm", "safe width"} & set(alone)
    assert arms_panel(BOTH, name="x", title="Title").alt == (
        "Title. Arms with intervals in 2 groups: red, 2 arms from 0.6 to 0.7, width 0.2; "
        "blue, 1 arm from 0.3 to 0.3, width 0."
    )


def test_up_to_200_arms_have_names() -> None:
    few = group("g", np.linspace(0.9, 0.1, 200).tolist(), 0.8)
    many = group("g", np.linspace(0.9, 0.1, 201).tolist(), 0.8)
    assert "g-199" in words(arms_panel([few], name="x"))
    assert "g-199" not in words(arms_panel([many], name="x"))


def test_long_labels_are_cut() -> None:
    one = ArmsGroup("g", ("w" * 200,), np.array([0.5]), np.array([0.4]), np.array([0.6]), np.array([True]), 0)
    (label,) = [text for text in words(arms_panel([one], name="x")) if text.startswith("w")]
    assert label.endswith("…")
    assert len(label) < 40


@pytest.mark.parametrize("arms", [1, 2, 200, 3000])
def test_sizes(arms: int) -> None:
    drawing = arms_panel([group("g", np.linspace(0.6, 0.4, arms).tolist(), 0.3)], name="x")
    assert drawing.png.startswith(b"\x89PNG")
    assert arms_panel([group("g", [0.5] * arms, 0.0)], name="x").svg == (
        arms_panel([group("g", [0.5] * arms, 0.0)], name="x").svg
    )


def test_arms_that_were_never_tried_have_an_interval_and_no_dot() -> None:
    drawing = arms_panel([group("g", [0.5, float("nan")], 0.9), group("h", [float("nan")], 0.0)], name="x")
    assert "g, 2 arms from 0.5 to 0.5, width 0.9; h, 1 arm without trials, width 0." in drawing.alt


def test_rewards_between_other_bounds() -> None:
    one = group("x", [2.0, 4.0], 6.0)
    wide = ArmsGroup(one.name, one.labels, one.means, one.lows, one.highs, one.hopeful, 6.0, (-1.0, 50.0))
    assert wide.band == pytest.approx((0.0, 6.0))
    assert "mean revenue, with intervals of 95 %" in words(
        arms_panel([wide], name="x", quantity="mean revenue")
    )
