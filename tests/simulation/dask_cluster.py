"""A real Dask cluster on this machine: a scheduler and workers, each a process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

#: Seconds for a process to start while every core is busy with other tests.
_PATIENCE = 90.0


class DaskCluster:
    """A scheduler and the workers that join it; all are killed at the end."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._folder, self._settings = folder, settings
        self._file = folder / "scheduler.json"
        self._processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> DaskCluster:
        where = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
        ending = ["--idle-timeout", "10 minutes", "--scheduler-file", str(self._file)]
        self.scheduler = self._start("scheduler", *where, *ending, environment=self._settings)
        self.address = str(json.loads(self._eventually(self._written))["address"])
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait(_PATIENCE)

    def add_worker(self, **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker, and do not wait until it has joined."""
        where = ["--host", "127.0.0.1", "--no-dashboard", "--local-directory", str(self._folder)]
        what = ["--no-nanny", "--nthreads", "1", "--death-timeout", "60"]
        process = self._start("worker", self.address, *where, *what, environment=environment)
        self.workers.append(process)
        return process

    def have_workers(self, count: int) -> None:
        """Wait until there are as many workers."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < count:
            self.add_worker()
        for worker in self.workers:
            self.address_of(worker)

    def address_of(self, worker: subprocess.Popen[bytes]) -> str:
        """Where a worker listens, once it has joined."""
        log = self._log(worker)
        self._eventually(lambda: "Registered to" in log.read_text())
        return str(re.findall(r"Start worker at: *(tcp://[\d.:]+)", log.read_text())[0])

    def kill_worker(self, place: int = 0) -> None:
        """End a worker as a power failure would, and wait until the scheduler has noticed."""
        worker = self.workers.pop(place)
        address = self.address_of(worker)
        worker.send_signal(signal.SIGKILL)
        assert worker.wait(_PATIENCE) == -signal.SIGKILL
        log = self._log(self.scheduler)
        self._eventually(lambda: f"Remove worker addr: {address} " in log.read_text())

    def _start(self, *arguments: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *arguments]
        unnamed = self._folder / f"{len(self._processes)}.log"
        with unnamed.open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **environment}, cwd=self._folder
            )
        unnamed.rename(self._log(process))
        self._processes.append(process)
        return process

    def _log(self, process: subprocess.Popen[bytes]) -> Path:
        return self._folder / f"process-{process.pid}.log"

    def _written(self) -> str:
        """The scheduler's file, once it is whole."""
        text = self._file.read_text() if self._file.exists() else ""
        return text if text.endswith("}") else ""

    def _eventually(self, look: Callable[[], str | bool]) -> str:
        deadline = time.monotonic() + _PATIENCE
        while not (found := look()):
            logs = "\n".join(self._log(process).read_text() for process in self._processes)
            assert time.monotonic() < deadline, logs
            assert all(process.poll() is None for process in (self.scheduler, *self.workers)), logs
            time.sleep(0.05)
        return str(found)
