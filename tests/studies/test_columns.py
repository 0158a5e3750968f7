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
from clusterbandits.studies import columns
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
    monkeypatch.setattr(columns, "_BLOCK", 256)
    file = tmp_path / "table.csv"
    lines = [f"arm {k},{k}" for k in range(500)]
    file.write_text("\n".join(["arm,trials", *lines]))
    source = Source(file, WANTED)
    firsts = [(batch.first, batch.rows) for batch in source]
    assert len(firsts) > 10
    assert [first for first, _ in firsts] == np.cumsum([1, *(size for _, size in firsts[:-1])]).tolist()
    assert [batch.first for batch in source] == [first for first, _ in firsts]  # as often as needed
    file.write_text("\n".join(["arm,trials", *lines[:432], "x,?", *lines]))
    with pytest.raises(UnreadableFileError, match=r"Got '\?' in row 433 instead"):
        read(file)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"arm": ["a"]}, "have the column 'trials'. Got 'arm' instead."),
        ({}, "have the columns 'arm', 'trials'. Got none instead."),
        ({"arm": ["a"], "trials": [3], "pulls": [4]}, "have one column 'trials'. Got 'trials' and 'pulls'"),
        ({"arm": ["a"], "trials": ["1_000"]}, "a number in its column 'trials'. Got '1_000' in row 1"),
        ({"arm": ["a", "b"], "trials": [1, [2]]}, "a number in its column 'trials'"),
        ({"arm": ["a", None], "trials": [1, 2]}, "a text in its column 'arm'. Got '' in row 2"),
        ({"arm": [["a"]], "trials": [1]}, "a text in its column 'arm'. Got ['a'] in row 1"),
        ({"arm": ["a"], "trials": [10**400]}, "a number in its column 'trials'"),
        ({"arm": ["a"], "trials": [1, 2]}, "Column 1 named trials expected length 1"),
        ({"arm": "a", "trials": 3}, "columns by name"),
        ([("a", 3)], "columns by name. Got [('a', 3)] instead"),
        (b"table.csv", "columns by name. Got b'table.csv' instead"),
        ({"arm": ["\ud800"], "trials": [1]}, "columns by name"),
    ],
)
def test_what_is_wrong_in_memory(table: object, sentence: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read(table)
    assert str(error.value).startswith("The 'table' parameter of advise must ")
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "begin with a row that names its columns. Got an empty file"),
        (b"  \n ", "Got an empty file"),
        (b"\narm,trials\na,3\n", "Got an empty row"),
        (b"arm,trials", "have at least one row. Got none"),
        (b"arm,trials\na,3,9\n", "have 2 cells in every row. Got 3 in row 1"),
        (b'arm,trials\n"a,3\n', "Got 1 in row 1"),
        (b"arm,trials\na,0x10\n", "Got '0x10' in row 1"),
        (b"arm,trials\na,1_0\n", "Got '1_0' in row 1"),
        (b'arm,trials\na,"1,000"\n', "Got '1,000' in row 1"),
        (b"arm,trials\na,\n", "Got '' in row 1"),
        (
            b"arm;trials\na;1,5\n",
            "a plain number, as 1000 or 0.5, in its column 'trials'. Got '1,5' in row 1",
        ),
        (b'arm,trials\na,"1,000"\n', "a plain number, as 1000 or 0.5, in its column 'trials'. Got '1,000'"),
        (b"arm,trials\na,3.1 %\n", "a plain number, as 1000 or 0.5, in its column 'trials'. Got '3.1 %'"),
        (b"arm,trials\n\xe4,3\n", "be text in UTF-8"),
        (b"arm,trials\na\0,3\n", "be text in UTF-8"),
        ("arm,trials\na,3\n".encode("utf-16"), "be text in UTF-8"),
    ],
)
def test_what_is_wrong_in_a_file(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(content)
    with pytest.raises(UnreadableFileError) as error:
        read(file)
    assert str(error.value).startswith(f"The table '{file}' must ")
    assert sentence in str(error.value)


@pytest.mark.parametrize("header", [b"ar\xe9m,arm,trials", b"\xff,arm,trials", b"arm,trials,\xf0\x9f"])
def test_a_header_in_another_encoding_is_refused(tmp_path: Path, header: bytes) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(header + b"\na,b,1\n")
    with pytest.raises(UnreadableFileError, match="must be text in UTF-8"):
        Source(file, WANTED)


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
