"""Long runs of all fuzzers in batches on all cores, and their findings."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Seconds per batch, and seconds after which an attempt counts as hanging; both may include compilation.
_BATCH, _HANGS = 60.0, 300.0
_CHECKED = "CLUSTERBANDITS_CHECKED"


@dataclass(frozen=True)
class Job:
    """One fuzzer in one mode."""

    name: str
    checked: bool

    def __str__(self) -> str:
        return f"{self.name} (checked)" if self.checked else self.name


@dataclass(frozen=True)
class Finding:
    """A failed attempt."""

    job: Job
    seed: int
    case: int
    error: str

    @property
    def command(self) -> str:
        """The command that repeats the attempt."""
        mode = " --checked" if self.job.checked else ""
        return f"python -m fuzz {self.job.name} --seed {self.seed} --case {self.case}{mode}"


@dataclass
class Report:
    """Counts of tested cases, and findings."""

    tried: dict[Job, Counter[str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    next_case: dict[Job, int] = field(default_factory=dict)


def run(jobs: Sequence[Job], seed: int, minutes: float, workers: int, say: Callable[[str], None]) -> Report:
    """Run fuzzers alternately for some minutes; a failed attempt ends only its batch."""
    report = Report({job: Counter() for job in jobs}, [], dict.fromkeys(jobs, 0))
    turns: queue.Queue[Job] = queue.Queue()
    for job in jobs:
        turns.put(job)
    end, lock, stopped = time.monotonic() + 60.0 * minutes, threading.Lock(), threading.Event()

    def work() -> None:
        while not stopped.is_set() and (left := end - time.monotonic()) > 0.0:
            try:
                job = turns.get_nowait()
            except queue.Empty:
                return
            _run_batch(job, seed, min(_BATCH, left), report, lock)
            say(f"{job}: {report.tried[job]['cases']:,} cases, {len(report.findings)} findings in all")
            turns.put(job)

    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work) for _ in range(min(workers, len(jobs)))]
        try:
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            stopped.set()
            say("Interrupted: waiting for the batches under way")
    return report


def _run_batch(job: Job, seed: int, seconds: float, report: Report, lock: threading.Lock) -> None:
    first = report.next_case[job]
    command = [sys.executable, "-m", "fuzz.batch", job.name, str(seed), str(first), str(seconds)]
    environment = {**os.environ, _CHECKED: "1" if job.checked else ""}
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    errors: list[str] = []
    listener = threading.Thread(target=lambda: errors.extend(process.stderr or []), daemon=True)
    listener.start()
    watchdog = _Watchdog(process)
    case, open_case = first, True
    for line in process.stdout or []:
        watchdog.feed()
        said: dict[str, Any] = json.loads(line)
        with lock:
            if "begin" in said:
                case, open_case = said["begin"], True
            elif "end" in said:
                open_case = False
                report.tried[job].update({"cases": 1, **said["tried"]})
            else:
                open_case = False
                report.findings.append(Finding(job, seed, case, said["error"]))
    process.wait()
    watchdog.stop()
    listener.join(5.0)
    with lock:
        if open_case:
            why = "hangs" if watchdog.fired else f"ended with code {process.returncode}"
            report.findings.append(Finding(job, seed, case, f"{why}\n{''.join(errors[-30:])}"))
        report.next_case[job] = case + 1


class _Watchdog:
    """Ends a process and its children if it has reported nothing for too long."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process, self.fired = process, False
        self._start()

    def _start(self) -> None:
        self._timer = threading.Timer(_HANGS, self._end)
        self._timer.daemon = True
        self._timer.start()

    def feed(self) -> None:
        """Restart the timeout."""
        self.stop()
        self._start()

    def stop(self) -> None:
        """Stop the timeout."""
        self._timer.cancel()

    def _end(self) -> None:
        self.fired = True
        os.killpg(self._process.pid, signal.SIGKILL)
