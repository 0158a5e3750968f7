"""The time of the paper's instances at 10¹⁰ rounds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.command import run_command
from benchmarks.measure import Measurement


def measure() -> list[Measurement]:
    """Measure ``--beyond`` in the folder of a finished paper, with only the paper's policies compiled."""
    with tempfile.TemporaryDirectory() as folder:
        cache, report = Path(folder) / "cache", Path(folder) / "report"
        run_command("paper", "--out", str(report), cache=cache)
        beyond = run_command("paper", "--out", str(report), "--beyond", cache=cache)
    return [
        Measurement("paper --beyond, its own policies not yet compiled", beyond.seconds, "s", limit=900),
        Measurement("paper --beyond, peak memory", beyond.memory, "MB"),
    ]
