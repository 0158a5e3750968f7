"""Without optional packages: what needs none works, and the rest names its extra."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from clusterbandits.extras import EXTRAS
from tests.installed import __main__ as installed

ROOT = Path(__file__).parents[1]
#: Makes every optional package look as if it were not installed, in this process and its children.
BLOCK = """
import importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""


def packages(extras: Iterable[str]) -> set[str]:
    return {package for extra in extras for package in EXTRAS[extra]}


def only_with(extras: set[str], program: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program as if no optional packages but those of these extras were installed."""
    code = BLOCK.format(blocked=packages(EXTRAS) - packages(extras)) + program
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )


def command_only_with(extras: set[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return only_with(extras, f"from clusterbandits.cli.main import run; run({list(arguments)!r})")


def requirements(declared: dict[str, list[str]], extra: str) -> Iterator[str]:
    """Yield the names of the distributions that an extra installs, through other extras too."""
    for line in declared[extra]:
        name, _, included = line.partition("[")
        if name == "clusterbandits":
            for other in included.rstrip("]").split(","):
                yield from requirements(declared, other)
        else:
            yield re.split(r"[<>=\[; ]", line)[0].replace("-", "_").lower()


def test_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    distributions = packages_distributions()
    for extra, imported in EXTRAS.items():
        names = set(requirements(declared, extra))
        ours = {distributions.get(package, [package])[0].replace("-", "_").lower() for package in imported}
        assert ours <= names, extra
        assert names - ours <= {"uvloop"}, extra
    (everything,) = declared["all"]
    assert set(re.split(r"[\[\],]", everything)[1:-1]) == set(EXTRAS)


def test_the_core_works_without_any_extra() -> None:
    done = only_with(
        set(),
        """
import clusterbandits as cb
clusters = cb.Clusters([3, 3], widths=[0.03, 0.04])
instance = cb.Instance([[0.41, 0.42, 0.43], [0.43, 0.44, 0.45]])
assert round(cb.regret_bound(instance, clusters).lower, 1) == 124.9
policy = cb.policy("auto", clusters)
policy.tell(policy.ask(), 1)
assert len(cb.simulate(instance, "kl-ucb", 100, 2, clusters=clusters).regret("kl-ucb")) == 2
from clusterbandits import *
assert "advise" not in globals() and "simulate" in globals()
""",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("call", "extra"),
    [
        ("cb.advise('table.csv')", "tables"),
        ("cb.read_history({})", "tables"),
        ("cb.TruncatedGaussian(0.2, 0.3)", "tables"),
        ("cb.load_result('folder')", "tables"),
        ("cb.save_regret_plot", "plot"),
        ("cb.Client('http://127.0.0.1:8000')", "serve"),
    ],
)
def test_what_needs_an_extra_names_it(call: str, extra: str) -> None:
    program = f"""
import clusterbandits as cb
try:
    {call}
except cb.MissingExtraError as error:
    assert isinstance(error, ImportError) and isinstance(error, cb.ClusterBanditsError)
    print(error)
"""
    done = only_with(set(), program)
    assert f"pip install 'clusterbandits[{extra}]'" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "installed", "extra"),
    [
        (["advise", "table.csv"], {"serve"}, "tables"),
        (["replay", "log.csv"], {"serve"}, "tables"),
        (["serve", "check"], {"tables"}, "serve"),
        (["run", "start.toml"], {"tables"}, "plot"),
        (["paper"], {"tables"}, "plot"),
        (["simulate", "0.4,0.5;0.6", "--plot", "regret.png"], {"tables"}, "plot"),
        (["simulate", "0.4,0.5;0.6", "--store", "folder"], {"plot"}, "tables"),
        (["advise", "table.csv", "--picture", "arms.png"], {"tables"}, "plot"),
    ],
)
def test_commands_name_the_extra_before_they_start(
    arguments: list[str], installed: set[str], extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command_only_with(installed, *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Error: ")
    assert f"pip install 'clusterbandits[{extra}]'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_extra_of_a_command_is_named_for_a_package_that_several_install() -> None:
    program = """
import sys
sys.modules["pyarrow"] = None
from clusterbandits.cli.main import run
run(["serve", "check"])
"""
    done = only_with({"serve"}, program)
    assert "'pyarrow'" in done.stderr
    assert "pip install 'clusterbandits[serve]'" in done.stderr


def test_the_service_and_the_bounds_need_no_tables_or_plots(tmp_path: Path) -> None:
    folder = str(tmp_path)
    key = ("keys", "add", "website", "--role", "read", "--data", folder)
    for arguments in (key, ("serve", "upgrade", "--data", folder), ("serve", "check", "--data", folder)):
        done = command_only_with({"serve"}, *arguments)
        assert done.returncode == 0, done.stderr
    done = only_with({"serve"}, "import clusterbandits.service.app, clusterbandits.service.demo")
    assert done.returncode == 0, done.stderr
    bound = command_only_with(set(), "bound", "0.41,0.42; 0.43,0.44")
    assert bound.returncode == 0, bound.stderr
    assert command_only_with(set(), "policies").returncode == 0


def test_the_service_exports_both_formats_with_its_own_extra(tmp_path: Path) -> None:
    program = """
from pathlib import Path
from fastapi.testclient import TestClient
from clusterbandits.service.app import create_app
from clusterbandits.service.database import Database
from clusterbandits.service.settings import ServiceSettings, database_in
address = database_in(Path("data"))
Database(address).upgrade()
app = create_app(ServiceSettings(address, insecure=True))
with TestClient(app, base_url="http://127.0.0.1:8000") as client:
    client.post("/v1/experiments", json={"name": "ads", "policy": "ucb1", "groups": {"red": ["a", "b"]}})
    (decision,) = client.post("/v1/experiments/ads/decisions", json={}).json()["decisions"]
    client.post(f"/v1/decisions/{decision['id']}/reward", json={"value": 1})
    for name in ("csv", "parquet"):
        found = client.get(f"/v1/experiments/ads/export?format={name}&propensities=computed")
        assert found.status_code == 200, found.text
        Path(f"ads.{name}").write_bytes(found.content)
"""
    done = only_with({"serve"}, program, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "ads.csv").read_text().splitlines()) == 2
    assert (tmp_path / "ads.parquet").read_bytes().startswith(b"PAR1")


def test_excel_installs_all_that_reading_a_workbook_needs(tmp_path: Path) -> None:
    program = """
import clusterbandits as cb
from openpyxl import Workbook
book = Workbook()
for row in (["arm", "group", "trials", "successes"], ["a", "red", 10, 3], ["b", "red", 20, 4]):
    book.active.append(row)
book.save("ads.xlsx")
assert cb.read_history("ads.xlsx").trials.tolist() == [10, 20]
"""
    done = only_with({"excel"}, program, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_missing_python_is_an_error_where_all_are_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(installed.REQUIRED, raising=False)
    assert installed.interpreters() == [sys.executable]
    assert "Not tried" in capsys.readouterr().out
    monkeypatch.setenv(installed.REQUIRED, "1")
    with pytest.raises(SystemExit, match="Python 3"):
        installed.interpreters()
