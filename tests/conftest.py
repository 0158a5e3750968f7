from __future__ import annotations

import hypothesis
import pytest

from tests.compile_once import compile_once

hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, database=None, print_blob=True)
hypothesis.settings.load_profile("fixed")


def pytest_configure(config: pytest.Config) -> None:
    """Compile once for all workers, in the process that starts them."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        compile_once()
