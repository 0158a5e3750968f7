"""Progress bars on the terminal; quiet where stderr is no terminal."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn

from clusterbandits.wording import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rich.progress import ProgressColumn

    from clusterbandits.simulation.campaign import Listener, Progress
    from clusterbandits.studies.log_survey import ReplayListener, ReplayProgress

    #: What a listener is called with becomes what a bar shows: its description, ``completed`` and ``total``.
    Shown = Callable[..., dict[str, Any]]

#: Seconds without a first round, after which a policy must be new to this machine.
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


def _position(progress: Progress, doing: str) -> dict[str, Any]:
    return {
        "description": _COMPILING if progress.idle > _PATIENCE else doing,
        "total": progress.runs,
        "completed": progress.runs_done + progress.under_way,
    }


def progress_bar() -> AbstractContextManager[Listener | None]:
    """Return a context with a listener that shows the progress of a simulation."""

    def shown(progress: Progress) -> dict[str, Any]:
        speed = f"{progress.rounds_done / max(progress.seconds, 1e-9):.2g}"
        return _position(progress, "simulating") | {"speed": speed}

    return _bar(shown, *_runs(), TextColumn("{task.fields[speed]} rounds/s"), first="simulating", speed="…")


def campaign_bar() -> AbstractContextManager[Listener | None]:
    """Return a context with a listener that shows the progress of many simulations."""

    def shown(progress: Progress) -> dict[str, Any]:
        return _position(progress, f"{progress.doing}:" if progress.doing else _REPORT)

    return _bar(shown, *_runs(), first=_READY)


def replay_bar() -> AbstractContextManager[ReplayListener | None]:
    """Return a context with a listener that shows how many rows of a log are done."""

    def shown(progress: ReplayProgress) -> dict[str, Any]:
        return {"description": progress.doing, "total": progress.rows, "completed": progress.rows_done}

    return _bar(shown, TextColumn("{task.completed:,.0f} rows"), BarColumn(), first="reading")


def count_bar(things: str) -> AbstractContextManager[Callable[[int, int], None] | None]:
    """Return a context with a listener that shows how many things of all are done."""

    def shown(done: int, total: int) -> dict[str, Any]:
        return {"description": things, "total": total, "completed": done}

    return _bar(shown, TextColumn("{task.completed:,.0f}"), BarColumn(), first=things)
