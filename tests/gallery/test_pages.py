"""The gallery's pages are those of its study files, and its words are filled in from what was found."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.studies.history import TABLES, table_file, table_history, table_instance
from clusterbandits.studies.run_study import run_study
from clusterbandits.studies.study_file import parse_study, read_study
from gallery.__main__ import NAMES, ROOT
from gallery.front_picture import NAMES as POLICIES, PALETTES, alt_text, draw
from gallery.page import Findings, overview_text, page_text

DOCS = ROOT / "docs" / "gallery"


def test_every_bundled_table_has_a_page() -> None:
    assert set(NAMES) == set(TABLES)
    for name in NAMES:
        for ending in (".md", ".toml", "-arms.svg", "-regret.svg"):
            assert (DOCS / f"{name}{ending}").stat().st_size > 500


@pytest.mark.parametrize("name", NAMES)
def test_studies_play_the_table_with_the_widths_that_are_safe(name: str) -> None:
    study = read_study(DOCS / f"{name}.toml")
    exact, declared = study.cases
    assert exact.instance == declared.instance == table_instance(name)
    assert [rule.clusters(exact.instance).widths for rule in exact.rules] == [exact.instance.spans]
    safe = next(rule for rule in declared.rules if rule.name == "safe")
    assert safe.clusters(declared.instance) == table_history(name).clusters()
    assert (study.horizon, study.runs >= 48) == (10**5, True)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_that_groups_help(name: str) -> None:
    """In the committed numbers, Clus-UCB with the true spans has significantly less regret than KL-UCB."""
    rows = re.findall(
        r"^\| ([a-z-]+) \| ([\d.]+) ± ([\d.]+) \| (?:([\d.]+) ± ([\d.]+))?",
        (DOCS / f"{name}.md").read_text(),
        re.MULTILINE,
    )
    found = {row[0]: row[1:] for row in rows}
    assert {"kl-ucb", "clus-ucb", "clus-opt", "clus-ucb-hedged"} <= set(found)
    for policy in ("clus-ucb", "clus-opt", "clus-ucb-hedged"):
        saved, error = map(float, found[policy][2:4])
        assert saved > 5 * error
        paid = float(found["kl-ucb"][0]) - float(found[policy][0])
        assert paid == pytest.approx(saved, abs=1.5 + 0.01 * saved)


def test_words_follow_what_was_found(tmp_path: Path) -> None:
    text = (DOCS / "admissions.toml").read_text().replace("1e5", "2000").replace("runs = 192", "runs = 4")
    report = run_study(parse_study(text, "admissions.toml"), tmp_path / "out")
    advice = cb.advise(table_history("admissions"), horizon=2000, worlds=4)
    found = Findings("admissions", table_file("admissions"), report, advice, "arms", "curves")
    page = page_text(found)
    row = next(row for row in report.summaries[0].rows if row["policy"] == "clus-ucb")
    assert f"| clus-ucb | {row['regret']:.0f}"[:16] in page
    assert f"Recommended: **{advice.recommended}**" in page
    assert "2,000 rounds" in page
    assert "{{" not in page
    assert "(admissions.md) | 12 | 6 |" in overview_text([found])


def test_the_picture_of_the_readme_is_described_as_drawn() -> None:
    (words,) = re.findall(r'<img alt="(.*?)"', (ROOT / "README.md").read_text())
    for palette in PALETTES:
        assert words in (DOCS / f"front-{palette.name}.svg").read_text()
    instance = cb.Instance({"x": {"a": 0.5, "b": 0.9}, "y": {"c": 0.7}})
    result = cb.simulate(instance, list(POLICIES), horizon=1000, runs=2, seed=1)
    assert f"{result.mean('kindred')[-1]:,.0f} for kindred" in alt_text(instance, result)
    lines = draw(instance, result, PALETTES[0]).axes[1].get_lines()
    assert [np.asarray(line.get_ydata())[-1] for line in lines] == [
        result.mean(name)[-1] for name in POLICIES
    ]
