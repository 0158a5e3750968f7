"""Small tables: the same rows as text of at most 80 columns, as HTML for notebooks, and as Markdown.

Users choose names freely: ``plain`` makes them safe for a terminal, ``html_text`` and ``markdown_text`` for a
page.
"""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from dataclasses import dataclass, replace
from html import escape

from rich.cells import cell_len, chop_cells, set_cell_size

from clusterbandits.wording import shortened

WIDTH = 80
_SHORTEST = 6
#: The largest number of lines of a wrapped cell.
_MOST_LINES = 12
#: In notebooks: the largest number of rows, the number above which a table is collapsed, and the number of
#: rows that a collapsed table shows.
_HTML_ROWS, _OPEN_ROWS, _FIRST_ROWS = 200, 24, 10
#: In notebooks: the number of characters above which a text is collapsed.
_OPEN_LETTERS = 60
_CAPTION = "caption-side:top;text-align:left;font-weight:bold;color:inherit;padding:0.2em 0.6em"
_NOTE = "max-width:60em;margin:0.4em 0.6em"
#: Notebooks would otherwise typeset dollars in names as formulas.
_NO_FORMULAS = 'class="tex2jax_ignore mathjax_ignore"'
#: Inline markup. Underscores inside words and brackets without a target are not markup.
_INLINE = re.compile(r"[\\`*~|]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])")
#: Some Markdown readers do not allow a backslash before these.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "@": "&#64;"}
#: The parts of a plain address that make readers show it as a link.
_ADDRESS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
#: A heading, an item of a list, or a rule at the beginning of a line.
_BLOCK = re.compile(r"^(\d*)([-+=#.)])(?=[\s\-+=#]|$)")


@dataclass(frozen=True)
class Table:
    """Rows with a title above and notes below."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    #: Whether text that does not fit continues on the next line instead of being cut.
    wrap: bool = False

    def text(self) -> str:
        """Return the table as text; numbers are aligned to the right, words to the left."""
        right = self._numeric()
        grid = [tuple(map(cell, row)) for row in (self.columns, *self.rows)]
        sizes, gap = _fit([max(map(cell_len, column)) for column in zip(*grid, strict=True)], right)
        rule = ("─" * size for size in sizes)
        lines = [
            (gap * " ").join(map(_place, row, sizes, right)).rstrip() for row in self._spread(grid, sizes)
        ]
        head = len(self._spread(grid[:1], sizes))
        lines.insert(head, (gap * " ").join(rule))
        notes = list(map(paragraph, self.notes))
        title = [paragraph(self.title)] if self.title else []
        return "\n".join([*title, *lines, *([""] if notes else []), *notes])

    def _spread(self, grid: list[tuple[str, ...]], sizes: list[int]) -> list[tuple[str, ...]]:
        """Return the lines of all rows; a row with wrapped cells has several."""
        if not self.wrap:
            return grid
        parts = [[_wrapped(text, size) for text, size in zip(row, sizes, strict=True)] for row in grid]
        return [line for row in parts for line in itertools.zip_longest(*row, fillvalue="")]

    def titled(self, title: str) -> Table:
        """Return the table with another title."""
        return replace(self, title=title)

    def html(self) -> str:
        """Return the table as an HTML fragment, in the colours of the page around it.

        Of long tables and long texts, only the beginning is shown until the user clicks them.
        """
        rows, more = self.rows[:_HTML_ROWS], len(self.rows) - _HTML_ROWS
        caption = self.title
        shown = self._html_table(rows, caption)
        if len(rows) > _OPEN_ROWS:
            opened = f"<summary>All {len(self.rows)} rows</summary>{self._html_table(rows)}"
            shown = f"{self._html_table(rows[:_FIRST_ROWS], caption)}<details>{opened}</details>"
        cut = [f"… and {more} more rows"] if more > 0 else []
        notes = "".join(f'<p style="{_NOTE}">{html_text(note)}</p>' for note in [*cut, *self.notes])
        return f"<div {_NO_FORMULAS}>{shown}{notes}</div>"

    def _html_table(self, rows: tuple[tuple[object, ...], ...], title: str = "") -> str:
        sides = ["right" if numeric else "left" for numeric in self._numeric()]
        styles = [f' style="padding:0.2em 0.6em;text-align:{side}"' for side in sides]
        head = "".join(
            f"<th{a}>{_html_cell(name)}</th>" for a, name in zip(styles, self.columns, strict=True)
        )
        body = "".join(
            f"<tr>{''.join(f'<td{a}>{_html_cell(v)}</td>' for a, v in zip(styles, row, strict=True))}</tr>"
            for row in rows
        )
        caption = f'<caption style="{_CAPTION}">{html_text(title)}</caption>' if title else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def records(self) -> list[dict[str, object]]:
        """Return every row as a mapping from its column.

        Examples
        --------
        >>> Table(("arm", "mean"), (("a", 0.5),)).records()
        [{'arm': 'a', 'mean': 0.5}]
        """
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def _numeric(self) -> list[bool]:
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        return [any(isinstance(v, int | float) for v in column) for column in columns]


def _fit(sizes: list[int], numeric: list[bool]) -> tuple[list[int], int]:
    """Return the sizes of columns and the gap between them: first the gap shrinks, then the longest words."""
    gap = 2 if sum(sizes) + 2 * (len(sizes) - 1) <= WIDTH else 1
    words = [i for i, number in enumerate(numeric) if not number]
    while words and sum(sizes) + gap * (len(sizes) - 1) > WIDTH:
        longest = max(words, key=lambda i: sizes[i])
        if sizes[longest] <= _SHORTEST:
            break
        sizes[longest] -= 1
    return sizes, gap


def _wrapped(text: str, size: int) -> list[str]:
    """Return the lines of a cell; too many lines are cut."""
    if cell_len(text) <= size:
        return [text]
    plain_letters = cell_len(text) == len(text)
    lines = textwrap.wrap(text, size) if plain_letters else chop_cells(text, size)
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "…"]


def _place(text: str, size: int, right: bool) -> str:
    short = text if cell_len(text) <= size else set_cell_size(text, size - 1) + "…"
    room = " " * (size - cell_len(short))
    return room + short if right else short + room


def cell(value: object) -> str:
    """Return a value as text for a cell: four significant digits, ∞, and nothing for None.

    Examples
    --------
    >>> cell(50.8), cell(0.02), cell(float("inf")), cell(None)
    ('50.80', '0.02', '∞', '')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        if math.isinf(value):
            return "∞" if value > 0 else "-∞"
        return f"{value:#.4g}".rstrip(".") if abs(value) >= 1 else f"{value:.4g}"
    return plain(str(value))


