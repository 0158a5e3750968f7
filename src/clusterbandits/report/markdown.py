"""Tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.tables import cell

if TYPE_CHECKING:
    from clusterbandits.tables import Table


def markdown_table(table: Table) -> str:
    r"""Return a table in Markdown, without its title and notes.

    Examples
    --------
    >>> from clusterbandits.tables import Table
    >>> print(markdown_table(Table(("case", "regret"), (("a|b", 12.5),))))
    | case | regret |
    |---|---|
    | a\|b | 12.50 |
    """
    lines = [table.columns, *(tuple(map(cell, row)) for row in table.rows)]
    rows = ["| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines]
    return "\n".join([rows[0], "|" + "---|" * len(table.columns), *rows[1:]])
