"""The examples of the service's pages run unchanged: curl, Python, JavaScript, commands of operators."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterbandits.cli.main import run
from tests.service.postgres import Cluster, programs
from tests.service.running import Served, serving

GUIDES = Path(__file__).parents[2] / "docs" / "how-to"
#: The examples of the second page continue those of the first.
PROGRAMMERS = "".join((GUIDES / name).read_text() for name in ("service.md", "experiments.md"))
OPERATORS = (GUIDES / "operate-service.md").read_text()
#: How each language runs a file, and what its examples need.
PROGRAMS = {"bash": ["bash"], "python": [sys.executable], "javascript": ["node"]}
SUFFIX = {"bash": ".sh", "python": ".py", "javascript": ".mjs"}
#: Errors end a script of curl commands.
CURL = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n'
EXPECTED = {
    "bash": ['"status":"counted"', '"status":"repeated"', '"change":"resumed"'],
    "python": ["repeated", "resumed", "404 There is no experiment 'no-such-experiment'.", "Round "],
    "javascript": ["repeated", "[ 'counted', 'counted', 'counted' ]"],
}


def blocks(language: str, text: str = PROGRAMMERS) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def run_file(language: str, served: Served, folder: Path) -> str:
    """Run all examples of a language as one program, and return what it prints."""
    text = "\n".join(blocks(language)).replace("http://127.0.0.1:8000", served.url)
    file = folder / f"examples{SUFFIX[language]}"
    file.write_text((CURL if language == "bash" else "") + text)
    done = subprocess.run(
        [*PROGRAMS[language], str(file)],
        cwd=folder,
        env={**os.environ, "KEY": served.key},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_example_runs(served: Served, tmp_path: Path) -> None:
    for language in PROGRAMS:
        assert len(blocks(language)) >= 4
        if language == "javascript" and shutil.which("node") is None:
            assert not os.environ.get("CLUSTERBANDITS_BROWSER_REQUIRED"), "node must be installed"
            continue
        printed = run_file(language, served, tmp_path)
        for part in EXPECTED[language]:
            assert part in printed, (language, part, printed)
    state = served.get("/v1/experiments/ads")
    assert state["pulls"] == (8 if shutil.which("node") else 5)
    header, *rows = (tmp_path / "ads.csv").read_text().splitlines()
    assert "propensity" in header
    assert rows
    assert (tmp_path / "ads.parquet").stat().st_size > 0


def commands(*starts: str) -> list[str]:
    lines = "".join(blocks("console", OPERATORS)).splitlines()
    return [line for line in lines if line.startswith(starts)]


def run_command(line: str, folder: Path) -> str:
    """Run a command of the operators' page in a shell, with this package's program."""
    here = f"{Path(sys.executable).parent}:{programs() or ''}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": here},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_commands_of_operators_run_on_sqlite(tmp_path: Path) -> None:
    with serving("--data", "clusterbandits-data", folder=tmp_path) as served:
        run_file("python", served, tmp_path)
        wanted = commands("clusterbandits keys", "sqlite3", "python3")
        assert len(wanted) == 5
        made = run_command(wanted[0], tmp_path).strip()
        listed = run_command(wanted[1], tmp_path)
        identity = made.split("_")[1]
        assert identity in listed
        run_command(wanted[2].replace("ID", identity), tmp_path)
        if shutil.which("sqlite3"):
            run_command(wanted[3], tmp_path)
        run_command(wanted[4], tmp_path)
        before = served.get("/v1/experiments/ads")
        served.stop()
    (tmp_path / "ads.csv").unlink(missing_ok=True)
    operations = [f"clusterbandits serve {name}" for name in ("check", "rebuild", "export", "upgrade")]
    wanted = [line for line in commands("rm -f", "cp backup.db", *operations) if "postgresql" not in line]
    assert len(wanted) == 8
    for line in wanted:
        run_command(line, tmp_path)
    assert (tmp_path / "ads.csv").stat().st_size > 0
    with serving("--data", "clusterbandits-data", folder=tmp_path) as restored:
        restored.use_key(served.key)
        assert restored.get("/v1/experiments/ads") == before


def test_commands_of_operators_run_on_postgresql(
    postgresql: Cluster, new_database: Callable[[str], str], tmp_path: Path
) -> None:
    del postgresql
    address = new_database("postgresql")
    with serving("--database", address, folder=tmp_path) as served:
        run_file("python", served, tmp_path)
        before = served.get("/v1/experiments/ads")
        dump, restore, check = (
            line.replace("postgresql://user@host/name", address)
            for line in commands("pg_", "clusterbandits serve check --database postgresql://user@host/name")
        )
        run_command(dump, tmp_path)
        served.post("/v1/experiments/ads/decisions")
        assert served.get("/v1/experiments/ads") != before
        served.stop()
    run_command(restore, tmp_path)
    run_command(check, tmp_path)
    with serving("--database", address, folder=tmp_path) as restored:
        restored.use_key(served.key)
        assert restored.get("/v1/experiments/ads") == before


def test_a_folder_without_a_database_is_refused_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = ("check", "rebuild", "upgrade", f"export ads --out {tmp_path / 'ads.csv'}")
    lines = [f"serve {name}" for name in wanted] + ["keys list", "keys revoke 0123456789ab"]
    missing = tmp_path / "mistyped"
    for line in lines:
        for place in (["--data", str(missing)], ["--database", f"sqlite:///{missing}.db"]):
            with pytest.raises(SystemExit) as ended:
                run([*line.split(), *place])
            assert ended.value.code == 2, line
            assert "mistyped" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
