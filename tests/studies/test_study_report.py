"""The report of a study: whole in every corner of what studies may be, and right in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clusterbandits.simulation.statistics import plus_minus
from clusterbandits.studies.run_study import run_study
from clusterbandits.studies.study_file import parse_study
from clusterbandits.studies.study_report import StudyReport
from clusterbandits.studies.study_summary import (
    case_sentence,
    drawn_families,
    family_sentence,
    family_table,
    overview_table,
)
from tests.browser import needs_browser, opened_browser, opened_page

BOTH = 'policies = ["kl-ucb", "clus-ucb"]\nhorizon = 100\nruns = 3\n'
ONE = "[[instances]]\nmeans = [[0.1, 0.6], [0.3]]\n"
DRAWN = "[[instances]]\nname = 'drawn'\n[instances.random]\ngroups = 2\narms = 2\nspan = 0.1\n"


def played(text: str, folder: Path) -> StudyReport:
    report = run_study(parse_study(text, "s.toml"), folder / "report")
    assert (report.folder / "index.html").stat().st_size > 1000
    return report


def pictures(report: StudyReport) -> set[str]:
    return {path.stem for path in (report.folder / "pictures").iterdir()}


class Seen(HTMLParser):
    """What a page is made of."""

    def __init__(self, report: StudyReport) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.pictures: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed((report.folder / "index.html").read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.ids += [given["id"] or ""] if "id" in given else []
        if tag == "svg":
            self.pictures.append(given["aria-label"] or "")

    def handle_data(self, data: str) -> None:
        self.text += data


#: What a study may be, and the pictures its report has then.
ALONE = {"instance-1-arms", "instance-1-regret", "instance-1-log", "instance-1-pulls"}
CORNERS: dict[str, tuple[str, set[str]]] = {
    "one arm": (f"{BOTH}[[instances]]\nmeans = [[0.5]]\n", ALONE),
    "one group": (f"{BOTH}[[instances]]\nmeans = [[0.5, 0.6, 0.2]]\n", ALONE),
    "all equal": (f"{BOTH}[[instances]]\nmeans = [[0.5, 0.5], [0.5]]\n", ALONE),
    "nothing is ever paid": (f"{BOTH}[[instances]]\nmeans = [[0, 0], [0]]\n", ALONE),
    "both ends": (f"{BOTH}[[instances]]\nmeans = [[0, 1], [0.0]]\n", ALONE),
    "told nothing": (f"{BOTH}widths = [{{ fixed = inf }}]\n{ONE}", ALONE),
    "one round": (BOTH.replace("100", "1") + ONE, ALONE),
    "two rounds, widths": (
        BOTH.replace("100", "2") + "widths = [{ factor = 0 }, { factor = inf }]\n" + ONE,
        ALONE | {"instance-1-widths"},
    ),
    "one checkpoint": (f"{BOTH}checkpoints = 1\n{ONE}", ALONE),
    "gaussian": (f"{BOTH}[[instances]]\nmeans = [[-1, 0.5], [2]]\nfamily = 'gaussian:sigma=0.5'\n", ALONE),
    "one policy": (f"{BOTH}{ONE}".replace('"kl-ucb", ', ""), ALONE),
    "the horizon is needed": (f"{BOTH}{ONE}".replace('"clus-ucb"', '"kl-ucb++"'), ALONE),
    "no policy uses widths": (
        f"{BOTH}widths = [{{ factor = 1 }}, {{ factor = 2 }}]\n{ONE}".replace("clus-ucb", "ucb1"),
        ALONE,
    ),
    "policies with settings": (
        f"{BOTH}{ONE}".replace(
            '"clus-ucb"', '"clus-ucb:a=5,refresh=50", { policy = "clus-ucb", label = "<b>" }'
        ),
        ALONE,
    ),
    "one drawn": (f"{BOTH}{DRAWN}count = 1\n", {"drawn-1-drawn"}),
    "drawn, all equal": (f"{BOTH}{DRAWN}".replace("groups = 2", "groups = 1").replace("0.1", "0"), set()),
    "drawn, one round": (f"{BOTH}{DRAWN}".replace("100", "1"), {"drawn-1-drawn"}),
}


@pytest.mark.parametrize("name", CORNERS)
def test_corners(name: str, tmp_path: Path) -> None:
    text, wanted = CORNERS[name]
    report = played(text, tmp_path)
    assert pictures(report) == wanted
    seen = Seen(report)
    assert len(seen.pictures) == len(wanted)
    assert all(len(alt) > 20 for alt in seen.pictures)
    assert len(seen.ids) == len(set(seen.ids))
    assert "nan" not in seen.text
    rows = pd.read_csv(report.folder / "data" / "summary.csv")
    numbers: Any = rows[["regret", "standard_error", "difference", "worst_run", "best_arm_share"]]
    assert np.isfinite(numbers.to_numpy()).all()


def test_a_thousand_arms_have_no_picture_of_each(tmp_path: Path) -> None:
    means = np.random.default_rng(0).uniform(0.1, 0.9, (50, 20)).round(4).tolist()
    report = played(
        f"{BOTH.replace('100', '1500')}checkpoints = 4\n[[instances]]\nmeans = {means}\n", tmp_path
    )
    assert pictures(report) == {"instance-1-regret", "instance-1-log"}
    assert "1000 arms in 50 groups" in Seen(report).text


def test_of_many_instances_24_have_a_section_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures take most of the time, and are not what is looked at here."""
    monkeypatch.setattr("clusterbandits.studies.study_report._pictures", lambda *_: [])
    many = "".join(f"[[instances]]\nmeans = [[0.{k}, 0.7], [0.5]]\n" for k in range(10, 55))
    report = played(BOTH + many, tmp_path)
    seen = Seen(report)
    assert [name for name in seen.ids if name.startswith("instance-")] == [
        f"instance-{k}" for k in range(1, 25)
    ]
    assert "5 more instances in data/summary.csv." in seen.text
    assert len(pd.read_csv(report.folder / "data" / "summary.csv")) == 90


