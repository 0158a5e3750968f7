"""The whole paper, reduced: few runs, short horizon, through the command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clusterbandits import load_result
from clusterbandits.paper.audit.claim import Claim, Finding, Verdict
from clusterbandits.paper.audit.comparisons import judge_all_below, regret_differences
from clusterbandits.paper.figures import settings
from clusterbandits.paper.reproduce import reproduce
from clusterbandits.paper.results import PaperResults
from clusterbandits.paper.settings import PaperSettings
from tests.browser import needs_browser, opened_browser, opened_page
from tests.processes import besides_progress, command, started, wait_until

REDUCED = ["--runs", "6", "--horizon", "3000", "--seed", "1"]


def paper(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    called = command("paper", *arguments, "--out", str(folder))
    return subprocess.run(called, capture_output=True, text=True, check=False, timeout=1200)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("paper") / "report"
    found = paper(*REDUCED, folder=folder)
    assert (found.returncode, besides_progress(found.stderr)) == (0, [])
    return folder, found.stdout


class Seen(HTMLParser):
    """The ids, pictures, cards and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.pictures: list[str] = []
        self.verdicts = 0
        self.outside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "svg":
            self.pictures.append(given["aria-label"])
        self.verdicts += "card" in given.get("class", "").split()
        for key in ("src", "href"):
            if key in given and not given[key].startswith(("#", "data:")):
                self.outside.append(given[key])


def test_the_report_is_complete_and_needs_no_other_file(report: tuple[Path, str]) -> None:
    folder, out = report
    text = (folder / "index.html").read_text(encoding="utf-8")
    seen = Seen(text)
    wanted = ["verdicts", "figure-1", *(one.key for one in settings()), "figure-8", "overview", "audit"]
    assert set(wanted) <= set(seen.ids)
    assert len(seen.ids) == len(set(seen.ids))
    assert len(seen.pictures) == 1 + 1 + 4 * 10 + 1
    assert all(len(alt) > 40 for alt in seen.pictures)
    assert seen.outside == []
    assert "@import" not in text
    assert "<script" not in text
    audit = json.loads((folder / "audit.json").read_text(encoding="utf-8"))["audit"]
    assert seen.verdicts == len(audit) >= 45
    assert f"Of {len(audit)} checkable claims" in out
    assert max(map(len, out.splitlines())) <= max(80, len(str(folder)) + 30)


