"""A complete league: simulate missing cells, then write the page and its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.errors import UnwritableFileError
from clusterbandits.files import sweep, whole_file
from league.cells import Settings, versions
from league.data_file import csv_of
from league.overview import Board
from league.page import page
from league.picture import heat, save_picture
from league.play import play_league
from league.results import Results, load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from league.problems import Problem

_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Places:
    """The files of a league."""

    results: Path = _ROOT / "league" / "results.json"
    page: Path = _ROOT / "docs" / "reference" / "league.md"
    picture: Path = _ROOT / "docs" / "reference" / "league.svg"
    data: Path = _ROOT / "docs" / "reference" / "league.csv"

    @classmethod
    def in_folder(cls, folder: Path) -> Places:
        """Return files in one folder, which is created if it does not exist."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or "an error").lower()
            raise UnwritableFileError(f"Cannot write the folder '{folder}': {reason}.") from None
        return cls(*(folder / name for name in ("results.json", "league.md", "league.svg", "league.csv")))


def run_league(
    problems: Sequence[Problem],
    policies: Sequence[str],
    settings: Settings,
    places: Places,
    command: str,
    say: Callable[[str], None],
) -> Board:
    """Simulate a league and write its files; return its standings."""
    for folder in {places.results.parent, places.page.parent}:
        sweep(folder)
    kept = load(places.results)
    begun = Results(command, settings, versions(), {} if kept is None else kept.cells)
    return show(play_league(begun, problems, policies, places.results, say), problems, places)


def show(results: Results, problems: Sequence[Problem], places: Places) -> Board:
    """Write the picture, the data file and the page of results."""
    board = Board.of_cells(problems, results.cells)
    save_picture(heat(board, results.settings.horizon), places.picture)
    _write(places.data, csv_of(board))
    _write(places.page, page(results, board, places.picture.name, places.data.name))
    return board


def _write(path: Path, text: str) -> None:
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
