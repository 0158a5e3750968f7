"""Columns of a table: whatever people call one, read alike; whatever is wrong, one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from clusterbandits import InvalidInputError, UnreadableFileError
from clusterbandits.studies import stored_tables
from clusterbandits.studies.columns import Column, Source

WANTED = [Column("arm", "text"), Column("trials", "number", also=("pulls",)), Column("note", "text", False)]
SAME: dict[str, list[Any]] = {"arm": ["a", "b"], "trials": [3, 4]}


def read(table: object) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for batch in Source(table, WANTED):
        for name, values in batch.columns.items():
            found.setdefault(name, []).extend(
                values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()
            )
    return found


def rows() -> Iterator[dict[str, Any]]:
    yield {"arm": "a", "trials": 3}
    yield {"arm": "b", "trials": 4}


@pytest.mark.parametrize(
    "table",
    [
        SAME,
        {"ARM": ("a", "b"), " Pulls ": np.array([3, 4]), "other": [None, None]},
        {"arm": [" a", "b "], "trials": ["3", " 4 "]},
        pd.DataFrame(SAME, index=[7, 9]),
        pd.DataFrame({"arm": pd.Categorical(["a", "b"]), "trials": [3.0, 4.0]}),
        pa.table(SAME),
        pa.concat_tables([pa.table({"arm": ["a"], "trials": [3]}), pa.table({"arm": ["b"], "trials": [4]})]),
        pa.table({"arm": pa.array(["a", "b"]).dictionary_encode(), "trials": [3, 4]}),
        list(rows()),
        rows(),
    ],
)
def test_tables_in_memory(table: object) -> None:
    assert read(table) == SAME


@pytest.mark.parametrize(
    "content",
    [
        "arm,trials\na,3\nb,4\n",
        "arm,trials\na,3\nb,4",
        "arm;trials\r\na;3\r\nb;4\r\n",
        "trials\tARM\n3\ta\n4\tb\n",
        "\ufeffarm,trials\na,3\n\nb,4\n\n",
        'arm,trials,x\n"a",3,"1,2"\nb,4e0,\n',
        " arm , trials \n a , 3 \n b , 4 \n",
    ],
)
def test_files(tmp_path: Path, content: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(content, encoding="utf-8")
    assert read(file) == read(str(file)) == SAME


def test_columns_that_may_be_missing() -> None:
    assert Source(SAME, WANTED).columns == {"arm", "trials"}
    assert Source(SAME | {"note": ["x", "y"]}, WANTED).columns == {"arm", "trials", "note"}


def test_names_are_kept_whatever_they_look_like(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text('arm,trials\nNA,1\nnull,2\n007,3\n"a\nb",4\nß€,5\n', encoding="utf-8")
    assert read(file)["arm"] == ["NA", "null", "007", "a\nb", "ß€"]


def test_rows_are_counted_through_all_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_tables, "BLOCK", 256)
    file = tmp_path / "table.csv"
    lines = [f"arm {k},{k}" for k in range(500)]
    file.write_text("\n".join(["arm,trials", *lines]))
    source = Source(file, WANTED)
    firsts = [(batch.first, batch.rows) for batch in source]
    assert len(firsts) > 10
    assert [first for first, _ in firsts] == np.cumsum([1, *(size for _, size in firsts[:-1])]).tolist()
    assert [batch.first for batch in source] == [first for first, _ in firsts]  # as often as needed
    file.write_text("\n".join(["arm,trials", *lines[:432], "x,?", *lines]))
    with pytest.raises(UnreadableFileError, match=r"Row 433 \(line 434\) has '\?'"):
        read(file)


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        (
            {"arm": ["a"]},
            ["there is no column 'trials'", "columns={'trials': 'NAME'}", "The columns are: arm."],
        ),
        ({}, ["there is no column 'arm'", "It has no columns"]),
        (
            {"arm": ["a"], "trials": [3], "Trials": [4]},
            ["'trials' and 'Trials'", "columns={'trials': 'trials'}"],
        ),
        (
            {"arm": ["a"], "trials": ["1_000"]},
            ["column 'trials' must hold plain numbers", "Row 1 has '1_000'"],
        ),
        ({"arm": ["a", "b"], "trials": [1, [2]]}, ["column 'trials' must hold plain numbers"]),
        ({"arm": ["a", None], "trials": [1, 2]}, ["column 'arm' must hold text", "Row 2 has an empty cell"]),
        ({"arm": [["a"]], "trials": [1]}, ["column 'arm' must hold text", "Row 1 has ['a']"]),
        ({"arm": ["a"], "trials": [10**400]}, ["column 'trials' must hold plain numbers"]),
        ({"arm": ["a"], "trials": [1, 2]}, ["Column 1 named trials expected length 1"]),
        ({"arm": "a", "trials": 3}, ["columns by name"]),
        ([("a", 3)], ["columns by name", "It is [('a', 3)]"]),
        (b"table.csv", ["columns by name", "It is b'table.csv'"]),
        ({"arm": ["\ud800"], "trials": [1]}, ["columns by name"]),
    ],
)
def test_what_is_wrong_in_memory(table: object, parts: list[str]) -> None:
    with pytest.raises(InvalidInputError) as error:
        read(table)
    assert str(error.value).startswith("Table given to advise: ")
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the first row must name the columns. The file is empty"),
        (b"  \n ", "The file is empty"),
        (b"\narm,trials\na,3\n", "It is empty"),
        (b"arm,trials", "at least one row"),
        (b"arm,trials\na,3,9\n", "every row must have 2 cells. Row 1 (line 2) has 3"),
        (b'arm,trials\n"a,3\n', "Row 1 (line 2) has 1"),
        (b"arm,trials\na,0x10\n", "Row 1 (line 2) has '0x10'"),
        (b"arm,trials\na,1_0\n", "Row 1 (line 2) has '1_0'"),
        (b"arm,trials\na,\n", "column 'trials' must hold numbers. Row 1 (line 2) has an empty cell"),
        (
            b"arm,trials\na,3.1 %\n",
            "must hold plain numbers, such as 1000 or 0.5. Row 1 (line 2) has '3.1 %'",
        ),
        (b"arm,trials\na,1 23\n", "Row 1 (line 2) has '1 23'"),
        (b"arm;trials\na;0,5\nb;1 EUR\n", "such as 1000 or 0,5. Row 2 (line 3) has '1 EUR'"),
        (b"arm,trials\na\0,3\n", "text must be in UTF-8"),
        (b"\xff\xfe\0\0a", "text must be in UTF-8"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "save it as .xlsx"),
        (b"PAR1 is not enough", "the Parquet file must be whole"),
    ],
)
def test_what_is_wrong_in_a_file(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(content)
    with pytest.raises(UnreadableFileError) as error:
        read(file)
    assert str(error.value).startswith(f"Table '{file}': ")
    assert sentence in str(error.value)


def test_lines_are_counted_as_an_editor_does(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text('arm,"trials"\n"a\nb",1\n\n\n"c\nd\ne",2\nf,many\n')
    with pytest.raises(UnreadableFileError, match=r"Row 3 \(line 9\) has 'many'"):
        read(file)
    file.write_text('arm,"trials"\n"a\nb",1\n\n\n"c\nd\ne",few\nf,many\n')
    with pytest.raises(UnreadableFileError, match=r"Row 2 \(line 6\) has 'few'"):
        read(file)


@pytest.mark.parametrize("folder", ["http:", "file:", "s3:", "gs:x"])
def test_a_path_that_looks_like_an_address_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir()
    file = Path(folder) / "table.csv"
    file.write_text("arm,trials\na,1\n")
    for path in (file, str(file)):
        assert [batch.numbers("trials").tolist() for batch in Source(path, WANTED)] == [[1.0]]
