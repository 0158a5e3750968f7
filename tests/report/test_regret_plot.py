"""Plots: the numbers they show, and files that are whole or not there."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from clusterbandits import Clusters, Instance, InvalidInputError, regret_bound
from clusterbandits.errors import UnwritableFileError
from clusterbandits.report import regret_plot
from clusterbandits.report.picture import check_picture_file
from clusterbandits.report.regret_plot import draw_regret, regret_curves, save_regret_plot
from clusterbandits.simulation.results import Result

INSTANCE = Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
BOUND = regret_bound(INSTANCE, Clusters([2, 3], widths=[0.1, 0.7]))
loosely: Any = Result


def made(labels: tuple[str, ...] = ("kl-ucb", "clus-ucb"), runs: int = 6) -> Result:
    rounds = np.array([10, 100, 1000])
    generator = np.random.default_rng(3)
    steps = np.diff(rounds, prepend=0) * np.ones((len(labels), runs, 1), dtype=np.int64)
    return Result(INSTANCE, labels, rounds, generator.multinomial(steps, [0.1, 0.1, 0.1, 0.1, 0.6]).cumsum(2))


def drawn(result: Result, bound: Any = None) -> Any:
    axes = Figure().subplots()
    draw_regret(regret_curves(result, bound), axes)
    return axes


def test_curves_are_the_numbers_of_the_result() -> None:
    result = made()
    curves = regret_curves(result, BOUND)
    assert curves.rounds.tolist() == [10, 100, 1000]
    assert [curve.label for curve in curves.policies] == ["kl-ucb", "clus-ucb"]
    for curve in curves.policies:
        low, high = result.band(curve.label)
        assert np.array_equal(curve.mean, result.mean(curve.label))
        assert np.array_equal(curve.low, low)
        assert np.array_equal(curve.high, high)
    for line, slope in zip(curves.bounds, (BOUND.lower, BOUND.clus_ucb, BOUND.classical), strict=True):
        assert line.slope == slope
        assert line.regret.tolist() == pytest.approx([slope * math.log(n) for n in (10, 100, 1000)])
    assert [line.label for line in curves.bounds] == [
        "lower bound: 2.81 log n",
        "Clus-UCB (Theorem 2): 3.68 log n",
        "classical: 5.74 log n",
    ]


def test_only_bounds_that_hold_are_drawn() -> None:
    result = made()
    assert regret_curves(result).bounds == ()
    same = regret_curves(result, regret_bound(INSTANCE, Clusters([2, 3], widths=[0.4, 0.7]))).bounds
    assert [line.names for line in same] == [("lower bound", "Clus-UCB (Theorem 2)"), ("classical",)]
    misled = regret_bound(INSTANCE, Clusters([2, 3], widths=[0.4, 0.2]))
    assert misled.misled
    assert [line.names for line in regret_curves(result, misled).bounds] == [("classical",)]
    endless = regret_bound(Instance([[0.0, -1.0], [1e-200]], family="gaussian"))
    assert all(math.isfinite(line.slope) for line in regret_curves(result, endless).bounds)


def test_the_drawing_shows_the_curves() -> None:
    result = made()
    axes = drawn(result, BOUND)
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines)[:2] == ["kl-ucb", "clus-ucb"]
    assert np.array_equal(lines["clus-ucb"].get_ydata(), result.mean("clus-ucb"))
    assert lines["clus-ucb"].get_linestyle() == "-"
    assert lines["classical: 5.74 log n"].get_linestyle() == "--"
    low, high = result.band("kl-ucb")
    corners = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (corners.min(), corners.max()) == pytest.approx((low.min(), high.max()))
    assert axes.get_xscale() == "log"
    assert axes.get_xlim() == (10, 1000)
    assert axes.get_ylim()[0] == 0
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round n", "regret")
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == ["kl-ucb", "clus-ucb", "Bounds, as slopes from 0 at n = 1:", *list(lines)[2:]]


def test_policies_keep_their_colours() -> None:
    both = {line.get_label(): to_hex(line.get_color()) for line in drawn(made()).get_lines()}
    turned = {
        line.get_label(): to_hex(line.get_color())
        for line in drawn(made(("ucb", "clus-ucb", "kl-ucb"))).get_lines()
    }
    assert turned == {**both, "ucb": "#009e73"}
    many = drawn(made(tuple(f"p{n}" for n in range(20)))).get_lines()
    assert len({(to_hex(line.get_color()), line.get_marker()) for line in many}) == 20


def test_one_run_has_no_band_and_one_checkpoint_has_a_mark() -> None:
    result = loosely(Instance([[0.5], [0.75]]), ["p"], [10], [[[[2, 8]]]])
    curves = regret_curves(result)
    assert curves.title == "Regret of 1 run"
    assert np.isnan(curves.policies[0].low).all()
    assert drawn(result).get_lines()[0].get_marker() == "o"


@pytest.mark.parametrize(
    ("name", "start"),
    [("plot.png", b"\x89PNG\r\n\x1a\n"), ("plot.SVG", b"<?xml"), ("plot.pdf", b"%PDF-")],
)
def test_files_by_suffix(tmp_path: Path, name: str, start: bytes) -> None:
    save_regret_plot(made(), tmp_path / name, BOUND, width=80)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_equal_data_make_equal_files(tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"first.{suffix}", tmp_path / f"second.{suffix}"
    save_regret_plot(made(), first, BOUND, width=80)
    save_regret_plot(made(), str(second), BOUND, width=80)
    assert first.read_bytes() == second.read_bytes()


def test_svg_letters_stay_letters(tmp_path: Path) -> None:
    result = made(("_hidden", "$5 off"))
    save_regret_plot(result, tmp_path / "plot.svg", BOUND)
    drawing = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    for words in ("_hidden", "$5 off", "round n", "Clus-UCB (Theorem 2): 3.68 log n"):
        assert f">{words}</text>" in drawing
    assert "<dc:date>" not in drawing


@pytest.mark.parametrize("width", [80, 160])
def test_nothing_is_cut_off_or_overlaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: float
) -> None:
    """Every word lies inside the picture, and the legend below the axes' own words."""
    kept = []

    def keep(**settings: Any) -> Figure:
        kept.append(Figure(**settings))
        return kept[0]

    monkeypatch.setattr(regret_plot, "Figure", keep)
    result = made((*(f"{'x' * 38}{n:02}" for n in range(12)), "kl-ucb"))
    save_regret_plot(result, tmp_path / "plot.png", regret_bound(Instance([[0.4], [0.5]])), width=width)
    figure = kept[0]
    figure.draw_without_rendering()
    axes = figure.axes[0]
    legend = axes.get_legend()
    assert legend is not None
    frame, box = figure.bbox, legend.get_window_extent()
    assert frame.x0 <= box.x0
    assert box.x1 <= frame.x1
    assert frame.y0 <= box.y0
    assert box.y1 <= axes.xaxis.label.get_window_extent().y0
    assert axes.get_window_extent().height > 0.3 * width / 25.4 * figure.dpi
    assert axes.title.get_window_extent().x1 <= frame.x1


