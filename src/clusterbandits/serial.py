"""JSON that any reader accepts: infinities become the text "inf", arrays become lists."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def to_json(data: object, indent: int | None = None) -> str:
    """Return strict JSON of plain data, NumPy values included.

    Examples
    --------
    >>> to_json({"widths": (0.5, float("inf"))})
    '{"widths": [0.5, "inf"]}'
    """
    return json.dumps(_plain(data), allow_nan=False, ensure_ascii=False, indent=indent)


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
