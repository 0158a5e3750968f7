"""The paper from beginning to end: play, judge, draw, write."""

from __future__ import annotations

import functools
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterbandits.limits import MOST_NUMBERS
from clusterbandits.paper.audit.claim import Entry, audit
from clusterbandits.paper.audit.claims import CLAIMS
from clusterbandits.paper.document import report_page, write_report
from clusterbandits.paper.evidence import Evidence
from clusterbandits.paper.play import Play
from clusterbandits.paper.programme import Programme
from clusterbandits.paper.sections import beyond_section, figure_section
from clusterbandits.paper.settings import PaperSettings, claim_folder
from clusterbandits.simulation.warm import compiled_aside, kinds_of
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from clusterbandits.paper.audit.claim import Claim
    from clusterbandits.paper.games import Game
    from clusterbandits.paper.play import GameListener
    from clusterbandits.report.page import Section


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What was found, and how many of the runs behind it had been played before."""

    evidence: Evidence
    entries: tuple[Entry, ...]
    runs: int
    stored: int


def reproduce(
    settings: PaperSettings,
    folder: Path,
    listener: GameListener | None = None,
    claims: Sequence[Claim] = CLAIMS,
    executor: Executor | None = None,
) -> Reproduction:
    """Play the paper's figures, put its claims to the test and write the report.

    Parameters
    ----------
    settings
        What to play.
    folder
        Where the report goes; runs that it has from an earlier call are not played again.
    listener
        Told now and then how far it has come.
    claims
        What to put to the test.
    executor
        Who plays, instead of threads of this process.
    """
    programme = Programme(settings)
    _check_size(programme)
    begun = claim_folder(folder, settings)
    play = Play(programme.games(), folder, listener, executor, begun)
    evidence = Evidence(programme, play.results)
    learners = [] if executor is not None else [game.learner() for game in programme.games()]
    with compiled_aside(kinds_of(learners, settings.horizon)), _Artist(evidence) as artist:
        for _ in play:
            artist.draw_what_is_ready()
        entries = audit(claims, evidence)
        page = report_page(evidence, entries, artist.sections())
    write_report(page, evidence, entries, folder)
    return Reproduction(evidence, entries, play.runs, play.stored)


def _check_size(programme: Programme) -> None:
    """Refuse more runs than fit into memory, before anything is written."""
    games, runs = programme.games(), programme.settings.runs
    numbers = sum(game.runs * len(game.checkpoints) * len(game.instance.arms) for game in games)
    if numbers > MOST_NUMBERS:
        most = f"at most {int(runs * MOST_NUMBERS / numbers):,} for these figures and this horizon"
        raise invalid("runs", "paper", most, runs)


class _Artist:
    """Draws sections beside the games: as soon as all that one shows has been played."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="artist")
        self._drawn: list[Future[Section]] = []
        self._waiting = list(_jobs(evidence.programme))

    def __enter__(self) -> _Artist:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def draw_what_is_ready(self) -> None:
        """Begin with every section, in order, that waits for no game."""
        while self._waiting and self._waiting[0][0] <= self._evidence.results.keys():
            _, draw = self._waiting.pop(0)
            self._drawn.append(self._pool.submit(draw, self._evidence))

    def sections(self) -> tuple[Section, ...]:
        """Return all sections when they are drawn."""
        self.draw_what_is_ready()
        return tuple(future.result() for future in self._drawn)


def _jobs(programme: Programme) -> list[tuple[set[Game], Callable[[Evidence], Section]]]:
    """Return what each section shows and how it is drawn."""
    jobs: list[tuple[set[Game], Callable[[Evidence], Section]]] = [
        (
            {game for widths in figure.widths for game in programme.figure(figure, widths).values()},
            functools.partial(figure_section, figure=figure),
        )
        for figure in programme.figures
    ]
    if programme.settings.beyond:
        jobs.append((set(programme.games()), beyond_section))
    return jobs
