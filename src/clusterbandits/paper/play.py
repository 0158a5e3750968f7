"""Play every game that is not there yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterbandits.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterbandits.paper.games import Game
    from clusterbandits.simulation.progress import Progress
    from clusterbandits.simulation.results import Result

    #: Called with the game under way, how far it has come, the runs before it, and all there are.
    GameListener = Callable[["Game", "Progress", int, int], None]


@dataclass(frozen=True, eq=False)
class Played:
    """The results of all games, and how many of their runs had been played before."""

    results: dict[Game, Result]
    runs: int
    stored: int


def play_games(games: Sequence[Game], folder: Path, listener: GameListener | None = None) -> Played:
    """Return every game's result; runs that the folder has are not played again."""
    total = sum(game.runs for game in games)
    results: dict[Game, Result] = {}
    before = stored = 0
    for game in games:
        watch = _Watch(game, before, total, listener)
        results[game] = _play(game, folder / "runs" / game.folder, watch)
        before += game.runs
        stored += watch.stored or 0
    return Played(results, total, stored)


def _play(game: Game, folder: Path, watch: _Watch) -> Result:
    return simulate(
        game.instance,
        [game.learner()],
        game.horizon,
        game.runs,
        game.seed,
        clusters=game.instance.clusters(game.widths),
        checkpoints=game.checkpoints,
        store=folder,
        progress=watch,
        paired=game.paired,
    )


class _Watch:
    """Turns the progress of one game into that of all."""

    def __init__(self, game: Game, before: int, total: int, listener: GameListener | None) -> None:
        self._game, self._before, self._total, self._listener = game, before, total, listener
        self.stored: int | None = None

    def __call__(self, progress: Progress) -> None:
        if self.stored is None:
            self.stored = progress.runs_done
        if self._listener is not None:
            self._listener(self._game, progress, self._before, self._total)
