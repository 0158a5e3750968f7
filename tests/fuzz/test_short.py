"""A few attempts of every fuzzer; ``make fuzz`` makes many."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fuzz.batch import FUZZERS, attempt, module_of

SEED = 2026


@pytest.mark.parametrize("name", FUZZERS)
def test_a_few_attempts_find_nothing(name: str) -> None:
    for case in range(module_of(name).SHORT):
        assert sum(attempt(name, SEED, case).values()) > 0


def test_kernels_stay_inside_their_arrays() -> None:
    """The mode is decided when kernels are imported, so in a process of its own."""
    checked = {**os.environ, "CLUSTERBANDITS_CHECKED": "1"}
    subprocess.run([sys.executable, "-m", "tests.fuzz.checked"], env=checked, check=True, timeout=900)
