"""Live bars on the terminal: what is done, what is left. Quiet where there is no terminal."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from clusterbandits.wording import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import ProgressColumn

    from clusterbandits.paper.games import Game
    from clusterbandits.paper.play import GameListener
    from clusterbandits.simulation.progress import Listener, Progress
    from clusterbandits.studies.replay import ReplayProgress
    from clusterbandits.studies.replay.progress import ReplayListener
    from clusterbandits.studies.study.play import StudyListener, StudyProgress

#: Seconds without a single round, after which a policy must be new to this machine.
_PATIENCE = 1.5
_COMPILING = "compiling, once, for about a minute:"
_READY = "getting ready (a minute, where nothing is compiled yet):"


@contextlib.contextmanager
def _shown(*columns: ProgressColumn, first: str, **fields: Any) -> Iterator[Callable[..., None] | None]:
    """Lend a function that moves a bar on stderr, or None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    words = TextColumn("{task.description}", markup=False)
    with Bar(words, *columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(first, total=None, **fields)

        def move(**changes: Any) -> None:
            bar.update(task, **changes | {"description": escaped(changes["description"])})

        yield move


def _runs() -> tuple[ProgressColumn, ...]:
    return MofNCompleteColumn(), TextColumn("runs"), BarColumn()


@contextlib.contextmanager
def progress_bar() -> Iterator[Listener | None]:
    """Lend a listener that shows how far a simulation has come."""
    speed = TextColumn("{task.fields[speed]} rounds/s")
    with _shown(*_runs(), speed, first="simulating", speed="…") as move:

        def listen(progress: Progress) -> None:
            done = progress.rounds_done / max(progress.rounds, 1) * progress.runs
            pace = f"{progress.rounds_done / max(progress.seconds, 1e-9):.2g}"
            compiling = not progress.rounds_done and progress.seconds > _PATIENCE
            doing = _COMPILING if compiling else "simulating"
            if move is not None:
                move(description=doing, total=progress.runs, completed=done, speed=pace)

        yield None if move is None else listen


@contextlib.contextmanager
def games_bar() -> Iterator[GameListener | None]:
    """Lend a listener that shows which of many games is under way."""
    with _shown(*_runs(), first=_READY) as move:

        def listen(game: Game, progress: Progress, before: int, total: int) -> None:
            compiling = not progress.rounds_done and progress.seconds > _PATIENCE
            done = before + progress.rounds_done / max(progress.rounds, 1) * progress.runs
            playing = "writing the report:" if done >= total else f"instance {game.number}, {game.name}:"
            if move is not None:
                move(description=_COMPILING if compiling else playing, total=total, completed=done)

        yield None if move is None else listen


@contextlib.contextmanager
def study_bar() -> Iterator[StudyListener | None]:
    """Lend a listener that shows how far a study has come."""
    with _shown(*_runs(), first=_READY) as move:

        def listen(progress: StudyProgress) -> None:
            doing = f"{progress.case}:" if progress.runs_done < progress.runs else "writing the report:"
            if move is not None and progress.runs_done:
                move(description=doing, total=progress.runs, completed=progress.runs_done)

        yield None if move is None else listen


@contextlib.contextmanager
def replay_bar() -> Iterator[ReplayListener | None]:
    """Lend a listener that shows how many rows of a log have passed."""
    rows = TextColumn("{task.completed:,.0f} rows")
    with _shown(rows, BarColumn(), first="reading") as move:

        def listen(progress: ReplayProgress) -> None:
            if move is not None:
                move(description=progress.doing, total=progress.rows, completed=progress.rows_done)

        yield None if move is None else listen
