"""A study of a thousand instances: time and memory, their growth, and the time of a second call."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.command import Run, run_command
from benchmarks.measure import Measurement

STUDY = Path(__file__).with_name("thousand.toml")
_COUNT = "count = 1000"


class _Played(NamedTuple):
    """A study that was run twice."""

    first: Run
    again: Run
    megabytes: float


def _play(count: int, folder: Path) -> _Played:
    file, out = folder / f"{count}.toml", folder / str(count)
    text = STUDY.read_text(encoding="utf-8")
    if _COUNT not in text:
        raise RuntimeError(f"{STUDY.name} must say {_COUNT!r}")
    file.write_text(text.replace(_COUNT, f"count = {count}"), encoding="utf-8")
    first, again = (run_command("run", str(file), "--out", str(out)) for _ in range(2))
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return _Played(first, again, size / 2**20)


def measure() -> list[Measurement]:
    """Measure 100 instances and 1,000: 6 to 200 arms, 4 policies, 10⁵ rounds, 20 runs each."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _play(2, folder)  # compiles
        small, large = _play(100, folder), _play(1000, folder)
    return [
        Measurement("1,000 instances, 80,000 runs of 10⁵ rounds", large.first.seconds, "s", limit=3600),
        Measurement("1,000 instances, peak memory", large.first.memory, "MB", limit=1000),
        Measurement("1,000 instances, all runs stored", large.again.seconds, "s"),
        Measurement("1,000 instances, size of the folder", large.megabytes, "MB"),
        Measurement("time of 1,000 instances over 100", large.first.seconds / small.first.seconds, "times"),
        Measurement("memory of 1,000 instances over 100", large.first.memory / small.first.memory, "times"),
    ]
