"""Replay of a log of 10⁷ rows in a separate process: time, and memory that does not grow."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.command import Run, run_command
from benchmarks.measure import Measurement

_SHORT, _LONG, _AT_ONCE = 10**6, 10**7, 10**6
_ARMS = np.array([f"ad {number}" for number in range(12)])
_MEANS = np.linspace(0.02, 0.06, 12)
_GROUPS = np.repeat(np.array(["red", "blue", "green"]), 4)


def write_log(file: Path, rows: int) -> None:
    """Write a log of 12 ads with logging probabilities that depend on the hour."""
    rng = np.random.default_rng(1)
    chances = np.stack([np.linspace(1, 2, 12), np.linspace(2, 1, 12)])
    chances /= chances.sum(axis=1, keepdims=True)
    writer = None
    for first in range(0, rows, _AT_ONCE):
        size = min(_AT_ONCE, rows - first)
        kinds = rng.integers(0, 2, size)
        shown = (rng.random((size, 1)) >= chances.cumsum(axis=1)[kinds]).sum(axis=1).clip(0, 11)
        columns = {
            "time": np.arange(first, first + size),
            "arm": _ARMS[shown],
            "reward": (rng.random(size) < _MEANS[shown] + 0.02 * kinds).astype(np.int64),
            "propensity": chances[kinds, shown],
            "group": _GROUPS[shown],
        }
        part = pa.table(columns)
        writer = writer or pa.csv.CSVWriter(file, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def run_replay(file: Path) -> Run:
    """Replay a log for two policies on the command line."""
    policies = ("--policy", "kl-ucb", "--policy", "clus-ucb", "--widths", "0.02")
    return run_command("replay", str(file), *policies)


def measure() -> list[Measurement]:
    """Measure replays of 10⁶ and 10⁷ rows with propensities and groups."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.csv"
        write_log(file, _SHORT)
        run_replay(file)
        short = run_replay(file)
        write_log(file, _LONG)
        size = file.stat().st_size / 2**20
        long = run_replay(file)
    return [
        Measurement("replay of 10⁷ rows, two policies", long.seconds, "s", limit=60),
        Measurement("replay of 10⁷ rows, rows per second", _LONG / long.seconds, "1/s"),
        Measurement("replay of 10⁷ rows, size of the log", size, "MB"),
        Measurement("replay of 10⁷ rows, peak memory", long.memory, "MB", limit=450),
        Measurement("replay, memory of 10⁷ rows over 10⁶", long.memory / short.memory, "×", limit=1.2),
        Measurement("replay of 10⁶ rows, two policies", short.seconds, "s"),
    ]
