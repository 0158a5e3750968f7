"""How far a replay has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Called after every batch of rows.
    ReplayListener = Callable[["ReplayProgress"], None]


class ReplayProgress(NamedTuple):
    """Rows that have been read; the log is read twice, and how long it is the first reading must tell.

    Examples
    --------
    >>> ReplayProgress("reading", 131072, None).doing
    'reading'
    """

    #: ``"reading"``, then ``"replaying"``.
    doing: str
    rows_done: int
    #: None while it is not known.
    rows: int | None
