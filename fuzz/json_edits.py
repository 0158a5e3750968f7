"""Random edits of JSON: other values in random places, and values that JSON cannot represent."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from clusterbandits.serial import to_json
from fuzz.policies import pick

if TYPE_CHECKING:
    from numpy.random import Generator

#: Values that JSON cannot represent, by their placeholders.
RAW = {"<nan>": "NaN", "<infinity>": "-Infinity", "<beyond>": "1e400", "<long>": "9" * 5000}
NUMBERS = (0, -1, 1, 2, 7, 0.5, -0.0, 1e-300, 1e15, 10**15, 10**15 - 1, 1e100, 1e308, 2**63, 10**400)
TEXTS = ("inf", "-inf", "nan", "", "a", "0", "1", "\ud800", "x" * 1000, "kl-ucb", "poisson", *RAW)
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [0], {"a": 1}, [[]])


def raw_json(document: Any) -> str:
    """Return a document as text, with placeholders replaced by NaN, infinities and huge numbers."""
    text = to_json(document)
    for word, raw in RAW.items():
        text = text.replace(f'"{word}"', raw)
    return text


def damaged_text(rng: Generator, text: str) -> str:
    """Return a text that is truncated, partly duplicated, nested, or has an additional character."""
    first, last = sorted(rng.integers(0, len(text) + 1, 2).tolist())
    ways = (
        text[:first],
        text[first:],
        text[:first] + text[last:],
        text[:last] + text[first:],
        text[:first] + "[" * 100_000 + text[first:],
        text[:first] + pick(rng, ["\0", "\ud800", "}", "]", '"', "1", "-", "e9", "\u2028"]) + text[first:],
        text.replace("[", "[" * 300).replace("]", "]" * 300),
    )
    return str(pick(rng, ways))


def edit(rng: Generator, document: Any) -> None:
    """Change one value at a random depth."""
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = pick(rng, keys)
        inside = isinstance(place[key], dict | list) and place[key]
        if not inside or rng.random() < 0.15:
            break
        place = place[key]
    way = rng.random()
    if way < 0.6:
        place[key] = copy.deepcopy(pick(rng, pick(rng, (NUMBERS, NUMBERS, NUMBERS, TEXTS, OTHERS))))
    elif way < 0.75:
        place[key] = _near(place[key])
    elif way < 0.85:
        other = pick(rng, keys)
        place[key], place[other] = place[other], place[key]
    elif way < 0.92:
        del place[key]
    elif isinstance(place, list):
        place.append(copy.deepcopy(place[key]))
    else:
        place[pick(rng, TEXTS)] = place.pop(key)


def _near(value: Any) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value * 1000
    if isinstance(value, str):
        return str(int(value) // 2) if value.isdigit() else value[::-1]
    return [*value, *value] if isinstance(value, list) else {}