def test_names_are_only_names(tmp_path: Path) -> None:
    odd = "<script>alert(1)</script> ../../$x_1$ é/漢字 &amp;"
    group = '"<i>g</i>" = { "a<b>" = 0.3, "$x$" = 0.5 }, "漢字" = { "字" = 0.6 }'
    top = f"{BOTH}title = '''{odd} t'''\nnote = '''{odd} n'''\n"
    policies = '"clus-ucb", { policy = "clus-ucb", a = 2, label = "漢 $x$" }'
    named = f"[[instances]]\nname = '''{odd}'''\nmeans = {{ {group} }}\n"
    drawn = DRAWN.replace("'drawn'", f"'''{odd} d'''")
    report = played(top.replace('"clus-ucb"', policies) + named + drawn, tmp_path)
    seen = Seen(report)
    assert seen.tags.isdisjoint({"script", "i", "b"})
    assert seen.text.count(odd) >= 4
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    rows = pd.read_csv(report.folder / "data" / "summary.csv")
    assert set(rows["instance"]) == {odd, *(f"{odd} d {k}" for k in range(1, 11))}


def test_sentences_say_what_the_numbers_say(tmp_path: Path) -> None:
    report = played(BOTH.replace("100", "2000").replace("runs = 3", "runs = 12") + ONE + DRAWN, tmp_path)
    alone = report.summaries[0]
    base, other = alone.rows
    least = min(alone.rows, key=lambda row: row["regret"])
    assert case_sentence(alone).startswith(f"{least['policy']} has the lowest mean regret: ")
    share = round(100 * (1 - other["regret"] / base["regret"]))
    assert f"({share}%) less than kl-ucb" in case_sentence(alone) or least is base
    sure = -other["difference"] > 2 * other["difference_error"]
    assert ("which chance alone might explain" not in case_sentence(alone)) == (sure or least is base)
    family = drawn_families(report.summaries)["drawn"]
    paid = {
        label: [one.rows[k]["regret"] for one in family] for k, label in enumerate(["kl-ucb", "clus-ucb"])
    }
    cheaper = min(paid, key=lambda label: float(np.mean(paid[label])))
    assert family_sentence(family).startswith(f"{cheaper} has the lowest mean regret over all instances: ")
    table = {row[0]: row[1:] for row in family_table("x", family).rows}
    runs = np.mean([one.finals[1] for one in family], axis=0)
    assert runs.mean() == pytest.approx(np.mean(paid["clus-ucb"]))
    assert table["clus-ucb"][0] == plus_minus(runs.mean(), runs.std(ddof=1) / np.sqrt(12))
    apart = runs - np.mean([one.finals[0] for one in family], axis=0)
    less = plus_minus(-apart.mean(), apart.std(ddof=1) / np.sqrt(12))
    assert f", {less} (" in family_sentence(family) or cheaper == "kl-ucb"
    assert table["clus-ucb"][2] == max(paid["clus-ucb"])
    ratios = np.array(paid["clus-ucb"]) / np.array(paid["kl-ucb"])
    assert table["clus-ucb"][3] == pytest.approx(100 * np.mean(ratios < 1))
    assert table["clus-ucb"][4] == pytest.approx(np.median(ratios))
    (row,) = overview_table(report.study, report.summaries).rows
    assert row[0] == "instance 1"
    assert row[4] == least["policy"]


