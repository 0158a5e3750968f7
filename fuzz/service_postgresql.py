"""Random requests to a service on PostgreSQL; each fuzzing process starts its own server."""

from __future__ import annotations

import atexit
import contextlib
import functools
import time
from collections import Counter
from typing import TYPE_CHECKING

from fuzz.service import fuzz_service
from tests.service.postgres import Cluster, cluster, programs

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.random import Generator

SHORT = 1


def attempt(rng: Generator, folder: Path) -> Counter[str]:
    """Start a service on PostgreSQL, send requests, stop it, and check its log."""
    if programs() is None:
        time.sleep(1)
        return Counter({"PostgreSQL is not installed": 1})
    return fuzz_service(rng, folder, _server().new_database())


@functools.cache
def _server() -> Cluster:
    """Return a server that ends with this process."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(cluster())