def plain(text: str) -> str:
    r"""Return text on one line, with spaces instead of characters that control a terminal.

    These are control characters, line ends, and marks that change the direction of writing.

    Examples
    --------
    >>> plain("red\x1b[0m\n\u202egreen")
    'red [0m  green'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


def paragraph(text: str) -> str:
    """Return a sentence for a terminal: plain, in lines of at most 80 columns."""
    return textwrap.fill(plain(text), WIDTH)


def html_text(text: str) -> str:
    """Return text as HTML shows it, for the inside of an element or of a quoted attribute.

    Examples
    --------
    >>> html_text('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return escape(plain(text))


def _html_cell(value: object) -> str:
    """Return a value as a cell of HTML; a long text is collapsed."""
    text = cell(value)
    if len(text) <= _OPEN_LETTERS:
        return html_text(text)
    start = html_text(shortened(text, _OPEN_LETTERS))
    return f"<details><summary>{start}</summary>{html_text(text)}</details>"


def html_paragraph(text: str) -> str:
    """Return a sentence as a paragraph of HTML."""
    return f'<p {_NO_FORMULAS} style="{_NOTE}">{html_text(text)}</p>'


class Markdown(str):
    """Text that is already Markdown."""

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
    >>> print(markdown_table(Table(("case", "regret"), (("a|b", 12.5),))))
    | case | regret |
    |---|---|
    | a\|b | 12.50 |
    """
    rows = [f"| {' | '.join(map(_markdown_cell, row))} |" for row in (table.columns, *table.rows)]
    return "\n".join([rows[0], "|" + "---|" * len(table.columns), *rows[1:]])


def _markdown_cell(value: object) -> str:
    return value.replace("|", "\\|") if isinstance(value, Markdown) else markdown_text(cell(value))
