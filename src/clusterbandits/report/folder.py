"""A report as a folder: the page, and every picture of it as files of its own."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from clusterbandits.files import made_folder, whole_file
from clusterbandits.report.page import Page, Section, render_page
from clusterbandits.report.picture import Picture, save_picture
from clusterbandits.tables import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pandas as pd

PAGE = "index.html"
_OURS = {".svg", ".png", ".csv", ".parquet"}
#: How a cell begins that a spreadsheet computes, in narrow and in wide letters.
_FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


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
    for name, text in (*texts.items(), (PAGE, render_page(page))):
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
