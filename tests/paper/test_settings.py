from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from clusterbandits import InvalidInputError, Result
from clusterbandits.errors import UnwritableFileError
from clusterbandits.fingerprint import fingerprint
from clusterbandits.paper.programme import Experiment, Programme
from clusterbandits.paper.results import paper_campaign
from clusterbandits.paper.settings import MANIFEST, PaperSettings, claim_folder
from clusterbandits.simulation.executors import workers_of


def test_the_command_makes_the_same_settings_again() -> None:
    assert PaperSettings().command() == "clusterbandits paper"
    chosen = PaperSettings(figures=[8, 2], runs=4, horizon=20_000, a=5, refresh=50, seed=3, beyond=True)
    assert chosen.command() == (
        "clusterbandits paper --figure 2 --figure 8 --runs 4 --horizon 20000 --a 5 --refresh 50 --seed 3 "
        "--beyond"
    )


def test_no_digit_of_a_command_is_lost() -> None:
    assert PaperSettings(horizon=1_234_567, a=0.123456789).command() == (
        "clusterbandits paper --horizon 1234567 --a 0.123456789"
    )


def test_the_long_horizon_is_ten_thousand_times_the_horizon() -> None:
    assert PaperSettings().far_horizon == 10**10
    assert (PaperSettings().far_runs, PaperSettings(runs=5).far_runs) == (24, 5)


def test_a_folder_is_claimed_once_and_again(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    claim_folder(folder, PaperSettings(figures=[2]))
    before = (folder / MANIFEST).read_bytes()
    claim_folder(folder, PaperSettings(figures=[8], beyond=True))
    assert (folder / MANIFEST).read_bytes() == before


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (PaperSettings(runs=47), "other runs."),
        (PaperSettings(horizon=10**5, seed=1), "other horizon, seed."),
        (PaperSettings(a=5, refresh=50), "other a, refresh."),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path: Path, other: PaperSettings, named: str) -> None:
    claim_folder(tmp_path, PaperSettings())
    before = (tmp_path / MANIFEST).read_bytes()
    with pytest.raises(InvalidInputError) as found:
        claim_folder(tmp_path, other)
    assert named in str(found.value)
    assert "paper: out" in str(found.value)
    assert (tmp_path / MANIFEST).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [MANIFEST]


def test_a_folder_remembers_what_began_it(tmp_path: Path) -> None:
    assert claim_folder(tmp_path, PaperSettings()) == fingerprint()
    data = json.loads((tmp_path / MANIFEST).read_text())
    begun = {**fingerprint(), "sources": "0" * 16}
    (tmp_path / MANIFEST).write_text(json.dumps(data | {"fingerprint": begun}))
    assert claim_folder(tmp_path, PaperSettings()) == begun
    del data["fingerprint"]
    (tmp_path / MANIFEST).write_text(json.dumps(data))
    with pytest.raises(InvalidInputError, match="a folder with a valid"):
        claim_folder(tmp_path, PaperSettings())
    earlier = {**data, "format": "clusterbandits paper 1", "kernels": "0" * 16}
    (tmp_path / MANIFEST).write_text(json.dumps(earlier))
    assert claim_folder(tmp_path, PaperSettings()) == {}


def test_a_report_of_other_sources_is_read_but_gets_no_more_runs(tmp_path: Path) -> None:
    settings = PaperSettings(figures=[4], runs=2, horizon=100)
    (first,) = (one for one in Programme(settings).experiments() if one.policy == "kl-ucb")
    second = dataclasses.replace(first, runs=3)
    begun = {**fingerprint(), "sources": "0" * 16}
    refused = pytest.raises(InvalidInputError, match=r"^paper: out must be .* other sources:")

    def run(begun: Mapping[str, object], *experiments: Experiment) -> list[Result]:
        workers = workers_of(1, None, "test")
        return [one.result() for one in paper_campaign(experiments, tmp_path, begun, workers).finished()]

    with refused:
        run(begun, first)
    assert list(tmp_path.iterdir()) == []
    (simulated,) = run(fingerprint(), first)
    (read,) = run(begun, first)
    assert np.array_equal(read.pulls, simulated.pulls)
    with refused:
        run(begun, first, second)


@pytest.mark.parametrize("text", ["", "[]", '{"format": "another"}', "\x00"])
def test_a_foreign_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InvalidInputError, match=r"must be a folder with a valid 'settings.json'"):
        claim_folder(tmp_path, PaperSettings())
    assert (tmp_path / MANIFEST).read_text() == text


def test_a_folder_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InvalidInputError, match="thesis"):
        claim_folder(tmp_path, PaperSettings())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_way_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "report").touch()
    with pytest.raises(UnwritableFileError, match=r"^Cannot write .*: file exists"):
        claim_folder(tmp_path / "report", PaperSettings())
