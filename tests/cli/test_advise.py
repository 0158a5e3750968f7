"""``clusterbandits advise`` as people meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import clusterbandits as cb
from clusterbandits.cli.main import run
from clusterbandits.studies.study_file import read_study

GOOD = "arm,group,trials,successes\na,red,400,80\nb,red,400,82\nc,blue,400,160\nd,blue,400,165\n"
SMALL = ("--horizon", "1e3", "--worlds", "4e0")


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        run(list(arguments))
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def test_it_prints_what_python_returns(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "history.csv"
    file.write_text(GOOD)
    # In Python first: on a new machine, the first of the two says that it compiles.
    advice = cb.advise(file, horizon=1e3, worlds=4, confidence=0.9, seed=3)
    capsys.readouterr()
    code, out, err = call(capsys, "advise", str(file), *SMALL, "--confidence", "0.9", "--seed", "3")
    assert (code, err) == (0, "")
    assert out == f"{advice.text(str(file))}\n"
    assert max(len(line) for line in out.splitlines() if str(file) not in line) <= 80


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_json_and_a_picture(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str, start: bytes
) -> None:
    file, picture = tmp_path / "history.csv", tmp_path / f"arms.{ending}"
    file.write_text(GOOD)
    code, out, _ = call(capsys, "advise", str(file), *SMALL, "--json", "--picture", str(picture))
    data = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert code == 0
    assert set(data["widths"]) == {"red", "blue"}
    assert data["horizon"] == 1000
    assert picture.read_bytes().startswith(start)


MALFORMED = {
    "missing column": b"arm,trials,successes\na,3,1\n",
    "missing counts": b"arm,group\na,x\n",
    "successes over trials": b"arm,group,trials,successes\na,x,3,4\n",
    "negative": b"arm,group,trials,successes\na,x,3,-1\n",
    "text for numbers": b"arm,group,trials,successes\na,x,three,1\n",
    "not whole": b"arm,group,trials,successes\na,x,3.5,1\n",
    "equal labels": b"arm,group,reward\na,x,1\na,y,0\ny / a,x,1\n",
    "not a reward": b"arm,group,reward\na,x,0.5\n",
    "empty": b"",
    "no rows": b"arm,group,trials,successes\n",
    "encoding": "arm,group,trials,successes\nРеклама,x,3,1\n".encode("cp1251"),
    "two readings": b"arm;group;trials;successes\na;x;2.000;1\n",
    "two candidates": b"arm,group,trials,clicks,conversions\na,x,3,2,1\n",
    "short row": b"arm,group,trials,successes\na,x,3\n",
    "a million rows": b"arm,group,reward\n" + b"a,x,1\n" * 10**6 + b"a,x,maybe\n",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_tables_get_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    file, picture = tmp_path / "history.csv", tmp_path / "arms.png"
    file.write_bytes(MALFORMED[name])
    code, out, err = call(capsys, "advise", str(file), *SMALL, "--picture", str(picture))
    assert (code, out) == (2, "")
    assert err.startswith("Error: Table '")
    assert err.count("\n") == 1
    assert err.endswith(".\n")
    assert [one.name for one in tmp_path.iterdir()] == ["history.csv"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--horizon", "0"), "--horizon must be"),
        (("--confidence", "1"), "--confidence must be"),
        (("--worlds", "1"), "--worlds must be"),
        (("--seed", "-1"), "--seed must be"),
        (("--picture", "arms.txt"), "--picture must be"),
        (("--picture", "nowhere/arms.png"), "nowhere"),
    ],
)
def test_bad_options_get_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], named: str
) -> None:
    file = tmp_path / "history.csv"
    file.write_text(GOOD)
    code, out, err = call(capsys, "advise", str(file), *SMALL, *arguments)
    assert (code, out) == (2, "")
    assert named in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "advise", "nowhere.csv")
    assert (code, out) == (2, "")
    assert err.startswith("Error: Table 'nowhere.csv': the file must be readable. ")


def test_help_fits(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "advise", "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80


def test_a_study_follows_from_the_advice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    file, study = tmp_path / "data" / 'his "tory".csv', tmp_path / "the next.toml"
    file.write_text(GOOD.replace("red", 'r "é"'))
    err = call(capsys, "advise", str(file), *SMALL, "--study", str(study))[2]
    assert err == f"Wrote {study}. Next: clusterbandits run '{study}'\n"
    found = read_study(study)
    advice = cb.advise(file, horizon=1e3, worlds=4)
    (case,) = found.cases
    assert case.instance == advice.history.instance()
    (safe,) = case.rules
    assert safe.clusters(case.instance) == advice.clusters()
    assert advice.recommended in [one.text for one in found.policies]
    before = study.read_text()
    code, out, err = call(capsys, "advise", str(file), *SMALL, "--study", str(study))
    assert (code, out) == (2, "")
    assert "must be the name of a file that does not exist yet" in err
    assert study.read_text() == before
    code, _, err = call(capsys, "advise", str(file), *SMALL, "--study", str(tmp_path / "next.txt"))
    assert (code, "a file name that ends in .toml" in err) == (2, True)
    assert not (tmp_path / "next.txt").exists()
