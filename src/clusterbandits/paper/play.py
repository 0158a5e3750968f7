"""Play every game that is not there yet, as many at a time as there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.fingerprint import check_same, fingerprint
from clusterbandits.simulation.crew import crew_of, play_all
from clusterbandits.simulation.store import MANIFEST
from clusterbandits.simulation.trial import open_ledger, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from clusterbandits.paper.games import Game
    from clusterbandits.simulation.crew import Ledger
    from clusterbandits.simulation.plan import Plan
    from clusterbandits.simulation.progress import Progress
    from clusterbandits.simulation.results import Result

    #: Called with a game under way, how far it has come, the runs done of others, and all there are.
    GameListener = Callable[["Game", "Progress", int, int], None]


class Play:
    """Games in a folder that keeps their runs; those it lacks are played only if ``begun`` is as now."""

    def __init__(
        self,
        games: Sequence[Game],
        folder: Path,
        listener: GameListener | None = None,
        executor: Executor | None = None,
        begun: Mapping[str, object] | None = None,
    ) -> None:
        self._games, self._folder, self._listener = games, folder, listener
        self._begun = fingerprint() if begun is None else begun
        self._crew = crew_of(None, executor, "paper")
        self._open: dict[Ledger, Game] = {}
        self.results: dict[Game, Result] = {}
        self.runs = sum(game.runs for game in games)
        #: Runs that had been played before.
        self.stored = 0

    def __iter__(self) -> Iterator[Game]:
        """Play, and tell of every game when it is finished; runs that the folder has are not played again."""
        for ledger in play_all(self._ledgers(), self._crew, self._look):
            game = self._open[ledger]
            self.results[game] = ledger.result("paper")
            self._look()
            del self._open[ledger]
            yield game

    def _ledgers(self) -> Iterator[Ledger]:
        for game in self._games:
            place = self._folder / "runs" / game.folder
            if not (place / MANIFEST).exists():
                check_same(self._begun, "out", "paper", str(self._folder))
            ledger = open_ledger(_plan(game), place)
            self.stored += ledger.tally.progress().runs_done
            self._open[ledger] = game
            yield ledger

    def _look(self) -> None:
        """Tell of the first game that is under way."""
        if self._listener is None or not self._open:
            return
        (ledger, game), *others = self._open.items()
        done = sum(one.runs for one in self.results if one not in self._open.values())
        done += sum(other.tally.progress().runs_done for other, _ in others)
        self._listener(game, ledger.tally.progress(), done, self.runs)


def _plan(game: Game) -> Plan:
    settings = {
        "horizon": game.horizon,
        "runs": game.runs,
        "seed": game.seed,
        "checkpoints": game.checkpoints,
        "paired": game.paired,
        "stepwise": False,
    }
    return plan_of(game.instance, [game.learner()], settings)
