"""``plot`` of every object: on a new figure or on given axes, whole, and fit for a paper."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends import backend_pgf
from matplotlib.text import Text

import clusterbandits as cb
from clusterbandits.report.paper_figure import latex_text
from tests.report.plotted import CLUSTERS, INSTANCE, LATEX, OBJECTS, explanation, policy, report, result

each_object = pytest.mark.parametrize("name", OBJECTS)
#: Every class once.
SOME = ["clusters", "fit", "instance", "bound", "result", "policy", "explanation", "history", "replay"]
each_class = pytest.mark.parametrize("name", [*SOME, "study of two instances", "study of drawn instances"])


@pytest.fixture(autouse=True)
def _no_figure_stays_open() -> Iterator[None]:
    plt.switch_backend("agg")
    yield
    plt.close("all")


def texts(figure: Any) -> list[Text]:
    """Return what is written in a figure once it is drawn; Matplotlib leaves out ticks beyond an axis."""
    figure.canvas.draw()
    hidden = [_left_out(axis) for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    absent = {text for part in hidden for text in part}
    return [text for text in figure.findobj(Text) if text.get_text() and text not in absent]


def _left_out(axis: Any) -> list[Text]:
    low, high = sorted(axis.get_view_interval())
    shown = [axis.get_visible() and low <= tick.get_loc() <= high for tick in axis.get_major_ticks()]
    labels = [
        label
        for tick, drawn in zip(axis.get_major_ticks(), shown, strict=True)
        for label in (tick.label1, tick.label2)
        if not drawn or not label.get_visible()
    ]
    return [*labels, *([] if axis.get_visible() else [axis.label])]


def check_whole(figure: Any) -> None:
    outer = figure.bbox.padded(0.5)
    for text in texts(figure):
        box = text.get_window_extent()
        assert outer.x0 <= box.x0 < box.x1 <= outer.x1, text
        assert outer.y0 <= box.y0 < box.y1 <= outer.y1, text


def bars(axes: Any) -> list[float]:
    return [float(patch.get_width()) for patch in axes.patches]


def dots(axes: Any) -> list[float]:
    """Return the places of single dots."""
    return [float(line.get_xdata()[0]) for line in axes.get_lines() if len(line.get_xdata()) == 1]


@each_object
def test_nothing_is_cut(name: str) -> None:
    axes = OBJECTS[name]().plot()
    assert isinstance(axes, mpl.axes.Axes)
    check_whole(axes.figure)


@each_class
def test_axes_of_a_user_are_drawn_on_and_nothing_else_is(name: str) -> None:
    with mpl.rc_context({"font.size": 11.0}):
        figure, (left, right) = plt.subplots(2, 1, figsize=(7, 11), layout="constrained")
        before = dict(mpl.rcParams)
        assert OBJECTS[name]().plot(ax=right) is right
        assert dict(mpl.rcParams) == before
        assert not left.has_data()
        assert plt.get_fignums() == [figure.number]
        check_whole(figure)


@each_class
def test_files_fit_a_paper_and_settings_of_a_user_stay(name: str) -> None:
    with mpl.rc_context({"font.size": 17.0, "pdf.fonttype": 3, "axes.facecolor": "red"}):
        before = dict(mpl.rcParams)
        figure = OBJECTS[name]().plot().figure
        files = {form: io.BytesIO() for form in ("pdf", "svg", "png")}
        for form, file in files.items():
            figure.savefig(file, format=form)
        assert dict(mpl.rcParams) == before
    assert figure.axes[0].get_facecolor() == (1, 1, 1, 1)
    assert b"/Type3" not in files["pdf"].getvalue()
    assert b"/CIDFontType2" in files["pdf"].getvalue()
    assert files["svg"].getvalue().startswith(b"<?xml")
    assert files["png"].getvalue().startswith(b"\x89PNG")


def test_pyplot_embeds_the_same_fonts() -> None:
    CLUSTERS.plot()
    plt.savefig(file := io.BytesIO(), format="pdf")
    assert b"/Type3" not in file.getvalue()


class Measured:
    """A LaTeX that measures and typesets nothing."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def get_width_height_descent(self, text: str, prop: Any) -> tuple[float, float, float]:
        self.texts.append(text)
        size = float(prop.get_size_in_points())
        return 0.5 * size * len(text), size, 0.2 * size


@pytest.fixture
def latex(monkeypatch: pytest.MonkeyPatch) -> Measured:
    made = Measured()
    monkeypatch.setattr(backend_pgf.LatexManager, "_get_cached_or_new", lambda: made)
    return made


def pgf_texts(figure: Any, folder: Path) -> list[str]:
    figure.savefig(folder / "x.pgf")
    lines = (folder / "x.pgf").read_text(encoding="utf-8").splitlines()
    return [_own(line.removesuffix("}}%")) for line in lines if r"\pgftext[" in line]


