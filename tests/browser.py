"""A real browser for tests that look at pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
#: Where set, a machine without a browser fails instead of passing over these tests.
REQUIRED = "CLUSTERBANDITS_BROWSER_REQUIRED"

needs_browser = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get(REQUIRED), reason="no chromium on this machine"
)


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Lend a browser."""
    assert CHROMIUM is not None, f"{REQUIRED} is set, but there is no chromium"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


def opened_page(browser: Any, file: Path, width: int) -> Any:
    """Return a page that opened without complaint, asked for nothing else, and is not wider than that."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    said: list[str] = []
    asked: list[str] = []

    def refuse(dialog: Any) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", refuse)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    assert said == []
    assert [url for url in asked if url != file.as_uri() and not url.startswith("data:")] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    return page
