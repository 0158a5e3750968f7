"""Compile policies in other processes, two at a time, which keeps the compiler's memory out of this process.

``python -m clusterbandits.simulation.precompile tlp-mean imed`` compiles the policies it names.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING

from clusterbandits.compiled import cache_folder
from clusterbandits.fingerprint import is_own
from clusterbandits.instance import Instance
from clusterbandits.simulation.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clusterbandits.policies import Policy


@contextlib.contextmanager
def precompiled(policies: Iterable[Policy], horizon: int) -> Iterator[None]:
    """Compile policies in other processes, if no compiled code is cached yet.

    The ``with`` block starts when the first kind of policy is compiled; the others are compiled while it
    runs.
    """
    kinds = kinds_to_compile(policies, horizon) if nothing_compiled() else []
    started = [_start(names) for names in (kinds[:1], kinds[1:]) if names]
    processes = [process for process in started if process is not None]
    try:
        for process in processes[:1]:
            process.wait()
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def kinds_to_compile(policies: Iterable[Policy], horizon: int) -> list[str]:
    """Return, in order, the name of one policy of the package per kind that is compiled separately.

    Examples
    --------
    >>> from clusterbandits import Clusters, policy
    >>> clusters = Clusters([2, 1], widths=0.1)
    >>> kinds_to_compile([policy(name, clusters) for name in ("kl-ucb", "clus-ucb", "imed")], 100)
    ['kl-ucb', 'imed']
    """
    kinds: dict[type, str] = {}
    for one in filter(lambda policy: is_own(type(policy)), policies):
        kinds.setdefault(type(one.for_horizon(horizon).fresh_state()), one.name)
    return list(kinds.values())


def _start(policies: Sequence[str]) -> subprocess.Popen[bytes] | None:
    """Start a process that compiles policies, or return None: they are then compiled here at first use."""
    command = [sys.executable, "-P", "-m", "clusterbandits.simulation.precompile", *policies]
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    except OSError:
        return None


def nothing_compiled() -> bool:
    """Return whether the folder for compiled kernels exists but lacks the simulation loop."""
    folder = cache_folder()
    return folder is not None and not any(folder.rglob("loop.advance-*.nbc"))


def compile_policies(policies: Sequence[str]) -> None:
    """Simulate a few rounds with each policy."""
    instance = Instance([[0.3, 0.4], [0.5, 0.6]])
    for name in policies:
        simulate(instance, name, horizon=20, runs=1, workers=1)


if __name__ == "__main__":
    compile_policies(sys.argv[1:])
