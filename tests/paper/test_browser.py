"""The report in a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from clusterbandits.paper.branches import settings
from clusterbandits.paper.reproduce import reproduce
from clusterbandits.paper.settings import PaperSettings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
#: Where set, a machine without a browser fails instead of passing over these tests.
REQUIRED = "CLUSTERBANDITS_BROWSER_REQUIRED"

pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get(REQUIRED), reason="no chromium on this machine"
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper")
    reproduce(PaperSettings(runs=4, horizon=2000), folder)
    return folder / "index.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    assert CHROMIUM is not None, f"{REQUIRED} is set, but there is no chromium"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_every_figure_is_shown_without_errors_or_sideways_scrolling(
    browser: Any, report: Path, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
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
