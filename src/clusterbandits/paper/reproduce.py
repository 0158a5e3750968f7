"""Reproduce the paper: simulate, test the claims, draw the figures, write the report."""

from __future__ import annotations

import contextlib
import functools
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterbandits.limits import MOST_NUMBERS
from clusterbandits.paper.audit import CLAIMS
from clusterbandits.paper.audit.claim import Entry, audit
from clusterbandits.paper.export import write_report
from clusterbandits.paper.programme import Programme
from clusterbandits.paper.report import beyond_section, figure_section, report_page
from clusterbandits.paper.results import PaperResults, paper_campaign
from clusterbandits.paper.settings import PaperSettings, claim_folder
from clusterbandits.simulation.executors import workers_of
from clusterbandits.simulation.precompile import precompiled
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from clusterbandits.paper.audit.claim import Claim
    from clusterbandits.paper.programme import Experiment
    from clusterbandits.report.page import Section
    from clusterbandits.simulation.campaign import Listener


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Results and verdicts; ``stored`` of the ``runs`` were reused from a previous call."""

    results: PaperResults
    entries: tuple[Entry, ...]
    runs: int
    stored: int


def reproduce(
    settings: PaperSettings,
    folder: Path,
    listener: Listener | None = None,
    claims: Sequence[Claim] = CLAIMS,
    executor: Executor | None = None,
) -> Reproduction:
    """Simulate the paper's figures, test its claims and write the report.

    Parameters
    ----------
    settings
        Figures, runs, horizon and other settings.
    folder
        Folder of the report; finished runs in it are reused.
    listener
        Function that receives a ``Progress`` several times per second.
    claims
        Claims to test; all by default.
    executor
        Executor that runs the simulations; by default, threads of this process.
    """
    programme = Programme(settings)
    experiments = programme.experiments()
    _check_size(experiments, settings.runs)
    begun = claim_folder(folder, settings)
    workers = workers_of(None, executor, "paper")
    campaign = paper_campaign(experiments, folder, begun, workers, listener)
    results = PaperResults(programme, {})
    learners = [one.learner() for one in experiments] if executor is None else []
    finished = contextlib.closing(campaign.finished())
    with precompiled(learners, settings.horizon), _Drawing(results) as drawing, finished as simulations:
        for simulation in simulations:
            results.of[simulation.key] = simulation.result()
            drawing.start_sections()
        entries = audit(claims, results)
        page = report_page(results, entries, drawing.sections())
    write_report(page, results, entries, folder)
    return Reproduction(results, entries, campaign.runs, campaign.reused)


def _check_size(experiments: Sequence[Experiment], runs: int) -> None:
    """Raise an error if the results would not fit into memory."""
    numbers = sum(one.runs * len(one.checkpoints) * len(one.instance.arms) for one in experiments)
    if numbers > MOST_NUMBERS:
        most = f"at most {int(runs * MOST_NUMBERS / numbers):,} for these figures and this horizon"
        raise invalid("runs", "paper", most, runs)


class _Drawing:
    """Draws each section in the background as soon as the experiments that it shows are finished."""

    def __init__(self, results: PaperResults) -> None:
        self._results = results
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="drawing")
        self._drawn: list[Future[Section]] = []
        self._waiting = _section_jobs(results.programme)

    def __enter__(self) -> _Drawing:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start_sections(self) -> None:
        """Start drawing the next sections whose experiments are finished."""
        while self._waiting and self._waiting[0][0] <= self._results.of.keys():
            _, draw = self._waiting.pop(0)
            self._drawn.append(self._pool.submit(draw, self._results))

    def sections(self) -> tuple[Section, ...]:
        """Wait for all sections and return them."""
        self.start_sections()
        return tuple(future.result() for future in self._drawn)


def _section_jobs(programme: Programme) -> list[tuple[set[Experiment], Callable[[PaperResults], Section]]]:
    """Return one pair per section: the experiments that it shows and the function that draws it."""
    jobs: list[tuple[set[Experiment], Callable[[PaperResults], Section]]] = [
        (
            {one for widths in figure.widths for one in programme.figure(figure, widths).values()},
            functools.partial(figure_section, figure=figure),
        )
        for figure in programme.figures
    ]
    if programme.settings.beyond:
        jobs.append((set(programme.experiments()), beyond_section))
    return jobs
