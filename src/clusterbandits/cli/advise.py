"""``clusterbandits advise``: from a history to a policy, its regret, safe widths, and code to start it."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from clusterbandits.cli.common import High, Json, Low, Seed, Workers, interruptible, reward_family, show
from clusterbandits.cli.table_options import Reading, history_options


@history_options
def advise(
    history: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A table (CSV, Excel, Parquet) with columns arm, group, trials, successes; or arm, group, "
            "reward with one row per event. Rewards that are not 0 or 1 need --high.",
        ),
    ],
    low: Low = None,
    high: High = None,
    horizon: Annotated[float, typer.Option(help="Number of future rounds.")] = 1e5,
    confidence: Annotated[float, typer.Option(help="Confidence that all safe widths hold.")] = 0.95,
    worlds: Annotated[
        float | None,
        typer.Option(
            metavar="COUNT",
            help="Plausible sets of means. Default: 32; fewer, down to 16, for over 64 arms.",
        ),
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Plot arms, intervals and widths to a .png, .svg or .pdf file."),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(help="Write a study with these widths to a new .toml file, for clusterbandits run."),
    ] = None,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Recommend a policy from a table of past trials: its expected regret, safe widths, and code."""
    from clusterbandits.cli.progress_bar import progress_bar
    from clusterbandits.files import check_new_file, whole_file
    from clusterbandits.serial import to_json
    from clusterbandits.studies.advise import advise as ask
    from clusterbandits.validate import invalid, whole

    if picture is not None:
        from clusterbandits.report.picture import check_picture_file

        check_picture_file(picture, "picture", "advise")
    if study is not None:
        if study.suffix != ".toml":
            raise invalid("study", "advise", "a file name that ends in .toml", str(study))
        check_new_file(study, "study", "advise")
    table = reading.history(history)
    with interruptible("nothing was written."), progress_bar() as listener:
        found = ask(
            table,
            family=reward_family(None, low, high),
            horizon=horizon,
            confidence=confidence,
            worlds=None if worlds is None else whole("worlds", "advise", worlds, least=2),
            seed=seed,
            workers=workers,
            progress=listener,
        )
    if picture is not None:
        from clusterbandits.studies.advice_files import save_arms_picture

        save_arms_picture(found, picture)
        show(f"Wrote {picture}.", err=True)
    if study is not None:
        from clusterbandits.studies.advice_files import study_text

        with whole_file(study) as unfinished:
            unfinished.write_text(study_text(found, table, study), encoding="utf-8")
        show(f"Wrote {study}. Next: clusterbandits run {shlex.quote(str(study))}", err=True)
    show(to_json(found.to_dict(table), indent=2) if json else found.text(table))
