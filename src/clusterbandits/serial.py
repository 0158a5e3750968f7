"""JSON that any reader accepts: infinities become the text "inf", arrays become lists."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

#: Control characters that JSON allows as they are, and whatever else is neither ASCII nor a letter.
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
    """Return letters that cannot be seen in JSON's own escapes; line breaks stand between values alone."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
        for letter in found.group()
    )


def number_text(value: float) -> str:
    """Return a number as short as it can be written without loss.

    Examples
    --------
    >>> number_text(5.0), number_text(1e6), number_text(1234567.0), number_text(0.1)
    ('5', '1e+06', '1234567', '0.1')
    """
    short, whole = f"{value:g}", f"{value:.0f}"
    return short if float(short) == value else whole if float(whole) == value else repr(float(value))


def restore_number(value: object) -> object:
    """Return a number as it was before ``to_json``; anything else unchanged."""
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
