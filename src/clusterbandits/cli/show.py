"""The way to the terminal."""

from __future__ import annotations

import sys

from clusterbandits.wording import escaped


def show(result: object, *, err: bool = False) -> None:
    """Print a result, line by line, with everything else that is not printable written out.

    Names come from files of others, and must not be able to send a terminal commands.
    """
    lines = str(result).split("\n")
    print("\n".join(map(escaped, lines)), file=sys.stderr if err else sys.stdout)
