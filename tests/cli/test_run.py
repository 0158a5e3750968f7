"""``clusterbandits run`` and ``clusterbandits example`` as people meet them."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from clusterbandits.cli.main import run
from clusterbandits.studies.study_schema import EXAMPLES, example_text, schema_text

SMALL = """
horizon = 200
runs = 4
policies = ["kl-ucb", "clus-ucb"]

[[instances]]
name = "ads"
means = [[0.3, 0.7], [0.1, 0.2, 0.8]]
"""
DRAWN = """
[[instances]]
name = "drawn"
[instances.random]
count = 3
groups = 2
arms = 2
span = 0.1
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small study in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        run(list(arguments))
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def test_a_study_is_played_and_told_of(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    file.write_text(SMALL + DRAWN, encoding="utf-8")
    code, out, err = call(capsys, "run", "small.toml")
    assert (code, err) == (0, "")
    assert out.startswith("4 runs of 200 rounds\ninstance  arms  groups  kl-ucb")
    rows = pd.read_csv(file.parent / "small" / "data" / "summary.csv")
    assert len(rows) == 2 * 4
    ads = rows[(rows["instance"] == "ads") & (rows["policy"] == "clus-ucb")]
    assert f"{ads['regret'].iloc[0]:.1f} ± " in out
    assert "\ndrawn\npolicy " in out
    assert "Regret over 3 instances, ± standard error; ratios to kl-ucb, instance by" in out
    assert out.endswith("Simulated 32 runs; 0 reused from a previous run.\nThe report: small/index.html\n")
    assert max(map(len, out.splitlines())) <= 80
    _, again, _ = call(capsys, "run", "small.toml")
    assert again == out.replace(
        "Simulated 32 runs; 0 reused from a previous run", "Simulated 0 runs; 32 reused from a previous run"
    )


def test_json_has_every_row(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    code, out, err = call(capsys, "run", str(file), "--out", "there", "--workers", "1", "--json")
    assert (code, err) == (0, "")
    data = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert data["title"] == "small"
    assert data["report"] == str(Path("there") / "index.html")
    assert data["runs"] == {"all": 8, "stored": 0}
    rows = pd.read_parquet(file.parent / "there" / "data" / "summary.parquet").to_dict("records")
    assert [row["regret"] for row in data["rows"]] == [row["regret"] for row in rows]
    kept = json.loads((file.parent / "there" / "summary.json").read_text(encoding="utf-8"))
    assert kept == {"title": "small", "rows": data["rows"]}


BAD: list[tuple[str, str]] = [
    (SMALL.replace("runs = 4", "runs = 1"), "Line 3 of 'small.toml', key 'runs': runs must be"),
    (SMALL + "\nmeens = 3\n", "Line 10 of 'small.toml', key 'instances[0].meens': Unknown key 'meens'. Did"),
    (
        SMALL.replace("clus-ucb", "clus-ucp"),
        "Line 4 of 'small.toml', key 'policies[1]': Unknown policy 'clus-ucp'. Did you mean",
    ),
    (SMALL + "widths = [\n  { factor = 1 },\n  { groups = [1] },\n]\n", "Line 11 of 'small.toml', key"),
    (SMALL + '[[instances]]\ntable = "none.csv"\n', "Line 10 of 'small.toml', key 'instances[1].table'"),
    (SMALL + "=", "The study 'small.toml' is not valid TOML: Invalid statement (at line 9"),
    ("", "Line 1 of 'small.toml', key 'instances'"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_bad_studies_are_one_sentence_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], file: Path, text: str, said: str
) -> None:
    file.write_text(text, encoding="utf-8")
    code, out, err = call(capsys, "run", "small.toml", "--out", "there")
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {said}")
    assert err.endswith((".\n", "?\n"))
    assert err.count("\n") == 1
    assert [path.name for path in file.parent.iterdir()] == ["small.toml"]


def test_bad_files_and_options(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    (file.parent / "latin.toml").write_bytes("title = 'é'\n".encode("latin-1"))
    (file.parent / "folder.toml").mkdir()
    before = sorted(file.parent.iterdir())
    for arguments, said in [
        (
            ["nowhere.toml"],
            "The study 'nowhere.toml' cannot be read: no such file or directory.",
        ),
        (["folder.toml"], "The study 'folder.toml' cannot be read: is a directory."),
        (["latin.toml"], "The study 'latin.toml' is not text in UTF-8. Save it in this encoding."),
        (
            ["small.toml", "--workers", "0"],
            "--workers must be a whole number of at least 1,",
        ),
    ]:
        code, out, err = call(capsys, "run", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"Error: {said}")
        assert err.count("\n") == 1
    assert sorted(file.parent.iterdir()) == before


@pytest.mark.parametrize(
    "names", [["holiday.jpg"], ["study.toml", "data/ads.csv"], ["runs/mine.txt"], ["_study.json"]]
)
def test_folders_of_other_things_are_refused_and_left_alone(
    capsys: pytest.CaptureFixture[str], file: Path, names: list[str]
) -> None:
    """Least of all may somebody's own data and pictures be taken for an earlier report's."""
    folder = file.parent / "other"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine", encoding="utf-8")
    code, out, err = call(capsys, "run", "small.toml", "--out", "other")
    assert (code, out) == (2, "")
    assert "must be a new or empty folder, or the folder of a study" in err
    assert err.count("\n") == 1
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == set(names)
    assert all((folder / name).read_text(encoding="utf-8") == "mine" for name in names)


def test_a_folder_that_cannot_be_made_is_one_sentence(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    code, out, err = call(capsys, "run", "small.toml", "--out", str(file / "inside"))
    assert (code, out) == (2, "")
    assert err.endswith(": not a directory.\n")
    assert err.count("\n") == 1


def test_an_empty_folder_may_be_used(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    (file.parent / "empty").mkdir()
    assert call(capsys, "run", "small.toml", "--out", "empty")[0] == 0
    assert (file.parent / "empty" / "study.toml").read_text(encoding="utf-8") == SMALL


def test_examples_are_listed_written_and_never_written_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "example")
    assert (code, err) == (0, "")
    assert all(name in out and what in out for name, what in EXAMPLES.items())
    code, out, _ = call(capsys, "example", "start")
    assert (code, out) == (0, "Wrote start.toml. Edit it, then: clusterbandits run start.toml\n")
    assert (tmp_path / "start.toml").read_text(encoding="utf-8") == example_text("start")
    code, out, err = call(capsys, "example", "start")
    assert (code, out) == (2, "")
    assert "must be the name of a file that does not exist yet, but got 'start.toml'." in err
    code, out, _ = call(capsys, "example", "widths", "--out", "my own.toml")
    assert out == "Wrote my own.toml. Edit it, then: clusterbandits run 'my own.toml'\n"
    assert (tmp_path / "my own.toml").read_text(encoding="utf-8") == example_text("widths")
    code, out, err = call(capsys, "example", "stard")
    assert (code, out) == (2, "")
    assert "Unknown example 'stard'. Did you mean 'start'?" in err
    assert call(capsys, "example", "--schema")[1] == schema_text() + "\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my own.toml", "start.toml"]
