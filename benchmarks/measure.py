"""Measurement and storage of claims: best of repeated calls, ratios within one run, one JSON file."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RESULTS = Path(__file__).with_name("results.json")
_PACKAGES = ("numpy", "numba", "scipy", "typer", "river", "mabwiser")


@dataclass(frozen=True)
class Measurement:
    """One measured number, and its limit if there is one."""

    claim: str
    value: float
    unit: str
    #: The upper limit, or the lower limit if ``at_least``; None for no limit.
    limit: float | None = None
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """Whether the limit is met."""
        if self.limit is None:
            return ""
        kept = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "kept" if kept else "BROKEN"


def seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """Return the best time of a call after a warm-up, over at least a second and ``repeats`` calls."""
    call()
    taken: list[float] = []
    while len(taken) < repeats or sum(taken) < 1.0:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def table(name: str, found: Sequence[Measurement]) -> Table:
    """Return the measurements of one benchmark as a table."""
    rows = []
    for one in found:
        sign = "≥" if one.at_least else "≤"
        limit = "" if one.limit is None else f"{sign} {one.limit:g}"
        rows.append((one.claim, one.value, one.unit, limit, one.verdict))
    return Table(("claim", "measured", "unit", "promised", ""), tuple(rows), title=f"\n{name}")


def _installed(name: str) -> str | None:
    """Return the version of a package, or None without it, since only some benchmarks need it."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def keep(found: dict[str, list[Measurement]]) -> None:
    """Store the measurements; keep those of benchmarks that did not run."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version for name in _PACKAGES if (version := _installed(name)) is not None},
    }
    for name, measurements in found.items():
        kept[name] = {"machine": machine, "measurements": [asdict(one) for one in measurements]}
    with tempfile.NamedTemporaryFile("w", dir=RESULTS.parent, delete=False, suffix=".tmp") as file:
        json.dump(kept, file, indent=2)
        file.write("\n")
    Path(file.name).replace(RESULTS)
