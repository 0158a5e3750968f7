"""``clusterbandits paper``: the paper, reproduced and audited."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterbandits.cli.options import Json

if TYPE_CHECKING:
    from clusterbandits.paper.evidence import Evidence
    from clusterbandits.paper.play import Played


def paper(
    figure: Annotated[
        list[int] | None, typer.Option(help="Only this figure, 1 to 8; may be given again. Default: all.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Independent runs.")] = 48,
    horizon: Annotated[float, typer.Option(help="Rounds of every run.")] = 1e6,
    a: Annotated[float, typer.Option(help="Weight of log log n in every threshold; the paper's is 5.")] = 0.0,
    refresh: Annotated[
        int, typer.Option(help="Rounds between two looks at the indices; the paper's is 50.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Decides all randomness.")] = 0,
    out: Annotated[Path, typer.Option(help="The folder of the report; go on from what it has.")] = Path(
        "report"
    ),
    beyond: Annotated[
        bool, typer.Option("--beyond", help="Also 10,000 times as many rounds, with every policy that can.")
    ] = False,
    json: Json = False,
) -> None:
    """Play the paper's figures, put its claims to the test, and write a report that opens in any browser."""
    from clusterbandits.cli.progress_bar import games_bar
    from clusterbandits.errors import SimulationInterrupted
    from clusterbandits.paper.audit.claim import audit
    from clusterbandits.paper.audit.claims import CLAIMS
    from clusterbandits.paper.document import tally, write_report
    from clusterbandits.paper.evidence import Evidence
    from clusterbandits.paper.play import play_games
    from clusterbandits.paper.programme import Programme
    from clusterbandits.paper.settings import PaperSettings, claim_folder
    from clusterbandits.serial import to_json

    settings = PaperSettings(figure or (), runs, horizon, a, refresh, seed, beyond)  # type: ignore[arg-type]
    claim_folder(out, settings)
    programme = Programme(settings)
    try:
        with games_bar() as bar:
            played = play_games(programme.games(), out, bar.listen)
            bar.say("writing the report")
            evidence = Evidence(programme, played.results)
            entries = audit(CLAIMS, evidence)
            write_report(evidence, entries, out)
    except SimulationInterrupted:
        typer.echo(f"Interrupted: finished runs are kept in '{out}'; call again to go on.", err=True)
        raise typer.Exit(130) from None
    if json:
        print(to_json(_plain(evidence, played) | {"audit": [one.to_dict() for one in entries]}, indent=2))
        return
    print(_overview(evidence, played))
    print(f"{tally(entries)}\nThe report: {out / 'index.html'}")


def _overview(evidence: "Evidence", played: "Played") -> str:
    from clusterbandits.paper.summary import overview
    from clusterbandits.simulation.statistics import count_text

    settings = evidence.played
    pages = [overview(settings, [evidence.figure(one) for one in settings]).text()] if settings else []
    if played.runs:
        fresh = played.runs - played.stored
        kept = f"{count_text(played.stored, 'run')} were stored already" if played.stored else "none was stored"
        pages.append(f"Played {count_text(fresh, 'run')}; {kept}.")
    return "\n\n".join(pages)


def _plain(evidence: "Evidence", played: "Played") -> dict[str, object]:
    from clusterbandits.paper.summary import figure_sentence, regret_records

    figures = [
        one.to_dict()
        | {"policies": regret_records(evidence.figure(one)), "sentence": figure_sentence(evidence.figure(one))}
        for one in evidence.played
    ]
    return {
        "command": evidence.settings.command(),
        "runs": {"all": played.runs, "stored": played.stored},
        "figures": figures,
    }
