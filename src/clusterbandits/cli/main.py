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
from clusterbandits.cli.replay import replay
from clusterbandits.cli.run import example, run as run_study
from clusterbandits.cli.serve import keys_app, serve_app
from clusterbandits.cli.simulate import simulate
from clusterbandits.cli.warmup import warmup
from clusterbandits.errors import LONGEST_MESSAGE, ClusterBanditsError
from clusterbandits.extras import extras_explained
from clusterbandits.wording import escaped, is_text, shortened, without_middle

# Typer has a copy of Click inside or uses Click itself, depending on its version: both have this base.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
_SHOWN = 60

app = typer.Typer(
    help="Bandits whose options come in groups.",
    invoke_without_command=True,
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
app.command()(warmup)
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
    del version  # shown before a command is looked for
    if context.invoked_subcommand is None:
        with contextlib.redirect_stdout(sys.stderr):
            if text := context.get_help():
                print(text)
        raise typer.Exit(2)


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; what the package refuses becomes one sentence and exit code 2."""
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
            _stop(f"The path '{_quoted(error.filename)}' must be usable. Got '{reason}' instead.")
        if not isinstance(error, OutputError | BrokenPipeError):
            _stop(f"The operating system stopped the command with '{reason}'.")
        _discard_output()
        if error.errno == errno.EPIPE:
            sys.exit(1)
        _stop(f"The output must be writable. Got '{reason}' instead.")
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """Run a command and return its exit code; whatever stops it becomes one sentence."""
    for given in arguments:
        if not is_text(given):
            _stop(f"Arguments must be text in UTF-8. Got '{_quoted(given)}' instead.")
    try:
        with extras_explained():
            ended = app(arguments, standalone_mode=False)
    except ClusterBanditsError as error:
        _stop(str(error))
    except _UsageError as error:
        _stop(_usage(error))
    except (typer.Abort, KeyboardInterrupt):
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    except MemoryError:
        _stop("The command needs more memory than there is. Use fewer arms, runs, policies or checkpoints.")
    except RecursionError:
        _stop("The input is nested too deeply.")
    return ended if isinstance(ended, int) else 0


def _quoted(given: object) -> str:
    return shortened(escaped(str(given)), _SHOWN)


def _usage(error: Any) -> str:
    """Return what is wrong with the arguments, and where help is."""
    sentence = without_middle(escaped(error.format_message()), LONGEST_MESSAGE - 2 * _SHOWN)
    where = "" if error.ctx is None else f" Help: {error.ctx.command_path} --help"
    return f"{sentence}{'' if sentence.endswith(('.', '?')) else '.'}{where}"


def _stop(sentence: str) -> NoReturn:
    print(f"Error: {sentence}", file=sys.stderr)
    sys.exit(2)


def _discard_output() -> None:
    """Give what is left unwritten somewhere to go, so that the interpreter does not fail over it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
