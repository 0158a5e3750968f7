"""``python -m benchmarks [NAME …]``: run benchmarks, print the results, and store them in results.json."""

from __future__ import annotations

import importlib
import sys

from benchmarks.measure import RESULTS, keep, table

NAMES = (
    "advice",
    "advice_time",
    "beyond",
    "bounded",
    "bounds",
    "cold",
    "default",
    "families",
    "online",
    "paper",
    "policies",
    "replay",
    "service",
    "simulation",
    "slopes",
    "startup",
    "study",
)


def main(chosen: list[str]) -> int:
    """Run the named benchmarks, by default all; return 1 if a limit is exceeded."""
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        print(
            f"Error: Unknown benchmark {unknown[0]!r}. Available: {', '.join(NAMES)}.",
            file=sys.stderr,
        )
        return 2
    found = {}
    for name in chosen or NAMES:
        found[name] = importlib.import_module(f"benchmarks.{name}").measure()
        print(table(name, found[name]).text(), flush=True)
    keep(found)
    print(f"\nKept in benchmarks/{RESULTS.name}.")
    return any(one.verdict == "BROKEN" for measurements in found.values() for one in measurements)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
