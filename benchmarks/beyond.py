"""How long people wait for the paper's instances at 10¹⁰ rounds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measure import Measurement
from benchmarks.paper import run_paper


def measure() -> list[Measurement]:
    """Measure ``--beyond`` in the folder of a finished paper, whose own policies alone are compiled."""
    with tempfile.TemporaryDirectory() as folder:
        cache, report = Path(folder) / "cache", Path(folder) / "report"
        run_paper(report, cache)
        beyond = run_paper(report, cache, "--beyond")
    return [
        Measurement("paper --beyond, its own policies not yet compiled", beyond.seconds, "s", limit=900),
        Measurement("paper --beyond, most memory", beyond.memory, "MB"),
    ]
