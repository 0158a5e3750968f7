"""The data file has every cell of the board, once."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from clusterbandits.errors import UnwritableFileError
from league.cells import Settings
from league.data_file import COLUMNS, csv_of
from league.results import Results
from league.run import Places, show
from tests.league.made import board, cell, cells

VERSIONS = {"clusterbandits": "0.1.0", "numpy": "2.0", "numba": "0.60"}


def test_one_row_per_cell() -> None:
    warm = "ads (after 12,000 trials)"
    shown = board(*cells({"figure 2": {"a": 10.0, "b": 30.0}, warm: {"b": 7.0}}))
    rows = list(csv.DictReader(io.StringIO(csv_of(shown))))
    assert [tuple(row) for row in rows] == [COLUMNS] * 3
    assert [(row["problem"], row["kind"], row["policy"]) for row in rows] == [
        ("figure 2", "true widths", "a"),
        ("figure 2", "true widths", "b"),
        (warm, "warm start", "b"),
    ]
    assert [float(row["ratio"]) for row in rows] == [1, 3, 1]
    assert [float(row["percentile_95"]) for row in rows] == [20, 60, 14]
    assert [row["mark"] for row in rows] == ["best", "worse", "best"]
    assert [int(row["rank"]) for row in rows] == [1, 2, 1]


def test_an_unknown_standard_error_is_empty() -> None:
    text = csv_of(board(cell("a", 0.0, None, runs=1), cell("b", 1.0)))
    first, second = csv.DictReader(io.StringIO(text))
    assert (first["standard_error"], second["ratio"]) == ("", "inf")


def test_the_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = cells({"figure 2": {"a": 10.0, "b": 12.0}})
    shown = board(*played)
    results = Results("python -m league", Settings(), VERSIONS, {one.pair: one for one in played})
    places = Places.in_folder(tmp_path)
    show(results, shown.problems, places)
    before = places.data.read_text()
    assert before == csv_of(shown)

    def refuse(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(UnwritableFileError):
        show(results, shown.problems, places)
    assert places.data.read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["league.csv", "league.md", "league.svg"]
