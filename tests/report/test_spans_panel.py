"""Clusters on a number line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from clusterbandits import InvalidInputError
from clusterbandits.report.sheet import WIDTH, text_width
from clusterbandits.report.spans_panel import span_rows, spans_panel
from tests.report.drawn import axes_of, words

GREEN = [0.1, 0.17, 0.25, 0.36, 0.52]
RED = [0.44, 0.58, 0.66, 0.78, 0.9]
BOTH, NAMES = [GREEN, RED], ["green", "red"]


def test_an_arm_may_visit_the_span_of_another_cluster() -> None:
    green, red = span_rows(BOTH, NAMES)
    assert green.visits == ((), (), (), (), ("red",))
    assert red.visits == (("green",), (), (), (), ())
    assert (green.low, green.high, red.low, red.high) == (0.1, 0.52, 0.44, 0.9)
    apart, _ = span_rows([[0.1, 0.2], [0.3]], NAMES)
    assert apart.visits == ((), ())


def test_arms_are_drawn_in_the_row_and_colour_of_their_own_cluster() -> None:
    axes = axes_of(spans_panel, BOTH, NAMES)
    dots: dict[tuple[Any, Any], list[tuple[float, Any]]] = {}
    for line in axes.get_lines():
        if line.get_transform() == axes.transData:
            key = line.get_color(), line.get_marker()
            dots.setdefault(key, []).extend((x, line.get_markerfacecolor()) for x in line.get_xdata())
            assert len(set(line.get_ydata())) <= 1
    assert [sorted(x for x, _ in part) for part in dots.values()] == BOTH
    assert len({colour for colour, _ in dots}) == len({marker for _, marker in dots}) == 2
    hollow = [x for part in dots.values() for x, face in part if face == "white"]
    assert sorted(hollow) == [0.44, 0.52]
    bands = [(patch.get_x(), patch.get_width()) for patch in axes.patches if patch.get_alpha() == 0.3]
    assert bands == [pytest.approx((0.1, 0.42)), pytest.approx((0.44, 0.46))]


def test_declared_widths_are_brackets_around_the_span() -> None:
    exact, small, wide = span_rows(
        [[0.2, 0.5], [0.3, 0.7], [0.1, 0.2]], ["a", "b", "c"], [0.3, 0.1, math.inf]
    )
    assert exact.bracket == pytest.approx((0.2, 0.5))
    assert small.bracket == pytest.approx((0.45, 0.55))
    assert wide.bracket == (-math.inf, math.inf)
    assert [row.violated for row in (exact, small, wide)] == [False, True, False]
    assert [row.heading() for row in (exact, small, wide)] == [
        "a: span 0.3, width 0.3",
        "b: span 0.4, width 0.1 is too small",
        "c: span 0.1, width ∞",
    ]


def test_the_bracket_is_as_long_as_the_width() -> None:
    def brackets(widths: list[float]) -> tuple[list[tuple[Any, list[float]]], Any]:
        axes = axes_of(spans_panel, [[0.3, 0.7], [0.1, 0.2, 0.8]], NAMES, widths)
        lines = [
            line for line in axes.get_lines() if line.get_linestyle() == "-" and len(line.get_xdata()) == 2
        ]
        return [(line.get_color(), list(line.get_xdata())) for line in lines], axes

    (small, exact), _ = brackets([0.1, 0.7])
    assert (small[0], exact[0]) == ("#B00000", "#000000")
    assert small[1] == pytest.approx([0.45, 0.55])
    assert exact[1] == pytest.approx([0.1, 0.8])
    (_, endless), axes = brackets([0.1, math.inf])
    assert endless[1] == list(axes.get_xlim())
    assert {line.get_marker() for line in axes.get_lines()} >= {"<", ">"}


def test_the_legend_tells_only_what_is_there() -> None:
    small, hollow = "declared width, smaller than the span", "also inside the span of another cluster"
    shown = words(spans_panel(BOTH, NAMES, name="x"))
    assert hollow in shown
    assert not any("declared" in text for text in shown)
    shown = words(spans_panel([[0.1, 0.2], [0.3, 0.4]], NAMES, [0.1, 0.05], name="x"))
    assert hollow not in shown
    assert small in shown
    assert "declared width" in shown
    assert small not in words(spans_panel([[0.1, 0.2]], ["green"], [0.2], name="x"))


def test_labels_are_those_given_and_equals_stand_together() -> None:
    shown = words(
        spans_panel([[0.5, 0.2, 0.5]], ["only"], name="x", labels=[["a", "b", "$c"]], title="Title")
    )
    assert {"Title", "only: span 0.3", "b", "a, $c"} <= set(shown)
    shown = words(spans_panel([[0.9, 0.2]], ["only"], name="x"))
    assert {"1", "2"} <= set(shown)


def test_labels_that_would_overlap_are_left_out() -> None:
    shown = words(spans_panel([np.linspace(0.2, 0.8, 200).tolist()], ["only"], name="x"))
    numbers = [text for text in shown if text.isdecimal() and int(text) > 1]
    assert 5 < len(numbers) < 60


def test_labels_of_the_outermost_arms_stay_in_the_picture() -> None:
    names = ["a long name of an arm at the left", "and another at the right end"]
    axes = axes_of(spans_panel, [[0.2, 0.8]], ["only"], labels=[names])
    for text in axes.texts:
        if text.get_text() in names:
            middle = axes.transData.transform(text.get_position())[0] / axes.figure.dpi * 25.4
            half = text_width(text.get_text()) / 2
            assert 0 <= middle - half < middle + half <= WIDTH
    assert set(names) <= {text.get_text() for text in axes.texts}


def test_equal_data_make_equal_pictures() -> None:
    assert spans_panel(BOTH, NAMES, name="x") == spans_panel(BOTH, NAMES, name="x")
    assert spans_panel(BOTH, NAMES, name="x") != spans_panel(BOTH, NAMES, [0.5, 0.5], name="x")


@pytest.mark.parametrize(
    ("means", "widths"),
    [
        ([[0.5]], None),
        ([[0.5]], [0.0]),
        ([[0.5]], [math.inf]),
        ([[0.0, 0.0], [0.0]], [0.2, 0.0]),
        ([[1e90, -1e90]], [1.0]),
        ([[k / 30, k / 30 + 0.1] for k in range(20)], [0.05] * 20),
    ],
)
def test_odd_sizes(means: list[list[float]], widths: list[float] | None) -> None:
    drawing = spans_panel(means, list(range(len(means))), widths, name="x")
    shown = words(drawing)
    assert [f"cluster {n}" for n in range(len(means))] == [
        text.partition(":")[0] for text in shown if text.startswith("cluster")
    ]
    clusters = "1 cluster" if len(means) == 1 else f"{len(means)} clusters"
    assert drawing.alt.startswith(f"{clusters} on a number line: cluster 0, ")


def test_the_alt_text_says_what_is_to_be_seen() -> None:
    assert spans_panel(BOTH, NAMES, [0.5, 0.1], name="x", title="Figure 1").alt == (
        "Figure 1. 2 clusters on a number line: "
        "green, 5 arms from 0.1 to 0.52; red, 5 arms from 0.44 to 0.9. "
        "Also inside the span of another cluster: arm 5 of green, arm 1 of red. "
        "Width smaller than the span: red."
    )


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="one group for every name"):
        spans_panel(BOTH, ["green"], name="x")
    with pytest.raises(InvalidInputError, match="widths"):
        spans_panel(BOTH, NAMES, [0.1], name="x")
    with pytest.raises(InvalidInputError, match="finite numbers"):
        spans_panel([[math.nan]], ["green"], name="x")
