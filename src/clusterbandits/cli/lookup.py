"""``clusterbandits bound`` and ``clusterbandits policies``: what is known without a simulation."""

from dataclasses import replace
from typing import Annotated

import typer

from clusterbandits.cli.common import (
    Family,
    High,
    Json,
    Low,
    Problem,
    Widths,
    reward_family,
    show,
)
from clusterbandits.cli.table_options import Reading, history_options


@history_options
def bound(
    problem: Problem,
    widths: Widths = None,
    family: Family = None,
    low: Low = None,
    high: High = None,
    arms: Annotated[
        bool, typer.Option("--arms", help="Also show evidence and expected pulls per arm.")
    ] = False,
    horizon: Annotated[
        float | None, typer.Option(help="Also show expected pulls per arm in this number of rounds.")
    ] = None,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Show lower bounds on the regret in a problem, with and without knowledge of its clusters."""
    from clusterbandits.bounds import regret_bound
    from clusterbandits.bounds.view import evidence_table, pull_table
    from clusterbandits.serial import to_json
    from clusterbandits.studies.problem import is_table, read_problem

    source = reading.history(problem) if is_table(problem) else problem
    stated = read_problem(source, widths, reward_family(family, low, high))
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


def policies(
    json: Json = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table of docs/reference/policies.md.")
    ] = False,
) -> None:
    """List all policies with their requirements and regret guarantees."""
    from clusterbandits.policies.policy import AUTO, DEFAULT
    from clusterbandits.policies.registry import catalogue, catalogue_table
    from clusterbandits.serial import to_json

    if json:
        show(to_json(catalogue(), indent=2))
    elif markdown:
        show(policies_markdown())
    else:
        table = catalogue_table()
        auto = f"{AUTO}: another name of {DEFAULT}, the policy to use when you do not know which."
        show(replace(table, notes=(auto, *table.notes)).text())


def policies_markdown() -> str:
    """Return the registry of policies as the table of docs/reference/policies.md."""
    from clusterbandits.policies.registry import catalogue
    from clusterbandits.tables import Markdown, Table, markdown_table

    questions = {"widths": "uses widths?", "horizon": "must know the horizon?", "random": "draws at random?"}
    rows = []
    for row in catalogue():
        names = (Markdown(f"`{row[key]}`") for key in ("policy", "class"))
        answers = ("yes" if row[key] else "no" for key in questions)
        rows.append((*names, *answers, row["guarantee"], row["reference"]))
    return markdown_table(Table(("name", "class", *questions.values(), "regret", "reference"), tuple(rows)))
