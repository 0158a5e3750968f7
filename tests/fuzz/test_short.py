"""A few attempts of every fuzzer; ``make fuzz`` makes many."""

from __future__ import annotations

import pytest

from fuzz.batch import FUZZERS, attempt, module_of

SEED = 2026


@pytest.mark.parametrize("name", FUZZERS)
def test_a_few_attempts_find_nothing(name: str) -> None:
    for case in range(module_of(name).SHORT):
        assert sum(attempt(name, SEED, case).values()) > 0
