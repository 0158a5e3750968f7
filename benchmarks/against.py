"""``python -m benchmarks.against COMMIT NAME …``: compare this tree with a commit, measured alternately."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from clusterbandits.tables import Table

_ROUNDS = 3
_ROOT = Path(__file__).parents[1]
_MEASURE = """
import importlib, json, sys
found = importlib.import_module(f"benchmarks.{sys.argv[1]}").measure()
print(json.dumps({one.claim: [one.value, one.unit] for one in found}))
"""


def main(commit: str, names: list[str]) -> None:
    """Print the times of the tree and the commit, each the best of several rounds."""
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "tree"
        _git("worktree", "add", "--detach", str(other), commit)
        try:
            for name in names:
                print(_compared(name, commit, other).text(), flush=True)
        finally:
            _git("worktree", "remove", "--force", str(other))


def _compared(name: str, commit: str, other: Path) -> Table:
    best: dict[Path, dict[str, tuple[float, str]]] = {_ROOT: {}, other: {}}
    for _ in range(_ROUNDS):
        for tree, known in best.items():
            for claim, (value, unit) in _measured(tree, name).items():
                known[claim] = min(known.get(claim, (value, unit)), (value, unit))
    rows = []
    for claim, (now, unit) in best[_ROOT].items():
        before, before_unit = best[other].get(claim, (0.0, ""))
        # Shares and ratios of the two trees are not comparable.
        if unit == before_unit and unit in {"s", "ms", "µs", "ns", "MB"} and before > 0:
            rows.append((f"{claim}, {unit}", before, now, now / before))
    title = f"{name}: best of {_ROUNDS} rounds, this tree against {commit}"
    return Table(("claim", "before", "now", "ratio"), tuple(rows), title)


def _measured(tree: Path, name: str) -> dict[str, tuple[float, str]]:
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, name],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, tuple[float, str]] = json.loads(done.stdout.splitlines()[-1])
    return {claim: (value, unit) for claim, (value, unit) in found.items()}


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(_ROOT), *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or ["simulation", "online"])
