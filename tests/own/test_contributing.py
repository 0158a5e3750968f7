"""The worked example of CONTRIBUTING: UCB-V in a temporary copy, by its three steps."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"\*\*(\d)\. One (\w+)\*\*.*?```python\n(.*?)```", re.DOTALL)


def test_ucb_v_takes_a_file_a_line_and_a_test(tmp_path: Path) -> None:
    steps = {what: code for _, what, code in STEP.findall((ROOT / "CONTRIBUTING.md").read_text())}
    assert list(steps) == ["file", "line", "test"]
    package = tmp_path / "src" / "clusterbandits"
    shutil.copytree(ROOT / "src" / "clusterbandits", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "policies" / "ucb_v.py").write_text(steps["file"])
    registry = package / "policies" / "__init__.py"
    text = registry.read_text()
    first = text.index("from clusterbandits.policies.ucb1")
    registry.write_text(text[:first] + steps["line"] + text[first:])
    (tmp_path / "test_ucb_v.py").write_text(steps["test"])
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path / "src"),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    where = str(package / "policies" / "ucb_v.py")
    assert "3 passed" in run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_ucb_v.py", "--doctest-modules", where
    )
    assert "ucb-v" in run("-m", "clusterbandits", "policies")
    assert "| `ucb-v` |" in run("-m", "clusterbandits", "policies", "--markdown")
    drawn = run("-c", "import clusterbandits as cb; from clusterbandits.report.style import looks;"
                "print(cb.UCBV.name, looks(['ucb-v', 'ucb1']))")  # fmt: skip
    assert drawn.startswith("ucb-v")
