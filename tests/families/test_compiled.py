"""Kernels: usable from compiled code, the same without compilation, cached where they can be."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import clusterbandits
from clusterbandits import kernel_cache
from clusterbandits.families import calculus, law
from clusterbandits.fingerprint import sources, versions
from tests.families import exact

PACKAGE = Path(clusterbandits.__file__).parent

#: Prints every quantity of every family to the last bit; run with and without compilation.
PROGRAM = """
import math
import numpy as np
from tests.families import exact
for family in exact.FAMILIES:
    means = exact.grid(family, 3)
    rng = np.random.default_rng(7)
    for name in ("divergence", "slope"):
        for value in getattr(family, name)(means[:, None], means[None, :]).ravel():
            print(float(value).hex())
    levels = np.array([0.0, 1e-9, 0.1, 40.0, math.inf])
    for name in ("upper", "lower"):
        for value in getattr(family, name)(means[:, None], levels).ravel():
            print(float(value).hex())
    for name in ("rise", "divergence_above"):
        for value in getattr(family, name)(means[:, None], means[None, :], 0.01).ravel():
            print(float(value).hex())
    for pulls in (1, 40, 10**6, 10**12):
        print(float(family.total(0.3, pulls, rng)).hex())
"""


def ran(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=os.environ | environment,
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )


def output_of(program: str, **environment: str) -> str:
    return ran(program, **environment).stdout


def test_compiled_and_plain_agree_to_the_last_bit() -> None:
    plain = output_of(PROGRAM, NUMBA_DISABLE_JIT="1")
    assert plain.count("\n") > 300
    assert plain == output_of(PROGRAM)


def test_kernels_serve_compiled_callers() -> None:
    def both_ends(one: law.Law, mean: float, level: float) -> tuple[float, float]:
        low = law.lower(one, mean, level)
        return low, calculus.divergence_above(one, low, mean, 0.0)

    compiled_caller = numba.njit(both_ends)
    for family in exact.FAMILIES:
        low, back = compiled_caller(family.law, 0.5, 0.01)
        assert low == family.lower(0.5, 0.01)
        assert back == family.divergence(low, 0.5)


def test_one_compilation_serves_all_families() -> None:
    kernels: list[Any] = [law.divergence, law.total]
    for family in exact.FAMILIES:
        law.divergence(family.law, 0.2, 0.3, 0.1)
        law.total(family.law, np.random.default_rng(0), 0.2, 5)
    assert [len(kernel.signatures) for kernel in kernels] == [1, 1]


def test_kernels_live_where_the_cache_key_looks() -> None:
    strays = []
    for file in PACKAGE.rglob("*.py"):
        decorators = [
            decorator
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.FunctionDef)
            for decorator in node.decorator_list
        ]
        part = file.relative_to(PACKAGE).parts[0]
        marked = any(getattr(d, "id", "") == "kernel" for d in decorators)
        if marked and part not in kernel_cache.KERNEL_PACKAGES:
            strays.append(file)
    assert not strays


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("compiled.py", True),
        ("kernel_cache.py", True),
        ("families/poisson.py", True),
        ("families/__init__.py", True),
        ("validate.py", False),
        ("simulation/loop.py", True),
        ("policies/index/state.py", True),
        ("policies/kl_ucb.py", True),
        ("policies/__init__.py", True),
        ("simulation/store.py", False),
    ],
)
def test_an_edit_of_what_kernels_are_made_of_changes_the_key(
    name: str, changes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kernel_cache.source_key()
    texts = sources().texts
    monkeypatch.setattr(sources(), "texts", {**texts, name: texts[name] + "# edited"})
    assert (kernel_cache.source_key() != before) is changes


@pytest.mark.parametrize("library", ["python", "numpy", "numba", "llvmlite"])
def test_another_compiler_has_another_key(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = kernel_cache.source_key()
    other = {**versions(), library: "0"}
    monkeypatch.setattr(kernel_cache, "versions", lambda: other)
    assert kernel_cache.source_key() != before


WARM = """
from clusterbandits.families import Bernoulli, law
from clusterbandits.machine_code import Missing, if_missing
with if_missing(Missing.COMPILE):
    law.divergence(Bernoulli().law, 0.2, 0.3, 0.1)
print(sum(law.divergence.stats.cache_hits.values()), law.divergence.stats.cache_path)
"""


#: The same where the folder can only be read, as for anyone but its owner.
READ_ONLY = "import clusterbandits.kernel_cache as kept\nkept._writable = lambda _: False\n" + WARM
ANOTHER = READ_ONLY + "with if_missing(Missing.COMPILE):\n    print(law.variance(Bernoulli().law, 0.2))"


def test_compiling_is_announced_once_and_kept(tmp_path: Path) -> None:
    elsewhere = {"NUMBA_CACHE_DIR": str(tmp_path / "not used")}
    chosen = {"CLUSTERBANDITS_CACHE": str(tmp_path / "chosen"), **elsewhere}
    first, second = ran(WARM, **chosen), ran(WARM, **chosen)
    assert first.stdout.split()[0] == "0"
    assert first.stderr.count("compiling") == 1
    assert "clusterbandits warmup" in first.stderr
    assert max(map(len, first.stderr.splitlines())) <= 80
    assert second.stdout.split()[0] == "1"
    assert not second.stderr
    folder = tmp_path / "chosen" / f"kernels-{kernel_cache.source_key()}"
    assert second.stdout.split()[1].startswith(str(folder))
    assert not (tmp_path / "not used").exists()
    read_only = ran(READ_ONLY, **chosen)
    assert (read_only.stdout.split()[0], read_only.stderr) == ("1", "")
    before = sorted(folder.rglob("*"))
    more = ran(ANOTHER, **chosen)
    assert float(more.stdout.split()[-1]) == pytest.approx(0.16)
    assert "CLUSTERBANDITS_CACHE" in more.stderr
    assert sorted(folder.rglob("*")) == before


def test_damaged_files_are_compiled_again(tmp_path: Path) -> None:
    chosen = {"CLUSTERBANDITS_CACHE": str(tmp_path)}
    ran(WARM, **chosen)
    for file in tmp_path.rglob("*.nb[ci]"):
        file.write_bytes(file.read_bytes()[:50])
    assert ran(WARM, **chosen).stdout.split()[0] == "0"


def test_a_cache_folder_that_cannot_be_written_is_passed_over(tmp_path: Path) -> None:
    occupied = tmp_path / "a file where the folder should be"
    occupied.write_text("")
    done = ran(WARM, CLUSTERBANDITS_CACHE="", NUMBA_CACHE_DIR=str(occupied))
    place = Path(done.stdout.split(maxsplit=1)[1])
    assert occupied not in place.parents
    assert not place.exists(), "the temporary folder is removed with the process"
    assert "CLUSTERBANDITS_CACHE" in done.stderr


def test_other_libraries_keep_their_cache_folder() -> None:
    program = "import numba, clusterbandits.families; print(repr(numba.config.CACHE_DIR))"
    assert output_of(program, NUMBA_CACHE_DIR="").strip() == "''"
