"""``clusterbandits bound``: what any policy must pay on a problem."""

from typing import Annotated

import typer

from clusterbandits.cli.options import Family, Json, Problem, Widths
from clusterbandits.cli.show import show


def bound(
    problem: Problem,
    widths: Widths = None,
    family: Family = None,
    arms: Annotated[
        bool, typer.Option("--arms", help="Also show the evidence and the pulls of every arm.")
    ] = False,
    horizon: Annotated[
        float | None, typer.Option(help="Also show the expected pulls of every arm in this many rounds.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what any policy must pay on a problem, with and without knowing its clusters."""
    from clusterbandits.bounds import regret_bound
    from clusterbandits.bounds.view import evidence_table, pull_table
    from clusterbandits.serial import to_json
    from clusterbandits.studies.problem import read_problem

    stated = read_problem(problem, widths, family)
    found = regret_bound(stated.instance, stated.clusters)
    if json:
        data = found.to_dict()
        if horizon is not None:
            pulls = {"expected_pulls": found.expected_pulls(horizon), "suffices": found.suffices(horizon)}
            data |= {"horizon": horizon, **pulls}
        show(to_json(data, indent=2))
        return
    pages = [str(found)]
    if arms:
        pages.append(evidence_table(found).text())
    if arms or horizon is not None:
        pages.append(pull_table(found, horizon).text())
    show("\n\n".join(pages))
