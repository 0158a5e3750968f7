"""Progress on stderr: a bar on a terminal, occasional lines if stderr is a file or a pipe."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn

from clusterbandits.cli.common import show
from clusterbandits.wording import duration, escaped, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rich.progress import ProgressColumn

    from clusterbandits.simulation.campaign import Listener, Progress
    from clusterbandits.studies.log_survey import ReplayListener, ReplayProgress

    #: Converts the arguments of a listener to the fields of a bar: its description, ``completed`` and
    #: ``total``. Only lines show ``detail``.
    Shown = Callable[..., dict[str, Any]]

#: Seconds without a first round after which a policy is assumed to be compiling.
_PATIENCE = 1.5
_COMPILING = "compiling (up to a minute):"
_READY = "preparing (up to a minute if nothing is compiled yet):"
_REPORT = "writing the report:"
#: Seconds between two lines: at least, and at most while a job makes progress by less than a tenth.
_SHORTEST, _LONGEST = 10.0, 30.0
_LONGEST_NAME = 30
#: From this number of rounds on, only the first digits are shown.
_MANY = 10**7


@contextlib.contextmanager
def _bar(
    shown: Shown, *columns: ProgressColumn, first: str, things: str, **fields: Any
) -> Iterator[Callable[..., None]]:
    """Yield a listener that updates a bar on stderr, or writes lines if stderr is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        lines = Lines(things)
        yield lambda *progress: lines.report(**shown(*progress))
        return
    words = TextColumn("{task.description}", markup=False)
    with Bar(words, *columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(first, total=None, **fields)

        def listen(*progress: Any) -> None:
            changes = shown(*progress)
            bar.update(task, **changes | {"description": escaped(changes["description"])})

        yield listen


class Lines:
    """Lines of progress: every half minute, and at every tenth of a job, at least 10 seconds apart.

    Parameters
    ----------
    things
        What is counted, such as runs.
    """

    def __init__(self, things: str) -> None:
        self._things = things
        self._last = time.monotonic()
        self._tenths = 0
        #: When the first progress was made, and how much had been done before: compiling comes first.
        self._start: tuple[float, float] | None = None

    def report(
        self, description: str, completed: float, total: float | None, detail: str = "", **_: object
    ) -> None:
        """Write a line if one is due."""
        now = time.monotonic()
        share = completed / total if total else 0.0
        if self._start is None or not total or share <= self._start[1]:
            self._start = now, share
        waited, tenths = now - self._last, int(10 * share + 1e-9)
        if waited < _LONGEST and not (tenths > self._tenths and waited >= _SHORTEST):
            return
        self._last, self._tenths = now, tenths
        name = shortened(description.removesuffix(":"), _LONGEST_NAME)
        if not total:
            show(f"{name}: {completed:,.0f} {self._things}", err=True)
            return
        since, before = self._start
        left = (now - since) * (1.0 - share) / (share - before) if share > before else None
        ending = "" if left is None or share >= 1.0 else f", about {duration(left)} left"
        count = f"{int(completed):,} of {total:,.0f} {self._things}"
        show(f"{name}: {count}{detail}{ending}", err=True)


def _runs() -> tuple[ProgressColumn, ...]:
    return MofNCompleteColumn(), TextColumn("runs"), BarColumn()


def _position(progress: Progress, doing: str) -> dict[str, Any]:
    count = ",.0f" if progress.rounds < _MANY else ".2g"
    done, rounds = format(progress.rounds_done, count), format(progress.rounds, count)
    return {
        "description": _COMPILING if progress.idle > _PATIENCE else doing,
        "total": progress.runs,
        "completed": progress.runs_done + progress.under_way,
        "detail": f", {done} of {rounds} rounds" if progress.rounds else "",
    }


def progress_bar() -> AbstractContextManager[Listener]:
    """Return a context with a listener that shows the progress of a simulation."""

    def shown(progress: Progress) -> dict[str, Any]:
        speed = f"{progress.rounds_done / max(progress.seconds, 1e-9):.2g}"
        return _position(progress, "simulating") | {"speed": speed}

    speed = TextColumn("{task.fields[speed]} rounds/s")
    return _bar(shown, *_runs(), speed, first="simulating", things="runs", speed="…")


def campaign_bar() -> AbstractContextManager[Listener]:
    """Return a context with a listener that shows the progress of many simulations."""

    def shown(progress: Progress) -> dict[str, Any]:
        return _position(progress, f"{progress.doing}:" if progress.doing else _REPORT)

    return _bar(shown, *_runs(), first=_READY, things="runs")


def replay_bar() -> AbstractContextManager[ReplayListener]:
    """Return a context with a listener that shows how many rows of a log are done."""

    def shown(progress: ReplayProgress) -> dict[str, Any]:
        return {"description": progress.doing, "total": progress.rows, "completed": progress.rows_done}

    rows = TextColumn("{task.completed:,.0f} rows")
    return _bar(shown, rows, BarColumn(), first="reading", things="rows")


def count_bar(doing: str, things: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """Return a context with a listener that shows how many items are done."""

    def shown(done: int, total: int) -> dict[str, Any]:
        return {"description": doing, "total": total, "completed": done}

    return _bar(shown, MofNCompleteColumn(), TextColumn(things), BarColumn(), first=doing, things=things)
