"""Shared by the commands: options, printing, interruption, and executors."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from clusterbandits.wording import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from clusterbandits.studies.history import History
    from clusterbandits.studies.table_file import TableFile

Problem = Annotated[
    str,
    typer.Argument(
        metavar="MEANS|FILE",
        help='Means, as "0.41,0.42; 0.43,0.44" (semicolons between clusters); a TOML file; or a table of '
        "trials (CSV, Excel, Parquet), whose estimates are the means.",
    ),
]
Widths = Annotated[
    str | None,
    typer.Option(
        help="Widths of the clusters: numbers such as 0.03,0.04; one number for all; or 'spans'. "
        "Default: the true spans; for a table, safe widths."
    ),
]
Family = Annotated[
    str | None,
    typer.Option(
        help="bernoulli, bounded[:low=L,high=H], gaussian[:sigma=S], poisson, exponential[:shape=R] or "
        "negative-binomial[:shape=R]."
    ),
]
Low = Annotated[
    float | None,
    typer.Option(help="Smallest possible reward; needs --high. Same as --family bounded:low=L,high=H."),
]
High = Annotated[float | None, typer.Option(help="Largest possible reward, not the largest observed one.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Workers = Annotated[int | None, typer.Option(help="Number of threads. Default: one per core.")]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run on the Dask cluster whose scheduler is at tcp://HOST:PORT."),
]
Start = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A table of past trials that policies start from, as for advise."),
]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


def reward_family(family: str | None, low: float | None, high: float | None) -> str | None:
    """Return the family of the options --family, --low and --high; None if none of them is given."""
    from clusterbandits.errors import InvalidInputError
    from clusterbandits.validate import invalid

    if low is None and high is None:
        return family
    if family is not None:
        raise invalid("family", "the command", "left out if --low or --high is given", family)
    if high is None:
        raise InvalidInputError("--low needs --high, the largest possible reward.")
    return f"bounded:low={0.0 if low is None else low!r},high={high!r}"


class OutputError(OSError):
    """The output cannot be written."""


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Turn errors of the output into ``OutputError``, to distinguish them from all others."""
    try:
        yield
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def show(result: object, *, err: bool = False) -> None:
    """Print a result, line by line, with every unprintable character escaped.

    Names come from files and must not be able to send control sequences to a terminal.
    """
    lines = str(result).split("\n")
    with writing():
        print("\n".join(map(escaped, lines)), file=sys.stderr if err else sys.stdout)


def past(table: TableFile | None, owner: str, family: str | None = None) -> History | None:
    """Return the history in a table of past trials, of bounded rewards if that is the family; else None."""
    if table is None:
        return None
    from clusterbandits.studies.history import read_history

    bounded = family if family is not None and family.startswith("bounded") else None
    return read_history(table, owner, family=bounded)


@contextlib.contextmanager
def interruptible(sentence: str) -> Iterator[None]:
    """Turn Ctrl-C into a sentence and exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        show(f"Interrupted: {sentence}", err=True)
        raise typer.Exit(130) from None


@contextlib.contextmanager
def executor_at(dask: str | None, workers: int | None = None) -> Iterator[Executor | None]:
    """Yield an executor on the Dask cluster at an address, or None without an address.

    ``workers``, the threads of this machine, must then be None.
    """
    if dask is None:
        yield None
        return
    from clusterbandits.simulation.dask_workers import dask_executor
    from clusterbandits.validate import invalid

    if workers is not None:
        raise invalid("workers", "the command", "left out with --dask", workers)

    def tell() -> None:
        show(f"No worker has joined the Dask cluster at {dask} yet: waiting for the first.", err=True)

    with dask_executor(dask, waiting=tell) as executor:
        yield executor
