"""Arguments and options that several commands share."""

from typing import Annotated

import typer

Problem = Annotated[
    str,
    typer.Argument(
        metavar="MEANS|FILE",
        help='Means, as "0.41,0.42; 0.43,0.44" (semicolons between clusters), or a TOML file.',
    ),
]
Widths = Annotated[
    str | None,
    typer.Option(help="Width of each cluster, as 0.03,0.04, or one for all. Default: the true spans."),
]
Family = Annotated[
    str | None,
    typer.Option(
        help="bernoulli, gaussian[:sigma=S], poisson, exponential[:shape=R] or negative-binomial[:shape=R]."
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Play on the Dask cluster whose scheduler is at tcp://HOST:PORT."),
]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
