"""Quoted text in messages: printable, short enough to read, and with suggestions for mistyped names."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_LIST = 200
_LONGEST_NAME = 40
#: Comparing a name with more names than this takes noticeable time.
_MOST_COMPARED = 500


def escaped(text: str) -> str:
    r"""Return a text with line breaks, control characters and lone surrogates written as Python writes them.

    A name must not be able to move the cursor, change colours or hide parts of a line.

    Examples
    --------
    >>> print(escaped("a\x1b[2Jb\n"))
    a\x1b[2Jb\n
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )


def is_text(value: object) -> TypeGuard[str]:
    r"""Return whether a value is text that can be encoded as UTF-8, without lone surrogates.

    Examples
    --------
    >>> is_text("ü"), is_text("\ud800"), is_text(3)
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def shortened(text: str, most: int) -> str:
    """Return a text of at most ``most`` characters; a longer one is cut and ends with "…".

    Examples
    --------
    >>> shortened("a long sentence", 7)
    'a long…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def without_middle(text: str, most: int) -> str:
    """Return a text of at most ``most`` characters; the middle of a longer one is omitted.

    Examples
    --------
    >>> without_middle("The file 'very/long/name' is missing.", 30)
    "The file 'very/lo… is missing."
    """
    end = most * 2 // 5
    return text if len(text) <= most else text[: most - 1 - end] + "…" + text[len(text) - end :]


def listed(names: Iterable[object], most: int = _LONGEST_LIST) -> str:
    """Return names separated by commas: as many as fit, and the number of the others.

    Examples
    --------
    >>> listed(["red", "blue"]), listed(range(1000), 20)
    ('red, blue', '0, 1, 2, 3, 4, 5, 6, … and 993 more')
    """
    texts = [shortened(escaped(str(name)), _LONGEST_NAME) for name in names]
    used = 0
    for count, text in enumerate(texts):
        used += len(text) + 2
        if used > most + 2 and count:
            return f"{', '.join(texts[:count])}, … and {len(texts) - count} more"
    return ", ".join(texts)


def duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours, whichever suits.

    Examples
    --------
    >>> duration(0.2), duration(89), duration(600), duration(9000)
    ('1 s', '89 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1.0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def did_you_mean(given: object, names: Iterable[object], prefix: str = "") -> str:
    """Return a question that suggests the most similar name, after a prefix; "" if none is similar.

    Examples
    --------
    >>> did_you_mean("KLUCB", ["kl-ucb", "ucb1"]), did_you_mean("greedy", ["kl-ucb", "ucb1"])
    ("Did you mean 'kl-ucb'?", '')
    """
    known = {name.lower(): name for name in names if isinstance(name, str)}
    if not isinstance(given, str) or len(given) > 2 * _LONGEST_NAME or len(known) > _MOST_COMPARED:
        return ""
    said = given.lower()
    similar = difflib.get_close_matches(said, known, n=1)
    similar = similar or [name for name in known if len(said) > 2 and name.startswith(said)]
    if not similar or len(known[similar[0]]) > _LONGEST_NAME:
        return ""
    return f"Did you mean '{prefix}{escaped(known[similar[0]])}'?"
