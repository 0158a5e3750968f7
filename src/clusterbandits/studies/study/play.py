"""Play every game of a study that is not there yet, many at a time, and put those of a problem together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clusterbandits.simulation.crew import crew_of, play_all
from clusterbandits.simulation.joined import joined
from clusterbandits.simulation.trial import open_ledger
from clusterbandits.studies.study.games import Game, all_games, count_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from concurrent.futures import Executor
    from pathlib import Path

    from clusterbandits.simulation.crew import Ledger
    from clusterbandits.simulation.results import Result
    from clusterbandits.studies.study.cases import Case
    from clusterbandits.studies.study.study import Study

    #: Called now and then with how far a study has come.
    StudyListener = Callable[["StudyProgress"], None]

#: Games from which on every game is played and stored in one piece.
_MANY_GAMES = 64
_FEW_PIECES = 8


class StudyProgress(NamedTuple):
    """How far a study has come; ``rounds`` of runs under way count as parts of runs."""

    runs_done: float
    runs: int
    #: Runs that had been played before.
    stored: int
    case: str


class Finished(NamedTuple):
    """A problem that every policy has played."""

    case: Case
    games: dict[str, Game]
    result: Result


class StudyPlay:
    """The games of a study, in a folder that keeps their runs."""

    def __init__(
        self, study: Study, folder: Path, workers: int | None = None, executor: Executor | None = None
    ) -> None:
        self._study, self._folder = study, folder
        self._crew = crew_of(workers, executor, "run")
        self._open: dict[Ledger, Game] = {}
        self.runs = count_runs(study)
        self._runs_done = 0
        #: Runs that had been played before.
        self.stored = 0

    def finished(self, listener: StudyListener | None = None) -> Generator[Finished, None, None]:
        """Play, and tell of every problem when all its games are done, in the order in which that happens."""
        parts: dict[str, dict[str, tuple[Game, Result]]] = {}
        wanted = {case.name: self._count(case) for case in self._study.cases}
        look = _nothing if listener is None else lambda: listener(self._progress())
        for ledger in play_all(self._ledgers(), self._crew, look):
            game = self._open.pop(ledger)
            self._runs_done += self._study.runs
            found = parts.setdefault(game.case.name, {})
            found[game.label] = game, ledger.result("run")
            if len(found) == wanted[game.case.name]:
                yield _together(game.case, parts.pop(game.case.name))

    def _count(self, case: Case) -> int:
        return sum(len(case.rules) if one.uses_widths else 1 for one in self._study.entrants)

    def _ledgers(self) -> Iterator[Ledger]:
        pieces = 1 if self.runs >= _MANY_GAMES * self._study.runs else _FEW_PIECES
        for game in all_games(self._study):
            ledger = open_ledger(game.plan, self._folder / "runs" / game.folder, pieces)
            self.stored += ledger.tally.progress().runs_done
            self._open[ledger] = game
            yield ledger

    def _progress(self) -> StudyProgress:
        under_way = [ledger.tally.progress() for ledger in self._open]
        part = sum(one.rounds_done / max(one.rounds, 1) * one.runs for one in under_way)
        case = next((game.case.name for game in self._open.values()), "")
        return StudyProgress(self._runs_done + part, self.runs, self.stored, case)


def _nothing() -> None:
    """Look at nothing."""


def _together(case: Case, found: dict[str, tuple[Game, Result]]) -> Finished:
    """Return a problem with its games in the order of the study, whichever was done first."""
    order = sorted(found, key=lambda label: found[label][0].place)
    games = {label: found[label][0] for label in order}
    return Finished(case, games, joined({label: found[label][1] for label in order}))
