"""A service in processes of its own, as a user starts it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil

from tests.service.postgres import free_port

Found = TypeVar("Found")


def eventually(look: Callable[[], Found], seconds: float = 30) -> Found:
    """Look again and again until something is found, for what a service does in a moment of its own."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"not within {seconds} seconds"
        time.sleep(0.05)
    return found


class Served:
    """A running service: its address, an admin key, and the process."""

    def __init__(self, *options: str, folder: Path, port: int | None = None) -> None:
        self.port = port or free_port()
        host = options[options.index("--host") + 1] if "--host" in options else "127.0.0.1"
        self.url = f"http://{host}:{self.port}"
        self.log = folder / f"serve-{self.port}.log"
        command = [sys.executable, "-m", "clusterbandits", "serve", "--port", str(self.port), *options]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder, start_new_session=True
            )
        self.said = ""
        self.key = self._first_key(insecure="--insecure" in options)
        # The first experiment of a policy on a new machine is compiled.
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        self.client = httpx.Client(base_url=self.url, headers=headers, timeout=180)

    def _first_key(self, *, insecure: bool) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if line.startswith("cb_"):
                return line.strip()
            if (insecure and line.startswith("Without keys")) or "keys add" in line:
                return ""
        raise AssertionError(f"the service ended: {self.said}{self.log.read_text()}")

    def use_key(self, key: str) -> None:
        self.key = key
        self.client.headers["Authorization"] = f"Bearer {key}"

    def wait_for_key(self, key: str, status: int = 200) -> None:
        """Wait until it has read that a key was added or, with status 401, revoked."""
        headers = {"Authorization": f"Bearer {key}"}
        eventually(lambda: httpx.get(f"{self.url}/v1/me", headers=headers).status_code == status)

    def wait(self, seconds: float = 120) -> Served:
        """Wait until decisions can be made."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(httpx.TransportError):
                if self.client.get("/ready").status_code == 200:
                    return self
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)
        raise AssertionError(f"the service is not ready: {self.log.read_text()}")

    def post(self, path: str, body: object = None, status: int | None = 200) -> Any:
        answer = self.client.post(path, json=body if body is not None else {})
        assert status is None or answer.status_code == status, answer.text
        return answer.json()

    def get(self, path: str, status: int = 200) -> Any:
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.json()

    def workers(self) -> list[psutil.Process]:
        """Return the worker processes; of a service with one, the service itself."""
        parent = psutil.Process(self.process.pid)
        children = [one for one in parent.children() if _is_worker(one)]
        return children or [parent]

    def busy_workers(self) -> list[psutil.Process]:
        """Return the worker processes to which clients are connected."""
        return [one for one in self.workers() if one.pid != self.process.pid and self._has_clients(one)]

    def _has_clients(self, worker: psutil.Process) -> bool:
        with contextlib.suppress(psutil.NoSuchProcess):
            return any(
                (one.status, one.laddr.port) == (psutil.CONN_ESTABLISHED, self.port)
                for one in worker.net_connections("tcp4")
            )
        return False

    def stop(self) -> int:
        """Stop it as an operator does, and return its exit code."""
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(30)
        finally:
            self.kill()
        return code

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.client.close()


def _is_worker(child: psutil.Process) -> bool:
    try:
        return "resource_tracker" not in " ".join(child.cmdline())
    except psutil.NoSuchProcess:
        return False


@contextlib.contextmanager
def serving(*options: str, folder: Path) -> Iterator[Served]:
    """Yield a service that is ready."""
    served = Served(*options, folder=folder)
    try:
        yield served.wait()
    finally:
        served.kill()
