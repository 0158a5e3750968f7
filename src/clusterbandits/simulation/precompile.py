"""Compile policies in other processes: on several cores, and without the compiler's memory in this one.

``python -m clusterbandits.simulation.precompile simulations,online tlp-mean imed`` compiles what simulations
and online use need of the policies it names, and prints how many kernels it compiled.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterbandits.bounds import regret_bound
from clusterbandits.clusters import Clusters
from clusterbandits.errors import ClusterBanditsError
from clusterbandits.fingerprint import is_own
from clusterbandits.instance import Instance
from clusterbandits.kernel_cache import announce, cache
from clusterbandits.machine_code import Missing, if_missing, missed
from clusterbandits.policies import policy
from clusterbandits.simulation.loop import new_cursor
from clusterbandits.simulation.replaying import Rows, replay_rows
from clusterbandits.simulation.simulate import simulate
from clusterbandits.simulation.start import take_in_past

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clusterbandits.policies import Policy


class Compiled(NamedTuple):
    """A policy that another process compiled, with all policies that share its kernels."""

    policy: str
    #: The number of kernels that were not on disk before.
    kernels: int
    seconds: float


@contextlib.contextmanager
def precompiled(policies: Iterable[Policy], horizon: int) -> Iterator[None]:
    """Compile policies in other processes, if no compiled code is cached yet.

    The ``with`` block starts when the first kind of policy is compiled; the others are compiled while it
    runs.
    """
    kinds = kinds_to_compile(policies, horizon) if nothing_compiled() else []
    if kinds:
        announce()
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


def _command(parts: str, policies: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-m", "clusterbandits.simulation.precompile", parts, *policies]


def _start(policies: Sequence[str]) -> subprocess.Popen[bytes] | None:
    """Start a process that compiles; without it, policies are compiled here when they are first used."""
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            _command("simulations", policies),
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            env=cache().environment(),
        )
    except OSError:
        return None


def nothing_compiled() -> bool:
    """Tell whether there is a folder for compiled kernels, and none has the loop that simulations need."""
    found = cache()
    return found.own is not None and not any(
        file for folder in found.folders for file in folder.rglob("loop.advance-*.nbc")
    )


def compile_ahead(kinds: Sequence[str], processes: int) -> Iterator[Compiled]:
    """Compile everything that some policies need, each in its own process; yield each when it is done."""
    with ThreadPoolExecutor(processes) as pool:
        futures = [pool.submit(_compile_one, kind) for kind in kinds]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _compile_one(kind: str) -> Compiled:
    start = time.monotonic()
    done = subprocess.run(
        _command(",".join(_PARTS), [kind]),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=cache().environment(),
    )
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise ClusterBanditsError(f"Compiling {kind} failed: {last}")
    return Compiled(kind, int(json.loads(done.stdout)["kernels"]), time.monotonic() - start)


def _compile_simulations(name: str) -> None:
    instance = _instance()
    regret_bound(instance)
    simulate(instance, name, horizon=20, runs=1, workers=1)
    made = policy(name, instance.clusters(0.2)).for_horizon(20)
    take_in_past(made.fresh_state(), np.ones(4, dtype=np.int64), np.ones(4))


def _compile_online(name: str) -> None:
    use_online(policy(name, Clusters([2, 2], widths=0.2)).for_horizon(20))


def _compile_replay(name: str) -> None:
    made = policy(name, _instance().clusters(0.2)).for_horizon(20)
    rows = Rows(np.zeros(4, dtype=np.int64), np.ones(4), np.ones(4, dtype=np.bool_))
    replay_rows(made.fresh_state(), rows, 0, new_cursor(), np.zeros(1), 20)


def _instance() -> Instance:
    return Instance([[0.3, 0.4], [0.5, 0.6]])


def use_online(policy: Policy) -> None:
    """Use a policy in every way that users of ``ask`` and ``tell`` do."""
    arms, family = policy.clusters.arms, policy.family
    low, high = max(family.low, -1.0), min(family.high, 1.0)
    mean = (low + high) / 2 if low < high else family.low + 1.0
    for _ in arms:
        first, *_ = policy.ask(2)
        policy.tell(first, family.total(mean, 1, 0))
    policy.ask()
    policy.ask(available=arms[: len(arms) // 2 + 1])
    policy.alarms()
    policy.explain()
    policy.to_json()


#: What is compiled of a policy, by the parts of the package that need it.
_PARTS: dict[str, Callable[[str], None]] = {
    "simulations": _compile_simulations,
    "online": _compile_online,
    "replay": _compile_replay,
}


def compile_policies(parts: Sequence[str], policies: Sequence[str]) -> None:
    """Use every policy in every way, which compiles it."""
    with if_missing(Missing.COMPILE):
        for name in policies:
            for part in parts:
                _PARTS[part](name)


if __name__ == "__main__":
    compile_policies(sys.argv[1].split(","), sys.argv[2:])
    sys.stdout.write(json.dumps({"kernels": missed()}))
