"""Names that users give are only ever shown: nothing they hold is run, fetched, computed or obeyed."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

import clusterbandits as cb
from clusterbandits.bounds.view import evidence_table, pull_table
from clusterbandits.report.arms_panel import arms_panel
from clusterbandits.report.page import Card, Page, Section, render_page, write_folder
from clusterbandits.report.picture import Picture, inline_svg
from clusterbandits.report.pulls_panel import pulls_panel
from clusterbandits.report.ratio_panel import ratio_panel
from clusterbandits.report.regret_panel import regret_panel, save_regret_plot
from clusterbandits.report.regret_table import regret_table
from clusterbandits.report.sheet import fitted, folded
from clusterbandits.report.spans_panel import spans_panel
from clusterbandits.report.sweep_panel import Sweep, sweep_panel
from clusterbandits.report.views import ArmsGroup
from clusterbandits.simulation.results import Result
from clusterbandits.studies.advice_files import save_arms_picture, study_text, toml_text
from clusterbandits.studies.advise import Advice
from clusterbandits.studies.run_study import run_study
from clusterbandits.studies.study_file import parse_study
from clusterbandits.studies.study_report import StudyReport
from clusterbandits.tables import Markdown, Table, markdown_table, markdown_text, plain
from tests.browser import needs_browser, opened_browser, opened_page
from tests.hostile import CONTROLS, FORMULAS, HOSTILE, LETTERS, MATHS, OBEYED, SCRIPTS
from tests.report.drawn import words

#: What pictures are made of, and where they may point.
DRAWN = {"svg", "defs", "g", "path", "use", "clipPath", "rect", "text", "tspan", "title", "style", "metadata"}
DESCRIBED = {"RDF", "Work", "type", "format", "creator", "Agent"}
SHORT = [name for name in HOSTILE if len(name) < 100]
GROUPS = {name: {f"{name} 1": 0.3 + 0.01 * k, f"{name} 2": 0.32} for k, name in enumerate(HOSTILE[::2])}
INSTANCE = cb.Instance(GROUPS)
LABELS = tuple(dict.fromkeys((*HOSTILE[1::4], *MATHS)))


def result() -> Result:
    arms = len(INSTANCE.arms)
    pulls = np.stack([np.full(arms, 1), np.full(arms, 10)])
    rounds = np.array([arms, 10 * arms])
    return Result(INSTANCE, LABELS, rounds, np.tile(pulls, (len(LABELS), 2, 1, 1)))


@pytest.fixture(scope="module")
def advice() -> Advice:
    names = list(dict.fromkeys(name.strip() for name in HOSTILE if "\0" not in name))
    arms = [f"{name} {k}" for name in names for k in (1, 2)]
    trials, successes = [40] * len(arms), [k % 17 for k in range(len(arms))]
    rows = {"arm": arms, "group": np.repeat(names, 2), "trials": trials, "successes": successes}
    return cb.advise(rows, horizon=100, worlds=2)


class Parsed(HTMLParser):
    """The elements, attributes and words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for key, value in attrs:
            self.attributes.add(key)
            self.links += [value or ""] if key in {"href", "src"} else []
            self.ids += [value or ""] if key == "id" else []

    def handle_data(self, data: str) -> None:
        self.text += data


def table() -> Table:
    rows = tuple((name, 1.5) for name in HOSTILE)
    return Table((HOSTILE[0], "n"), rows, title=" ".join(HOSTILE), notes=HOSTILE)


def obeyed(text: str) -> set[str]:
    return set(text.replace("\n", "")) & OBEYED


