"""Looks: one for every policy, everywhere, and no two alike."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from clusterbandits.policies import KLUCB, POLICIES
from clusterbandits.report.sheet import WIDTH, Entry, folded, panel, text_width
from clusterbandits.report.style import Look, looks, numbered_look, policy_name, render, round_ticks, settings


def seen(look: Any) -> tuple[str, str]:
    return look.colour, look.marker


def test_the_policies_of_the_paper_have_solid_lines_in_known_colours() -> None:
    assert looks(["kl-ucb", "clus-ucb", "tlp-mean", "tlp-max"]) == {
        "kl-ucb": Look("#0072B2", "o", "-"),
        "clus-ucb": Look("#D55E00", "s", "-"),
        "tlp-mean": Look("#009E73", "^", "-"),
        "tlp-max": Look("#CC79A7", "v", "-"),
    }


def test_every_policy_of_the_registry_has_a_look_of_its_own() -> None:
    given = looks(POLICIES).values()
    assert len(set(map(seen, given))) == len(POLICIES)
    assert len({(look.colour, look.dash) for look in given}) == len(POLICIES)


def test_looks_without_end_are_all_different() -> None:
    given = [numbered_look(number) for number in range(1000)]
    assert len(set(given)) == 1000
    assert len(set(map(seen, given[:72]))) == 72
    for look in given:
        Line2D([], [], **look.line())


def test_a_new_policy_needs_the_registry_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = looks(POLICIES)
    names = [f"new-{n}" for n in range(60 - len(POLICIES))]
    for name in names:
        monkeypatch.setitem(POLICIES, name, KLUCB)
    after = looks(POLICIES)
    assert before.items() <= after.items()
    assert len(set(map(seen, after.values()))) == 60
    assert len({(look.colour, look.dash) for look in after.values()}) == 60
    assert all(looks([name])[name] == after[name] for name in names)


def test_a_policy_looks_the_same_in_any_company() -> None:
    together = looks(POLICIES)
    assert {name: looks([name])[name] for name in POLICIES} == together
    assert looks(reversed([*POLICIES, "mine"])) == looks(["mine", *POLICIES])
    assert looks(["mine", "clus-ucb:a=5"])["clus-ucb:a=5"] == together["clus-ucb"]
    assert policy_name("kl-ucb++ (a=3): b") == "kl-ucb++"
    assert looks(["mine"]).items() <= looks(["yours", *POLICIES, "mine", "clus-ucb:a=5"]).items()


def test_labels_of_one_policy_share_a_colour_and_nothing_else() -> None:
    for name, colour in (("clus-ucb", "#D55E00"), ("mine", looks(["mine"])["mine"].colour)):
        labels = [name, f"{name}:a=5", f"{name}:a=6"]
        given = looks([*labels, "kl-ucb"])
        three = [given[label] for label in labels]
        assert {look.colour for look in three} == {colour}
        assert len({look.marker for look in three}) == 3
        assert len({look.dash for look in three}) == 3
    assert looks(["clus-ucb", "clus-ucb late"])["clus-ucb late"].colour == "#D55E00"


def test_unknown_names_look_like_no_known_policy() -> None:
    names = [f"p{n}" for n in range(72 - len(POLICIES))]
    given = looks([*POLICIES, *names])
    assert len(set(map(seen, given.values()))) == 72
    assert all(look not in looks(POLICIES).values() for name in names for look in looks([name]).values())


@pytest.mark.parametrize("form", ["p{}", "clus-ucb:a={}", "my policy {}", "\udc9b{}"])
def test_three_hundred_labels_are_told_apart(form: str) -> None:
    labels = [form.format(n) for n in range(300)]
    given = looks(labels)
    assert set(given) == set(labels)
    assert len(set(given.values())) == 300


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_equal_figures_give_equal_bytes(form: str) -> None:
    def drawn(height: float) -> bytes:
        with settings():
            figure = Figure(figsize=(2, 2))
            figure.subplots().fill_between([0, 1], [0, height])
            return render(figure, form)

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_what_users_set_changes_nothing() -> None:
    def drawn() -> bytes:
        with settings():
            figure, axes = panel(20, [[Entry("one", {"color": "black"})]], "title")
            axes.plot([1, 2])
            return render(figure, "svg")

    plain = drawn()
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        assert drawn() == plain
    assert b">title</text>" in plain


def test_everything_of_a_panel_is_inside_it_and_apart() -> None:
    labels = ["a label that is a good deal longer than anybody would want it to be: " + "x" * 90, *POLICIES]
    blocks = [[Entry(label, looks([label])[label].line()) for label in part] for part in (labels, labels[:3])]
    with settings():
        figure, axes = panel(30, [blocks[0], [Entry("A remark")], blocks[1]], "A title " * 12, "words " * 20)
        axes.set_xlabel("round")
        axes.plot([0, 1], [0, 1e4])
        figure.set_dpi(200)
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in (*figure.texts, axes.xaxis.label)]
        boxes.append(axes.get_window_extent())
    frame = figure.bbox
    assert frame.width / figure.dpi * 25.4 == pytest.approx(WIDTH)
    for k, box in enumerate(boxes):
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
        for other in boxes[:k]:
            apart = box.x1 <= other.x0 or other.x1 <= box.x0
            assert apart or min(box.y1, other.y1) - max(box.y0, other.y0) < 0.15 * min(
                box.height, other.height
            )


def test_folding_keeps_every_word() -> None:
    text = "Regret of many policies against rounds"
    lines = folded(text, 30)
    assert " ".join(lines) == text
    assert all(text_width(line) <= 30 for line in lines)
    assert folded("", 30) == []
    assert "".join(folded("x" * 40, 10)) == "x" * 40


@pytest.mark.parametrize(("low", "high"), [(1, 10), (10, 1e10), (900, 1100), (0.3, 2e6), (7, 8), (1, 1e15)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    ticks = round_ticks(low, high)
    assert 1 <= len(ticks) <= 8
    assert all(low <= tick <= high for tick in ticks)
    assert ticks == sorted(set(ticks))
