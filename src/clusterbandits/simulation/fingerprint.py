"""What the bits of a run depend on besides its plan: two machines that agree on it play alike."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import math
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Rooms that look at runs, and do not play them.
_ONLOOKERS = {"cli", "paper", "report", "studies"}
_FUNCTIONS = (math.exp, math.expm1, math.lgamma, math.log, math.log1p, math.sqrt)
_DIGITS = 12


@functools.cache
def fingerprint() -> Mapping[str, str]:
    """Return the versions and hashes that decide how this process plays.

    ``sources`` is a hash of the package's files. ``arithmetic`` is one of logarithms, exponentials and the
    like of this machine, whose last digits depend on its processor and its C library.

    Examples
    --------
    >>> list(fingerprint())
    ['python', 'clusterbandits', 'numpy', 'numba', 'sources', 'arithmetic']
    """
    versions = {name: importlib.metadata.version(name) for name in ("clusterbandits", "numpy", "numba")}
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": python, **versions, "sources": _sources(), "arithmetic": _arithmetic()}


def differing(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Return the names of what two fingerprints do not agree on.

    Examples
    --------
    >>> differing({"numpy": "2.4.6", "numba": "0.68.1"}, {"numpy": "2.4.7", "numba": "0.68.1"})
    ['numpy']
    """
    return [name for name in {**here, **there} if here.get(name) != there.get(name)]


def _sources() -> str:
    package = Path(__file__).parents[1]
    names = {path: path.relative_to(package) for path in package.rglob("*.py")}
    digest = hashlib.sha256()
    for path in sorted(path for path, name in names.items() if name.parts[0] not in _ONLOOKERS):
        digest.update(names[path].as_posix().encode())
        digest.update(path.read_text(encoding="utf-8").encode())
    return digest.hexdigest()[:_DIGITS]


def _arithmetic() -> str:
    points = [math.ldexp(k, -9) for k in range(1, 2**11)]
    values = [function(point) for function in _FUNCTIONS for point in points]
    return hashlib.sha256(struct.pack(f"<{len(values)}d", *values)).hexdigest()[:_DIGITS]
