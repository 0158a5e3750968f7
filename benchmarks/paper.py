"""The time and memory of the reproduction of the paper: compiled first, cached, and from stored runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.command import run_command
from benchmarks.measure import Measurement


def measure() -> list[Measurement]:
    """Measure the whole reproduction: 48 runs of 10⁶ rounds, all figures."""
    with tempfile.TemporaryDirectory() as folder:
        cache, place = Path(folder) / "cache", Path(folder)
        cold = run_command("paper", "--out", str(place / "cold"), cache=cache)
        warm = run_command("paper", "--out", str(place / "warm"), cache=cache)
        stored = run_command("paper", "--out", str(place / "warm"), cache=cache)
    return [
        Measurement("paper, empty compile cache", cold.seconds, "s", limit=120),
        Measurement("paper, warm compile cache", warm.seconds, "s", limit=45),
        Measurement("paper, all runs stored", stored.seconds, "s"),
        Measurement("paper, peak memory", max(cold.memory, warm.memory), "MB", limit=600),
    ]
