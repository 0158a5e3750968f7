"""Regret plots as files: what they show at every width, and that they are whole or not there."""

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
from clusterbandits.report import regret_panel
from clusterbandits.report.picture import check_picture_file
from clusterbandits.report.regret_panel import save_regret_plot
from clusterbandits.simulation.results import Result

INSTANCE = Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
BOUND = regret_bound(INSTANCE, Clusters([2, 3], widths=[0.1, 0.7]))
loosely: Any = Result


def made(labels: tuple[str, ...] = ("kl-ucb", "clus-ucb"), runs: int = 6) -> Result:
    rounds = np.array([10, 100, 1000])
    generator = np.random.default_rng(3)
    steps = np.diff(rounds, prepend=0) * np.ones((len(labels), runs, 1), dtype=np.int64)
    return Result(INSTANCE, labels, rounds, generator.multinomial(steps, [0.1, 0.1, 0.1, 0.1, 0.6]).cumsum(2))


def drawn(result: Result, bound: Any = None, width: float = 160) -> Figure:
    """Return the figure that would be saved."""
    kept: list[Figure] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regret_panel, "save_figure", lambda figure, _: kept.append(figure))
        save_regret_plot(result, "plot.png", bound, width=width)
    return kept[0]


def test_a_file_shows_the_same_curves_as_a_page() -> None:
    result = made()
    axes = drawn(result, BOUND).axes[0]
    view = regret_panel.regret_view(result, BOUND)
    heights = [*(curve.mean for curve in view.policies), *(line.regret for line in view.lines)]
    for line, height in zip(axes.get_lines(), heights, strict=True):
        assert np.array_equal(np.asarray(line.get_ydata()), height)
    styles = [line.get_linestyle() for line in axes.get_lines()]
    assert styles == ["-", "-", "--", "--", "--"]
    for band, curve in zip(axes.collections, view.policies, strict=True):
        corners = np.asarray(band.get_paths()[0].vertices)[:, 1]
        assert (corners.min(), corners.max()) == pytest.approx((curve.low.min(), curve.high.max()))
    assert axes.get_xscale() == "log"
    assert axes.get_xlim() == (10, 1000)
    assert axes.get_ylim()[0] == 0
    assert axes.get_xlabel() == "round n, log scale"


def test_the_legend_of_a_file_names_curves_and_slopes() -> None:
    shown = [text.get_text() for text in drawn(made(), BOUND).texts]
    assert shown == [
        "mean regret of 6 runs, 95 % bootstrap bands",
        "kl-ucb",
        "clus-ucb",
        "Bounds: slopes per log n, drawn from n = 100",
        "lower bound: 2.81",
        "Clus-UCB (Theorem 2): 3.68",
        "classical: 5.74",
    ]
    endless = regret_bound(Instance([[0.0, -1.0], [1e-200]], family="gaussian"))
    lines = regret_panel.regret_view(made(), endless).lines
    assert all(math.isfinite(line.slope) for line in lines)


def test_policies_keep_their_colours() -> None:
    def colours(labels: tuple[str, ...]) -> dict[str, str]:
        lines = drawn(made(labels)).axes[0].get_lines()
        return dict(zip(labels, (to_hex(line.get_color()) for line in lines), strict=True))

    both = colours(("kl-ucb", "clus-ucb"))
    assert both == {"kl-ucb": "#0072b2", "clus-ucb": "#d55e00"}
    turned = colours(("ucb", "clus-ucb", "kl-ucb"))
    assert turned == {**both, **colours(("ucb",))}
    many = drawn(made(tuple(f"p{n}" for n in range(20)))).axes[0].get_lines()
    assert len({(to_hex(line.get_color()), line.get_marker()) for line in many}) == 20


def test_one_run_has_no_band_and_one_checkpoint_has_a_mark() -> None:
    result = loosely(Instance([[0.5], [0.75]]), ["kl-ucb"], [10], [[[[2, 8]]]])
    figure = drawn(result, regret_bound(result.instance))
    assert [text.get_text() for text in figure.texts] == ["regret of 1 run", "kl-ucb"]
    (line,) = figure.axes[0].get_lines()
    assert (line.get_marker(), line.get_markevery()) == ("o", 1)
    assert len(figure.axes[0].collections) == 0


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
    for words in ("_hidden", "$5 off", "round n, log scale", "Clus-UCB (Theorem 2): 3.68"):
        assert f">{words}</text>" in drawing
    assert "<dc:date>" not in drawing


@pytest.mark.parametrize("width", [80, 160, 400])
def test_nothing_is_cut_off_or_overlaps(width: float) -> None:
    """Every word lies inside the picture, and the legend below the axes' own words."""
    result = made((*(f"{'x' * 38}{n:02}" for n in range(12)), "kl-ucb"))
    figure = drawn(result, regret_bound(Instance([[0.4], [0.5]])), width)
    figure.set_dpi(300)
    figure.draw_without_rendering()
    axes, frame = figure.axes[0], figure.bbox
    assert frame.width / figure.dpi * 25.4 == pytest.approx(width)
    assert axes.get_window_extent().height > 0.3 * width / 25.4 * figure.dpi
    title, *legend = (text.get_window_extent() for text in figure.texts)
    for k, box in enumerate(legend):
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= axes.xaxis.label.get_window_extent().y0
        for other in legend[:k]:
            apart = box.x1 <= other.x0 or other.x1 <= box.x0
            assert apart or min(box.y1, other.y1) - max(box.y0, other.y0) < 0.15 * box.height
    assert axes.get_window_extent().y1 <= title.y0 < title.y1 <= frame.y1
    assert title.x1 <= frame.x1


@pytest.mark.parametrize("name", ["plot.gif", "plot", "plot.", "svg"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"must be a file name that ends in \.png, \.svg or \.pdf"):
        save_regret_plot(made(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFileError, match="does not exist"):
        check_picture_file(tmp_path / "nowhere" / "plot.png", "file", "save_regret_plot")
    (tmp_path / "taken.png").mkdir()
    with pytest.raises(UnwritableFileError, match=r"Cannot write .*taken\.png"):
        save_regret_plot(made(), tmp_path / "taken.png", width=80)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.png"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        path.touch()
        raise OSError(28, "No space left on device", str(path), len(content))

    (tmp_path / "plot.svg").write_text("old")
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UnwritableFileError, match=r"plot\.svg': no space left"):
        save_regret_plot(made(), tmp_path / "plot.svg", width=80)
    assert [path.name for path in tmp_path.iterdir()] == ["plot.svg"]
    assert (tmp_path / "plot.svg").read_text() == "old"


@pytest.mark.parametrize("width", [79, 401, math.nan, "wide"])
def test_widths_are_refused(tmp_path: Path, width: Any) -> None:
    with pytest.raises(InvalidInputError, match="a number from 80 to 400"):
        save_regret_plot(made(), tmp_path / "plot.png", width=width)


def test_drawing_leaves_pyplot_alone() -> None:
    code = "import sys, clusterbandits.report.regret_panel; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
