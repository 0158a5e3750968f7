"""Compile policies in a process of their own, beside what this one compiles: a second core's worth of time.

``python -m clusterbandits.simulation.warm tlp-mean imed`` compiles the policies it names.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING

from clusterbandits.compiled import cache_folder
from clusterbandits.instance import Instance
from clusterbandits.simulation.trial import simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextlib.contextmanager
def compiled_aside(policies: Sequence[str]) -> Iterator[None]:
    """Have policies compiled while the block runs, where this machine has compiled nothing yet."""
    if not policies or not is_cold():
        yield
        return
    process = _start(policies)
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def _start(policies: Sequence[str]) -> subprocess.Popen[bytes] | None:
    """Start the other process; where that cannot be, all is compiled here, only later."""
    command = [sys.executable, "-P", "-m", "clusterbandits.simulation.warm", *policies]
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    except OSError:
        return None


def is_cold() -> bool:
    """Tell whether there is a folder for compiled kernels, and the loop that plays them is not in it."""
    folder = cache_folder()
    return folder is not None and not any(folder.rglob("loop.advance-*.nbc"))


def compile_policies(policies: Sequence[str]) -> None:
    """Play a few rounds with every policy."""
    instance = Instance([[0.3, 0.4], [0.5, 0.6]])
    for name in policies:
        simulate(instance, name, horizon=20, runs=1, workers=1)


if __name__ == "__main__":
    compile_policies(sys.argv[1:])