def _own(line: str) -> str:
    """Return the text behind the definitions that Matplotlib puts before it."""
    return line.rpartition(r"\def%{\%}")[2]


@each_class
def test_latex_obeys_no_name(name: str, latex: Measured, tmp_path: Path) -> None:
    axes = OBJECTS[name]().plot()
    written = [text.get_text() for text in texts(axes.figure)]
    shown = pgf_texts(axes.figure, tmp_path)
    for text in [*shown, *map(_own, latex.texts)]:
        rest = re.sub(r"\\(text[a-z]+\{\}|[%&_#${}])", "", text)
        assert not set(rest) & set("\\&#$_{}~^"), text
    assert [text.get_text() for text in texts(axes.figure)] == written
    names = [text for text in written if "&" in text]
    assert names
    assert {latex_text(text) for text in names} <= set(shown)


@pytest.mark.usefixtures("latex")
def test_latex_obeys_no_name_on_axes_of_a_user_but_their_own_text(tmp_path: Path) -> None:
    figure, axes = plt.subplots()
    axes.set_title(r"\textbf{mine} and $x^2$")
    result().plot(axes)
    shown = pgf_texts(figure, tmp_path)
    assert r"\textbf{mine} and $x^2$" in "".join(shown)
    assert latex_text(LATEX) in shown


def test_what_is_drawn_is_what_the_object_says() -> None:
    axes = CLUSTERS.plot()
    assert bars(axes) == pytest.approx([0.03, 0.03])
    assert "∞" in [text.get_text() for text in axes.texts]
    axes = cb.Clusters([1, 1], widths=0.1).fits([0.5, 0.5]).plot()
    assert bars(axes) == [0, 0.1, 0, 0.1]
    bound = cb.regret_bound(cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]]), cb.Clusters([2, 3], [0.5, 0.75]))
    heights = bars(bound.plot())
    rates = [[part.lower, part.clus_ucb, part.classical] for part in bound.clusters]
    assert sorted(set(heights)) == pytest.approx(sorted({rate for part in rates for rate in part}))


def test_regret_is_that_of_the_saved_plot_with_bounds() -> None:
    drawn = result()
    bound = cb.regret_bound(INSTANCE)
    axes = drawn.plot(bound=bound)
    assert axes.get_xscale() == "log"
    assert drawn.plot(scale="linear").get_xscale() == "linear"
    curves = [np.asarray(line.get_ydata()) for line in axes.get_lines()]
    assert np.array_equal(curves[0], drawn.mean(LATEX))
    assert len(curves) > len(drawn.plot().get_lines()) == 2
    with pytest.raises(cb.InvalidInputError, match="scale"):
        drawn.plot(scale="cubic")  # type: ignore[arg-type]


def test_a_policy_shows_estimates_and_shares_of_pulls() -> None:
    made = cb.KLUCB(cb.Clusters({"red": ["a", "b"], "blue": ["c"]}))
    for arm, total, pulls in (("a", 3, 4), ("b", 2, 12)):
        made.tell(arm, total, pulls=pulls)
    axes = made.plot()
    assert dots(axes) == pytest.approx([0.75, 2 / 12, np.nan], nan_ok=True)
    (beside,) = axes.child_axes
    assert bars(beside) == pytest.approx([1 / 3, 1, 0])
    shown = [text.get_text() for text in axes.texts]
    assert shown == ["red", "blue", "a", "25 %", "b", "75 %", "c", "0 %"]


def test_an_explanation_says_who_holds_an_arm_down_and_draws_indices_where_they_fit() -> None:
    axes: Any = explanation().plot()
    held = [text.get_text() for text in axes.texts if "40 %" in text.get_text() or "never" in text.get_text()]
    assert len(held) == 5
    marks = [line for line in axes.get_lines() if line.get_marker() == "|"]
    assert [x for line in marks for x in line.get_xdata() if np.isfinite(x)] == [0.7] * 4
    other = explanation(30.0).plot()
    assert not [line for line in other.get_lines() if line.get_marker() == "|"]
    assert [text.get_text() for text in other.texts].count("30.00") == 4


def test_a_study_shows_ratios_to_its_first_policy() -> None:
    axes = report("ii").plot()
    base, other = report("ii").summaries[0].rows
    assert dots(axes)[0] == pytest.approx(other["regret"] / base["regret"])


def test_other_than_axes_are_refused() -> None:
    with pytest.raises(cb.InvalidInputError, match="ax must be"):
        CLUSTERS.plot(ax=plt.figure())  # type: ignore[arg-type]
    assert len(plt.get_fignums()) == 1


def test_a_threaded_policy_is_read_at_one_moment() -> None:
    made = policy(cb.read_history({"arm": ["a"], "group": ["x"], "trials": [9], "successes": [3]}))
    before = made.to_json()
    made.plot()
    assert made.to_json() == before
