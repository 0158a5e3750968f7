"""The report in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusterbandits.paper.figures import settings
from clusterbandits.paper.reproduce import reproduce
from clusterbandits.paper.settings import PaperSettings
from tests.browser import needs_browser, opened_browser, opened_page

pytestmark = needs_browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper")
    reproduce(PaperSettings(runs=4, horizon=2000), folder)
    return folder / "index.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


@pytest.mark.parametrize("width", [390, 1280])
def test_every_figure_is_shown_without_errors_or_sideways_scrolling(
    browser: Any, report: Path, width: int
) -> None:
    page = opened_page(browser, report, width)
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


def test_it_prints(browser: Any, report: Path, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 50_000
    page.close()
