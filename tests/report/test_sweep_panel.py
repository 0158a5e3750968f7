"""Regret against declared widths: the drawing is the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from clusterbandits import InvalidInputError
from clusterbandits.report.sweep_panel import Sweep, sweep_panel
from tests.report.drawn import axes_of, words

TOLD = ["0.5", "1", "2"]
CLUS = Sweep("clus-ucb", np.array([50.0, 30.0, 40.0]), np.array([5.0, 1.0, 2.0]))
KL = Sweep("kl-ucb", np.array([45.0]), np.array([3.0]))


def test_lines_are_the_regrets_and_bands_their_errors() -> None:
    axes = axes_of(sweep_panel, TOLD, [KL, CLUS])
    level, sweep = axes.get_lines()[:2]
    assert level.get_xdata().tolist() == [-0.5, 2.5]
    assert level.get_ydata().tolist() == [45.0, 45.0]
    assert sweep.get_xdata().tolist() == [0, 1, 2]
    assert sweep.get_ydata().tolist() == [50.0, 30.0, 40.0]
    band = axes.collections[1].get_paths()[0].vertices
    for x, low, high in [(0, 45.0, 55.0), (1, 29.0, 31.0), (2, 38.0, 42.0)]:
        heights = band[band[:, 0] == x][:, 1]
        assert (heights.min(), heights.max()) == (low, high)
    assert axes.get_ylim()[0] == 0
    assert [text.get_text() for text in axes.get_xticklabels()] == TOLD
    assert axes.get_xlabel() == "declared widths"


def test_names_without_room_become_numbers() -> None:
    told = ["a name that is rather long", "and another one of them", "0, 0.02"]
    axes = axes_of(sweep_panel, told, [CLUS])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "3"]
    assert axes.get_xlabel() == "declared widths, by their number"


def test_words_and_alt_text() -> None:
    drawing = sweep_panel(TOLD, [KL, CLUS], name="x", title="Wrong widths", axis="times the spans")
    assert {"Wrong widths", "kl-ucb", "clus-ucb", "times the spans", "0.5"} <= set(words(drawing))
    assert drawing.alt == (
        "Wrong widths. Mean regret by declared widths: kl-ucb 45; clus-ucb 50 with 0.5, 30 with 1, 40 with 2."
    )
    assert drawing == sweep_panel(TOLD, [KL, CLUS], name="x", title="Wrong widths", axis="times the spans")


def test_sweeps_of_another_length_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="of 1 or 3 values"):
        sweep_panel(TOLD, [Sweep("x", np.ones(2), np.ones(2))], name="x")


@pytest.mark.parametrize("value", [0.0, 1e-9, 1e12])
def test_any_regret_can_be_shown(value: float) -> None:
    drawing = sweep_panel(["1"], [Sweep("kl-ucb", np.array([value]), np.array([0.0]))], name="x")
    assert "</svg>" in drawing.svg


def test_what_pays_far_more_leaves_the_picture_and_is_told_of() -> None:
    far = Sweep("tlp-max", np.array([2148.0]), np.array([900.0]))
    axes = axes_of(sweep_panel, TOLD, [KL, CLUS, far])
    assert axes.get_ylim() == (0, 135)
    shown = words(sweep_panel(TOLD, [KL, CLUS, far], name="x"))
    assert {"kl-ucb", "clus-ucb", "tlp-max … up to 2,148"} <= set(shown)
    assert axes_of(sweep_panel, TOLD, [KL, CLUS]).get_ylim()[1] < 100
    free = Sweep("kl-ucb", np.array([0.0]), np.array([0.0]))
    assert axes_of(sweep_panel, TOLD, [free, CLUS]).get_ylim()[1] > 50


def test_names_are_only_names() -> None:
    shown = words(sweep_panel(["$x$", "2"], [Sweep("$a$", np.ones(2), np.ones(2))], name="x"))
    assert {"$x$", "$a$"} <= set(shown)