def test_nothing_that_a_terminal_obeys_is_printed(advice: Advice) -> None:
    assert obeyed("".join(HOSTILE)) > set("\x1b\t\u202e\u2066\x7f\x9b")
    wide = Table(tuple(CONTROLS), (tuple(CONTROLS),), title=" ".join(CONTROLS), notes=CONTROLS)
    bound = cb.regret_bound(INSTANCE, INSTANCE.clusters(0.001))
    policy = cb.policy("kl-ucb", INSTANCE.clusters(1.0), label=CONTROLS[1])
    printed = [
        wide.text(),
        str(bound),
        evidence_table(bound).text(),
        pull_table(bound).text(),
        str(INSTANCE.clusters(0.001).fits(INSTANCE.means)),
        str(policy.explain()),
        str(result()),
        regret_table(result(), LABELS[0]).text(),
        str(advice),
        str(advice.history),
        *map(repr, (INSTANCE, policy, advice, advice.history)),
    ]
    for text in printed:
        assert not obeyed(text)
    names = wide.text().splitlines()
    assert len(names) == len(CONTROLS) + len(wide.text().partition("─")[0].splitlines()) + 3


def test_tables_of_notebooks_hold_no_markup_of_names(advice: Advice) -> None:
    bound = cb.regret_bound(INSTANCE, INSTANCE.clusters(0.001))
    shown: list[Any] = [INSTANCE, INSTANCE.clusters(1.0), bound, result(), advice, advice.history]
    pages = [table().html(), *(one._repr_html_() for one in shown)]
    for page in pages:
        found = Parsed(page)
        table_tags = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert found.tags <= {"div", "p", "pre", "details", "summary"} | table_tags
        assert found.attributes <= {"class", "style"}
        assert not obeyed(found.text)
        assert page.startswith(("<div class=", "<p class=", "<pre>"))
    for name in HOSTILE:
        assert plain(name) in Parsed(pages[0]).text


def test_pages_hold_no_markup_of_names() -> None:
    text = " ".join(HOSTILE)
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><g id="a"/></svg>'
    section = Section("one", text, text, HOSTILE, (Picture("dot", text, svg, b""),), (table(),))
    card = Card("holds", text, text, text, text, text, table(), "key")
    page = render_page(Page(text, text, text, (section,), text, text, (card,)))
    dull = Card("holds", "u", "v", "w", "x", "y", Table(("a", "n"), (("b", 1.5),), "c", ("d",)), "key")
    tables = (Table(("a",), (("b",),), "c", ("d",)),)
    usual = Parsed(render_page(Page("t", "l", "c", (Section("s", "S", "l", tables=tables),), cards=(dull,))))
    found = Parsed(page)
    assert found.tags - usual.tags == {"svg", "figure", "g"}
    assert found.attributes - usual.attributes == {"viewbox", "style"}
    assert set(found.links) == {"data:,", "#one", "#audit"}
    assert len(found.ids) == len(set(found.ids)) == 4
    for name in HOSTILE:
        assert found.text.count(plain(name)) >= 10
    assert "default-src 'none'" in page.partition("<title>")[0]


def pictures() -> Iterator[Picture]:
    made = result()
    bound = cb.regret_bound(INSTANCE)
    means = [list(part.values()) for part in GROUPS.values()]
    labels = [list(part) for part in GROUPS.values()]
    numbers = np.array([1.0, 2.0])
    for k in range(0, len(GROUPS), 6):
        part = slice(k, k + 6)
        yield spans_panel(
            means[part], list(GROUPS)[part], name="s", title=list(GROUPS)[k], labels=labels[part]
        )
    yield regret_panel(made, bound, name="r", title=MATHS[0])
    yield pulls_panel(made, bound, name="p", labels=LABELS[:2], title=SCRIPTS[1])
    yield ratio_panel(dict.fromkeys(HOSTILE, numbers), HOSTILE[0], name="q", title=SCRIPTS[0])
    yield sweep_panel(
        [MATHS[0], CONTROLS[1][:9]], [Sweep(name, numbers, numbers) for name in HOSTILE], name="w"
    )
    names = tuple(HOSTILE)
    middle, low, high = (np.full(len(names), mean) for mean in (0.5, 0.4, 0.6))
    hopeful = np.arange(len(names)) % 2 == 0
    yield arms_panel(
        [ArmsGroup(SCRIPTS[2], names, middle, low, high, hopeful, 0.1)], name="a", title=SCRIPTS[4]
    )


