"""Where the keys of a TOML file stand, which its reader does not tell."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    #: Keys and places in lists, from the outside in.
    Path = tuple[str | int, ...]

#: Texts and comments as a whole, then what opens, closes and separates, then everything else.
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*'
    r"|[\[\]{},\n]|[^\s\"'#\[\]{},]+",
    re.DOTALL,
)


class _Statement(NamedTuple):
    """A piece of a file that is TOML by itself."""

    line: int
    text: str
    #: The line in which every element of its lists begins, by the element's places.
    elements: dict[tuple[int, ...], int]


def key_lines(text: str) -> dict[Path, int]:
    r"""Return the line in which every key, every table and every element of a list begins, counted from 1.

    Parameters
    ----------
    text
        What ``tomllib`` reads without an error.

    Examples
    --------
    >>> key_lines("runs = 3\n[[policies]]\npolicy = 'kl-ucb'\n")
    {('runs',): 1, ('policies',): 2, ('policies', 0): 2, ('policies', 0, 'policy'): 3}
    >>> key_lines("widths = [\n  { factor = 1 },\n]\n")
    {('widths',): 1, ('widths', 0): 2, ('widths', 0, 'factor'): 2}
    """
    lines: dict[Path, int] = {}
    here: Path = ()
    seen: Counter[Path] = Counter()
    for statement in _statements(text):
        data = tomllib.loads(statement.text)
        if statement.text.startswith("["):
            here = _header(data, seen, repeated=statement.text.startswith("[["))
            for length in range(1, len(here) + 1):
                lines.setdefault(here[:length], statement.line)
            continue
        for path in _paths(data):
            lines.setdefault(here + path, _line(statement, path))
    return lines


def line_of(lines: dict[Path, int], path: Path) -> int:
    """Return the line of a key, or that of the nearest table around it."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def _line(statement: _Statement, path: Path) -> int:
    """Return the line of what has this path in a statement: that of the innermost element it is part of."""
    places = tuple(key for key in path if isinstance(key, int))
    for length in range(len(places), 0, -1):
        if places[:length] in statement.elements:
            return statement.elements[places[:length]]
    return statement.line


def _statements(text: str) -> Iterator[_Statement]:
    """Return the statements of a file one by one: they end with a line on which nothing stays open."""
    line, start, first = 1, 0, 1
    # For every list that is open the place in it, for every inline table None.
    inside: list[int | None] = []
    elements: dict[tuple[int, ...], int] = {}
    for token in _TOKEN.finditer(text + "\n"):
        word = token.group()
        if word == "\n" and not inside:
            piece = text[start : token.start()].strip()
            if piece:
                yield _Statement(first, piece, elements)
            start, first, elements = token.end(), line + 1, {}
        elif word in {"]", "}"}:
            inside.pop()
        elif word == "," and inside and inside[-1] is not None:
            inside[-1] += 1
        elif word != "\n" and word[0] != "#":
            places = tuple(place for place in inside if place is not None)
            if inside and len(places) == len(inside):
                elements.setdefault(places, line)
            if word in {"[", "{"}:
                inside.append(0 if word == "[" else None)
        line += word.count("\n")


def _header(data: dict[str, Any], seen: Counter[Path], *, repeated: bool) -> Path:
    """Return the table a header opens; tables of a list are told apart by their place in it."""
    here: Path = ()
    inside: Any = data
    while isinstance(inside, dict) and inside:
        ((key, inside),) = inside.items()
        here = (*here, key)
        last = not inside or isinstance(inside, list)
        if last and repeated:
            seen[here] += 1
        if seen[here]:
            here = (*here, seen[here] - 1)
    return here


def _paths(data: Any) -> Iterator[Path]:
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield (key,)
        yield from ((key, *path) for path in _paths(value))
