"""Where the keys of a TOML file stand, which its reader does not tell."""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    #: Keys and places in lists, from the outside in.
    Path = tuple[str | int, ...]


def key_lines(text: str) -> dict[Path, int]:
    r"""Return the line in which every key and every table of a file begins, counted from 1.

    Parameters
    ----------
    text
        What ``tomllib`` reads without an error.

    Examples
    --------
    >>> key_lines("runs = 3\n[[policies]]\npolicy = 'kl-ucb'\n")
    {('runs',): 1, ('policies',): 2, ('policies', 0): 2, ('policies', 0, 'policy'): 3}
    """
    lines: dict[Path, int] = {}
    here: Path = ()
    seen: Counter[Path] = Counter()
    for number, statement in _statements(text):
        data = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            here = _header(data, seen, repeated=statement.lstrip().startswith("[["))
            for length in range(1, len(here) + 1):
                lines.setdefault(here[:length], number)
            continue
        for path in _paths(data):
            lines.setdefault(here + path, number)
    return lines


def line_of(lines: dict[Path, int], path: Path) -> int:
    """Return the line of a key, or that of the nearest table around it."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Return the pieces of a file that are TOML by themselves, each with the number of its first line."""
    piece: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        piece.append(line)
        statement = "\n".join(piece)
        try:
            tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        yield number - len(piece) + 1, statement
        piece = []


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
