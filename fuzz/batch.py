"""One batch of attempts in a separate process, which reports each attempt by a line of JSON.

A fuzzer is a module of this package with a function ``attempt(rng, folder)`` that tests one random case in an
empty folder and returns counts of what it tested. Any exception is a finding. ``SHORT`` is the number of
attempts in ``make test``.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
import traceback
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

#: All fuzzers, each with whether it also runs in checked mode.
FUZZERS: Mapping[str, bool] = {
    "tapes": True,
    "operations": True,
    "documents": False,
    "threads": False,
    "commands": False,
    "stores": False,
    "processes": False,
    "service": False,
    "service_postgresql": False,
}


def module_of(name: str) -> Any:
    """Return the module of a fuzzer."""
    return importlib.import_module(f"fuzz.{name}")


def attempt(name: str, seed: int, case: int) -> Counter[str]:
    """Make one attempt, which the seed, the name of the fuzzer and the number of the case determine."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), case])
    with tempfile.TemporaryDirectory(prefix="clusterbandits-fuzz-") as folder:
        tried: Counter[str] = module_of(name).attempt(rng, Path(folder))
    return tried


def run_batch(name: str, seed: int, first: int, seconds: float) -> None:
    """Make attempts from number ``first`` on until the time is up; stop at a finding."""
    end, case = time.monotonic() + seconds, first
    while time.monotonic() < end:
        _report(begin=case)
        try:
            tried = attempt(name, seed, case)
        except Exception:
            _report(found=case, error=traceback.format_exc())
            return
        _report(end=case, tried=dict(tried))
        case += 1


def _report(**data: object) -> None:
    sys.__stdout__.write(json.dumps(data) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


if __name__ == "__main__":
    # Only reports go to the standard output.
    sys.stdout = sys.stderr
    run_batch(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
