"""Play every game that is not there yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from clusterbandits.paper.games import Game
    from clusterbandits.simulation.progress import Progress
    from clusterbandits.simulation.results import Result

    #: Called with the game under way, how far it has come, the runs before it, and all there are.
    GameListener = Callable[["Game", "Progress", int, int], None]


class Play:
    """Games that are played one after the other, in a folder that keeps their runs."""

    def __init__(
        self,
        games: Sequence[Game],
        folder: Path,
        listener: GameListener | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._games, self._folder, self._listener, self._executor = games, folder, listener, executor
        self.results: dict[Game, Result] = {}
        self.runs = sum(game.runs for game in games)
        #: Runs that had been played before.
        self.stored = 0

    def __iter__(self) -> Iterator[Game]:
        """Play, and tell of every game when it is finished; runs that the folder has are not played again."""
        before = 0
        for game in self._games:
            watch = _Watch(game, before, self.runs, self._listener)
            self.results[game] = simulate(
                game.instance,
                [game.learner()],
                game.horizon,
                game.runs,
                game.seed,
                clusters=game.instance.clusters(game.widths),
                checkpoints=game.checkpoints,
                executor=self._executor,
                store=self._folder / "runs" / game.folder,
                progress=watch,
                paired=game.paired,
            )
            before += game.runs
            self.stored += watch.stored or 0
            yield game


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
