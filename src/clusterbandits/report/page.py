"""Reports: one HTML page with text, figures and tables inside, and the folder of its files."""

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

#: The mark of each verdict, by the key of a card.
MARKS = {"holds": "✓", "condition": "~", "fails": "✗", "inconclusive": "?"}
_OURS = {".svg", ".png", ".csv", ".parquet"}
#: First characters of cells that a spreadsheet would compute, as ASCII and as full-width characters.
_FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


@dataclass(frozen=True)
class Section:
    """A section of a page: a sentence, text, pictures, tables, and subsections."""

    key: str
    heading: str
    #: The main result of the section, in one sentence.
    lead: str = ""
    text: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    parts: tuple[Section, ...] = ()


@dataclass(frozen=True)
class Card:
    """A claim with its verdict and the evidence; ``key`` selects the colour and the mark of the verdict."""

    key: str
    verdict: str
    says: str
    where: str
    test: str
    measured: str
    details: Table | None = None
    #: The name of the card in links.
    anchor: str = ""


@dataclass(frozen=True)
class Tally:
    """The number of cards with a verdict, in words, and what the verdict means."""

    key: str
    count: int
    words: str
    meaning: str


@dataclass(frozen=True)
class Headline:
    """The main result at the top of a page: one sentence, one picture, and details."""

    sentence: str
    details: tuple[str, ...]
    picture: Picture


@dataclass(frozen=True)
class Page:
    """The contents of a page."""

    title: str
    lead: str
    #: The command that produces the page.
    command: str
    sections: tuple[Section, ...] = ()
    cards_heading: str = ""
    cards_lead: str = ""
    cards: tuple[Card, ...] = ()
    headline: Headline | None = None
    tallies: tuple[Tally, ...] = ()


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
    environment.globals |= {"marks": MARKS}
    return environment.get_template("page.html")


def _printable(value: object) -> object:
    """Return text without control characters; macros and pictures are markup that is already escaped."""
    return plain(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def numeric_columns(table: Table) -> Sequence[bool]:
    """Return for each column whether it contains numbers only, which are aligned to the right."""
    if not table.rows:
        return [False] * len(table.columns)
    return [
        all(isinstance(value, int | float) or "±" in cell(value) or value in {None, ""} for value in column)
        for column in zip(*table.rows, strict=True)
    ]


def write_folder(
    page: Page, frames: Mapping[str, pd.DataFrame], texts: Mapping[str, str], folder: Path
) -> None:
    """Write index.html, pictures, tables and texts into a folder, each file completely or not at all.

    Pictures and tables of an earlier report are removed. In CSV files, which are for spreadsheets, text is
    written by ``csv_text``; in Parquet files it is unchanged.

    Parameters
    ----------
    page
        Contents of index.html; its pictures are also saved as SVG and PNG files in ``pictures``.
    frames
        Tables by name, saved as Parquet and CSV files in ``data``.
    texts
        Other files by name.
    folder
        Folder of the report.
    """
    pictures, data = folder / "pictures", folder / "data"
    first = [] if page.headline is None else [page.headline.picture]
    drawn = [*first, *_pictures(page.sections)]
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
    # Open files, because Arrow and pandas would read a path such as http:/x as a URL.
    with whole_file(folder / f"{name}.parquet") as unfinished, unfinished.open("wb") as file:
        frame.to_parquet(file, index=False)
    with (
        whole_file(folder / f"{name}.csv") as unfinished,
        unfinished.open("w", encoding="utf-8", newline="") as file,
    ):
        inert = frame.map(lambda value: csv_text(value) if isinstance(value, str) else value)
        # Text is quoted because semicolons separate cells in countries with decimal commas.
        inert.to_csv(file, index=False, quoting=csv.QUOTE_NONNUMERIC)


def csv_text(text: str) -> str:
    """Return plain text for a spreadsheet, with an apostrophe before text that looks like a formula.

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
