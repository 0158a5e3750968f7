"""One league from beginning to end: play what is missing, then write the page and the picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits import POLICIES
from clusterbandits.errors import UnwritableFileError
from clusterbandits.files import sweep, whole_file
from league.cells import Settings, versions
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
    """Where a league is kept and shown."""

    results: Path = _ROOT / "league" / "results.json"
    page: Path = _ROOT / "docs" / "league.md"
    picture: Path = _ROOT / "docs" / "league.svg"

    @classmethod
    def in_folder(cls, folder: Path) -> Places:
        """Return places in one folder, which is made if need be."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or "an error").lower()
            raise UnwritableFileError(
                f"The folder '{folder}' must be writable. Got '{reason}' instead."
            ) from None
        return cls(folder / "results.json", folder / "league.md", folder / "league.svg")


def run_league(
    problems: Sequence[Problem],
    policies: Sequence[str],
    settings: Settings,
    places: Places,
    command: str,
    say: Callable[[str], None],
) -> Board:
    """Play, keep and show a league; return its standings."""
    sweep(places.results.parent)
    kept = load(places.results)
    begun = Results(command, settings, versions(), {} if kept is None else kept.cells)
    return show(play_league(begun, problems, policies, places.results, say), problems, places)


def show(results: Results, problems: Sequence[Problem], places: Places) -> Board:
    """Write the page and the picture of results that hold every cell of these problems."""
    board = Board.of_cells(problems, results.cells)
    save_picture(heat(board, results.settings.horizon), places.picture)
    with whole_file(places.page) as unfinished:
        unfinished.write_text(written(results, board, places), encoding="utf-8")
    return board


def written(results: Results, board: Board, places: Places) -> str:
    """Return the text of the page."""
    uses_widths = {name: kind.uses_widths for name, kind in POLICIES.items()}
    return page(results, board, uses_widths, places.picture.name)