def check_drawing(root: ET.Element) -> None:
    for element in root.iter():
        tag = element.tag.rpartition("}")[2]
        assert tag in DRAWN | DESCRIBED
        for key, value in element.attrib.items():
            name = key.rpartition("}")[2]
            assert not name.startswith("on")
            assert name != "href" or value.startswith("#")


def test_pictures_hold_names_as_words_alone() -> None:
    seen = ""
    for drawing in pictures():
        check_drawing(ET.fromstring(drawing.svg))
        inside = inline_svg(drawing)
        check_drawing(ET.fromstring(inside))
        assert not obeyed(drawing.alt)
        assert not obeyed("".join(words(drawing)))
        assert Parsed(inside).tags <= {tag.lower() for tag in DRAWN}
        seen += "\n".join(["", *words(drawing), ""])
    for name in [*SHORT, *LETTERS]:
        assert f"\n{fitted(name, 34)}\n" in seen


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_plots_show_any_label(form: str, tmp_path: Path, advice: Advice) -> None:
    plots = [tmp_path / f"regret.{form}", tmp_path / f"arms.{form}"]
    save_regret_plot(result(), plots[0])
    save_arms_picture(advice, plots[1])
    if form == "svg":
        for plot in plots:
            check_drawing(ET.parse(plot).getroot())
        seen = words(Picture("plot", "", plots[0].read_text(encoding="utf-8"), b""))
        assert {*MATHS, SCRIPTS[1]} <= set(seen)


def test_long_names_are_cut() -> None:
    assert "".join(folded("x" * 10**6, 1e6)) == "x" * 299 + "…"
    assert fitted("x" * 10**6, 20).endswith("x…")
    (section,) = spans_panel([[0.1, 0.2]], ["y" * 9999], name="s", labels=[["x" * 9999, "z"]]).svg.split(
        "yyy…: span"
    )[:1]
    assert len(re.findall("y", section)) < 100


MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def shown(tokens: list[Any]) -> list[str]:
    """Return the words of every inline token; whatever is not words fails."""
    texts = []
    for token in tokens:
        if token.type == "inline":
            assert {child.type for child in token.children} <= {"text"}, token.content
            texts.append(token.content and "".join(child.content for child in token.children))
    return texts


def test_markdown_shows_names_as_they_are() -> None:
    for name in HOSTILE:
        tokens = MARKDOWN.parse(markdown_text(name))
        assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"], name
        assert shown(tokens) == [plain(name).strip()]
        assert not set("<>") & set(markdown_text(name))


def test_markdown_tables_have_a_cell_for_every_name() -> None:
    rows = tuple((name, 1.5, other) for name, other in zip(HOSTILE, HOSTILE[::-1], strict=True))
    tokens = MARKDOWN.parse(f"Before.\n\n{markdown_table(Table(HOSTILE[:3], rows))}\n\nAfter.")
    assert {token.type.removesuffix("_open") for token in tokens if token.nesting == 1} == {
        *("paragraph", "table", "thead", "tbody", "tr", "th", "td")
    }
    cells = [plain(str(one)).strip() for row in (HOSTILE[:3], *rows) for one in row]
    wanted = [one.replace("1.5", "1.500") if one == "1.5" else one for one in cells]
    assert shown(tokens) == ["Before.", *wanted, "After."]


def test_addresses_in_names_are_no_links() -> None:
    """Some readers look for addresses in words and make links of them."""
    for name in HOSTILE:
        assert not re.search(r"://|www\.", markdown_text(name))


def test_what_is_markdown_already_stays() -> None:
    link = Markdown("[a|b](c.md)")
    assert markdown_table(Table(("x",), ((link,),))).splitlines()[2] == "| [a\\|b](c.md) |"
    assert markdown_text("Figure 8 [0.5, 0.9], c_max -1.5") == "Figure 8 [0.5, 0.9], c_max -1.5"


