"""Paragraphs and tables of Markdown with readable source."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The longest line of a paragraph.
LINE = 118


def wrapped(text: str, first: str = "", rest: str = "") -> str:
    """Return a wrapped paragraph, with one prefix for the first line and another for the rest."""
    wrapper = textwrap.TextWrapper(
        LINE, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return wrapper.fill(text)


def items(texts: Sequence[str]) -> str:
    """Return a Markdown list with one item per text."""
    return "\n".join(wrapped(text, "- ", "  ") for text in texts)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """Return a table; ``sides`` has an ``l`` or ``r`` per column.

    Examples
    --------
    >>> print(table(["policy", "regret"], [["kl-ucb", "12.5"], ["ucb1", "103.4"]], "lr"))
    | policy | regret |
    |:-------|-------:|
    | kl-ucb |   12.5 |
    | ucb1   |  103.4 |
    """
    grid = [heads, *rows]
    sizes = [max(map(len, column)) for column in zip(*grid, strict=True)]
    rules = [
        f":{'-' * (size + 1)}" if side == "l" else f"{'-' * (size + 1)}:"
        for size, side in zip(sizes, sides, strict=True)
    ]
    lines = [
        "| "
        + " | ".join(
            text.ljust(size) if side == "l" else text.rjust(size)
            for text, size, side in zip(row, sizes, sides, strict=True)
        )
        + " |"
        for row in grid
    ]
    return "\n".join([lines[0], f"|{'|'.join(rules)}|", *lines[1:]])
