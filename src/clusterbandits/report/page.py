"""A report: one HTML page with words, tables and pictures inside, and the folder of all its files."""

from __future__ import annotations

import csv
import functools
import importlib.metadata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jinja2

from clusterbandits.files import made_folder, whole_file
from clusterbandits.report.picture import Picture, inline_svg, save_picture
from clusterbandits.tables import Table, cell, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

_OURS = {".svg", ".png", ".csv", ".parquet"}
#: How a cell begins that a spreadsheet computes, in narrow and in wide letters.
_FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


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


def write_folder(
    page: Page, frames: Mapping[str, pd.DataFrame], texts: Mapping[str, str], folder: Path
) -> None:
    """Write index.html, pictures, tables and texts into a folder, each whole or not at all.

    Pictures and tables that an earlier report left behind are removed. CSV files are for spreadsheets, and
    have text as ``csv_text`` writes it; Parquet files have it unchanged.

    Parameters
    ----------
    page
        What index.html shows; its pictures become SVG and PNG files in ``pictures``.
    frames
        Tables by name, for Parquet and CSV files in ``data``.
    texts
        Other files by name.
    folder
        Where all goes.
    """
    pictures, data = folder / "pictures", folder / "data"
    drawn = list(_pictures(page.sections))
    for place, names in ((pictures, {one.name for one in drawn}), (data, set(frames))):
        made_folder(place)
        _remove_others(place, names)
    for drawing in drawn:
        save_picture(drawing, pictures)
    for name, frame in frames.items():
        _save_frame(frame, data, name)
    for name, text in (*texts.items(), ("index.html", render_page(page))):
        with whole_file(folder / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


def _save_frame(frame: pd.DataFrame, folder: Path, name: str) -> None:
    # Open files: Arrow and pandas take a path such as http:/x for an address.
    with whole_file(folder / f"{name}.parquet") as unfinished, unfinished.open("wb") as file:
        frame.to_parquet(file, index=False)
    with (
        whole_file(folder / f"{name}.csv") as unfinished,
        unfinished.open("w", encoding="utf-8", newline="") as file,
    ):
        inert = frame.map(lambda value: csv_text(value) if isinstance(value, str) else value)
        # Quoted text: a semicolon separates cells where commas are decimal.
        inert.to_csv(file, index=False, quoting=csv.QUOTE_NONNUMERIC)


def csv_text(text: str) -> str:
    """Return plain text for a cell that spreadsheets show: behind an apostrophe where it would be a formula.

    Examples
    --------
    >>> csv_text("=1+1"), csv_text(" @SUM(A1)"), csv_text("kl-ucb")
    ("'=1+1", "' @SUM(A1)", 'kl-ucb')
    """
    given = plain(text)
    return f"'{given}" if given.lstrip().startswith(_FORMULAS) else given


def _remove_others(folder: Path, names: set[str]) -> None:
    for path in folder.iterdir():
        if path.suffix in _OURS and path.stem not in names:
            path.unlink(missing_ok=True)


def _pictures(sections: Iterable[Section]) -> Iterable[Picture]:
    for section in sections:
        yield from section.pictures
        yield from _pictures(section.parts)
