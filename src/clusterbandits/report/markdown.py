"""Text and tables in Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterbandits.tables import cell, plain

if TYPE_CHECKING:
    from clusterbandits.tables import Table

#: What begins or ends markup inside a line. Underscores inside words and brackets without a target do not.
_INLINE = re.compile(r"[\\`*~|]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])")
#: Some readers know no backslash before these.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "@": "&#64;"}
#: What turns an address into a link where it is not marked up.
_ADDRESS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
#: A heading, an item of a list, or a rule at the beginning of a line.
_BLOCK = re.compile(r"^(\d*)([-+=#.)])(?=[\s\-+=#]|$)")


class Markdown(str):
    """Text that is Markdown already."""

    __slots__ = ()


def markdown_text(text: str) -> str:
    r"""Return Markdown that shows a text as it is: no markup, no HTML, no link.

    Examples
    --------
    >>> print(markdown_text("*a* [x](y) <b> 5 $ c_max"))
    \*a\* [x\](y) &lt;b&gt; 5 &#36; c_max
    """
    inline = _INLINE.sub(r"\\\g<0>", plain(text).strip())
    inert = "".join(_ENTITIES.get(letter, letter) for letter in inline)
    unlinked = _ADDRESS.sub(lambda found: f"&#{ord(found[0])};", inert)
    return _BLOCK.sub(r"\1\\\2", unlinked)


def markdown_table(table: Table) -> str:
    r"""Return a table in Markdown, without its title and notes; cells of ``Markdown`` stay as they are.

    Examples
    --------
    >>> from clusterbandits.tables import Table
    >>> print(markdown_table(Table(("case", "regret"), (("a|b", 12.5),))))
    | case | regret |
    |---|---|
    | a\|b | 12.50 |
    """
    rows = [f"| {' | '.join(map(_cell, row))} |" for row in (table.columns, *table.rows)]
    return "\n".join([rows[0], "|" + "---|" * len(table.columns), *rows[1:]])


def _cell(value: object) -> str:
    return value.replace("|", "\\|") if isinstance(value, Markdown) else markdown_text(cell(value))
