"""Formats of numbers and lists on the page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def times(ratio: float) -> str:
    """Return a ratio of at least 1 with three digits, whole from 100 on.

    Examples
    --------
    >>> times(1.0), times(2.345), times(23.45), times(2345.6), times(math.inf)
    ('1.00', '2.35', '23.4', '2,346', '∞')
    """
    if math.isinf(ratio):
        return "∞"
    return f"{ratio:,.{max(0, 2 - math.floor(math.log10(ratio)))}f}"


def short_times(ratio: float) -> str:
    """Return a ratio of at least 1 in at most four characters.

    Examples
    --------
    >>> short_times(1.0), short_times(2.345), short_times(23.45), short_times(2345.6), short_times(math.inf)
    ('1.0', '2.3', '23', '2.3k', '∞')
    """
    if math.isinf(ratio):
        return "∞"
    if ratio < 9.95:
        return f"{ratio:.1f}"
    return f"{ratio:.0f}" if ratio < 999.5 else f"{ratio / 1000:.2g}k" if ratio < 99_500 else ">99k"


def seconds_text(seconds: float) -> str:
    """Return seconds with two digits, whole from 10 on.

    Examples
    --------
    >>> seconds_text(0.0057), seconds_text(4.3), seconds_text(110.0)
    ('0.0057', '4.3', '110')
    """
    return f"{seconds:.2g}" if seconds < 9.95 else f"{seconds:.0f}"


def listed(parts: Sequence[str]) -> str:
    """Return parts as an enumeration in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
