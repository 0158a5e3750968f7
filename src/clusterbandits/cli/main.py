"""``clusterbandits COMMAND``. Commands import what they need only when they run."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import Annotated, Any, NoReturn

import typer

from clusterbandits import __version__
from clusterbandits.cli.advise import advise
from clusterbandits.cli.common import OutputError, writing
from clusterbandits.cli.lookup import bound, policies
from clusterbandits.cli.paper import paper
from clusterbandits.cli.refusals import Command, Group, usage_sentence
from clusterbandits.cli.replay import replay
from clusterbandits.cli.run import example, run as run_study
from clusterbandits.cli.serve import keys_app, serve_app
from clusterbandits.cli.simulate import simulate
from clusterbandits.cli.warmup import warmup
from clusterbandits.errors import ClusterBanditsError
from clusterbandits.extras import extras_explained
from clusterbandits.wording import escaped, is_text, shortened

# Depending on its version, Typer contains a copy of Click or imports Click: both have this base class.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
_SHOWN = 60

app = typer.Typer(
    help="Bandits whose arms come in groups: bounds on regret, exact simulation, advice and decisions.",
    cls=Group,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Means may begin with a minus; a mistyped option is then an unexpected argument.
_MEANS: dict[str, Any] = {"ignore_unknown_options": True}
app.command(cls=Command, context_settings=_MEANS)(bound)
app.command(cls=Command, context_settings=_MEANS)(simulate)
app.command("run", cls=Command)(run_study)
app.command(cls=Command)(example)
app.command(cls=Command)(advise)
app.command(cls=Command)(paper)
app.command(cls=Command)(policies)
app.command(cls=Command)(replay)
app.command(cls=Command)(warmup)
app.add_typer(serve_app, name="serve")
app.add_typer(keys_app, name="keys")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"clusterbandits {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    del version  # shown before the command is read
    if context.invoked_subcommand is None:
        with contextlib.redirect_stdout(sys.stderr):
            if text := context.get_help():
                print(text)
        raise typer.Exit(2)


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; errors become one sentence on stderr and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            code = _run(sys.argv[1:] if arguments is None else arguments)
        finally:
            if sys.stdout is not None:
                with writing():
                    sys.stdout.flush()
    except OSError as error:
        reason = (error.strerror or "an error").lower()
        if error.filename is not None:
            _stop(f"The path '{_quoted(error.filename)}' cannot be used: {reason}.")
        if not isinstance(error, OutputError | BrokenPipeError):
            _stop(f"The operating system stopped the command: {reason}.")
        _discard_output()
        if error.errno == errno.EPIPE:
            sys.exit(1)
        _stop(f"The output cannot be written: {reason}.")
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors become one sentence."""
    for given in arguments:
        if not is_text(given):
            _stop(f"Arguments must be text in UTF-8, but got '{_quoted(given)}'.")
    try:
        with extras_explained():
            ended = app(arguments, standalone_mode=False)
    except ClusterBanditsError as error:
        _stop(str(error))
    except _UsageError as error:
        _stop(usage_sentence(error, arguments))
    except (typer.Abort, KeyboardInterrupt):
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    except MemoryError:
        _stop(
            "The command needs more memory than is available. Use fewer arms, runs, policies or checkpoints."
        )
    except RecursionError:
        _stop("The input is nested too deeply.")
    return ended if isinstance(ended, int) else 0


def _quoted(given: object) -> str:
    return shortened(escaped(str(given)), _SHOWN)


def _stop(sentence: str) -> NoReturn:
    print(f"Error: {sentence}", file=sys.stderr)
    sys.exit(2)


def _discard_output() -> None:
    """Discard unwritten output, so that the interpreter does not fail again when it flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
