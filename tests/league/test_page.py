"""The page and the picture: every policy and every problem, tables that are tables, and what is committed."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from league.cells import Cell, Settings, summarise
from league.overview import Board
from league.page import page
from league.picture import heat, save_picture
from league.problems import KINDS, problems
from league.results import Results, load
from league.run import Places, show
from tests.league.made import board, cell, cells

POLICIES = ["kindred", *(f"policy-{k}" for k in range(1, 21))]
VERSIONS = {"clusterbandits": "0.1.0", "numpy": "2.0", "numba": "0.60"}


def results_of(*played: Cell) -> Results:
    return Results("python -m league", Settings(), VERSIONS, {one.pair: one for one in played})


def full() -> Results:
    rng = np.random.default_rng(1)
    played = [
        summarise(
            (problem.name, name), "", 100 * (1 + k / 10) * rng.gamma(4, size=20 if k == 7 else 100), 0.01
        )
        for problem in problems()
        for k, name in enumerate(POLICIES)
    ]
    return results_of(*played)


RESULTS = full()
BOARD = Board.of_cells(problems(), RESULTS.cells)
TEXT = page(RESULTS, BOARD, "league.svg", "league.csv")


def tables(text: str) -> list[list[list[str]]]:
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    return [
        [[part.strip() for part in line.strip("|").split("|")] for line in block.splitlines()]
        for block in blocks
    ]


def prose(text: str) -> str:
    return " ".join(text.split())


def test_the_page_is_short() -> None:
    assert len(TEXT.splitlines()) <= 126


def test_every_policy_and_every_problem_has_a_row() -> None:
    policies, kinds, each = tables(TEXT)
    names = [row[0].removesuffix(" (default)") for row in policies[2:]]
    assert names == [row.policy for row in BOARD.overview()]
    assert [row[0] for row in policies[2:] if row[0].endswith("(default)")] == ["kindred (default)"]
    assert {row[0]: int(row[2]) for row in kinds[2:]} == {
        "true widths": 13,
        "harmless widths": 2,
        "misleading widths": 5,
        "small rates": 3,
        "warm start": 3,
    }
    assert sorted(row[0] for row in each[2:]) == sorted(problem.name for problem in problems())


def test_numbers_of_the_default_are_those_of_the_board() -> None:
    *_, each = tables(TEXT)
    found = BOARD.of_policy("kindred")
    ratios = [float(row[5].strip("*≈ ")) for row in each[2:]]
    assert ratios == sorted(ratios, reverse=True)
    for row in each[2:]:
        own, best = found[row[0]], BOARD.standings[row[0]][0]
        assert (row[4], int(row[6])) == (best.cell.policy, own.rank)
        assert float(row[5].strip("*≈ ")) == pytest.approx(own.ratio, abs=0.005)
        assert (row[5][0] == "*", row[5][0] == "≈") == (own.mark == "best", own.mark == "close")
    marks = [one.mark for one in found.values()]
    assert f"Of 26 problems, `kindred` is the best policy on {marks.count('best')} (bold below)" in prose(
        TEXT
    )


def test_the_source_is_tidy() -> None:
    for line in TEXT.splitlines():
        assert len(line) <= (170 if line.startswith("|") else 118), line
        assert line == line.rstrip()
    for block in re.findall(r"(?:^\|.*\n)+", TEXT, flags=re.MULTILINE):
        assert len({len(line) for line in block.splitlines()}) == 1
    assert TEXT.endswith(".\n")


def test_the_page_says_how_it_was_made() -> None:
    text = prose(TEXT)
    assert "It compares 21 policies on 26 problems by their regret after 100,000 rounds" in text
    assert "in 100 runs of 100,000 rounds, with seed 1 and the default settings of the policy." in text
    assert (
        "There are fewer runs in 26 of 546 results, where one run takes over 1 second and the policy" in text
    )
    assert "Made with clusterbandits 0.1.0, NumPy 2.0 and Numba 0.60 by:" in text
    assert "```console\npython -m league\n```" in TEXT
    assert "200 per arm of *ads*, 50 per arm of *flights-by-origin*, 20 per arm of *admissions*" in text
    for name in ("league.csv", "league.svg", "../how-to/advise.md", "policies.md"):
        assert f"]({name})" in TEXT


def test_other_numbers_make_other_pages() -> None:
    """Every line that states a result follows from the results."""
    played = [cell("kindred", 30.0), cell("kl-ucb", 10.0), cell("kindred", 10.0, problem="figure 3")]
    other = [cell("kindred", 10.0), cell("kl-ucb", 40.0), cell("kindred", 10.0, problem="figure 3")]
    first, second = (
        page(results_of(*one), board(*one), "league.svg", "league.csv") for one in (played, other)
    )
    figures = re.compile(r"\d+\.\d\d")
    shared = set(figures.findall(first)) & set(figures.findall(second))
    assert shared <= {"1.00", "0.01", "0.60"}, "these figures do not depend on the results"


def test_parts_without_problems_are_left_out() -> None:
    played = cells({"figure 2": {"a": 10.0, "b": 12.0}})
    text = page(results_of(*played), board(*played), "league.svg", "league.csv")
    assert "2 policies on 1 problem by" in text
    assert "It is not part of this league." in text
    assert "## Where the default" not in text
    for absent in (
        "misleading",
        "There are fewer runs",
        "half the best span",
        "after … trials",
        "not run on",
    ):
        assert absent not in text


def test_the_page_names_policies_without_some_cells() -> None:
    warm = "ads (after 12,000 trials)"
    played = cells({"figure 2": {"kindred": 10.0, "each": 5.0}, warm: {"kindred": 10.0}})
    text = page(results_of(*played), board(*played), "league.svg", "league.csv")
    assert "Some policies were not run on every problem: `each` (1), with the number" in prose(text)
    first, last = tables(text)[0][2:]
    assert (first[0], last[0]) == ("kindred (default)", "each")
    assert (first[1], last[1]) == ("**1.41**", "1.00"), "what is not comparable is not the best"


def test_the_default_may_lack_cells() -> None:
    warm = "ads (after 12,000 trials)"
    played = cells({"figure 2": {"kindred": 10.0, "a": 5.0}, warm: {"a": 10.0}})
    _, kinds, each = tables(page(results_of(*played), board(*played), "league.svg", "league.csv"))
    assert [row[4:] for row in kinds[2:]] == [["2.00", "2"], ["", ""]]
    assert [row[0] for row in each[2:]] == ["figure 2"]


def test_the_heat_is_the_board() -> None:
    shown = heat(BOARD, 10**5)
    overview = BOARD.overview()
    assert shown.title == "Mean regret after 1e5 rounds, best policy = 1"
    assert shown.policies == tuple(row.policy for row in overview)
    assert [column.name for column in shown.columns[-2:]] == ["geometric mean", "worst"]
    worst = [square.ratio for square in shown.columns[-1].squares if square is not None]
    assert worst == [row.worst.ratio for row in overview]
    by_name = {problem.short: problem for problem in problems()}
    assert [column.name for column in shown.columns[:-2]] == sorted(
        by_name, key=lambda name: list(KINDS).index(by_name[name].kind)
    )
    for column in shown.columns[:-2]:
        standing = {one.cell.policy: one for one in BOARD.standings[by_name[column.name].name]}
        for name, square in zip(shown.policies, column.squares, strict=True):
            assert square is not None
            assert (square.ratio, square.mark) == (standing[name].ratio, standing[name].mark)


def test_missing_cells_are_dashes(tmp_path: Path) -> None:
    shown = heat(board(*cells({"figure 2": {"a": 1.0, "b": 2.0}, "figure 3": {"b": 2.0}})), 10**5)
    assert shown.policies == ("b", "a")
    assert [square is None for square in shown.columns[1].squares] == [False, True]
    save_picture(shown, tmp_path / "a.svg")
    assert "not run" in (tmp_path / "a.svg").read_text()
    save_picture(heat(BOARD, 10**5), tmp_path / "a.svg")
    assert "not run" not in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_pictures(tmp_path: Path, name: str, start: bytes) -> None:
    for shown in (BOARD, board(cell("a", 0.0, 0.0), cell("b", 1.0))):
        save_picture(heat(shown, 10**5), tmp_path / name)
        first = (tmp_path / name).read_bytes()
        assert first.startswith(start)
        save_picture(heat(shown, 10**5), tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_picture_names_everything(tmp_path: Path) -> None:
    save_picture(heat(BOARD, 10**5), tmp_path / "league.svg")
    text = (tmp_path / "league.svg").read_text()
    for name in (*POLICIES, *(problem.short for problem in problems())):
        assert f">{name}<" in text


def test_nothing_in_the_picture_leaves_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found: list[Any] = []

    def look(figure: Figure, *_: object, **__: object) -> None:
        found.append((figure.get_tightbbox(), figure.get_size_inches()))

    monkeypatch.setattr(Figure, "savefig", look)
    for shown in (BOARD, board(*cells({"figure 2": {"a": 1.0, "clus-ucb-hedged": 2000.0}}))):
        save_picture(heat(shown, 10**5), tmp_path / "a.svg")
    for box, (width, height) in found:
        assert min(box.x0, box.y0) >= 0
        assert math.floor(box.x1 * 100) <= width * 100
        assert math.floor(box.y1 * 100) <= height * 100


def test_the_committed_files_are_what_the_results_say(tmp_path: Path) -> None:
    places = Places()
    results = load(places.results)
    if results is None:
        pytest.skip("no league has been run yet")
    made = Places.in_folder(tmp_path)
    show(results, problems(), made)
    for kept, written in ((places.page, made.page), (places.data, made.data)):
        assert kept.read_text(encoding="utf-8") == written.read_text(encoding="utf-8")
    assert places.picture.exists()
