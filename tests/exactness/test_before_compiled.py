"""Answers before kernels are compiled: at once, the same, and machine code takes over where they end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

import clusterbandits as cb
from tests.exactness import online_trace
from tests.processes import PATIENCE

ROOT = Path(__file__).parents[2]
#: Asks and tells until the other process has compiled what this takes, and a little longer.
UNTIL_COMPILED = """
import clusterbandits as cb
from clusterbandits.background import orders
policy, arms, plain = cb.policy("kl-ucb", cb.Clusters([2, 2])), [], None
while plain is None or len(arms) < plain + 300:
    arms.append(policy.ask())
    policy.tell(arms[-1], len(arms) % 3 == arms[-1] % 3)
    if plain is None and orders._answered and not orders._sent:
        plain = len(arms)
print(plain, *arms)
"""
#: Asks once; prints the number of the process that compiles.
ASK_ONCE = """
import clusterbandits as cb
from clusterbandits.background import orders
policy = cb.policy("kl-ucb", cb.Clusters([2, 2]))
policy.tell(policy.ask(), 1)
print(orders._process.pid)
"""
#: Calls a kernel where the other process ends at once.
WITHOUT_PROCESS = """
from clusterbandits import background
from clusterbandits.families import Bernoulli, law
from clusterbandits.machine_code import missed
background._COMMAND = ["-c", "raise SystemExit"]
print(law.divergence(Bernoulli().law, 0.2, 0.3, 0.1))
while background.orders._works:
    pass
print(law.divergence(Bernoulli().law, 0.2, 0.3, 0.1))
print(missed() > 0)
"""
#: Calls a kernel, and again in a copy of this process, which cannot read the answers to its orders.
FORK = """
import os
from clusterbandits.background import orders
from clusterbandits.families import Bernoulli, law
print(law.divergence(Bernoulli().law, 0.2, 0.3, 0.1), flush=True)
child = os.fork()
if child:
    os.waitpid(child, 0)
else:
    print(law.divergence(Bernoulli().law, 0.2, 0.3, 0.1) if orders._process is None else "", flush=True)
"""


def ran(program: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"CLUSTERBANDITS_CACHE": str(folder)}
    command = [sys.executable, "-W", "error", *options, *([] if options else ["-c", program])]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done


def test_plain_python_says_what_machine_code_says(tmp_path: Path) -> None:
    found = json.loads(ran("", tmp_path, "-m", "tests.exactness.online_trace").stdout)
    assert found["compiled"] == 0
    assert not list(tmp_path.rglob("*.nbc"))
    assert found["said"] == online_trace.everything()


def test_machine_code_takes_over(tmp_path: Path) -> None:
    done = ran(UNTIL_COMPILED, tmp_path)
    plain, *arms = map(int, done.stdout.split())
    assert done.stderr.count("compiling in the background") == 1
    assert max(map(len, done.stderr.splitlines())) <= 80
    assert plain > 10
    policy = cb.policy("kl-ucb", cb.Clusters([2, 2]))
    for place, arm in enumerate(arms):
        assert policy.ask() == arm
        policy.tell(arm, (place + 1) % 3 == arm % 3)


def test_what_a_short_program_ordered_serves_the_next(tmp_path: Path) -> None:
    number = int(ran(ASK_ONCE, tmp_path).stdout)
    end = time.monotonic() + PATIENCE
    while psutil.pid_exists(number) and psutil.Process(number).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        time.sleep(0.1)
    again = ASK_ONCE.replace("orders._process.pid", "orders._process")
    done = ran(again, tmp_path)
    assert (done.stdout, done.stderr) == ("None\n", "")


def test_nothing_is_compiled_for_a_folder_that_goes_away(tmp_path: Path) -> None:
    occupied = tmp_path / "a file where the folder should be"
    occupied.write_text("")
    done = ran(ASK_ONCE, occupied)
    assert "CLUSTERBANDITS_CACHE" in done.stderr
    assert not psutil.pid_exists(int(done.stdout))


def test_a_kernel_is_compiled_here_if_the_other_process_fails(tmp_path: Path) -> None:
    plain, compiled, here = ran(WITHOUT_PROCESS, tmp_path).stdout.split()
    assert float(plain).hex() == float(compiled).hex()
    assert here == "True"


def test_a_forked_process_orders_for_itself(tmp_path: Path) -> None:
    one, other = ran(FORK, tmp_path).stdout.split()
    assert one == other
