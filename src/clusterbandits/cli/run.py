"""``clusterbandits run`` and ``clusterbandits example``: studies as files."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from clusterbandits.cli.common import Dask, Json, Workers, executor_at, interruptible, show


def run(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="A study; `clusterbandits example` writes one.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the report; finished runs in it are reused. Default: STUDY."),
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Json = False,
) -> None:
    """Simulate the policies of a study on its problems, with its widths, and write a report."""
    from clusterbandits.cli.progress_bar import campaign_bar
    from clusterbandits.serial import to_json
    from clusterbandits.studies.run_study import run_study
    from clusterbandits.studies.study_file import read_study

    chosen = read_study(study)
    folder = Path(chosen.name) if out is None else out
    kept = f"finished runs are kept in '{folder}'; run the command again to continue."
    with interruptible(kept), executor_at(dask, workers) as executor, campaign_bar() as listener:
        report = run_study(chosen, folder, workers=workers, executor=executor, listener=listener)
    show(to_json(report.to_dict(), indent=2) if json else report)


def example(
    name: Annotated[str | None, typer.Argument(help="Name of the example. Default: list all.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write. Default: NAME.toml.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Show every key a study may have.")] = False,
) -> None:
    """Write a commented study to start from."""
    from clusterbandits.studies.study_schema import EXAMPLES, schema_text, write_example
    from clusterbandits.tables import Table

    if schema:
        show(schema_text())
    elif name is None:
        show(Table(("example", "what it shows"), tuple(EXAMPLES.items())).text())
        show("\nclusterbandits example NAME writes it to NAME.toml.")
    else:
        path = write_example(name, out)
        show(f"Wrote {path}. Edit it, then: clusterbandits run {shlex.quote(str(path))}")
