"""Strict JSON: infinities are written as the text "inf", arrays as lists."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from clusterbandits.validate import Described, invalid
from clusterbandits.wording import is_text

_DEEPEST = 10
#: Runs of characters outside printable ASCII, of which some must be escaped.
_UNSEEN = re.compile(r"[^\n\x20-\x7e]+")


def to_json(data: object, indent: int | None = None) -> str:
    r"""Return strict JSON of plain data, NumPy values included.

    Examples
    --------
    >>> to_json({"widths": (0.5, float("inf"))})
    '{"widths": [0.5, "inf"]}'
    >>> print(to_json("é\x9b"))
    "é\u009b"
    """
    text = json.dumps(_plain(data), allow_nan=False, ensure_ascii=False, indent=indent)
    return text if text.isprintable() else _UNSEEN.sub(_as_ascii, text)


def _as_ascii(found: re.Match[str]) -> str:
    """Return text with invisible characters as JSON escapes; line breaks only occur between values."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
        for letter in found.group()
    )


def read_json(text: object, owner: str) -> Any:
    """Return the data of strict JSON.

    Duplicate keys, NaN and Infinity, numbers outside the range of floats, text that UTF-8 cannot encode, and
    more than ten levels of nesting are refused.
    """
    try:
        data = json.loads(
            text,  # type: ignore[arg-type]
            object_pairs_hook=_distinct,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
        _check_parts(data)
    except (ValueError, TypeError, RecursionError) as error:
        raise invalid("text", owner, "JSON", Described(f"text with an error: {error}")) from None
    return data


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a duplicate key")
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not allowed")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number outside the range of floats")
    return number


def _check_parts(data: object) -> None:
    parts = [data]
    for _ in range(_DEEPEST):
        if not all(map(is_text, (part for part in parts if isinstance(part, str)))):
            raise ValueError("text with a lone surrogate")
        inside = [part for part in parts if isinstance(part, list | dict)]
        parts = [one for part in inside for one in (part if isinstance(part, list) else chain(*part.items()))]
        if not parts:
            return
    raise ValueError(f"nested more than {_DEEPEST} deep")


def number_text(value: float) -> str:
    """Return the shortest text of a number that preserves its value.

    Examples
    --------
    >>> number_text(5.0), number_text(1e6), number_text(1234567.0), number_text(0.1)
    ('5', '1e+06', '1234567', '0.1')
    """
    short, whole = f"{value:g}", f"{value:.0f}"
    return short if float(short) == value else whole if float(whole) == value else repr(float(value))


def restore_number(value: object) -> object:
    """Return the number that ``to_json`` wrote as text; return anything else unchanged."""
    return float(value) if isinstance(value, str) and value in {"inf", "-inf"} else value


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
