"""The front door: ``clusterbandits COMMAND``. Commands import what they need only when they run."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, NoReturn

import typer

from clusterbandits import __version__
from clusterbandits.cli.advise import advise
from clusterbandits.cli.bound import bound
from clusterbandits.cli.paper import paper
from clusterbandits.cli.policies import policies
from clusterbandits.cli.replay import replay
from clusterbandits.cli.run import example
from clusterbandits.cli.run import run as run_study
from clusterbandits.cli.simulate import simulate
from clusterbandits.errors import ClusterBanditsError

app = typer.Typer(
    help="Bandits whose options come in groups.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Unknown options pass, so that means may begin with a minus; a mistyped option is one argument too many.
app.command(context_settings={"ignore_unknown_options": True})(bound)
app.command(context_settings={"ignore_unknown_options": True})(simulate)
app.command("run")(run_study)
app.command()(example)
app.command()(advise)
app.command()(paper)
app.command()(policies)
app.command()(replay)


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
        try:
            app(arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except ClusterBanditsError as error:
        _stop(str(error))
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except OSError as error:
        _discard_output()
        _stop(f"The output must be writable. Got '{(error.strerror or 'an error').lower()}' instead.")


def _stop(sentence: str) -> NoReturn:
    print(f"Error: {sentence}", file=sys.stderr)
    sys.exit(2)


def _discard_output() -> None:
    """Give what is left unwritten somewhere to go, so that the interpreter does not fail over it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