def test_reports_show_themselves(tmp_path: Path) -> None:
    report = played(BOTH + ONE + DRAWN, tmp_path)
    assert repr(report) == "<StudyReport: s, 11 instances, 66 runs>"
    assert str(report).startswith("3 runs of 100 rounds\ninstance")
    assert str(report).endswith(
        f"Simulated 66 runs; 0 reused from a previous run.\nThe report: {report.page}"
    )
    html = report._repr_html_()
    assert html.count("<table>") == 2
    assert case_sentence(report.summaries[0]) in html
    pd.testing.assert_frame_equal(
        report.frame(), pd.read_parquet(report.folder / "data" / "summary.parquet"), check_dtype=False
    )
    pd.testing.assert_frame_equal(report.curves(), pd.read_parquet(report.folder / "data" / "curves.parquet"))
    assert report.frame()["misled"].unique().tolist() == [""]
    wrong = f"{BOTH}widths = [{{ factor = 0.5 }}]\n{ONE}"
    assert run_study(parse_study(wrong), tmp_path / "wrong").frame()["misled"].tolist() == ["0", "0"]


def test_pulls_are_predicted_with_the_widths_of_the_policy_that_is_shown(tmp_path: Path) -> None:
    """The first widths lie about the best group: nothing is predicted from those."""
    text = BOTH.replace("100", "3000") + "widths = [{ factor = 0.001 }, { factor = 1 }]\n"
    report = played(text + "[[instances]]\nmeans = [[0.1, 0.8], [0.75, 0.78]]\n", tmp_path)
    assert report.summaries[0].cheapest["policy"] == "clus-ucb spans"
    (alt,) = [alt for alt in Seen(report).pictures if alt.startswith("Pulls of each arm")]
    assert "Clus-UCB" in alt


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


LARGE = """
title = "A table, a sweep of widths, drawn problems, and names that are too long for a telephone"
horizon = 300
runs = 3
checkpoints = 8
policies = [
    "kl-ucb",
    "clus-ucb",
    { policy = "clus-ucb", a = 5, label = "a label that is long, and then a little longer" },
]

[[instances]]
table = "flights-by-destination"

[[instances]]
name = "wrong-widths-in-a-name-without-any-room-to-break-it-anywhere"
means = [[0.3, 0.7], [0.1, 0.2, 0.8]]
widths = [{ factor = 0.25 }, { factor = 1 }, { fixed = inf, name = "nothing at all" }]
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> StudyReport:
    return played(LARGE + DRAWN, tmp_path_factory.mktemp("large"))


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_opens_without_errors_or_sideways_scrolling(
    browser: Any, large: StudyReport, width: int
) -> None:
    page = opened_page(browser, large.folder / "index.html", width)
    assert page.locator("section#overview").count() == 1
    shown = page.locator("svg.picture").all()
    assert len(shown) == len(pictures(large)) == 4 + 5 + 1
    for picture in shown:
        box = picture.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 60
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    page.close()