@pytest.mark.parametrize("name", ["plot.gif", "plot", "plot.", "svg"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"must be a file name that ends in \.png, \.svg or \.pdf"):
        save_regret_plot(made(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFileError, match="must exist"):
        check_picture_file(tmp_path / "nowhere" / "plot.png", "file", "save_regret_plot")
    (tmp_path / "taken.png").mkdir()
    with pytest.raises(UnwritableFileError, match=r"taken\.png' must be writable"):
        save_regret_plot(made(), tmp_path / "taken.png", width=80)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.png"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        path.touch()
        raise OSError(28, "No space left on device", str(path), len(content))

    (tmp_path / "plot.svg").write_text("old")
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UnwritableFileError, match=r"plot\.svg' must be writable.*no space left"):
        save_regret_plot(made(), tmp_path / "plot.svg", width=80)
    assert [path.name for path in tmp_path.iterdir()] == ["plot.svg"]
    assert (tmp_path / "plot.svg").read_text() == "old"


@pytest.mark.parametrize("width", [79, 401, math.nan, "wide"])
def test_widths_are_refused(tmp_path: Path, width: Any) -> None:
    with pytest.raises(InvalidInputError, match="a number from 80 to 400"):
        save_regret_plot(made(), tmp_path / "plot.png", width=width)


def test_drawing_leaves_pyplot_alone() -> None:
    code = "import sys, clusterbandits.report.regret_plot; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
