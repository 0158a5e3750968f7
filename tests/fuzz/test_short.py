"""A few attempts of every fuzzer; ``make fuzz`` makes many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.batch import FUZZERS, attempt, module_of
from tests.processes import PATIENCE

SEED = 2026


@pytest.mark.parametrize("name", FUZZERS)
def test_a_few_attempts_find_nothing(name: str) -> None:
    for case in range(module_of(name).SHORT):
        assert sum(attempt(name, SEED, case).values()) > 0


def ran(code: str, **settings: str) -> str:
    """Run code in a process of its own: how kernels are compiled is decided when they are imported."""
    called = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **settings}
    done = subprocess.run(
        called, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kernels_stay_inside_their_arrays() -> None:
    """As plain Python, where NumPy checks every index; ``make fuzz`` does the same with compiled kernels."""
    attempts = f"""
from fuzz.batch import attempt
for case in range({module_of("tapes").SHORT}):
    attempt("tapes", {SEED}, case)
print("done")
"""
    assert ran(attempts, NUMBA_DISABLE_JIT="1") == "done\n"


def test_checked_kernels_notice_an_index_beyond_the_end() -> None:
    beyond = """
import numpy as np
from clusterbandits.compiled import kernel

@kernel
def read(numbers, place):
    return numbers[place]

try:
    read(np.zeros(3), 3)
except IndexError as error:
    print(error)
"""
    assert "out of bounds" in ran(beyond, CLUSTERBANDITS_CHECKED="1")