def test_spreadsheets_compute_nothing(tmp_path: Path) -> None:
    names = pd.Series(HOSTILE)
    frame = pd.DataFrame({"policy": names, "widths": names.astype("string"), "regret": -0.5, "round": -3})
    write_folder(Page("t", "l", "c"), {"summary": frame}, {}, tmp_path)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "data" / "summary.parquet"), frame)
    with (tmp_path / "data" / "summary.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    for name, row in zip(HOSTILE, cells, strict=True):
        formula = name.strip().startswith(("=", "+", "-", "@", "＝"))
        assert formula == (name in FORMULAS or name[0] == "-")
        for column in ("policy", "widths"):
            assert row[column] == "'" * formula + plain(name)
        assert (row["regret"], row["round"]) == ("-0.5", "-3")


def test_semicolons_do_not_begin_a_cell(tmp_path: Path) -> None:
    """They do where the comma is a decimal point, unless the text around them is quoted."""
    frame = pd.DataFrame({"policy": ["a;=1+1"], "regret": [0.5]})
    write_folder(Page("t", "l", "c"), {"summary": frame}, {}, tmp_path)
    lines = (tmp_path / "data" / "summary.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ['"policy","regret"', '"a;=1+1",0.5']


def test_toml_has_names_as_they_are() -> None:
    for name in HOSTILE:
        assert tomllib.loads(f"x = {toml_text(name)}\n{toml_text(name)} = 1") in ({"x": name, name: 1},)


def test_the_study_that_follows_advice_is_of_the_same_names(advice: Advice, tmp_path: Path) -> None:
    history = advice.history
    for k, name in enumerate(["\n[[x]]\nruns = 1\r\x7f", "\u202e'\"\\", " ", "admissions"]):
        folder = tmp_path / str(k)
        folder.mkdir()
        file = folder / (name if name == "admissions" else f"{name}.csv")
        with file.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines, quoting=csv.QUOTE_ALL)
            columns = history.to_dict()
            writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
        text = study_text(advice, file, folder / f"{name}.toml")
        study = parse_study(text, "next.toml", folder)
        (case,) = study.cases
        assert case.instance.arms == history.arms
        assert case.instance.partition.clusters == history.groups
        assert case.rules[0].clusters(case.instance).widths == tuple(advice.widths.values())
        assert study.title.isprintable()


def test_a_table_whose_path_is_not_text_is_refused(advice: Advice) -> None:
    with pytest.raises(cb.InvalidInputError, match="UTF-8"):
        study_text(advice, Path("a\udcff.csv"), Path("next.toml"))


def inline(arms: dict[str, float]) -> str:
    return "{ " + ", ".join(f"{toml_text(arm)} = {mean}" for arm, mean in arms.items()) + " }"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> StudyReport:
    """Return a study in which every name is hostile; those on a line of their own must be printable."""
    names = [name for name in HOSTILE if name.isprintable()]
    quoted = [toml_text(name) for name in names]
    lines = ["horizon = 200", "runs = 4", f"title = {quoted[0]}", f"note = {quoted[1]}"]
    lines += ["policies = ["]
    lines += [
        f'  {{ policy = "{("kl-ucb", "ucb1")[k % 2]}", label = {one} }},' for k, one in enumerate(quoted[:4])
    ]
    lines += ["]"]
    for start, name in enumerate(quoted[1:3]):
        groups = {
            one: {f"{one} 1": 0.2 + 0.01 * k, f"{one} 2": 0.3}
            for k, one in enumerate(HOSTILE[start :: 2 + 2 * start])
        }
        parts = ", ".join(f"{toml_text(group)} = {inline(arms)}" for group, arms in groups.items())
        lines += ["[[instances]]", f"name = {name}", f"means = {{ {parts} }}"]
    for name in (quoted[3], toml_text("drawn " + "z" * 999)):
        lines += ["[[instances]]", f"name = {name}", "[instances.random]", "count = 2", "groups = 2"]
        lines += ["arms = 2", "span = 0.1"]
    study = parse_study("\n".join(lines), "$(touch x); '.toml")
    return run_study(study, tmp_path_factory.mktemp("hostile") / "report")


def test_reports_are_whole_whatever_names_are(report: StudyReport) -> None:
    assert not obeyed(str(report))
    assert not obeyed(repr(report))
    page = Parsed(report.page.read_text(encoding="utf-8"))
    assert not page.tags & {"script", "img", "iframe", "object", "embed", "form", "input", "base"}
    assert all(link.startswith("#") or link == "data:," for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", one) for one in page.ids)
    assert "clusterbandits run '$(touch x); '\"'\"'.toml'" in page.text
    for name in SCRIPTS[:4]:
        assert name in page.text
    for file in (report.folder / "pictures").glob("*.svg"):
        check_drawing(ET.parse(file).getroot())


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


def check_inert(page: Any) -> None:
    """Look for what names would have put into a page, had they been more than words."""
    assert page.evaluate("window.hacked") is None
    foreign = "script, img, iframe, object, embed, form, input, base, link:not([rel=icon]), foreignObject"
    assert page.evaluate(f"document.querySelectorAll('{foreign}').length") == 0
    attributes = "[...document.querySelectorAll('*')].flatMap(one => [...one.attributes])"
    assert page.evaluate(f"{attributes}.filter(one => one.name.startsWith('on')).length") == 0
    links = page.evaluate(f"{attributes}.filter(one => /href|src/.test(one.name)).map(one => one.value)")
    assert [link for link in links if not link.startswith("#") and link != "data:,"] == []


def collapsed(text: str) -> str:
    return " ".join(text.split())


@needs_browser
@pytest.mark.parametrize("policy", [True, False], ids=["with the page's policy", "without it"])
def test_no_name_runs_in_the_report(browser: Any, report: StudyReport, tmp_path: Path, policy: bool) -> None:
    text = report.page.read_text(encoding="utf-8")
    file = tmp_path / "index.html"
    file.write_text(text if policy else re.sub("<meta http-equiv.*>", "", text), encoding="utf-8")
    page = opened_page(browser, file, 1280)
    check_inert(page)
    seen = collapsed(page.inner_text("body"))
    for name in (*SCRIPTS[:4], MATHS[1]):
        assert name in seen
    page.close()


@needs_browser
def test_the_page_itself_refuses_scripts_and_requests(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    evil = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'><img src=http://evil.test/x>"
    file.write_text(render_page(Page("t", "l", "c")).replace("<main>", f"<main>{evil}"), encoding="utf-8")
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(file.as_uri())
    assert page.evaluate("window.hacked") is None
    assert len([text for text in refused if "Content Security Policy" in text]) >= 3
    page.close()


@needs_browser
def test_no_name_runs_in_a_notebook(
    browser: Any, report: StudyReport, advice: Advice, tmp_path: Path
) -> None:
    bound = cb.regret_bound(INSTANCE)
    parts: list[Any] = [INSTANCE, INSTANCE.clusters(1.0), bound, result(), advice, advice.history, report]
    html = "".join([table().html(), *(one._repr_html_() for one in parts)])
    file = tmp_path / "notebook.html"
    page = f"<!DOCTYPE html><meta charset=utf-8><style>* {{ overflow-wrap: anywhere }}</style><body>{html}"
    file.write_text(page, encoding="utf-8")
    opened = opened_page(browser, file, 4000)
    check_inert(opened)
    opened.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    seen = collapsed(opened.inner_text("body"))
    for name in HOSTILE:
        assert collapsed(plain(name)) in seen
    opened.close()


@needs_browser
def test_no_name_runs_in_a_picture(browser: Any, report: StudyReport, advice: Advice, tmp_path: Path) -> None:
    save_arms_picture(advice, tmp_path / "arms.svg")
    save_regret_plot(result(), tmp_path / "regret.svg")
    files = [*sorted((report.folder / "pictures").glob("instance-1-*.svg")), *sorted(tmp_path.glob("*.svg"))]
    assert len(files) == 6
    for file in files:
        page = opened_page(browser, file, 1280)
        assert page.evaluate("document.documentElement.tagName") == "svg"
        check_inert(page)
        page.close()
