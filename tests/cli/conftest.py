"""Settings of all tests of the command line."""

from __future__ import annotations

import math

import pytest

from clusterbandits.cli import progress_bar


@pytest.fixture(autouse=True)
def no_lines_of_progress(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep progress out of what tests read: how much there is depends on the speed of the machine."""
    if "progress" not in request.module.__name__:
        monkeypatch.setattr(progress_bar, "_SHORTEST", math.inf)
        monkeypatch.setattr(progress_bar, "_LONGEST", math.inf)
