"""Without optional packages: what needs none works, and the rest names its extra."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from clusterbandits.extras import EXTRAS

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


def without(extras: set[str], program: str) -> subprocess.CompletedProcess[str]:
    blocked = {package for extra in extras for package in EXTRAS[extra]}
    code = BLOCK.format(blocked=blocked) + program
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def command_without(extras: set[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return without(extras, f"from clusterbandits.cli.main import run; run({list(arguments)!r})")


def test_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    distributions = packages_distributions()
    for extra, packages in EXTRAS.items():
        names = {re.split(r"[<>=\[; ]", line)[0].replace("-", "_").lower() for line in declared[extra]}
        ours = {distributions.get(package, [package])[0].replace("-", "_").lower() for package in packages}
        assert ours <= names, extra
        assert names - ours <= {"uvloop"}, extra
    (everything,) = declared["all"]
    assert set(re.split(r"[\[\],]", everything)[1:-1]) == set(EXTRAS)


def test_the_core_works_without_any_extra() -> None:
    done = without(
        set(EXTRAS),
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
    done = without(set(EXTRAS), program)
    assert f"pip install 'clusterbandits[{extra}]'" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "missing", "extra"),
    [
        (["advise", "table.csv"], {"tables"}, "tables"),
        (["replay", "log.csv"], {"tables"}, "tables"),
        (["serve", "check"], {"serve"}, "serve"),
        (["run", "start.toml"], {"plot"}, "plot"),
        (["paper"], {"plot"}, "plot"),
        (["simulate", "0.4,0.5;0.6", "--plot", "regret.png"], {"plot"}, "plot"),
        (["simulate", "0.4,0.5;0.6", "--store", "folder"], {"tables"}, "tables"),
        (["advise", "table.csv", "--picture", "arms.png"], {"plot"}, "plot"),
    ],
)
def test_commands_name_the_extra_before_they_start(
    arguments: list[str], missing: set[str], extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command_without(missing, *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Error: ")
    assert f"pip install 'clusterbandits[{extra}]'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_service_and_the_bounds_need_no_tables_or_plots(tmp_path: Path) -> None:
    lean = {"dask", "plot", "tables", "testing"}
    folder = str(tmp_path)
    key = ("keys", "add", "website", "--role", "read", "--data", folder)
    for arguments in (key, ("serve", "upgrade", "--data", folder), ("serve", "check", "--data", folder)):
        done = command_without(lean, *arguments)
        assert done.returncode == 0, done.stderr
    done = without(lean, "import clusterbandits.service.app, clusterbandits.service.demo")
    assert done.returncode == 0, done.stderr
    bound = command_without(set(EXTRAS), "bound", "0.41,0.42; 0.43,0.44")
    assert bound.returncode == 0, bound.stderr
    assert command_without(set(EXTRAS), "policies").returncode == 0
