"""Everything that decides bits is in the fingerprint, and nothing that only looks at results."""

from __future__ import annotations

import ast
import math
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import clusterbandits
from clusterbandits import fingerprint as module
from clusterbandits.fingerprint import PLAYED_BY, Sources, fingerprint, sources

PACKAGE = Path(clusterbandits.__file__).parent


def key(found: Sources) -> str:
    return found.hash([PLAYED_BY])


def copied(folder: Path, newline: str = "\n") -> Path:
    for name, text in sources().texts.items():
        path = folder / "clusterbandits" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline=newline)
    return folder / "clusterbandits"


def exists(module: str) -> bool:
    path = PACKAGE.parent / module.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def imports(tree: ast.AST) -> set[str]:
    """All modules that a module of the package imports where it runs, found by Python's own parser."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            module = node.module or ""
            parts = {f"{module}.{name.name}" for name in node.names}
            # A package of which only modules are imported contributes nothing of its own.
            found |= parts if all(map(exists, parts)) else {module, *parts}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    paths = [
        name.removeprefix("clusterbandits").lstrip(".").replace(".", "/")
        for name in found
        if name.startswith("clusterbandits")
    ]
    candidates = [
        PACKAGE / one for path in paths for one in (f"{path}.py", f"{path}/__init__.py".lstrip("/"))
    ]
    return {path.relative_to(PACKAGE).as_posix() for path in candidates if path.is_file()}


def test_all_that_a_run_imports_is_in_it() -> None:
    found = sources().imported_by([PLAYED_BY])
    for name in found:
        missed = imports(ast.parse(sources().texts[name])) - found - {"fingerprint.py"}
        assert not missed, name
    assert {"simulation/loop.py", "policies/thompson.py", "families/law.py", "clusters.py"} <= found
    assert {"simulation/plan.py", "instance.py", "policies/policy.py", "compiled.py"} <= found
    assert found.isdisjoint({"simulation/results.py", "simulation/store.py", "bounds/regret.py"})


@pytest.mark.parametrize(
    "name", ["simulation/runs.py", "policies/index/race.py", "instance.py", "clusters.py"]
)
def test_an_edit_of_what_plays_changes_it(tmp_path: Path, name: str) -> None:
    package = copied(tmp_path)
    before = key(Sources(package))
    assert before == fingerprint()["sources"]
    with (package / name).open("a") as file:
        file.write("# edited\n")
    assert key(Sources(package)) != before


def test_a_module_that_is_renamed_changes_it(tmp_path: Path) -> None:
    package = copied(tmp_path)
    loop = package / "simulation" / "loop.py"
    loop.rename(loop.with_name("loop2.py"))
    assert key(Sources(package)) != fingerprint()["sources"]


def test_results_and_reports_are_not_in_it(tmp_path: Path) -> None:
    package = copied(tmp_path)
    for name in ("simulation/results.py", "simulation/store.py", "generators.py"):
        with (package / name).open("a") as file:
            file.write("# edited\n")
    assert key(Sources(package)) == fingerprint()["sources"]


def test_other_line_ends_are_the_same_sources(tmp_path: Path) -> None:
    assert b"\r\n" in (copied(tmp_path, newline="\r\n") / PLAYED_BY).read_bytes()
    assert key(Sources(tmp_path / "clusterbandits")) == fingerprint()["sources"]


def test_a_link_to_a_package_is_the_same_package(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(PACKAGE, target_is_directory=True)
    assert key(Sources(tmp_path / "linked")) == fingerprint()["sources"]
    mirror = tmp_path / "mirror"
    for name in sources().texts:
        (mirror / name).parent.mkdir(parents=True, exist_ok=True)
        (mirror / name).symlink_to(PACKAGE / name)
    assert key(Sources(mirror)) == fingerprint()["sources"]


def test_a_package_in_a_zip_file_is_the_same_package(tmp_path: Path) -> None:
    file = tmp_path / "clusterbandits.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path in PACKAGE.rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, f"clusterbandits/{path.relative_to(PACKAGE).as_posix()}")
    code = (
        f"import sys; sys.path.insert(0, {str(file)!r}); import clusterbandits.fingerprint as module; "
        "from clusterbandits.families import Bernoulli, law; "
        "law.divergence(Bernoulli().law, 0.2, 0.3, 0.1); "
        "print(module.__file__, module.fingerprint()['sources'])"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=300, cwd=tmp_path
    )
    assert said.stdout.split() == [f"{file}/clusterbandits/fingerprint.py", fingerprint()["sources"]]


def test_sources_are_those_that_were_read_first(tmp_path: Path) -> None:
    found = Sources(copied(tmp_path))
    (tmp_path / "clusterbandits" / PLAYED_BY).write_text("# edited later\n")
    assert key(found) == fingerprint()["sources"]


def test_another_last_digit_is_another_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    before = module._arithmetic()
    assert module._arithmetic() == before == fingerprint()["arithmetic"]
    exact = math.log1p
    monkeypatch.setattr(math, "log1p", lambda x: exact(x) + (x == 1.0) * 2.0**-53)
    assert module._arithmetic() != before


def test_it_costs_milliseconds() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        found = Sources(PACKAGE)
        found.hash([PLAYED_BY])
        module.versions()
        module._arithmetic()
        return time.perf_counter() - start

    assert min(seconds() for _ in range(5)) < 0.05
