"""Progress bars on the terminal; quiet where stderr is no terminal."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from clusterbandits.wording import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rich.progress import ProgressColumn

    from clusterbandits.paper.games import Game
    from clusterbandits.paper.play import GameListener
    from clusterbandits.simulation.progress import Listener, Progress
    from clusterbandits.studies.replay import ReplayProgress
    from clusterbandits.studies.replay.progress import ReplayListener
    from clusterbandits.studies.study.play import StudyListener, StudyProgress

    #: What a listener is called with becomes what a bar shows: its description, ``completed`` and ``total``.
    Shown = Callable[..., dict[str, Any]]

#: Seconds without a single round, after which a policy must be new to this machine.
_PATIENCE = 1.5
_COMPILING = "compiling, once, for about a minute:"
_READY = "getting ready (a minute, where nothing is compiled yet):"
_REPORT = "writing the report:"


@contextlib.contextmanager
def _bar(
    shown: Shown, *columns: ProgressColumn, first: str, **fields: Any
) -> Iterator[Callable[..., None] | None]:
    """Yield a listener that moves a bar on stderr, or None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    words = TextColumn("{task.description}", markup=False)
    with Bar(words, *columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(first, total=None, **fields)

        def listen(*progress: Any) -> None:
            changes = shown(*progress)
            bar.update(task, **changes | {"description": escaped(changes["description"])})

        yield listen


def _runs() -> tuple[ProgressColumn, ...]:
    return MofNCompleteColumn(), TextColumn("runs"), BarColumn()


def _part(progress: Progress, doing: str) -> tuple[float, str]:
    """Return the runs that are done, parts of runs included, and what the simulation does."""
    compiling = not progress.rounds_done and progress.seconds > _PATIENCE
    return progress.rounds_done / max(progress.rounds, 1) * progress.runs, _COMPILING if compiling else doing


def progress_bar() -> AbstractContextManager[Listener | None]:
    """Return a context with a listener that shows the progress of a simulation."""

    def shown(progress: Progress) -> dict[str, Any]:
        done, doing = _part(progress, "simulating")
        speed = f"{progress.rounds_done / max(progress.seconds, 1e-9):.2g}"
        return {"description": doing, "total": progress.runs, "completed": done, "speed": speed}

    return _bar(shown, *_runs(), TextColumn("{task.fields[speed]} rounds/s"), first="simulating", speed="…")


def games_bar() -> AbstractContextManager[GameListener | None]:
    """Return a context with a listener that shows which of the paper's simulations is running."""

    def shown(game: Game, progress: Progress, before: int, total: int) -> dict[str, Any]:
        done, doing = _part(progress, f"instance {game.number}, {game.name}:")
        completed = before + done
        description = _REPORT if completed >= total and doing != _COMPILING else doing
        return {"description": description, "total": total, "completed": completed}

    return _bar(shown, *_runs(), first=_READY)


def study_bar() -> AbstractContextManager[StudyListener | None]:
    """Return a context with a listener that shows the progress of a study."""

    def shown(progress: StudyProgress) -> dict[str, Any]:
        if not progress.runs_done:
            return {"description": _READY}
        doing = f"{progress.case}:" if progress.runs_done < progress.runs else _REPORT
        return {"description": doing, "total": progress.runs, "completed": progress.runs_done}

    return _bar(shown, *_runs(), first=_READY)


def replay_bar() -> AbstractContextManager[ReplayListener | None]:
    """Return a context with a listener that shows how many rows of a log are done."""

    def shown(progress: ReplayProgress) -> dict[str, Any]:
        return {"description": progress.doing, "total": progress.rows, "completed": progress.rows_done}

    return _bar(shown, TextColumn("{task.completed:,.0f} rows"), BarColumn(), first="reading")
