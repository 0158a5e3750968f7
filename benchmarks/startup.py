"""The time of a first use: the command line, and the first answers on a machine where nothing is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.measure import Measurement, seconds
from clusterbandits.kernel_cache import VARIABLE

ROOT = Path(__file__).parents[1]

_PROBLEM = "0.41,0.42,0.43; 0.43,0.44,0.45"
_ASK = "import clusterbandits as cb; print(cb.policy('auto', cb.Clusters([3, 3])).ask())"
#: Runs the example of the README up to its last result, which must be the one that is shown there.
_README = f"""
import doctest
import re
text = re.search(r"```python\\n(.*?)```", open({str(ROOT / "README.md")!r}).read(), re.DOTALL).group(1)
found = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(text, {{}}, "README", None, 0))
assert found.attempted > 5 and not found.failed
"""


def _run(*arguments: str, **environment: str) -> None:
    subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, env=os.environ | environment
    )


def _end_compilers(folder: str) -> None:
    """End the processes that continue to compile into a folder for a program that has ended."""
    for process in psutil.process_iter(["cmdline", "environ"]):
        compiles = "clusterbandits.policies.compile_orders" in (process.info["cmdline"] or ())
        cache = (process.info["environ"] or {}).get(VARIABLE, "")
        if compiles and Path(cache).is_relative_to(folder):
            process.kill()


def measure() -> list[Measurement]:
    """Measure help, bounds, first answers, and the import of typer alone."""
    command = ("-m", "clusterbandits")
    with tempfile.TemporaryDirectory() as empty:
        found = [
            Measurement("clusterbandits --help", seconds(lambda: _run(*command, "--help")), "s", limit=0.4),
            Measurement("bound --help", seconds(lambda: _run(*command, "bound", "--help")), "s", limit=0.4),
            Measurement("import typer alone", seconds(lambda: _run("-c", "import typer")), "s"),
            Measurement("bound, warm compile cache", seconds(lambda: _run(*command, "bound", _PROBLEM)), "s"),
        ]
        folders = iter(range(100))

        def cold(*arguments: str) -> float:
            """Return the best of three times of a process with an empty compile cache."""
            taken = []
            for _ in range(3):
                start = time.perf_counter()
                _run(*arguments, **{VARIABLE: f"{empty}/{next(folders)}"})
                taken.append(time.perf_counter() - start)
                _end_compilers(empty)
            return min(taken)

        found += [
            Measurement("bound, nothing compiled", cold(*command, "bound", _PROBLEM), "s", limit=2),
            Measurement("first ask of auto, nothing compiled", cold("-c", _ASK), "s", limit=5),
            Measurement("README's example, nothing compiled", cold("-c", _README), "s", limit=20),
        ]
    return found
