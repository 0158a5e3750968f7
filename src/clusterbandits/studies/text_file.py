"""Text files of users, read as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.errors import UnreadableFileError
from clusterbandits.limits import MOST_BYTES

if TYPE_CHECKING:
    from pathlib import Path


def read_text(path: Path, what: str) -> str:
    """Return the text of a file; whatever prevents that becomes one sentence.

    Parameters
    ----------
    path
        The file.
    what
        What errors call it, as in "The study".
    """
    name = f"{what} '{path}'"
    try:
        with path.open("rb") as file:
            start = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "no such path").lower()
        raise UnreadableFileError(f"{name} must be readable. Got '{reason}' instead.") from None
    if len(start) > MOST_BYTES:
        raise UnreadableFileError(f"{name} must have at most {MOST_BYTES:,} bytes. Got more instead.")
    try:
        return start.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise UnreadableFileError(f"{name} must be text in UTF-8. Got other bytes instead.") from None
