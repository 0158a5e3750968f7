"""A report as a folder: all of it there, nothing left over, nothing half written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clusterbandits import UnwritableFileError
from clusterbandits.report.page import Page, Section, write_folder
from clusterbandits.report.ratio_panel import ratio_panel

FRAME = pd.DataFrame({"instance": ["a, b", 'é "c"'], "regret": [0.1, 1e-17]})


def page(*names: str) -> Page:
    paid = {"kl-ucb": np.ones(3), "clus-ucb": np.array([0.5, 0.6, 0.7])}
    pictures = [ratio_panel(paid, "kl-ucb", name=name) for name in names]
    inner = Section("inner", "Inner", pictures=tuple(pictures[1:]))
    outer = Section("outer", "Outer", pictures=tuple(pictures[:1]), parts=(inner,))
    return Page("Title", "Lead", "clusterbandits run x.toml", sections=(outer,))


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_everything_is_written(tmp_path: Path) -> None:
    write_folder(page("one", "two"), {"summary": FRAME}, {"note.txt": "é\n"}, tmp_path / "deep" / "report")
    folder = tmp_path / "deep" / "report"
    assert names(folder) == {
        "index.html",
        "note.txt",
        "data/summary.csv",
        "data/summary.parquet",
        *(f"pictures/{name}.{form}" for name in ("one", "two") for form in ("svg", "png")),
    }
    pd.testing.assert_frame_equal(pd.read_csv(folder / "data" / "summary.csv"), FRAME)
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "data" / "summary.parquet"), FRAME)
    assert (folder / "note.txt").read_text(encoding="utf-8") == "é\n"
    assert "<h1>Title</h1>" in (folder / "index.html").read_text(encoding="utf-8")
    assert (folder / "pictures" / "two.png").read_bytes().startswith(b"\x89PNG")


def test_what_an_earlier_report_left_is_removed_and_other_files_are_kept(tmp_path: Path) -> None:
    write_folder(page("one", "two"), {"summary": FRAME, "curves": FRAME}, {}, tmp_path)
    for place in ("data", "pictures"):
        (tmp_path / place / "mine.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "mine.csv").write_text("mine", encoding="utf-8")
    write_folder(page("two"), {"summary": FRAME}, {}, tmp_path)
    assert names(tmp_path) == {
        "index.html",
        "mine.csv",
        "data/mine.txt",
        "data/summary.csv",
        "data/summary.parquet",
        "pictures/mine.txt",
        "pictures/two.png",
        "pictures/two.svg",
    }


def test_equal_reports_are_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_folder(page("one"), {"summary": FRAME}, {"x.txt": "x"}, tmp_path / name)
    for name in names(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnwritableFileError, match=r"^Cannot write .*: not a directory\.$"):
        write_folder(page("one"), {}, {}, tmp_path / "file" / "report")


def test_a_folder_that_looks_like_an_address_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("http:") / "x"
    folder.mkdir(parents=True)
    write_folder(Page("a", "b", "c"), {"t": pd.DataFrame({"n": [1]})}, {}, folder)
    assert (folder / "data" / "t.csv").read_text() == '"n"\n1\n'
    with (folder / "data" / "t.parquet").open("rb") as file:
        assert pd.read_parquet(file)["n"].tolist() == [1]
