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

    from clusterbandits.simulation.campaign import Listener, Progress
    from clusterbandits.studies.log_survey import ReplayListener, ReplayProgress

#: Seconds without a first round, after which a policy must be new to this machine.
_PATIENCE = 1.5
_COMPILING = "compiling, once, for about a minute:"
_READY = "getting ready (a minute, where nothing is compiled yet):"


@contextlib.contextmanager
def _shown(*columns: ProgressColumn, first: str, **fields: Any) -> Iterator[Callable[..., None] | None]:
    """Provide a function that moves a bar on stderr, or None where stderr is no terminal."""
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
    """Provide a listener that shows how far a simulation has come."""
    speed = TextColumn("{task.fields[speed]} rounds/s")
    with _shown(*_runs(), speed, first="simulating", speed="…") as move:

        def listen(progress: Progress) -> None:
            pace = f"{progress.rounds_done / max(progress.seconds, 1e-9):.2g}"
            if move is not None:
                move(**_position(progress, "simulating"), speed=pace)

        yield None if move is None else listen


@contextlib.contextmanager
def campaign_bar() -> Iterator[Listener | None]:
    """Provide a listener that shows how far many simulations have come, and which one is under way."""
    with _shown(*_runs(), first=_READY) as move:

        def listen(progress: Progress) -> None:
            if move is not None:
                move(**_position(progress, f"{progress.doing}:" if progress.doing else "writing the report:"))

        yield None if move is None else listen


def _position(progress: Progress, doing: str) -> dict[str, Any]:
    return {
        "description": _COMPILING if progress.idle > _PATIENCE else doing,
        "total": progress.runs,
        "completed": progress.runs_done + progress.under_way,
    }


@contextlib.contextmanager
def replay_bar() -> Iterator[ReplayListener | None]:
    """Provide a listener that shows how many rows of a log have been read."""
    rows = TextColumn("{task.completed:,.0f} rows")
    with _shown(rows, BarColumn(), first="reading") as move:

        def listen(progress: ReplayProgress) -> None:
            if move is not None:
                move(description=progress.doing, total=progress.rows, completed=progress.rows_done)

        yield None if move is None else listen
