"""The start-up time of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.measure import Measurement, seconds

_PROBLEM = "0.41,0.42,0.43; 0.43,0.44,0.45"


def _run(*arguments: str, **environment: str) -> None:
    subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, env=os.environ | environment
    )


def measure() -> list[Measurement]:
    """Measure help, a bound with and without cached code, and the import of typer alone."""
    command = ("-m", "clusterbandits")
    with tempfile.TemporaryDirectory() as empty:
        found = [
            Measurement("clusterbandits --help", seconds(lambda: _run(*command, "--help")), "s", limit=0.4),
            Measurement("bound --help", seconds(lambda: _run(*command, "bound", "--help")), "s", limit=0.4),
            Measurement("import typer alone", seconds(lambda: _run("-c", "import typer")), "s"),
            Measurement("bound, warm compile cache", seconds(lambda: _run(*command, "bound", _PROBLEM)), "s"),
        ]
        folders = iter(range(100))

        def cold() -> None:
            _run(*command, "bound", _PROBLEM, NUMBA_CACHE_DIR=f"{empty}/{next(folders)}")

        found.append(Measurement("bound, empty compile cache", seconds(cold, repeats=3), "s"))
    return found
