"""``clusterbandits paper``: reproduce the paper and test its claims."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterbandits.cli.common import Dask, Json, Seed, executor_at, interruptible, show

if TYPE_CHECKING:
    from clusterbandits.paper.reproduce import Reproduction


def paper(
    figure: Annotated[
        list[int] | None, typer.Option(help="Only this figure, 1 to 8; can be repeated. Default: all.")
    ] = None,
    runs: Annotated[float, typer.Option(metavar="COUNT", help="Independent runs.")] = 48,
    horizon: Annotated[float, typer.Option(help="Rounds per run.")] = 1e6,
    a: Annotated[float, typer.Option(help="Weight of log log n in all thresholds; 5 in the paper.")] = 0.0,
    refresh: Annotated[
        float,
        typer.Option(
            metavar="COUNT", help="Rounds between two computations of the indices; 50 in the paper."
        ),
    ] = 1,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of the report; finished runs in it are reused.")] = Path(
        "report"
    ),
    beyond: Annotated[
        bool,
        typer.Option(
            "--beyond",
            help="Also simulate 10,000 times as many rounds with the policies that can skip ahead.",
        ),
    ] = False,
    dask: Dask = None,
    json: Json = False,
) -> None:
    """Reproduce the paper's figures, test its claims, and write a report as HTML."""
    from clusterbandits.cli.progress_bar import campaign_bar
    from clusterbandits.paper.report import tally
    from clusterbandits.paper.reproduce import reproduce
    from clusterbandits.paper.settings import PaperSettings
    from clusterbandits.serial import to_json
    from clusterbandits.tables import WIDTH
    from clusterbandits.validate import whole

    settings = PaperSettings(
        figures=figure or (),
        runs=whole("runs", "paper", runs, least=2),
        horizon=whole("horizon", "paper", horizon, least=100),
        a=a,
        refresh=whole("refresh", "paper", refresh, least=1),
        seed=seed,
        beyond=beyond,
    )
    kept = f"finished runs are kept in '{out}'; run the command again to continue."
    with interruptible(kept), executor_at(dask) as executor, campaign_bar() as listener:
        found = reproduce(settings, out, listener, executor=executor)
    if json:
        show(to_json(_plain(found), indent=2))
        return
    show(_overview(found))
    show(f"{textwrap.fill(tally(found.entries), WIDTH)}\nThe report: {out / 'index.html'}")


def _overview(found: "Reproduction") -> str:
    from clusterbandits.paper.summary import overview
    from clusterbandits.simulation.statistics import count_text

    settings, figure = found.results.simulated, found.results.figure
    pages = [overview(settings, [figure(one) for one in settings]).text()] if settings else []
    if found.runs:
        kept = f"{found.stored} reused from a previous run"
        pages.append(f"Simulated {count_text(found.runs - found.stored, 'run')}; {kept}.")
    return "\n\n".join(pages)


def _plain(found: "Reproduction") -> dict[str, object]:
    from clusterbandits.paper.summary import BASE, figure_sentence
    from clusterbandits.report.regret_table import regret_records

    paper = found.results
    results = [(one, paper.figure(one)) for one in paper.simulated]
    return {
        "command": paper.settings.command(),
        "runs": {"all": found.runs, "stored": found.stored},
        "figures": [
            one.to_dict() | {"policies": regret_records(result, BASE), "sentence": figure_sentence(result)}
            for one, result in results
        ],
        "audit": [entry.to_dict() for entry in found.entries],
    }
