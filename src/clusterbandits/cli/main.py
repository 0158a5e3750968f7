"""The front door: ``clusterbandits COMMAND``. Commands import what they need only when they run."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from clusterbandits import __version__
from clusterbandits.cli.bound import bound
from clusterbandits.cli.paper import paper
from clusterbandits.errors import ClusterBanditsError

app = typer.Typer(
    help="Bandits whose options come in groups.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(bound)
app.command()(paper)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"clusterbandits {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None: ...


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; what the package refuses becomes one sentence and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        app(arguments)
    except ClusterBanditsError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