def test_all_pictures_are_saved_as_svg_and_png(report: tuple[Path, str]) -> None:
    pictures = report[0] / "pictures"
    names = {path.stem for path in pictures.iterdir()}
    kinds = [f"{one.key}-{kind}" for one in settings() for kind in ("arms", "regret", "log", "pulls")]
    assert names == {"main-result", "figure-1", "figure-8", *kinds}
    for name in names:
        assert (pictures / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "</svg>" in (pictures / f"{name}.svg").read_text(encoding="utf-8")


def test_curves_equal_the_results_of_the_runs(report: tuple[Path, str]) -> None:
    folder, _ = report
    curves = pd.read_csv(folder / "data" / "curves.csv")
    assert pd.read_parquet(folder / "data" / "curves.parquet").shape == curves.shape
    assert set(curves["policy"]) == {"kl-ucb", "clus-ucb", "tlp-mean", "tlp-max"}
    assert set(curves["figure"]) == set(range(2, 9))
    stored = load_result(folder / "runs" / "instance-4" / "clus-ucb 0 0.02, 6 times 3000, paired")
    seven = curves[(curves["figure"] == 7) & (curves["policy"] == "clus-ucb")]
    assert seven["round"].tolist() == stored.checkpoints.tolist()
    assert seven["regret"].to_numpy() == pytest.approx(stored.mean(0))
    assert (seven["low"] <= seven["regret"]).all()
    assert (seven["high"] >= seven["regret"]).all()
    pulls = pd.read_csv(folder / "data" / "pulls.csv")
    per_policy = pulls.groupby(["figure", "widths", "policy"])["pulls"].sum()
    assert per_policy.to_numpy() == pytest.approx(np.full(40, 3000.0))


def test_a_second_call_simulates_nothing(report: tuple[Path, str]) -> None:
    folder, out = report
    before = (folder / "index.html").read_bytes()
    again = paper(*REDUCED, "--json", folder=folder)
    data = json.loads(again.stdout)
    assert "0 reused from a previous run" in out
    assert data["runs"]["all"] == data["runs"]["stored"] > 100
    assert (folder / "index.html").read_bytes() == before
    assert {one["figure"] for one in data["figures"]} == set(range(2, 9))
    regrets = {row["policy"]: row for row in data["figures"][0]["policies"]}
    stored = load_result(folder / "runs" / "instance-2" / "tlp-max, 6 times 3000, paired")
    assert regrets["tlp-max"]["regret"] == pytest.approx(stored.mean(0)[-1])
    base = load_result(folder / "runs" / "instance-2" / "kl-ucb, 6 times 3000, paired")
    differences = stored.regret(0)[:, -1] - base.regret(0)[:, -1]
    assert regrets["tlp-max"]["difference"] == pytest.approx(differences.mean())


def test_other_settings_are_refused(report: tuple[Path, str]) -> None:
    folder, _ = report
    before = (folder / "index.html").read_bytes()
    found = paper("--runs", "7", "--horizon", "3000", "--seed", "1", folder=folder)
    assert (found.returncode, found.stdout) == (2, "")
    assert "Its report has other runs." in found.stderr
    assert found.stderr.count("\n") == 1
    assert (folder / "index.html").read_bytes() == before


def _kl_below_clus(evidence: PaperResults) -> Finding:
    chosen = [one for one in evidence.simulated if one.widths == (0.1, 0.7)]
    return judge_all_below(regret_differences(evidence, chosen, "kl-ucb", "clus-ucb"))


def test_a_claim_made_false_on_purpose_does_not_hold(tmp_path: Path) -> None:
    false = Claim(
        "false", "nowhere", "KL-UCB has less regret than Clus-UCB.", "its regret", _kl_below_clus, (8,)
    )
    found = reproduce(PaperSettings(figures=[8], runs=16, horizon=3000), tmp_path, claims=[false])
    (entry,) = found.entries
    assert entry.finding.verdict == Verdict.FAILS
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert '<article class="card fails" id="claim-false">' in text
    assert "Of 1 checkable claim, 0 hold, 0 hold with a condition, 1 does not hold" in text
    assert "Verdict: **does not hold**." in (tmp_path / "audit.md").read_text(encoding="utf-8")


@pytest.fixture
def killed(tmp_path: Path) -> tuple[Path, list[str]]:
    """A folder whose report was killed during the simulations."""
    folder, arguments = tmp_path / "killed", ["--figure", "2", "--runs", "8", "--horizon", "40000"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with started(command("paper", *arguments, "--out", str(folder)), **quiet) as process:
        wait_until(process, lambda: len(list(folder.rglob("*.parquet"))) >= 5)
    return folder, arguments


def test_a_killed_report_is_finished_to_the_same_bits(killed: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, arguments = killed
    assert 5 <= len(list(folder.rglob("*.parquet"))) < 32
    assert not (folder / "index.html").exists()
    resumed = paper(*arguments, folder=folder)
    whole = paper(*arguments, folder=tmp_path / "whole")
    assert (resumed.returncode, whole.returncode) == (0, 0)
    assert "reused from a previous run" in resumed.stdout
    made = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    compared = [name for name in made if name.parts[0] != "runs"]
    assert len(compared) > 10
    for name in compared:
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_only_the_picture_of_spans(tmp_path: Path) -> None:
    found = paper("--figure", "1", folder=tmp_path)
    assert found.returncode == 0
    assert (tmp_path / "pictures" / "figure-1.png").exists()
    assert not (tmp_path / "runs").exists()


def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = paper("--figure", "1", folder=tmp_path / "file" / "report")
    assert (found.returncode, found.stdout) == (2, "")
    assert ": not a directory." in found.stderr
    assert found.stderr.count("\n") == 1


def test_beyond_compares_all_policies_with_skip_ahead_with_bounds(tmp_path: Path) -> None:
    found = paper("--figure", "8", "--runs", "3", "--horizon", "200", "--beyond", folder=tmp_path)
    assert (found.returncode, besides_progress(found.stderr)) == (0, [])
    seen = Seen((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert {"beyond", "beyond-8a", "beyond-8d"} <= set(seen.ids)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    for policy in ("clus-opt", "imed-opt", "kl-ucb++", "ossb", "ucbc"):
        assert f">{policy}</td>" in text
    assert (tmp_path / "pictures" / "beyond-8c.svg").exists()
    assert (tmp_path / "pictures" / "beyond.svg").exists()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_every_figure_is_shown_without_errors_or_sideways_scrolling(
    browser: Any, report: tuple[Path, str], width: int
) -> None:
    page = opened_page(browser, report[0] / "index.html", width)
    for key in ["figure-1", "figure-8", *(one.key for one in settings())]:
        section = page.locator(f"section#{key}")
        assert section.count() == 1, key
        for picture in section.locator("svg.picture").all():
            box = picture.bounding_box()
            assert box["width"] > 200, key
            assert box["height"] > 60, key
            assert box["x"] >= 0, key
            assert box["x"] + box["width"] <= width, key
    smallest = page.evaluate(
        "Math.min(...[...document.querySelectorAll('svg.picture text')]"
        ".map(text => text.getBoundingClientRect().height))"
    )
    assert smallest >= 8
    page.close()


@needs_browser
def test_it_prints(browser: Any, report: tuple[Path, str], tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto((report[0] / "index.html").as_uri())
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 50_000
    page.close()
