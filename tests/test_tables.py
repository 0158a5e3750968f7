from __future__ import annotations

import math

import numpy as np
from rich.cells import cell_len

from clusterbandits.serial import restore_number, to_json
from clusterbandits.tables import Table, cell
from clusterbandits.wording import shortened, without_middle


def test_numbers_to_the_right_words_to_the_left() -> None:
    table = Table(("name", "rate"), (("a", 1.5), ("long", 12)), title="Rates", notes=("A note.",))
    assert table.text().splitlines() == [
        "Rates",
        "name   rate",
        "────  ─────",
        "a     1.500",
        "long     12",
        "",
        "A note.",
    ]


def test_long_words_are_cut_numbers_are_not() -> None:
    table = Table(("name", "value"), (("x" * 200, 123456789.0), ("y", math.inf)))
    lines = table.text().splitlines()
    assert max(map(len, lines)) == 80
    assert lines[2].endswith("1.235e+08")
    assert "…" in lines[2]


def test_digits_are_kept_even_where_nothing_else_can_give_way() -> None:
    numbers = tuple(10**20 + column for column in range(5))
    assert Table(tuple("abcde"), (numbers,)).text().splitlines()[2].split() == [str(n) for n in numbers]


def test_odd_labels_keep_the_columns_straight() -> None:
    lines = Table(("name", "value"), (("a\nb", 1.0), ("東京東京", 2.0))).text().splitlines()
    assert lines[2:] == ["a b       1.000", "東京東京  2.000"]


def test_empty_tables_keep_their_heading() -> None:
    assert Table(("a", "b"), ()).text().splitlines()[0] == "a  b"
    assert "<th" in Table(("a", "b"), ()).html()


def test_long_tables_are_cut_in_notebooks() -> None:
    page = Table(("n",), tuple((n,) for n in range(1000))).html()
    first, _, rest = page.partition("<details><summary>All 1000 rows</summary>")
    assert first.count("<tr>") == 11
    assert rest.count("<tr>") == 201
    assert "… and 800 more rows" in page


def test_long_texts_open_at_a_click_in_notebooks() -> None:
    page = Table(("name", "n"), (("<b>" * 30, 1), ("short", 2)), title="A & B").html()
    start = "&lt;b&gt;" * 19
    assert f"<summary>{start}" in page
    assert "&lt;b&gt;" * 30 in page
    assert page.count("<details>") == 1
    assert "A &amp; B</caption>" in page


def test_cells() -> None:
    values = [0.0, 1.0, 50.8, 1156.2, 0.02, -math.inf, True, "x", 12]
    assert [cell(value) for value in values] == [
        "0",
        "1.000",
        "50.80",
        "1156",
        "0.02",
        "-∞",
        "True",
        "x",
        "12",
    ]


def test_json_of_numpy_values() -> None:
    assert to_json(
        {"a": np.array([1.0, np.inf]), 2: np.int64(3), "c": (np.float64(0.5), None, -math.inf)}
    ) == ('{"a": [1.0, "inf"], "2": 3, "c": [0.5, null, "-inf"]}')
    assert restore_number("inf") == math.inf
    assert restore_number("red") == "red"


def test_shortened_texts_have_no_more_letters_than_allowed() -> None:
    text = "abcdefghij"
    for most in range(1, 15):
        for short in (shortened(text, most), without_middle(text, most)):
            assert len(short) == min(most, len(text))
            assert (short == text) == (most >= len(text))
    assert [without_middle(text, most) for most in (1, 2, 3, 5)] == ["…", "a…", "a…j", "ab…ij"]


def test_words_can_continue_on_the_next_line() -> None:
    name = "Spring 2026, returning visitors, all regions but the north and the islands, mobile only"
    rows = ((name, 1, "too wide: 4.6 × trials"), ("広告" * 40, 2, "helps"))
    lines = Table(("group", "arms", "the width"), rows, wrap=True).text().splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert "…" not in "".join(lines)
    shown = " ".join(line.split("  ")[0].strip() for line in lines)
    assert name in shown
    assert "".join(lines).count("広") == "".join(lines).count("告") == 40
