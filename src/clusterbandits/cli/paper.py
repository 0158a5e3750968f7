"""``clusterbandits paper``: the paper's instances and what bounds them."""

from typing import Annotated

import typer

from clusterbandits.cli.options import Json


def paper(
    figure: Annotated[
        list[int] | None, typer.Option(help="Only this figure, 2 to 8; may be given again. Default: all.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the regret bounds of the paper's figures, and whether their captions name the right branch."""
    from clusterbandits.paper.branches import branch_table, settings
    from clusterbandits.serial import to_json

    found = settings(figure or ())
    if json:
        print(to_json([one.to_dict() for one in found], indent=2))
        return
    print(branch_table(found).text())
