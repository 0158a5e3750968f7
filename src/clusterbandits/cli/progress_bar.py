"""Live bars on the terminal: what is done, what is left. Quiet where there is no terminal."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterbandits.paper.games import Game
    from clusterbandits.paper.play import GameListener
    from clusterbandits.simulation.progress import Listener, Progress
    from clusterbandits.studies.study.play import StudyListener, StudyProgress

#: Seconds without a single round, after which a policy must be new to this machine.
_PATIENCE = 1.5
_COMPILING = "compiling, once, for about a minute:"


@contextlib.contextmanager
def progress_bar() -> Iterator[Listener | None]:
    """Lend a listener that draws a bar on stderr, or None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        MofNCompleteColumn(),
        TextColumn("runs"),
        BarColumn(),
        TextColumn("{task.fields[speed]} rounds/s"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("simulating", total=None, speed="…")

        def listen(progress: Progress) -> None:
            done = progress.rounds_done / max(progress.rounds, 1) * progress.runs
            speed = f"{progress.rounds_done / max(progress.seconds, 1e-9):.2g}"
            compiling = not progress.rounds_done and progress.seconds > _PATIENCE
            doing = _COMPILING if compiling else "simulating"
            bar.update(task, description=doing, total=progress.runs, completed=done, speed=speed)

        yield listen


@contextlib.contextmanager
def games_bar() -> Iterator[GameListener | None]:
    """Lend a listener that shows which of many games is under way, or None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TextColumn("runs"), BarColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("getting ready (a minute, where nothing is compiled yet):", total=None)

        def listen(game: Game, progress: Progress, before: int, total: int) -> None:
            compiling = not progress.rounds_done and progress.seconds > _PATIENCE
            done = before + progress.rounds_done / max(progress.rounds, 1) * progress.runs
            playing = "writing the report:" if done >= total else f"instance {game.number}, {game.name}:"
            bar.update(task, description=_COMPILING if compiling else playing, total=total, completed=done)

        yield listen


@contextlib.contextmanager
def study_bar() -> Iterator[StudyListener | None]:
    """Lend a listener that shows how far a study has come, or None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TextColumn("runs"), BarColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("getting ready (a minute, where nothing is compiled yet):", total=None)

        def listen(progress: StudyProgress) -> None:
            if progress.runs_done:
                doing = f"{progress.case}:" if progress.runs_done < progress.runs else "writing the report:"
                bar.update(task, description=doing, total=progress.runs, completed=progress.runs_done)

        yield listen
