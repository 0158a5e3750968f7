"""Tables as people have them: other names of columns, number formats, encodings, Excel and Parquet."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import clusterbandits as cb
from clusterbandits.studies.columns import Column, Source
from clusterbandits.studies.log_survey import COLUMNS

COUNTS = "arm,group,trials,successes\nä,rot,40,4\nb,blau,50,10\n"
MONEY = [Column("arm", "text"), Column("total", "number")]
WHOLE = [Column("arm", "text"), Column("trials", "number", whole=True)]


def numbers(
    cells: list[str], columns: list[Column], folder: Path, mark: str = ";", **settings: Any
) -> list[float]:
    """Return what a text file with these cells, and one in memory, are read as."""
    name = columns[1].name
    lines = [f"arm{mark}{name}", *(f'a{mark}"{cell}"' for cell in cells)]
    (folder / "table.csv").write_text("\n".join(lines), encoding="utf-8")
    tables: list[object] = [folder / "table.csv"]
    if mark == ";":
        tables.append({"arm": ["a"] * len(cells), name: cells})
    found = []
    for table in tables:
        source = Source(cb.TableFile(table, **settings), columns)
        found.append([value for batch in source for value in batch.numbers(name).tolist()])
    assert all(one == found[0] for one in found)
    return found[0]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["0,5", "12"], [0.5, 12]),
        (["0.5", "12"], [0.5, 12]),
        (["2.000", "1.234.567"], [2000, 1234567]),
        (["2,000", "1,234,567"], [2000, 1234567]),
        (["2.000", "0,5"], [2000, 0.5]),
        (["2.000", "0.5"], [2, 0.5]),
        (["1.234,5", "7"], [1234.5, 7]),
        (["1,234.5", "2,000"], [1234.5, 2000]),
        (["1 234,5", "1\u202f000"], [1234.5, 1000]),
        (["1'234.5", "1’000"], [1234.5, 1000]),
        (["0.125", "-3.75", "+1e3", ".5", "2."], [0.125, -3.75, 1000, 0.5, 2]),
        (["-1.234,50", "1,5e2"], [-1234.5, 150]),
        (["1234.567"], [1234.567]),
    ],
)
def test_cells_decide_how_numbers_are_written(tmp_path: Path, cells: list[str], values: list[float]) -> None:
    assert numbers(cells, MONEY, tmp_path) == values


@pytest.mark.parametrize(
    ("cells", "values"),
    [(["2.000", "2.400"], [2000, 2400]), (["2,000", "2,400"], [2000, 2400]), (["12.0", "3.0"], [12, 3])],
)
@pytest.mark.parametrize("mark", [";", ","])
def test_counts_are_whole(tmp_path: Path, cells: list[str], values: list[float], mark: str) -> None:
    assert numbers(cells, WHOLE, tmp_path, mark) == values


@pytest.mark.parametrize(
    ("cells", "columns", "mark"),
    [
        (["2.000", "3"], MONEY, ";"),
        (["2,345", "3"], MONEY, ";"),
        (["2.345"], MONEY, "\t"),
        (["2.000", "3.000"], WHOLE, ";"),
        (["2.000", "3.000"], WHOLE, ","),
    ],
)
def test_numbers_with_two_readings_are_refused(
    tmp_path: Path, cells: list[str], columns: list[Column], mark: str
) -> None:
    with pytest.raises(cb.ClusterBanditsError) as error:
        numbers(cells, columns, tmp_path, mark)
    used = "." if "." in cells[0] else ","
    assert f"Row 1 (line 2) has '{cells[0]}'" in str(error.value)
    assert f"thousands='{used}'" in str(error.value)
    assert f"decimal='{used}'" in str(error.value)
    big, small = float(cells[0].replace(used, "")), float(cells[0].replace(used, "."))
    assert numbers(cells, columns, tmp_path, mark, thousands=used)[0] == big
    assert numbers(cells, columns, tmp_path, mark, decimal=used)[0] == small


def test_between_commas_a_point_is_decimal(tmp_path: Path) -> None:
    assert numbers(["2.345"], MONEY, tmp_path, ",") == [2.345]
    assert numbers(["1,234", "1,234,567.5"], MONEY, tmp_path, ",") == [1234, 1234567.5]
    assert numbers(["0,5", "2.000"], MONEY, tmp_path, ",") == [0.5, 2000]


def test_contradictory_cells_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        cb.ClusterBanditsError, match=r"Row 1 \(line 2\) has '0\.5', row 3 \(line 4\) has '0,5'"
    ):
        numbers(["0.5", "1", "0,5"], MONEY, tmp_path)


def test_other_columns_of_the_table_decide(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("ad;campaign;impressions;clicks\na;x;2.000;1.000\nb;x;1.500;100\n")
    history = cb.read_history(file)
    assert history.to_dict() == {
        "arm": ["a", "b"],
        "group": ["x", "x"],
        "trials": [2000, 1500],
        "successes": [1000, 100],
    }


@pytest.mark.parametrize(
    ("cells", "settings", "values"),
    [
        ([1.234, "1.000,50"], {}, [1.234, 1000.5]),
        ([1.234, 7, "0,5"], {}, [1.234, 7, 0.5]),
        ([1.234, "2.000"], {"thousands": "."}, [1.234, 2000]),
        ([0.125, "2,000"], {"decimal": ","}, [0.125, 2]),
        ([Decimal("1.234"), 2.5, "1.234,5"], {}, [1.234, 2.5, 1234.5]),
        ([1e-7, 1e21, "x y"], {"decimal": ","}, None),
    ],
)
def test_real_numbers_among_text_stay_numbers(
    tmp_path: Path, cells: list[Any], settings: dict[str, Any], values: list[float] | None
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["arm", "total"])
    for cell in cells:
        book.active.append(["a", float(cell) if isinstance(cell, Decimal) else cell])
    book.save(tmp_path / "table.xlsx")
    rows = {"arm": ["a"] * len(cells), "total": cells}
    for table in (rows, pd.DataFrame(rows), tmp_path / "table.xlsx"):
        source = Source(cb.TableFile(table, **settings), MONEY)
        if values is None:
            with pytest.raises(cb.ClusterBanditsError, match="'x y'"):
                list(source)
        else:
            assert [value for batch in source for value in batch.numbers("total").tolist()] == values


def test_the_cell_that_has_two_readings_is_named_among_real_numbers() -> None:
    with pytest.raises(cb.ClusterBanditsError, match=r"Row 2 has '2\.000'"):
        Source({"arm": ["a", "b"], "total": [1.234, "2.000"]}, MONEY)


def test_categories_of_real_numbers_stay_numbers() -> None:
    rows = pa.table({"arm": ["a"], "total": pa.array([1.234]).dictionary_encode()})
    (batch,) = Source(cb.TableFile(rows, thousands="."), MONEY)
    assert batch.numbers("total").tolist() == [1.234]


def test_names_and_numbers_may_mix_in_a_column_of_text() -> None:
    rows = {"arm": [7, 1.5, "a"], "group": ["x"] * 3, "reward": [0, 1, 1]}
    assert cb.read_history(rows).arms == ("7", "1.5", "a")


@pytest.mark.parametrize("trials", [2**53 + 1, 2**63 - 1, 2**64 - 1])
def test_whole_numbers_that_floats_cannot_hold_are_refused(trials: int) -> None:
    rows = {"arm": ["a"], "group": ["x"], "trials": [trials], "successes": [1]}
    with pytest.raises(cb.InvalidInputError, match=r"whole numbers from 0 to 1e\+15\. Row 1 has \d"):
        cb.read_history(rows)


def test_a_long_log_may_have_thousands_late(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    rows = "a,x,2.5\n" * 200_000
    file.write_text(f'arm,group,revenue\n{rows}b,x,"1,250.50"\n')
    history = cb.read_history(file, family="bounded:low=0,high=2000")
    assert history.totals.tolist() == [500_000, 1250.5]
    assert history.trials.tolist() == [200_000, 1]
    file.write_text(f'arm,group,revenue\n{rows}b,x,"0,5"\n')
    with pytest.raises(cb.UnreadableFileError, match="one decimal separator"):
        cb.read_history(file, family="bounded:low=0,high=2000")


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be"]
)
def test_encodings(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(COUNTS, encoding=encoding)
    assert cb.read_history(file).arms == ("ä", "b")
    file.write_text(COUNTS.replace("10", "x"), encoding=encoding)
    with pytest.raises(cb.UnreadableFileError, match=r"Row 2 \(line 3\)"):
        cb.read_history(file)


@pytest.mark.parametrize(
    ("name", "encoding"), [("Реклама", "cp1251"), ("Mädchen", "cp437"), ("Mädchen", "mac-roman")]
)
def test_other_encodings_must_be_named(tmp_path: Path, name: str, encoding: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(COUNTS.replace("ä", name), encoding=encoding)
    with pytest.raises(cb.UnreadableFileError, match="name its encoding with"):
        cb.read_history(file)
    assert cb.read_history(cb.TableFile(file, encoding=encoding)).arms == (name, "b")
    with pytest.raises(cb.UnreadableFileError, match="Unknown encoding 'klingon'"):
        cb.read_history(cb.TableFile(file, encoding="klingon"))


def test_names_of_columns() -> None:
    rows: dict[str, list[Any]] = {
        "Ad ID": ["a"],
        "campaign": ["x"],
        "Impressions": [10],
        "clicks": [4],
        "conversions": [1],
    }
    with pytest.raises(cb.InvalidInputError, match=r"'clicks' and 'conversions': choose one"):
        cb.read_history(rows)
    assert cb.read_history(rows, columns={"successes": "conversions"}).successes.tolist() == [1]
    chosen = {"trials": "clicks", "successes": "conversions"}
    assert cb.read_history(rows, columns=chosen).trials.tolist() == [4]
    with pytest.raises(cb.InvalidInputError, match="Did you mean 'clicks'"):
        cb.read_history(rows, columns={"successes": "clicked"})
    with pytest.raises(cb.InvalidInputError, match="successses"):
        cb.read_history(rows, columns={"successses": "clicks"})
    other = {**rows, "revenue": [9.0]}
    assert cb.read_history(other, family="bounded:low=0,high=5").unit == "revenue"


def test_the_name_of_a_column_wins_over_other_names() -> None:
    rows = {"arm": ["a"], "ad": ["b"], "Group": ["x"], "category": ["y"], "trials": [9], "views": [8]}
    history = cb.read_history(rows | {"successes": [3], "clicks": [4]})
    assert (history.arms, history.groups) == (("a",), ("x",))
    assert (history.trials.tolist(), history.successes.tolist()) == ([9], [3])
    log = {"time": [1], "date": ["x"], "arm": ["a"], "item": ["b"], "reward": [1], "revenue": [7]}
    (batch,) = Source(log, COLUMNS)
    assert batch.text("time").to_pylist() == ["1"]
    assert batch.numbers("reward").tolist() == [1]


def test_amounts_of_money_are_no_counts() -> None:
    rows = {"arm": ["a"], "group": ["x"], "trials": [900], "sales": [350]}
    with pytest.raises(cb.InvalidInputError, match=r"name columns with columns=\{'successes': 'NAME'\}"):
        cb.read_history(rows)
    assert cb.read_history(rows, columns={"successes": "sales"}).successes.tolist() == [350]


def test_one_column_for_two_contents_is_named_with_both() -> None:
    rows = {"arm": ["a"], "group": ["x"], "trials": [9], "n": [3]}
    said = "There are 'reward' (column 'n'), 'successes' (column 'n') and 'trials'."
    with pytest.raises(cb.InvalidInputError, match=re.escape(said)):
        cb.read_history(rows, columns={"successes": "n", "reward": "n"})
    with pytest.raises(cb.InvalidInputError, match="There are only 'total' and 'trials'"):
        cb.read_history(rows | {"total": [3]}, family="bernoulli")


def test_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"arm": ["a", "b"], "group": ["x", "x"], "trials": [40, 50], "successes": [4, 10]})
    frame.to_parquet(tmp_path / "table.parquet")
    assert cb.read_history(tmp_path / "table.parquet").to_dict() == frame.to_dict("list")


def test_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    for row in ([], ["arm", "group", "trials", "successes"], ["a", 7, 40, 4], [], ["b", 7, "2.400", 10]):
        sheet.append(row)
    file = tmp_path / "table.xlsx"
    book.save(file)
    assert cb.read_history(file).to_dict() == {
        "arm": ["a", "b"],
        "group": ["7", "7"],
        "trials": [40, 2400],
        "successes": [4, 10],
    }
    sheet["C5"] = "many"
    book.create_sheet("empty")
    book.save(file)
    with pytest.raises(cb.UnreadableFileError, match=r"Row 2 \(line 5\) has 'many'"):
        cb.read_history(file)
    sheet["C5"] = 50
    book.create_sheet("notes")["A1"] = "hello"
    book.save(file)
    with pytest.raises(cb.UnreadableFileError, match="which sheet to read"):
        cb.read_history(file)
    assert cb.read_history(cb.TableFile(file, sheet="Sheet")).trials.tolist() == [40, 50]
    with pytest.raises(cb.UnreadableFileError, match="there must be a sheet 'Ads'"):
        cb.read_history(cb.TableFile(file, sheet="Ads"))
    (tmp_path / "no.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(cb.UnreadableFileError, match="Excel"):
        cb.read_history(tmp_path / "no.xlsx")


def test_excel_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "table.xlsx").write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(cb.ClusterBanditsError, match=r"pip install .*clusterbandits\[excel\]"):
        cb.read_history(tmp_path / "table.xlsx")


@pytest.mark.parametrize(
    "settings",
    [{"decimal": ";"}, {"thousands": "x"}, {"decimal": ".", "thousands": "."}, {"columns": ["arm"]}],
)
def test_settings_are_checked(settings: dict[str, Any]) -> None:
    with pytest.raises(cb.InvalidInputError, match=next(reversed(settings))):
        cb.TableFile("table.csv", **settings)


def test_regret_has_a_unit() -> None:
    rows = {"arm": ["a"], "group": ["x"]}
    clicks = cb.read_history(rows | {"views": [10], "clicks": [4]})
    assert (clicks.regret_unit, clicks.mean_name) == ("missed successes", "success rate")
    for column, unit in (("revenue", "revenue"), ("amount", "revenue"), ("total", "reward")):
        paid = cb.read_history(rows | {"trials": [10], column: [40]}, family="bounded:low=0,high=9")
        assert (paid.regret_unit, paid.mean_name) == (f"lost {unit}", f"mean {unit}")
