"""The public face: every name is there, documented, and costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import clusterbandits


def test_every_public_name_exists_and_is_documented() -> None:
    exported: Any = clusterbandits.__all__
    for name in exported:
        assert getattr(clusterbandits, name).__doc__, name
        assert name in dir(clusterbandits)
    assert set(clusterbandits._HOME_OF) < set(exported)
    assert {kind.__name__ for kind in clusterbandits.POLICIES.values()} < set(exported)


def test_a_star_imports_every_public_name() -> None:
    found: dict[str, object] = {}
    exec("from clusterbandits import *", found)
    exported: Any = clusterbandits.__all__
    assert set(exported) <= set(found)


def test_rooms_are_reached_through_the_package() -> None:
    assert clusterbandits.families.Bernoulli is clusterbandits.Bernoulli


def test_unknown_names_are_refused() -> None:
    name = "nothing"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(clusterbandits, name)


def test_renamed_names_still_work_and_warn() -> None:
    with pytest.warns(DeprecationWarning, match="MachinesError is now called clusterbandits.WorkersError"):
        assert clusterbandits.MachinesError is clusterbandits.WorkersError


def test_importing_the_package_imports_nothing_else() -> None:
    heavy = {"numba", "numpy", "scipy", "matplotlib"}
    program = f"import sys, clusterbandits; print(sorted({heavy} & set(sys.modules)))"
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "[]"
