"""``clusterbandits simulate``: simulate policies on a problem, exactly, at any horizon."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterbandits.cli.common import (
    Dask,
    Family,
    High,
    Json,
    Low,
    Problem,
    Seed,
    Start,
    Widths,
    Workers,
    executor_at,
    past,
    reward_family,
    show,
)
from clusterbandits.cli.table_options import HISTORY, Reading, history_options

if TYPE_CHECKING:
    from clusterbandits.bounds import RegretBound

#: The default policy draws in every round; at longer horizons it is simulated only if it is named.
_LONGEST_AUTO = 1e7


@history_options
def simulate(
    problem: Problem,
    widths: Widths = None,
    family: Family = None,
    low: Low = None,
    high: High = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy, such as clus-ucb:a=5,refresh=50; can be repeated. Default: kl-ucb, clus-ucb and, "
            "up to 1e7 rounds, auto."
        ),
    ] = None,
    horizon: Annotated[float, typer.Option(help="Rounds per run.")] = 1e5,
    runs: Annotated[float, typer.Option(metavar="COUNT", help="Independent runs.")] = 48,
    seed: Seed = 0,
    workers: Workers = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="Use the same rewards for all policies of a run.")
    ] = False,
    store: Annotated[
        Path | None,
        typer.Option(help="Folder for finished runs; those in it are reused."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot regret with bands and bounds to a .png, .svg or .pdf file.")
    ] = None,
    start: Start = None,
    dask: Dask = None,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Simulate policies on a problem, and show their regret beside lower bounds."""
    from clusterbandits.bounds import regret_bound
    from clusterbandits.cli.progress_bar import progress_bar
    from clusterbandits.errors import SimulationInterrupted
    from clusterbandits.serial import to_json
    from clusterbandits.simulation import simulate as run
    from clusterbandits.studies.problem import is_table, read_problem
    from clusterbandits.validate import whole

    family = reward_family(family, low, high)
    tabulated = is_table(problem)
    stated = read_problem(reading.history(problem) if tabulated else problem, widths, family, "simulate")
    if plot is not None:
        from clusterbandits.report.picture import check_picture_file

        check_picture_file(plot, "plot", "simulate")
    bound = regret_bound(stated.instance, stated.clusters)
    known = past(reading.start(start, HISTORY if tabulated else ()), "simulate", family)
    interrupted = None
    try:
        with executor_at(dask, workers) as executor, progress_bar() as listener:
            result = run(
                stated.instance,
                policy or _usual(horizon),
                horizon,
                whole("runs", "simulate", runs, least=1),
                seed,
                clusters=stated.clusters,
                workers=workers,
                executor=executor,
                store=store,
                progress=listener,
                paired=paired,
                start=known,
            )
    except SimulationInterrupted as stop:
        if stop.result is None:
            show("Interrupted before every policy had finished a run.", err=True)
            raise typer.Exit(130) from None
        interrupted, result = stop, stop.result
    if json:
        show(to_json(result.to_dict() | {"bound": bound.to_dict()}, indent=2))
    else:
        table = result.table()
        notes = [*table.notes, *stated.notes, _bounds(bound, warm=known is not None)]
        if not policy and horizon > _LONGEST_AUTO:
            notes.append(
                "auto is left out: it draws in every round, which is slow. --policy auto includes it."
            )
        show(replace(table, notes=tuple(notes)).text())
    if plot is not None:
        from clusterbandits.report.regret_panel import save_regret_plot

        # The slopes of bounds are for runs without a history.
        save_regret_plot(result, plot, bound if known is None else None)
    if interrupted is not None:
        show(f"Interrupted: these are the {len(result.runs)} runs that every policy finished.", err=True)
        raise typer.Exit(130)


def _usual(horizon: float) -> list[str]:
    """Return the policies to simulate if none is named."""
    return ["auto", "kl-ucb", "clus-ucb"] if horizon <= _LONGEST_AUTO else ["kl-ucb", "clus-ucb"]


def _bounds(bound: "RegretBound", *, warm: bool) -> str:
    """Return one sentence on the bounds; if a best arm's width is too small, on the classical one only."""
    from clusterbandits.tables import cell

    which = "Bounds per log n, for runs without a history" if warm else "Bounds per log n"
    if bound.misled:
        rate = cell(bound.classical)
        return f"{which}: classical {rate}; no other applies: the width of a best arm's cluster is too small."
    rates = {"lower": bound.lower, "Clus-UCB (Theorem 2)": bound.clus_ucb, "classical": bound.classical}
    return f"{which}: {', '.join(f'{name} {cell(rate)}' for name, rate in rates.items())}."
