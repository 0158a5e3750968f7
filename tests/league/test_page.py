"""The page and the picture: every policy and every problem, tables that are tables, and what is committed."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from league.cells import Settings, summarise
from league.overview import Board
from league.page import page, slug
from league.picture import heat, save_picture
from league.problems import problems
from league.results import Results, load
from league.run import Places, written
from tests.league.made import board, cell, cells

POLICIES = [f"policy-{k}" for k in range(20)]
VERSIONS = {"clusterbandits": "0.1.0", "sources": "abc", "numpy": "2.0", "numba": "0.60"}


def full() -> Results:
    rng = np.random.default_rng(1)
    played = [
        summarise(
            (problem.name, name), "", 100 * (1 + k / 10) * rng.gamma(4, size=20 if k == 7 else 100), 0.01
        )
        for problem in problems()
        for k, name in enumerate(POLICIES)
    ]
    return Results("python -m league", Settings(), VERSIONS, {one.pair: one for one in played})


RESULTS = full()
BOARD = Board.of_cells(problems(), RESULTS.cells)
TEXT = page(RESULTS, BOARD, {name: k % 2 == 0 for k, name in enumerate(POLICIES)}, "league.svg")


def tables(text: str) -> list[list[list[str]]]:
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    return [
        [[part.strip() for part in line.strip("|").split("|")] for line in block.splitlines()]
        for block in blocks
    ]


def test_every_policy_on_every_problem() -> None:
    found = tables(TEXT)
    overviews, contents, each = found[:3], found[3], found[4:]
    assert len(each) == len(problems()) == len(contents) - 2
    for table in overviews:
        assert sorted(row[0] for row in table[2:]) == sorted(POLICIES)
    for problem, table in zip(problems(), each, strict=True):
        assert f"\n### {problem.name}\n" in TEXT
        assert sorted(row[1].strip("*≈ ") for row in table[2:]) == sorted(POLICIES)
        assert [int(row[0]) for row in table[2:]] == list(range(1, 21))
        standing = BOARD.standings[problem.name]
        assert [row[1] for row in table[2:] if row[1].startswith("**")] == [f"**{standing[0].cell.policy}**"]
        close = [f"{one.cell.policy} ≈" for one in standing if one.mark == "close"]
        assert [row[1] for row in table[2:] if row[1].endswith("≈")] == close


def test_links_lead_to_headings() -> None:
    anchors = {slug(heading) for heading in re.findall(r"^#+ (.*)$", TEXT, flags=re.MULTILINE)}
    links = re.findall(r"\]\(#([^)]+)\)", TEXT)
    assert len(links) == 20 + 13 + 5
    assert set(links) <= anchors


def test_the_source_is_tidy() -> None:
    for line in TEXT.splitlines():
        assert len(line) <= (170 if line.startswith("|") else 118), line
        assert line == line.rstrip()
    for block in re.findall(r"(?:^\|.*\n)+", TEXT, flags=re.MULTILINE):
        assert len({len(line) for line in block.splitlines()}) == 1
    assert TEXT.endswith("|\n")


def test_the_page_says_how_it_was_made() -> None:
    opening = " ".join(TEXT.split("![")[0].split())
    assert opening.startswith(
        "# The league 20 policies on 20 problems. Each cell is 100 runs of 1e5 rounds, seed 1."
    )
    assert "there are fewer, 10 at least, 2 where it takes over 30 seconds, as the column" in opening
    assert "*runs* says (20 of 400 cells)." in opening
    assert "`python -m league` with clusterbandits 0.1.0 (sources abc), NumPy 2.0 and Numba 0.60." in opening
    assert "![" in TEXT
    assert "](league.svg)" in TEXT


def test_parts_without_problems_are_left_out() -> None:
    played = cells({"figure 2": {"a": 10.0, "b": 12.0}})
    results = Results("python -m league", Settings(), VERSIONS, {one.pair: one for one in played})
    text = page(results, board(*played), {"a": True, "b": False}, "league.svg")
    assert "1 problem:" in text
    assert "too small for" not in text
    assert "there are fewer" not in text
    assert text.count("## Where") == 1


def test_alarms_have_a_column_where_there_are_any() -> None:
    played = [cell("a", 10.0, alarms=7), cell("b", 12.0), cell("a", 10.0, problem="figure 4")]
    results = Results("python -m league", Settings(), VERSIONS, {one.pair: one for one in played})
    loud, quiet = tables(page(results, board(*played), {"a": True, "b": False}, "league.svg"))[-2:]
    assert [row[-1] for row in loud] == ["alarms", "-------:", "7", ""]
    assert quiet[0][-1] == "s a run"


def test_the_heat_is_the_board() -> None:
    shown = heat(BOARD, 10**5)
    overview = BOARD.overview()
    assert shown.title == "Mean regret over the best policy's after 1e5 rounds"
    assert shown.policies == tuple(row.policy for row in overview)
    assert [column.name for column in shown.columns[-2:]] == ["geometric mean", "worst"]
    assert [square.ratio for square in shown.columns[-1].squares] == [row.worst.ratio for row in overview]
    assert {column.name for column in shown.columns[:-2]} == {problem.short for problem in problems()}
    by_name = {problem.short: problem for problem in problems()}
    fits = [by_name[column.name].fit for column in shown.columns[:-2]]
    assert fits == ["true"] * 13 + ["harmless"] * 2 + ["misleading"] * 5
    for column in shown.columns[:-2]:
        standing = {one.cell.policy: one for one in BOARD.standings[by_name[column.name].name]}
        for name, square in zip(shown.policies, column.squares, strict=True):
            assert (square.ratio, square.mark) == (standing[name].ratio, standing[name].mark)


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


def test_the_committed_page_is_what_the_results_say() -> None:
    places = Places()
    results = load(places.results)
    if results is None:
        pytest.skip("no league has been played yet")
    assert places.picture.exists()
    text = written(results, Board.of_cells(problems(), results.cells), places)
    assert places.page.read_text(encoding="utf-8") == text
