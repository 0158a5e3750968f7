"""Compile all kernels before the tests start, on all cores: else every worker would compile them for itself.

``python -m tests.compile_once`` does it ahead of time, ``python -m tests.compile_once ucb1`` for one policy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import clusterbandits as cb
from clusterbandits.kernel_cache import cache
from clusterbandits.machine_code import Missing, if_missing

#: One policy of every kind that is compiled by itself, those first that take longest.
KINDS = ("kl-ucb", "clus-ts", "kindred", "tlp-mean", "imed", "ossb", "ucb1", "thompson")


def compile_once() -> None:
    """Compile everything, unless this was done since kernels were last edited."""
    folder = cache().own
    if folder is not None and not (done := folder / "compiled-for-tests").exists():
        sys.stderr.write("compiling all kernels\n")
        with ThreadPoolExecutor(os.cpu_count()) as processes:
            ended = list(processes.map(compile_in_a_process, KINDS))
        if not any(ended):
            done.touch()


def compile_in_a_process(kind: str) -> int:
    """Return the exit code of a process that compiles what tests use of a policy."""
    return subprocess.run([sys.executable, "-m", "tests.compile_once", kind], check=False).returncode


def use(name: str) -> None:
    """Use a policy as tests do: simulated, online, explained and replayed."""
    instance = cb.Instance([[0.3, 0.4], [0.5, 0.6]])
    cb.regret_bound(instance)
    cb.simulate(instance, name, horizon=20, runs=1, workers=1)
    policy = cb.policy(name, instance.clusters(0.2))
    for _ in range(6):
        policy.tell(policy.ask(), 1)
    policy.ask(2)
    policy.explain()
    rng = np.random.default_rng(1)
    log = {"time": range(400), "arm": rng.choice(["a", "b"], 400), "reward": rng.integers(0, 2, 400)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cb.replay(log, [cb.policy(name, cb.Clusters({"x": ["a", "b"]}, widths=1))])


if __name__ == "__main__":
    if len(sys.argv) == 1:
        compile_once()
    with if_missing(Missing.COMPILE):
        for each in sys.argv[1:]:
            use(each)
