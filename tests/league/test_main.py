"""A small league from the command line, from beginning to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from league.__main__ import main
from league.results import load

ARGUMENTS = [
    "--runs",
    "5",
    "--horizon",
    "1e3",
    "--policies",
    "kl-ucb,clus-ucb",
    "--problems",
    "figure 2, low-arm",
]


def test_a_small_league(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "folder"
    assert main([*ARGUMENTS, "--out", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "league.csv",
        "league.md",
        "league.svg",
        "results.json",
    ]
    printed = capsys.readouterr()
    assert printed.err.splitlines()[0] == "4 cells, 4 to simulate"
    assert printed.err.splitlines()[-1].startswith("[4/4] low-arm, clus-ucb: regret ")
    assert printed.out.startswith('The default is kindred, which "auto" names.')
    assert printed.out.endswith(f"\nWritten: {folder / 'league.md'}\n")
    page = (folder / "league.md").read_text()
    assert "python -m league --runs 5 --horizon 1e3 --policies kl-ucb,clus-ucb" in page
    results = load(folder / "results.json")
    assert results is not None
    assert set(results.cells) == {(a, b) for a in ("figure 2", "low-arm") for b in ("kl-ucb", "clus-ucb")}
    assert {cell.runs for cell in results.cells.values()} == {5}

    files = sorted(folder.iterdir())
    before = [path.read_bytes() for path in files]
    assert main([*ARGUMENTS, "--out", str(folder)]) == 0
    assert capsys.readouterr().err == "4 cells, 0 to simulate\n"
    assert [path.read_bytes() for path in files] == before


def test_commas_within_brackets_do_not_separate_names(tmp_path: Path) -> None:
    names = ["admissions (after 240 trials)", "ads (after 12,000 trials)"]
    given = ["--runs", "2", "--horizon", "50", "--policies", "ucb1", "--problems", ",".join(names)]
    assert main([*given, "--out", str(tmp_path)]) == 0
    results = load(tmp_path / "results.json")
    assert results is not None
    assert list(results.cells) == [(name, "ucb1") for name in names]
    assert f"--problems '{names[0]},{names[1]}'" in (tmp_path / "league.md").read_text()


def test_a_league_without_any_cell_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("league.__main__.has_cell", lambda *_: False)
    assert main([*ARGUMENTS, "--out", str(tmp_path)]) == 2
    assert "must be policies that can begin with a history" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--runs", "0"], "league: --runs must be a whole number of at least 1, but got 0"),
        (["--horizon", "1.5"], "league: --horizon must be a whole number of at least 1,"),
        (["--policies", "best"], "league: --policies must be one of "),
        (["--problems", "figure 1"], "league: --problems must be one of figure 2, "),
        (["--seed", "-1"], "league: --seed must be a whole number of at least 0, but got -1"),
    ],
)
def test_refusals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"Error: {sentence}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--runs", "5"], ["--policies", "kl-ucb"], ["--problems", "figure 2"]])
def test_a_part_does_not_replace_the_page(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == (
        "Error: league: --out must be a folder if only a part of the league is run, "
        "so that its page is not replaced, but got none.\n"
    )


def test_a_folder_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main([*ARGUMENTS, "--out", str(tmp_path / "file")]) == 2
    assert ": file exists." in capsys.readouterr().err


def test_an_interruption_is_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("league.play.simulate", stop)
    assert main([*ARGUMENTS, "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err.endswith("Interrupted. Run the same command again to continue.\n")
