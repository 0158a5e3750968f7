"""Regret panels: what they show, and that odd sizes are drawn too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from clusterbandits import Clusters, Instance, InvalidInputError, regret_bound
from clusterbandits.policies import POLICIES
from clusterbandits.report.regret_panel import regret_panel, regret_view
from clusterbandits.simulation.results import Result
from tests.report.drawn import axes_of, words

INSTANCE = Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
BOUND = regret_bound(INSTANCE, Clusters([2, 3], widths=[0.1, 0.7]))
ROUNDS = (10, 100, 1000, 10_000)


def made(
    labels: tuple[str, ...] = ("kl-ucb", "clus-ucb"), runs: int = 5, rounds: tuple[int, ...] = ROUNDS
) -> Result:
    generator = np.random.default_rng(3)
    steps = np.diff(rounds, prepend=0) * np.ones((len(labels), runs, 1), dtype=np.int64)
    pulls = generator.multinomial(steps, [0.1, 0.1, 0.1, 0.1, 0.6]).cumsum(2)
    return Result(INSTANCE, labels, np.array(rounds), pulls)


def test_lines_start_on_the_curves_they_belong_to() -> None:
    result = made()
    view = regret_view(result, BOUND, anchor=800)
    assert view.start == 1000
    owners = ("clus-ucb", "clus-ucb", "kl-ucb")
    slopes = (BOUND.lower, BOUND.clus_ucb, BOUND.classical)
    assert [line.names for line in view.lines] == [
        ("lower bound",),
        ("Clus-UCB (Theorem 2)",),
        ("classical",),
    ]
    for line, owner, slope in zip(view.lines, owners, slopes, strict=True):
        start = result.mean(owner)[2]
        assert (line.rounds[0], line.rounds[-1]) == pytest.approx((1000, 10_000))
        assert line.regret[0] == start
        assert line.regret.tolist() == pytest.approx((start + slope * np.log(line.rounds / 1000)).tolist())


def test_lines_of_policies_that_are_not_there_start_on_the_first() -> None:
    result = made(("tlp-max", "clus-ucb:a=5", "clus-ucb"))
    lower, _, classical = regret_view(result, BOUND, anchor=100).lines
    assert lower.regret[0] == result.mean("clus-ucb:a=5")[1]
    assert classical.regret[0] == result.mean("tlp-max")[1]


@pytest.mark.parametrize(
    ("anchor", "start"),
    [(None, 1000), (1, 10), (40, 100), (1000, 1000), (9000, 1000), (1e9, 1000)],
)
def test_anchors_are_the_nearest_checkpoints_that_have_a_later_one(anchor: float | None, start: int) -> None:
    assert regret_view(made(), BOUND, anchor).start == start


def test_only_bounds_that_hold_are_drawn() -> None:
    result = made()
    assert regret_view(result).lines == ()
    misled = regret_bound(INSTANCE, Clusters([2, 3], widths=[0.4, 0.2]))
    assert misled.misled
    view = regret_view(result, misled, 100)
    assert [line.names for line in view.lines] == [("classical",)]
    assert view.lines[0].regret[0] == result.mean("kl-ucb")[1]
    same = regret_view(result, regret_bound(INSTANCE, Clusters([2, 3], widths=[0.4, 0.7]))).lines
    assert [line.names for line in same] == [("lower bound", "Clus-UCB (Theorem 2)"), ("classical",)]


def test_curves_and_bands_are_those_of_the_result() -> None:
    result = made()
    axes = axes_of(regret_panel, result, BOUND, scale="log")
    first, second, *lines = axes.get_lines()
    assert np.array_equal(first.get_ydata(), result.mean("kl-ucb"))
    assert np.array_equal(second.get_ydata(), result.mean("clus-ucb"))
    low, high = result.band("clus-ucb")
    corners = axes.collections[1].get_paths()[0].vertices[:, 1]
    assert (corners.min(), corners.max()) == pytest.approx((low.min(), high.max()))
    view = regret_view(result, BOUND)
    for drawn, line in zip(lines, view.lines, strict=True):
        assert np.array_equal(drawn.get_ydata(), line.regret)
    assert axes.get_xscale() == "log"
    assert axes.get_xlim() == (10, 10_000)
    assert axes.get_ylim()[1] > max(high.max(), result.mean("kl-ucb").max())


def test_steep_bounds_leave_the_picture_and_curves_do_not() -> None:
    result = made(rounds=(1, 2, 4, 8))
    steep = regret_bound(Instance([[0.49999], [0.5]]))
    axes = axes_of(regret_panel, result, steep)
    highest = max(result.band(label)[1].max() for label in result.labels)
    assert regret_view(result, steep).lines[0].regret.max() > 100 * highest
    assert highest < axes.get_ylim()[1] < 2 * highest


def test_sixty_policies_are_told_apart() -> None:
    result = made((*POLICIES, *(f"outside-{n}" for n in range(60 - len(POLICIES)))), runs=2)
    lines = axes_of(regret_panel, result).get_lines()
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 60


def test_a_linear_axis_begins_at_nothing() -> None:
    axes = axes_of(regret_panel, made(), BOUND)
    assert axes.get_xscale() == "linear"
    assert axes.get_xlim() == (0, 10_000)


def test_the_legend_says_slopes_and_where_they_start() -> None:
    shown = words(regret_panel(made(), BOUND, name="x", anchor=100, title="The title"))
    for text in ("The title", "kl-ucb", "clus-ucb", "lower bound: 2.81", "classical: 5.74"):
        assert text in shown
    assert "Bounds: slopes per log n, drawn from n = 100" in shown
    assert not any("Bounds" in text for text in words(regret_panel(made(), name="x")))


def test_curves_above_the_top_say_where_they_end() -> None:
    pulls = [[[[1, 9], [2, 98]]], [[[9, 1], [90, 10]]]]
    result = Result(Instance([[0.25], [0.75]]), ("kl-ucb", "ucb1"), np.array([10, 100]), np.array(pulls))
    shown = words(regret_panel(result, name="x", top=10))
    assert "kl-ucb" in shown
    assert "ucb1 … ends at 45" in shown
    assert "ucb1" in words(regret_panel(result, name="x", top=45))
    assert axes_of(regret_panel, result, top=10).get_ylim() == (0, 10)


def test_equal_data_make_equal_pictures() -> None:
    assert regret_panel(made(), BOUND, name="x") == regret_panel(made(), BOUND, name="x")
    assert regret_panel(made(), BOUND, name="x").png != regret_panel(made(), BOUND, name="x", scale="log").png


def test_bands_are_drawn_from_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = Result.band

    def counted(self: Result, policy: str) -> Any:
        asked.append(policy)
        return original(self, policy)

    monkeypatch.setattr(Result, "band", counted)
    result = made()
    for _ in range(2):
        regret_view(result)
    assert asked == ["kl-ucb", "clus-ucb"]
    regret_view(made())
    assert len(asked) == 4


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize(
    ("runs", "rounds", "policies"),
    [(1, ROUNDS, 2), (3, (10,), 2), (1, (1,), 1), (2, (1, 2, 10), 15), (2, (10, 10**10), 15)],
)
def test_odd_sizes(scale: Any, runs: int, rounds: tuple[int, ...], policies: int) -> None:
    result = made(tuple(f"p{n}" for n in range(policies)), runs, rounds)
    drawing = regret_panel(result, BOUND, name="x", scale=scale, anchor=1e4)
    shown = words(drawing)
    assert [f"p{n}" for n in range(policies)] == [text for text in shown if text.startswith("p")]
    assert ("regret of 1 run" in shown) == (runs == 1)
    assert any("Bounds" in text for text in shown) == (len(rounds) > 1)


def test_no_regret_at_all() -> None:
    result = Result(Instance([[0.5, 0.5]]), ("kl-ucb",), np.array([1, 10]), np.array([[[[1, 0], [5, 5]]]]))
    drawing = regret_panel(result, regret_bound(result.instance), name="x")
    assert drawing.alt.startswith("Regret after 10 rounds in 1 run: kl-ucb 0.")


def test_the_alt_text_says_how_it_ends() -> None:
    result = made()
    final = {label: result.mean(label)[-1] for label in result.labels}
    assert regret_panel(result, BOUND, name="x", title="Figure 8", anchor=100).alt == (
        "Figure 8. Mean regret after 1e4 rounds in 5 runs: "
        f"kl-ucb {final['kl-ucb']:,.0f}, clus-ucb {final['clus-ucb']:,.0f}. Bounds as slopes per log n from "
        "round 100: lower bound 2.81, Clus-UCB (Theorem 2) 3.68, classical 5.74."
    )
    many = made(tuple(f"p{n}" for n in range(9)))
    ends = [many.mean(k)[-1] for k in range(9)]
    alt = regret_panel(many, name="x").alt
    low, high = int(np.argmin(ends)), int(np.argmax(ends))
    assert f"of 9 policies, lowest and highest: p{low} {ends[low]:,.0f}, p{high} {ends[high]:,.0f}." in alt


@pytest.mark.parametrize("wrong", [{"scale": "cubic"}, {"anchor": 0}, {"anchor": math.nan}, {"top": 0}])
def test_what_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=f"regret_panel: {next(iter(wrong))}"):
        regret_panel(made(), name="x", **wrong)
