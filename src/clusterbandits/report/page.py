"""A report as one HTML file that needs nothing else: words, tables, and pictures as SVG inside."""

from __future__ import annotations

import functools
import importlib.metadata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jinja2

from clusterbandits.report.picture import Picture, inline_svg
from clusterbandits.tables import Table, cell, plain

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Section:
    """A part of a page: what it says first, then what it shows."""

    key: str
    heading: str
    #: The one sentence to take away.
    lead: str = ""
    text: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    parts: tuple[Section, ...] = ()


@dataclass(frozen=True)
class Card:
    """A judged statement: a word for the verdict, a key for its colour, and what it rests on."""

    key: str
    verdict: str
    says: str
    where: str
    test: str
    measured: str
    details: Table | None = None
    #: What the card is called in addresses.
    anchor: str = ""


@dataclass(frozen=True)
class Page:
    """Everything a page shows."""

    title: str
    lead: str
    #: How the page is made again.
    command: str
    sections: tuple[Section, ...] = ()
    cards_heading: str = ""
    cards_lead: str = ""
    cards: tuple[Card, ...] = ()


def render_page(page: Page) -> str:
    """Return the page as HTML.

    Examples
    --------
    >>> html = render_page(Page("Ads & flights", "All is well.", "clusterbandits paper"))
    >>> "<h1>Ads &amp; flights</h1>" in html, "http:" in html
    (True, False)
    """
    return _template().render(page=page, version=importlib.metadata.version("clusterbandits"))


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("clusterbandits.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
    )
    environment.filters |= {"cell": cell, "svg": inline_svg, "numeric": numeric_columns}
    return environment.get_template("page.html")


def _printable(value: object) -> object:
    """Return text without control characters; only macros and pictures, escaped already, are markup."""
    return plain(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def numeric_columns(table: Table) -> Sequence[bool]:
    """Return which columns hold numbers, or numbers with their errors: those go to the right."""
    if not table.rows:
        return [False] * len(table.columns)
    return [
        all(isinstance(value, int | float) or "±" in cell(value) or value in {None, ""} for value in column)
        for column in zip(*table.rows, strict=True)
    ]
